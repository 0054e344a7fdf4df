#include "runtime/launch.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lanewise::runtime {

namespace {

constexpr uint32_t max_block = 1024;
constexpr uint32_t max_lds = 64u << 10;

bool is_pointer(const container::KernelArgument& a) { return a.value_kind == "global_buffer"; }
bool is_local(const container::KernelArgument& a) { return a.value_kind == "dynamic_shared_pointer"; }
bool is_value(const container::KernelArgument& a) { return a.value_kind == "by_value"; }

std::string kind_text(const container::KernelArgument& a) {
  if (is_pointer(a)) return "buffer";
  if (is_local(a)) return "local memory";
  if (is_value(a)) return fmt::format("value of {} bytes", a.size);
  return a.value_kind;
}

/// A name out of the file for a table: one line, never empty.
std::string cell(std::string text) {
  std::ranges::replace_if(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; }, '?');
  return text.empty() ? "-" : text;
}

Error wrong_argument(const Launch& launch, size_t index, std::string what) {
  const auto wanted = explicit_arguments(*launch.kernel);
  std::string where = fmt::format("kernel {}, argument {}", launch.kernel->name, index);
  if (index < launch.arguments.size() && !launch.arguments[index].text.empty())
    where += fmt::format(" '{}'", launch.arguments[index].text);
  return {ErrorKind::call, std::move(what), std::move(where), describe_arguments(*launch.kernel)};
}

Expected<void> check_buffer(const Launch& launch, size_t index, const container::KernelArgument& wanted) {
  const Argument& given = launch.arguments[index];
  if (given.kind == Argument::Kind::null || given.kind == Argument::Kind::code) return {};
  if (given.kind != Argument::Kind::buffer || given.buffer >= launch.buffers.size())
    return std::unexpected(wrong_argument(launch, index, "the kernel wants a buffer here"));
  const Buffer& buffer = launch.buffers[given.buffer];
  const auto element = element_type_of_source(wanted.type_name);
  // Signedness is a matter of taste; width and floating point are not.
  if (element && buffer.type != ElementType::u8 &&
      (bytes(*element) != bytes(buffer.type) || is_float(*element) != is_float(buffer.type)))
    return std::unexpected(wrong_argument(
        launch, index,
        fmt::format("the kernel wants {}, the buffer holds {}", wanted.type_name, name(buffer.type))));
  return {};
}

Expected<void> check_argument(const Launch& launch, size_t index, const container::KernelArgument& wanted) {
  const Argument& given = launch.arguments[index];
  if (is_pointer(wanted)) return check_buffer(launch, index, wanted);
  if (is_local(wanted)) {
    if (given.kind != Argument::Kind::local || given.local_bytes == 0)
      return std::unexpected(
          wrong_argument(launch, index, "the kernel wants local memory here, as local:BYTES"));
    return {};
  }
  if (!is_value(wanted))
    return fail(ErrorKind::unsupported,
                fmt::format("arguments of kind {} cannot be passed", wanted.value_kind),
                fmt::format("kernel {}, argument {}", launch.kernel->name, index));
  if (given.kind == Argument::Kind::code && wanted.size == 8) return {};
  if (given.kind != Argument::Kind::value)
    return std::unexpected(
        wrong_argument(launch, index, fmt::format("the kernel wants a value of {} bytes here", wanted.size)));
  if (given.value.size() != wanted.size)
    return std::unexpected(wrong_argument(
        launch, index,
        fmt::format("the kernel wants {} bytes here, not {}", wanted.size, given.value.size())));
  return {};
}

Expected<void> check_sizes(const Launch& launch) {
  const container::Kernel& kernel = *launch.kernel;
  const std::string where = "kernel " + kernel.name;
  const auto& [x, y, z] = launch.block;
  if (x == 0 || y == 0 || z == 0 || launch.grid[0] == 0 || launch.grid[1] == 0 || launch.grid[2] == 0)
    return fail(ErrorKind::call, "grid and block must not be empty", where);
  const uint64_t items = uint64_t{x} * y * z;
  const uint32_t limit = std::min(max_block, std::max(1u, kernel.max_flat_workgroup_size));
  if (x > max_block || y > max_block || z > max_block || items > limit)
    return fail(ErrorKind::call,
                fmt::format("a block of {}x{}x{} has more than {} work-items", x, y, z, limit), where);
  if (kernel.required_workgroup_size && *kernel.required_workgroup_size != launch.block) {
    const auto& r = *kernel.required_workgroup_size;
    return fail(ErrorKind::call,
                fmt::format("the kernel was compiled for blocks of {}x{}x{} only", r[0], r[1], r[2]), where);
  }
  if (kernel.has_metadata && kernel.uniform_workgroup_size)
    for (unsigned i = 0; i < 3; ++i)
      if (launch.grid[i] % launch.block[i] != 0)
        return fail(ErrorKind::call,
                    fmt::format("the grid ({}) must be a multiple of the block ({}) in dimension {}",
                                launch.grid[i], launch.block[i], i),
                    where, "the kernel was compiled with uniform workgroup sizes");
  if (lds_bytes(launch) > max_lds)
    return fail(ErrorKind::call,
                fmt::format("{} bytes of LDS, a workgroup has {}", lds_bytes(launch), max_lds), where);
  return {};
}

} // namespace

