#include "cli/made_up_launch.hpp"

#include "cli/aimed_launch.hpp"
#include "cli/arguments.hpp"
#include "runtime/differences.hpp"
#include "runtime/execute.hpp"

#include <algorithm>
#include <random>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lanewise::cli {

namespace {

using container::Kernel;
using container::KernelArgument;
using runtime::ElementType;

constexpr uint32_t group_items = 64; ///< the widest wave
constexpr uint32_t lds_of_a_workgroup = 32768, most_local_bytes = 16384;

/// From the most telling contents to those that ask least of the kernel: indices stay small, then zero.
constexpr std::array kRecipes{
    Recipe{.name = "random", .fill = Fill::any},
    Recipe{.name = "small", .fill = Fill::small},
    Recipe{.name = "small, large buffers", .fill = Fill::small, .elements = 1 << 18, .number = 20},
    Recipe{.name = "random, large buffers", .fill = Fill::any, .elements = 1 << 18, .number = 33},
    Recipe{.name = "ones", .fill = Fill::ones, .elements = 1 << 18, .number = 1},
    Recipe{.name = "counting", .fill = Fill::iota, .elements = 1 << 18, .number = 64},
    Recipe{
        .name = "plane", .fill = Fill::small, .elements = 1 << 16, .number = 16, .shape = Shape::cut_plane},
    Recipe{.name = "one group", .fill = Fill::small, .elements = 1 << 18, .number = 3, .shape = Shape::one},
    Recipe{.name = "four items", .fill = Fill::small, .number = 3, .shape = Shape::few},
    Recipe{.name = "zeros", .fill = Fill::zeros, .elements = 1 << 18, .number = 0, .shape = Shape::one},
};

std::string contents_text(Fill fill, ElementType type, uint64_t seed) {
  switch (fill) {
  case Fill::any: return fmt::format("rand:{}", seed);
  case Fill::small: return fmt::format("rand:{}:{}", seed, runtime::is_float(type) ? 4 : 64);
  case Fill::ones: return "1";
  case Fill::iota: return "iota";
  case Fill::zeros: return "0";
  }
  return "0";
}

/// A number that a kernel may make something of: most small, some of any size, floats about 1.
std::string varied_number(ElementType type, std::mt19937_64& random) {
  static constexpr std::array<uint8_t, 6> numbers{1, 3, 7, 20, 33, 100};
  if (runtime::is_float(type))
    return fmt::format("{:.3f}", static_cast<double>(static_cast<int>(random() % 4001) - 2000) / 1000.0);
  const uint64_t any = random();
  const size_t bits = 8 * runtime::bytes(type) - (runtime::is_signed(type) ? 1 : 0);
  return random() % 5 == 0 ? fmt::format("{}", any >> (64 - bits))
                           : fmt::format("{}", numbers[any % numbers.size()]);
}

/// An argument by value: a scalar, a vector, or a struct of which nothing but the size is known.
std::string value_text(const KernelArgument& wanted, const Recipe& recipe, std::mt19937_64& random) {
  const auto element = runtime::element_type_of_source(wanted.type_name);
  const auto number = [&](ElementType type) -> std::string {
    if (!recipe.number) return varied_number(type, random);
    return fmt::format("{}{}", *recipe.number, runtime::is_float(type) ? ".5" : "");
  };
  const size_t size = element ? runtime::bytes(*element) : 0;
  if (size == wanted.size) return fmt::format("{}:{}", runtime::name(*element), number(*element));
  if (size != 0 && wanted.size % size == 0) {
    std::vector<std::string> members(wanted.size / size);
    for (std::string& m : members) m = fmt::format("{}:{}", runtime::name(*element), number(*element));
    return fmt::format("{{{}}}", fmt::join(members, ","));
  }
  std::string text = "hex:";
  for (uint32_t i = 0; i < wanted.size; ++i)
    text += fmt::format("{:02x}", i % 4 == 0 ? std::min(recipe.number.value_or(3), 255u) : 0u);
  return text;
}

bool is_name(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && !(text[0] >= '0' && text[0] <= '9') && std::ranges::all_of(text, letter);
}

/// Each local pointer gets an equal part of what a workgroup has beside the kernel's own.
uint32_t local_bytes(const Kernel& kernel) {
  const auto wanted = runtime::explicit_arguments(kernel);
  const auto count = std::ranges::count(wanted, std::string("dynamic_shared_pointer"),
                                        [](const KernelArgument* a) { return a->value_kind; });
  const uint32_t own = std::min(kernel.descriptor.group_segment_fixed_size, lds_of_a_workgroup);
  const auto part = (lds_of_a_workgroup - own) / static_cast<uint32_t>(std::max<std::ptrdiff_t>(count, 1));
  return std::clamp(part / 16 * 16, 16u, most_local_bytes);
}

void shape(const Kernel& kernel, Shape shape, MadeUpLaunch& launch) {
  const bool plane = shape == Shape::cut_plane;
  const uint32_t most =
      std::clamp(kernel.max_flat_workgroup_size, 1u, shape == Shape::few ? 4u : group_items);
  launch.block = {most, 1, 1};
  if (plane && most == group_items) launch.block = {16, 4, 1};
  if (kernel.required_workgroup_size) launch.block = *kernel.required_workgroup_size;
  launch.grid = launch.block;
  if (shape == Shape::one || shape == Shape::few) return;
  const bool whole = shape == Shape::row || (kernel.has_metadata && kernel.uniform_workgroup_size);
  for (unsigned d = 0; d < (plane ? 2 : 1); ++d) {
    const uint32_t items = launch.block[d];
    launch.grid[d] += whole ? items : (items * 37 + 63) / 64;
  }
}

std::string quoted(const std::string& text) {
  const auto plain = [](char c) { return std::string_view("{}*&;'\" ").find(c) == std::string_view::npos; };
  return std::ranges::all_of(text, plain) ? text : fmt::format("'{}'", text);
}

/// Whether other choices of the emulator leave the same memory.
bool is_determined(const container::ShaderBinary& binary, const Kernel& kernel, const MadeUpLaunch& made_up,
                   runtime::ExecuteOptions execute) {
  auto one = launch_of(binary, kernel, made_up);
  if (!one || !runtime::run_on_emulator(*one, execute)) return false;
  execute.other_turns = 61;
  auto other = launch_of(binary, kernel, made_up);
  return other && runtime::run_on_emulator(*other, execute) &&
         !runtime::Differences(one->buffers, other->buffers, true).any();
}

} // namespace

