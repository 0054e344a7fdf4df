// lanewise check: all references against each other on one launch of each kernel.
#include <algorithm>
#include <cstring>
#include <iostream>
#include <random>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/launch_options.hpp"
#include "cli/pass_options.hpp"
#include "cli/select_trial.hpp"
#include "passes/diverge.hpp"
#include "passes/passes.hpp"
#include "passes/pipeline.hpp"
#include "runtime/check.hpp"
#include "runtime/vulkan_device.hpp"
#include "spirv/wave_lowering.hpp"
#include "translate/translate.hpp"

namespace lanewise::cli {

namespace {

using Outcome = runtime::CheckStep::Outcome;

struct CheckCommand {
  LaunchOptions launch;
  PassOptions passes;
  bool exact_nan = false, json = false, no_vulkan = false, quiet = false, prove = false;
  uint64_t seed = 1;
  uint32_t elements = 4096;
  double seconds = 60;
  uint32_t try_selects = 0;
};

constexpr uint32_t default_grid = 256; ///< work-items where --grid does not say

const char* word(Outcome outcome) {
  switch (outcome) {
  case Outcome::reference: return "reference";
  case Outcome::equal: return "equal";
  case Outcome::different: return "DIFFERENT";
  case Outcome::failed: return "FAILED";
  }
  return "";
}

void print(const CheckCommand& command, const std::string& kernel, const runtime::CheckReport& report) {
  if (command.json) {
    nlohmann::ordered_json j{
        {"kernel", kernel}, {"passed", report.passed()}, {"steps", nlohmann::json::array()}};
    for (const auto& s : report.steps)
      j["steps"].push_back(nlohmann::ordered_json{
          {"name", s.name}, {"outcome", word(s.outcome)}, {"text", s.text}, {"ms", s.ms}});
    std::cout << j.dump() << '\n';
    return;
  }
  std::cout << printable(kernel) << (report.passed() ? ": all equal\n" : ": NOT equal\n");
  for (const auto& s : report.steps)
    if (!command.quiet || s.outcome == Outcome::different || s.outcome == Outcome::failed)
      std::cout << fmt::format("  {:<9} {:>10.3f} ms  {}{}{}\n", word(s.outcome), s.ms, s.name,
                               s.text.empty() ? "" : ": ", s.text);
}

Expected<bool> check_one(const CheckCommand& command, const LaunchOptions& options,
                         runtime::VulkanDevice* device) {
  auto loaded = load_launch(options, default_grid);
  if (!loaded) return std::unexpected(loaded.error());
  runtime::Launch& launch = loaded->launch;
  if (options.arguments.empty())
    if (auto ok = generate_arguments(launch, command.elements, command.seed); !ok)
      return std::unexpected(ok.error());
  runtime::CheckOptions check;
  check.device = device;
  check.exact_nan = command.exact_nan;
  check.without = command.passes.without;
  check.calls = command.passes.calls.value();
  check.execute.timeout = std::chrono::milliseconds(static_cast<int64_t>(command.seconds * 1000));
  auto seating = parse_seating(options.wave);
  if (!seating) return std::unexpected(seating.error());
  check.seating = *seating;
  check.subgroup_size = options.subgroup;
  auto report = runtime::check_references(launch, check);
  if (!report) return std::unexpected(report.error());
  print(command, launch.kernel->name, *report);
  return report->passed();
}

Expected<bool> check(const CheckCommand& command) {
  std::unique_ptr<runtime::VulkanDevice> device;
  if (!command.no_vulkan) {
    auto opened = runtime::VulkanDevice::open({command.launch.device, command.launch.validation});
    if (opened)
      device = std::move(*opened);
    else if (!command.launch.device.empty())
      return std::unexpected(opened.error());
    else
      std::cerr << "lanewise: SPIR-V is not run: " << opened.error().to_string() << '\n';
  }
  if (!command.launch.kernel.empty()) return check_one(command, command.launch, device.get());
  auto binary = load_input(command.launch.input);
  if (!binary) return std::unexpected(binary.error());
  bool passed = true;
  std::optional<Error> first;
  for (const auto& kernel : binary->kernels) {
    LaunchOptions one = command.launch;
    one.kernel = kernel.name;
    auto ok = check_one(command, one, device.get());
    if (!ok) {
      if (binary->kernels.size() > 1) report(ok.error());
      if (!first) first = ok.error();
    } else {
      passed &= *ok;
    }
  }
  if (passed && first) return std::unexpected(*first);
  return passed;
}

/// Lanes taking branches of their own, each invocation carrying one lane: diverge's conversions as
/// obligations.
Expected<passes::DivergeResult> prove_diverge(const ir::Function& function, const container::Kernel& kernel) {
  const spirv::Seating seating{function.wave_size, function.wave_size,
                               kernel.required_workgroup_size.value_or(std::array<uint32_t, 3>{64, 1, 1})};
  auto lowered = spirv::lower_waves(function, {.seating = seating, .partial = {true, true, true}});
  if (!lowered) return std::unexpected(lowered.error());
  passes::simplify(*lowered);
  passes::dead_code(*lowered);
  return passes::diverge(*lowered, {.reconverges = true, .prove = true});
}

/// Every decision that rests on lane demand, and every branch that lanes take by themselves, as obligations
/// for the solver.
Expected<bool> prove_one(const CheckCommand& command, const container::ShaderBinary& binary,
                         const container::Kernel& kernel) {
  auto function = translate::translate(binary, kernel);
  if (!function) return std::unexpected(function.error());
  passes::PipelineOptions options{.without = command.passes.without};
  options.exec_select.prove = true;
  const auto result = passes::run(*function, options);
  if (!result) return std::unexpected(result.error());
  passes::DivergeResult diverged;
  if (std::ranges::find(command.passes.without, passes::kDiverge) == command.passes.without.end()) {
    auto d = prove_diverge(*function, kernel);
    if (!d) return std::unexpected(d.error());
    diverged = std::move(*d);
  }
  const auto& selects = result->exec_select;
  auto proof = selects.proof;
  proof += diverged.proof;
  const bool passed = proof.failures.empty() && proof.proved == proof.total();
  if (command.json) {
    std::cout << nlohmann::ordered_json{{"kernel", kernel.name},
                                        {"passed", passed},
                                        {"selects", selects.selects},
                                        {"dropped", selects.dropped},
                                        {"regions", diverged.regions},
                                        {"loops", diverged.loops},
                                        {"obligations",
                                         {{"facts", proof.facts},
                                          {"flow", proof.flow},
                                          {"selects", proof.selects},
                                          {"masks", proof.masks},
                                          {"regions", proof.regions}}},
                                        {"proved", proof.proved},
                                        {"seconds", proof.seconds}}
                     .dump()
              << '\n';
    return passed;
  }
  std::cout << fmt::format("{}: {} of {} selects dropped, {} regions and {} loops diverged; {} obligations "
                           "({} facts, {} flow, {} selects, "
                           "{} masks, {} regions), {} proved, {:.3f} s{}\n",
                           printable(kernel.name), selects.dropped, selects.selects, diverged.regions,
                           diverged.loops, proof.total(), proof.facts, proof.flow, proof.selects, proof.masks,
                           proof.regions, proof.proved, proof.seconds, passed ? "" : ": NOT all proved");
  for (const auto& f : selects.proof.failures)
    std::cout << fmt::format("  pc {:#x}: {}{}\n", (*function)[f.value].pc, f.what,
                             f.refuted ? " (counterexample)" : " (not decided)");
  for (const auto& f : diverged.proof.failures)
    std::cout << fmt::format("  diverge: {}{}\n", f.what, f.refuted ? " (counterexample)" : " (not decided)");
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

/// A number that a kernel may make something of: most small, some of any size, floats about 1.
void vary(runtime::Argument& argument, runtime::ElementType type, std::mt19937_64& random) {
  static constexpr std::array<uint8_t, 6> numbers{1, 3, 7, 20, 33, 100};
  std::ranges::fill(argument.value, uint8_t{0});
  if (type == runtime::ElementType::f32) {
    const float x = static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 1000.0F;
    if (argument.value.size() >= sizeof x) std::memcpy(argument.value.data(), &x, sizeof x);
  } else if (random() % 5 == 0) {
    for (uint8_t& byte : argument.value) byte = static_cast<uint8_t>(random());
  } else {
    argument.value[0] = numbers[random() % numbers.size()];
  }
}

/// Launch i of a kernel for try_selects: other contents, sizes that cut waves, other numbers.
Expected<runtime::Launch> varied_launch(const CheckCommand& command, const LaunchOptions& options,
                                        const container::ShaderBinary& binary, unsigned i) {
  std::mt19937_64 random(command.seed + i);
  LaunchOptions one = options;
  auto loaded = load_launch(one, default_grid);
  if (!loaded) return std::unexpected(loaded.error());
  runtime::Launch launch = std::move(loaded->launch);
  const auto kernel = std::ranges::find(binary.kernels, launch.kernel->name, &container::Kernel::name);
  launch.binary = &binary;
  launch.kernel = &*kernel;
  if (auto ok = generate_arguments(launch, command.elements, command.seed + 1000 * i); !ok)
    return std::unexpected(ok.error());
  const auto wanted = runtime::explicit_arguments(*launch.kernel);
  for (size_t a = 0; a < launch.arguments.size() && a < wanted.size(); ++a) {
    const auto type = runtime::element_type_of_source(wanted[a]->type_name);
    const bool number = launch.arguments[a].kind == runtime::Argument::Kind::value && type;
    if (number && (!runtime::is_float(*type) || *type == runtime::ElementType::f32))
      vary(launch.arguments[a], *type, random);
  }
  if (!options.grid.empty()) return launch;
  // Waves that are cut, and groups in a second dimension, where the kernel allows it.
  if (i % 2 == 1) launch.grid[0] = 1 + static_cast<uint32_t>(random() % (2 * launch.block[0]));
  if (i % 4 >= 2) launch.grid[1] = launch.block[1] * (1 + static_cast<uint32_t>(random() % 4));
  return launch;
}

Expected<bool> try_one(const CheckCommand& command, const container::ShaderBinary& binary,
                       const container::Kernel& kernel) {
  constexpr unsigned most = 200; // selects of a kernel
  LaunchOptions options = command.launch;
  options.kernel = kernel.name;
  const auto make = [&](unsigned i) { return varied_launch(command, options, binary, i); };
  const auto t = try_selects(binary, kernel, make, command.try_selects, most);
  if (!t && t.error().kind == ErrorKind::unsupported) { // the others may run
    report(t.error());
    return true;
  }
  if (!t) return std::unexpected(t.error());
  auto left = nlohmann::ordered_json::array();
  for (const auto& l : t->left)
    left.push_back({{"pc", l.pc}, {"observer", ir::info(l.observer).name}, {"observer_pc", l.observer_pc}});
  std::cout << nlohmann::ordered_json{{"kernel", kernel.name},  {"launches", t->launches},
                                      {"selects", t->selects},  {"on_data", t->on_data},
                                      {"tried", t->tried},      {"droppable", t->droppable},
                                      {"dropped", t->dropped},  {"wrong", t->wrong},
                                      {"left", std::move(left)}}
                   .dump()
            << '\n';
  return t->wrong == 0;
}

} // namespace

void add_check(Command& root, int& status) {
  auto options = std::make_shared<CheckCommand>();
  Command command = root.add("check", "Hold emulator, IR interpreter and SPIR-V against each other");
  add_launch_options(command, options->launch);
  add_device_options(command, options->launch);
  command.flag("--no-vulkan", options->no_vulkan, "leave the SPIR-V run out");
  add_pass_options(command, options->passes);
  command.flag("--prove", options->prove,
               "run nothing; prove every select that was dropped, every branch that lanes take by "
               "themselves, and all they "
               "rest on, with Z3");
  command
      .number("--try-selects", options->try_selects,
              "take out one select at a time and run this many generated launches: which could go, which did")
      .range(1, 1000);
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