std::array<uint32_t, 3> Launch::groups() const {
  std::array<uint32_t, 3> n{};
  for (unsigned i = 0; i < 3; ++i) n[i] = grid[i] / block[i] + (grid[i] % block[i] != 0);
  return n;
}

std::vector<const container::KernelArgument*> explicit_arguments(const container::Kernel& kernel) {
  std::vector<const container::KernelArgument*> list;
  for (const auto& a : kernel.arguments)
    if (!a.hidden()) list.push_back(&a);
  return list;
}

std::string describe_arguments(const container::Kernel& kernel) {
  const auto wanted = explicit_arguments(kernel);
  if (!kernel.has_metadata) return fmt::format("kernel {} has no metadata about its arguments", kernel.name);
  std::string table =
      fmt::format("kernel {} wants {} argument{}", kernel.name, wanted.size(), wanted.size() == 1 ? "" : "s");
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto& a = *wanted[i];
    table += fmt::format("\n  {:2}  {:<16} {:<20} {}", i, cell(a.name), cell(a.type_name), kind_text(a));
  }
  return table;
}

std::array<uint32_t, 3> default_block(const container::Kernel& kernel, const std::array<uint32_t, 3>& grid,
                                      unsigned dimensions) {
  if (kernel.required_workgroup_size) return *kernel.required_workgroup_size;
  const bool uniform = kernel.has_metadata && kernel.uniform_workgroup_size;
  uint32_t left = std::clamp(kernel.max_flat_workgroup_size, 1u, 256u);
  std::array<uint32_t, 3> block{1, 1, 1};
  for (unsigned i = 0; i < std::min(dimensions, 3u); ++i) {
    const uint32_t most = dimensions == 1 ? left : std::min(left, i == 0 ? 32u : 8u);
    while (block[i] * 2 <= most && block[i] < grid[i] && (!uniform || grid[i] % (block[i] * 2) == 0))
      block[i] *= 2;
    left /= block[i];
  }
  return block;
}

BufferFacts buffer_facts(const Launch& launch) {
  BufferFacts facts{.separate = true, .aligned = true};
  std::vector<bool> used(launch.buffers.size());
  const auto wanted = explicit_arguments(*launch.kernel);
  for (size_t i = 0; i < launch.arguments.size() && i < wanted.size(); ++i) {
    const Argument& a = launch.arguments[i];
    if (wanted[i]->value_kind != "global_buffer" || a.kind == Argument::Kind::null) continue;
    if (a.kind != Argument::Kind::buffer || a.buffer >= used.size()) return {};
    facts.separate = facts.separate && !used[a.buffer];
    facts.aligned = facts.aligned && a.address % 8 == 0;
    used[a.buffer] = true;
  }
  return facts;
}

uint32_t lds_bytes(const Launch& launch) {
  uint64_t total = launch.kernel->descriptor.group_segment_fixed_size;
  for (const Argument& a : launch.arguments)
    if (a.kind == Argument::Kind::local) total = (total + 15) / 16 * 16 + a.local_bytes;
  return static_cast<uint32_t>(std::min<uint64_t>(total, UINT32_MAX));
}

Expected<void> check_launch(const Launch& launch) {
  if (auto ok = check_sizes(launch); !ok) return ok;
  if (!launch.kernel->has_metadata) return {};
  const auto wanted = explicit_arguments(*launch.kernel);
  if (wanted.size() != launch.arguments.size())
    return fail(ErrorKind::call,
                fmt::format("{} arguments given, {} wanted", launch.arguments.size(), wanted.size()),
                "kernel " + launch.kernel->name, describe_arguments(*launch.kernel));
  for (size_t i = 0; i < wanted.size(); ++i)
    if (auto ok = check_argument(launch, i, *wanted[i]); !ok) return ok;
  return {};
}

} // namespace lanewise::runtime