std::span<const Recipe> recipes() { return kRecipes; }

std::vector<std::string> make_up_arguments(const Kernel& kernel, const Recipe& recipe, uint64_t seed) {
  std::vector<std::string> texts;
  std::mt19937_64 random(seed);
  for (const KernelArgument* wanted : runtime::explicit_arguments(kernel)) {
    if (wanted->value_kind == "global_buffer") {
      // Vectors take up to 16 elements of their scalar type.
      const auto type = runtime::element_type_of_source(wanted->type_name).value_or(ElementType::u32);
      texts.push_back(fmt::format(
          "{}:{}[{}]={}", is_name(wanted->name) ? wanted->name : fmt::format("arg{}", texts.size()),
          runtime::name(type), recipe.elements, contents_text(recipe.fill, type, seed + texts.size())));
    } else if (wanted->value_kind == "dynamic_shared_pointer") {
      texts.push_back(fmt::format("local:{}", local_bytes(kernel)));
    } else {
      texts.push_back(value_text(*wanted, recipe, random));
    }
  }
  return texts;
}

MadeUpLaunch make_up(const Kernel& kernel, const Recipe& recipe, uint64_t seed) {
  MadeUpLaunch launch;
  shape(kernel, recipe.shape, launch);
  launch.arguments = make_up_arguments(kernel, recipe, seed);
  return launch;
}

Expected<runtime::Launch> launch_of(const container::ShaderBinary& binary, const Kernel& kernel,
                                    const MadeUpLaunch& made_up) {
  runtime::Launch launch;
  launch.binary = &binary;
  launch.kernel = &kernel;
  launch.grid = made_up.grid;
  launch.block = made_up.block;
  for (const std::string& text : made_up.arguments)
    if (auto ok = add_argument(launch, text); !ok) return std::unexpected(ok.error());
  return launch;
}

std::string command_line(const MadeUpLaunch& launch) {
  const auto extent = [](const std::array<uint32_t, 3>& e) {
    return fmt::format("{}", fmt::join(e.begin(), e.begin() + (e[2] > 1 ? 3 : e[1] > 1 ? 2 : 1), ","));
  };
  std::string text = fmt::format("--grid {} --block {}", extent(launch.grid), fmt::join(launch.block, ","));
  for (const std::string& argument : launch.arguments) text += " --arg " + quoted(argument);
  return text;
}

Expected<FoundLaunch> find_launch(const container::ShaderBinary& binary, const Kernel& kernel,
                                  const FindOptions& options) {
  std::optional<FoundLaunch> best;
  std::optional<Error> last;
  runtime::ExecuteOptions execute;
  execute.max_instructions = options.most_instructions;
  execute.threads = 1;
  for (const Recipe& recipe : kRecipes) {
    FoundLaunch found{.launch = make_up(kernel, recipe, options.seed), .recipe = recipe.name};
    const auto launch = launch_of(binary, kernel, found.launch);
    if (!launch) return std::unexpected(launch.error());
    if (auto fits = runtime::check_launch(*launch); !fits) return std::unexpected(fits.error());
    runtime::Launch after = *launch;
    auto ran = runtime::run_on_emulator(after, execute);
    if (!ran) {
      if (ran.error().kind == ErrorKind::unsupported) return std::unexpected(ran.error());
      last = std::move(ran.error());
      continue;
    }
    found.wrote = runtime::Differences(launch->buffers, after.buffers, true).any();
    found.determined = !found.wrote || is_determined(binary, kernel, found.launch, execute);
    if (found.wrote && found.determined) return found;
    found.instructions = ran->instructions;
    const auto worth = [](const FoundLaunch& f) { return std::pair(f.wrote, f.instructions); };
    if (!best || worth(found) > worth(*best)) best = std::move(found);
  }
  if (!best) return std::unexpected(*last);
  if (!best->wrote)
    if (auto aimed = aim(binary, kernel, best->launch, execute)) {
      best->launch = std::move(*aimed);
      best->recipe = "aimed";
      best->wrote = true;
      best->determined = is_determined(binary, kernel, best->launch, execute);
    }
  return *best;
}

} // namespace lanewise::cli
