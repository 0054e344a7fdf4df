// lanewise check: all references against each other on one launch of each kernel.
#include "cli/check.hpp"

#include <algorithm>
#include <cmath>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/made_up_launch.hpp"
#include "passes/pipeline.hpp"
#include "runtime/check.hpp"
#include "runtime/vulkan_device.hpp"

namespace lanewise::cli {

namespace {

using By = runtime::CheckStep::By;
using Outcome = runtime::CheckStep::Outcome;
using Json = nlohmann::ordered_json;

constexpr uint32_t default_grid = 256; ///< work-items where --grid does not say

const char* word(Outcome outcome) {
  switch (outcome) {
  case Outcome::reference: return "reference";
  case Outcome::equal: return "equal";
  case Outcome::approximate: return "close";
  case Outcome::undetermined: return "open";
  case Outcome::different: return "DIFFERENT";
  case Outcome::failed: return "FAILED";
  }
  return "";
}

const char* word(By by) {
  switch (by) {
  case By::emulator: return "emulator";
  case By::translation: return "translation";
  case By::passes: return "passes";
  case By::lowering: return "lowering";
  case By::spirv: return "spirv";
  }
  return "";
}

/// With what a reader should know of a difference that is none of ours.
std::string text_of(const runtime::CheckStep& s) {
  if (s.outcome == Outcome::undetermined)
    return s.text + "; left to the order of waves, to addresses or to the clock";
  if (s.outcome != Outcome::approximate) return s.text;
  return fmt::format("{}; the program has approximate instructions, floats are {} ulp apart at most{}",
                     s.text, s.distance.ulps, s.distance.others ? ", integers differ too" : "");
}

Json json_of(const runtime::CheckStep& s) {
  Json j{{"by", word(s.by)}, {"name", s.name}, {"outcome", word(s.outcome)}, {"text", s.text}, {"ms", s.ms}};
  // What the recompiler does not support is no fault of its results.
  if (s.outcome == Outcome::failed)
    j["refused"] = s.kind == ErrorKind::unsupported || s.kind == ErrorKind::limit;
  if (s.outcome == Outcome::approximate) {
    j["floats"] = s.distance.floats;
    j["others"] = s.distance.others;
    j["ulps"] = std::isfinite(s.distance.ulps) ? Json(s.distance.ulps) : Json("inf");
  }
  return j;
}

/// At once, so that what ends the process later leaves it.
void print_line(const Json& j) {
  std::cout << j.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

void print_refusal(const CheckCommand& command, const container::Kernel& kernel, const Error& error) {
  if (command.json) print_line({{"kernel", kernel.name}, {"refused", error.to_string()}});
}

void print(const CheckCommand& command, const std::string& kernel, const runtime::CheckReport& report) {
  if (command.json) {
    Json j{{"kernel", kernel},
           {"passed", report.passed()},
           {"wrote", report.changed_memory},
           {"instructions", report.instructions},
           {"steps", Json::array()}};
    for (const auto& s : report.steps) j["steps"].push_back(json_of(s));
    print_line(j);
    return;
  }
  std::cout << printable(kernel) << (report.passed() ? ": all equal\n" : ": NOT equal\n");
  for (const auto& s : report.steps)
    if (!command.quiet || (s.outcome != Outcome::equal && s.outcome != Outcome::reference))
      std::cout << fmt::format("  {:<9} {:>10.3f} ms  {}{}{}\n", word(s.outcome), s.ms, s.name,
                               s.text.empty() ? "" : ": ", text_of(s));
}

Expected<bool> check_launch(const CheckCommand& command, const runtime::Launch& launch,
                            runtime::VulkanDevice* device) {
  runtime::CheckOptions check;
  check.device = device;
  check.exact_nan = command.exact_nan;
  check.interpreter = !command.no_interpreter;
  check.without = command.passes.without;
  if (command.each_pass) check.variants = passes::variants();
  check.calls = command.passes.calls.value();
  check.execute.timeout = std::chrono::milliseconds(static_cast<int64_t>(command.seconds * 1000));
  if (command.made_up) check.execute.threads = 1; // the same every time, races included
  auto seating = parse_seating(command.launch.wave);
  if (!seating) return std::unexpected(seating.error());
  check.seating = *seating;
  check.subgroup_size = command.launch.subgroup;
  auto report = runtime::check_references(launch, check);
  if (!report) return std::unexpected(report.error());
  print(command, launch.kernel->name, *report);
  return report->passed();
}

/// On a launch that is made up; it is printed first, so that one that ends the process can be run again.
Expected<bool> check_made_up(const CheckCommand& command, const container::ShaderBinary& binary,
                             const container::Kernel& kernel, runtime::VulkanDevice* device) {
  const auto found =
      find_launch(binary, kernel, {.seed = command.seed, .most_instructions = command.most_instructions});
  if (!found) {
    print_refusal(command, kernel, found.error());
    return std::unexpected(found.error());
  }
  const std::string text = command_line(found->launch);
  if (command.json)
    print_line({{"kernel", kernel.name},
                {"launch", text},
                {"recipe", found->recipe},
                {"wrote", found->wrote},
                {"determined", found->determined}});
  else if (!command.quiet)
    std::cout << fmt::format("{}: {} ({}{})", printable(kernel.name), text, found->recipe,
                             found->wrote ? "" : "; writes nothing")
              << std::endl;
  const auto launch = launch_of(binary, kernel, found->launch);
  if (!launch) return std::unexpected(launch.error());
  auto passed = check_launch(command, *launch, device);
  if (!passed) print_refusal(command, kernel, passed.error());
  return passed;
}

Expected<bool> check_given(const CheckCommand& command, const container::Kernel& kernel,
                           runtime::VulkanDevice* device) {
  LaunchOptions options = command.launch;
  options.kernel = kernel.name;
  auto loaded = load_launch(options, default_grid);
  if (!loaded) return std::unexpected(loaded.error());
  if (options.arguments.empty())
    for (const std::string& text :
         make_up_arguments(kernel, {.name = "default", .elements = command.elements}, command.seed))
      if (auto ok = add_argument(loaded->launch, text); !ok) return std::unexpected(ok.error());
  return check_launch(command, loaded->launch, device);
}

/// The device that SPIR-V runs on; none if that is not wanted, or if there is none and none was asked for.
Expected<std::unique_ptr<runtime::VulkanDevice>> open_device(const CheckCommand& command) {
  const LaunchOptions& given = command.launch;
  if (command.no_vulkan) return nullptr;
  auto opened = runtime::VulkanDevice::open({given.device, given.validation});
  if (opened || !given.device.empty()) return opened;
  std::cerr << "lanewise: SPIR-V is not run: " << opened.error().to_string() << '\n';
  return nullptr;
}

Expected<bool> check(const CheckCommand& command) {
  const LaunchOptions& given = command.launch;
  if (command.made_up && !(given.arguments.empty() && given.grid.empty() && given.block.empty()))
    return fail(ErrorKind::call, "--made-up chooses grid, block and arguments itself", {},
                "leave out --grid, --block and --arg, or --made-up");
  auto device = open_device(command);
  if (!device) return std::unexpected(device.error());
  auto binary = load_input(given.input);
  if (!binary) return std::unexpected(binary.error());
  std::vector<std::string> names;
  if (!given.kernel.empty()) names.push_back(given.kernel);
  const auto kernels = pick_kernels(*binary, names);
  if (!kernels) return std::unexpected(kernels.error());
  if (command.json && command.made_up)
    print_line({{"kernels", kernels->size()}, {"device", *device ? Json((*device)->info().name) : Json()}});
  bool passed = true;
  std::optional<Error> first;
  const size_t end = std::min<size_t>(kernels->size(), size_t{command.from} + command.count);
  for (size_t i = command.from; i < end; ++i) {
    const container::Kernel& kernel = *(*kernels)[i];
    if (*device && (*device)->abandoned()) { // it may be at work on the kernel before for ever
      device = open_device(command);
      if (!device) return std::unexpected(device.error());
    }
    auto ok = command.made_up ? check_made_up(command, *binary, kernel, device->get())
                              : check_given(command, kernel, device->get());
    if (ok) {
      passed &= *ok;
      continue;
    }
    if (kernels->size() > 1) report(ok.error());
    if (!first) first = ok.error();
  }
  if (passed && first) return std::unexpected(*first);
  return passed;
}

/// Whether `check_one(command, binary, kernel)` holds for every kernel asked for.
template <class F>
Expected<bool> on_kernels(const CheckCommand& command, F check_one) {
  auto binary = load_input(command.launch.input);
  if (!binary) return std::unexpected(binary.error());
  std::vector<std::string> names;
  if (!command.launch.kernel.empty()) names.push_back(command.launch.kernel);
  auto kernels = pick_kernels(*binary, names);
  if (!kernels) return std::unexpected(kernels.error());
  bool passed = true;
  for (const container::Kernel* kernel : *kernels) {
    const Expected<bool> ok = check_one(command, *binary, *kernel);
    if (!ok) return std::unexpected(ok.error());
    passed &= *ok;
  }
  return passed;
}
} // namespace

void add_check(Command& root, int& status) {
  auto options = std::make_shared<CheckCommand>();
  Command command = root.add("check", "Hold emulator, IR interpreter and SPIR-V against each other");
  add_launch_options(command, options->launch);
  add_device_options(command, options->launch);
  command.flag("--no-vulkan", options->no_vulkan, "leave the SPIR-V run out");
  command.flag("--no-interpreter", options->no_interpreter, "do not run the IR");
  add_pass_options(command, options->passes);
  command.flag("--prove", options->prove,
               "run nothing; prove every select that was dropped, every branch that lanes take by "
               "themselves, and all they "
               "rest on, with Z3");
  command
      .number("--try-selects", options->try_selects,
              "take out one select at a time and run this many generated launches: which could go, which did")
      .range(1, 1000);
  command.flag(
      "--made-up", options->made_up,
      "make up a launch that runs and, if one is found, writes; print it as options that run it again");
  command
      .number("--most-instructions", options->most_instructions,
              "instructions that a wave of a made-up launch may run")
      .show_default();
  command.flag("--each-pass", options->each_pass,
               "run the IR too with no optional pass, without each one, and with each one alone");
  command.number("--from", options->from, "leave out so many kernels of the file in front");
  command.number("--count", options->count, "check so many kernels of the file at most");
  command.flag("--exact-nan", options->exact_nan, "NaNs must agree in every bit");
  command.number("--seed", options->seed, "seed of generated arguments, where no --arg is given")
      .show_default();
  command.number("--elements", options->elements, "elements of generated buffers")
      .range(1, 1 << 24)
      .show_default();
  command.number("--seconds", options->seconds, "give up on a Vulkan run after so long")
      .range(0.001, 86400)
      .show_default();
  command.flag("-q,--quiet", options->quiet, "print only what differs");
  command.flag("--json", options->json, "print one JSON object for each kernel");
  command.run(status, [options] {
    auto passed = options->prove         ? on_kernels(*options, prove_one)
                  : options->try_selects ? on_kernels(*options, try_one)
                                         : check(*options);
    return !passed ? report(passed.error()) : *passed ? exit_done : exit_check_failed;
  });
}

} // namespace lanewise::cli
