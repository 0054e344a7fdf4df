// lanewise run: one dispatch of one kernel, on the emulator, the IR interpreter or Vulkan.
#include <cstring>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <spirv/unified1/spirv.hpp>

#include "cli/commands.hpp"
#include "cli/input.hpp"
#include "cli/launch_options.hpp"
#include "cli/outputs.hpp"
#include "cli/pass_options.hpp"
#include "runtime/capsule.hpp"
#include "runtime/compile.hpp"
#include "runtime/execute.hpp"
#include "runtime/linked_launch.hpp"
#include "runtime/vulkan_device.hpp"

namespace lanewise::cli {

namespace {

struct RunOptions {
  LaunchOptions launch;
  std::string on = "emulator";
  std::vector<std::string> prints, saves, pngs;
  std::string capsule, module;
  PassOptions passes;
  bool time = false, json = false;
  runtime::ExecuteOptions execute;
  double seconds = 60;
};

struct RunOutcome {
  runtime::RunReport run;
  std::optional<runtime::CompiledKernel> compiled;
  std::string executor;
};

/// Another module in the place of the recompiled one, with the same interface (docs/abi.md).
Expected<void> replace_module(runtime::CompiledKernel& compiled, const std::string& file) {
  const auto bytes = read_input(file);
  if (!bytes) return std::unexpected(bytes.error());
  std::vector<uint32_t> words(bytes->size() / 4);
  std::memcpy(words.data(), bytes->data(), 4 * words.size());
  if (bytes->size() % 4 != 0 || words.size() < 5 || words[0] != spv::MagicNumber)
    return fail(ErrorKind::input, "is no SPIR-V module", file);
  if (auto ok = runtime::validate_spirv(words); !ok) return std::unexpected(ok.error());
  compiled.module.words = std::move(words);
  return {};
}

Expected<RunOutcome> run_vulkan(runtime::Launch& launch, const RunOptions& options) {
  auto device = runtime::VulkanDevice::open({options.launch.device, options.launch.validation});
  if (!device) return std::unexpected(device.error());
  auto seating = parse_seating(options.launch.wave);
  if (!seating) return std::unexpected(seating.error());
  runtime::CompileOptions compile = runtime::compile_options(launch, **device);
  compile.seating = *seating;
  compile.calls = options.passes.calls.value();
  compile.without = options.passes.without;
  if (options.launch.subgroup) {
    compile.host.subgroup_size = options.launch.subgroup;
    compile.host.subgroup_operations &= options.launch.subgroup > 1;
  }
  runtime::ExecuteOptions execute = options.execute;
  std::optional<runtime::LinkedLaunch> linked;
  if (runtime::has_call_slots(*launch.binary, *launch.kernel)) {
    auto found = runtime::link_launch(launch);
    if (!found) return std::unexpected(found.error());
    linked = std::move(*found);
    linked->add_to(execute);
  }
  auto compiled = linked ? runtime::link(*linked->shader, linked->sets, compile)
                         : runtime::compile(*launch.binary, *launch.kernel, compile);
  if (!compiled) return std::unexpected(compiled.error());
  if (!options.module.empty())
    if (auto ok = replace_module(*compiled, options.module); !ok) return std::unexpected(ok.error());
  auto report = runtime::run_on_vulkan(launch, **device, *compiled, execute);
  if (!report) return std::unexpected(report.error());
  return RunOutcome{std::move(*report), std::move(*compiled), (*device)->info().name};
}

/// The dispatch as a file, at addresses of our choice.
Expected<void> write_capsule(const runtime::Launch& launch, const std::string& file) {
  auto memory = runtime::LaunchMemory::plan(launch);
  if (!memory) return std::unexpected(memory.error());
  std::vector<uint64_t> addresses;
  uint64_t next = 0x1'0000'0000;
  for (const auto& region : memory->regions()) {
    addresses.push_back(next);
    next += (region.contents.size() + 0x1ffff) & ~uint64_t{0xffff};
  }
  if (auto ok = memory->place(launch, addresses); !ok) return ok;
  const auto bytes = runtime::serialize(runtime::capsule_of(launch, *memory));
  return write_output(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Expected<RunOutcome> execute(runtime::Launch& launch, const RunOptions& options) {
  if (auto ok = runtime::check_launch(launch); !ok) return std::unexpected(ok.error());
  if (!options.capsule.empty())
    if (auto ok = write_capsule(launch, options.capsule); !ok) return std::unexpected(ok.error());
  if (options.on == "vulkan") return run_vulkan(launch, options);
  Expected<runtime::RunReport> report;
  if (options.on == "emulator")
    report = runtime::run_on_emulator(launch, options.execute);
  else if (options.on == "interpreter")
    report = runtime::run_on_interpreter(launch, options.execute);
  else
    return fail(ErrorKind::call, fmt::format("--on '{}' is not emulator, interpreter or vulkan", options.on));
  if (!report) return std::unexpected(report.error());
  return RunOutcome{std::move(*report), {}, options.on};
}

nlohmann::json json_elements(const runtime::Launch& launch, const Slice& slice) {
  nlohmann::json list = nlohmann::json::array();
  const runtime::Buffer& b = launch.buffers[slice.buffer];
  for (size_t i = slice.begin; i < slice.end; ++i) {
    const std::string text = runtime::element_text(b.type, b.contents, i);
    const auto number = nlohmann::json::parse(text, nullptr, false);
    list.push_back(number.is_discarded() ? nlohmann::json(text) : number); // nan and inf are strings
  }
  return list;
}

nlohmann::json describe(const runtime::Launch& launch, const RunOutcome& outcome) {
  nlohmann::json j{{"kernel", launch.kernel->name},
                   {"on", outcome.executor},
                   {"grid", launch.grid},
                   {"block", launch.block},
                   {"run_ms", outcome.run.run_ms}};
  if (outcome.run.instructions) j["executed_instructions"] = outcome.run.instructions;
  for (const auto& s : outcome.run.driver) {
    // Numbers as numbers.
    const auto value = nlohmann::json::parse(s.text, nullptr, false);
    j["driver"][s.executable][s.name] = value.is_discarded() ? nlohmann::json(s.text) : value;
  }
  if (outcome.compiled) {
    j["recompile_ms"] = outcome.compiled->times.total_us() / 1000;
    j["pipeline_ms"] = outcome.run.prepare_ms;
    j["guest_instructions"] = outcome.compiled->guest_instructions;
    j["lds_bytes"] = outcome.compiled->module.lds_bytes;
    j["spirv_words"] = outcome.compiled->module.words.size();
    j["host_lanes"] = outcome.compiled->seating.host_lanes;
    j["independent"] = outcome.compiled->seating.independent;
    j["wave_size"] = outcome.compiled->seating.wave_size;
  }
  return j;
}

std::string time_text(const RunOutcome& outcome) {
  std::string text = fmt::format("{}: run {:.3f} ms", outcome.executor, outcome.run.run_ms);
  if (outcome.run.instructions) text += fmt::format(", {} wave instructions", outcome.run.instructions);
  if (outcome.compiled)
    text += fmt::format(", recompile {:.3f} ms ({} instructions, {} words), pipeline {:.3f} ms",
                        outcome.compiled->times.total_us() / 1000, outcome.compiled->guest_instructions,
                        outcome.compiled->module.words.size(), outcome.run.prepare_ms);
  return text;
}

/// What --print, --save and --png ask for, found out before the kernel runs so that a typo costs no run.
struct Wanted {
  std::vector<Slice> prints;
  std::vector<BufferOption> saves, pngs;
};

Expected<Wanted> parse_wanted(const runtime::Launch& launch, const RunOptions& options) {
  Wanted wanted;
  for (const auto& text : options.prints) {
    auto slice = parse_slice(launch, text);
    if (!slice) return std::unexpected(slice.error());
    wanted.prints.push_back(*slice);
  }
  for (const auto& [texts, option, list] :
       {std::tuple{&options.saves, "--save", &wanted.saves}, {&options.pngs, "--png", &wanted.pngs}})
    for (const auto& text : *texts) {
      auto parsed = parse_buffer_option(launch, text, option);
      if (!parsed) return std::unexpected(parsed.error());
      list->push_back(std::move(*parsed));
    }
  return wanted;
}

Expected<void> run(RunOptions& options) {
  options.execute.timeout = std::chrono::milliseconds(static_cast<int64_t>(options.seconds * 1000));
  auto loaded = load_launch(options.launch);
  if (!loaded) return std::unexpected(loaded.error());
  runtime::Launch& launch = loaded->launch;
  auto wanted = parse_wanted(launch, options);
  if (!wanted) return std::unexpected(wanted.error());
  auto outcome = execute(launch, options);
  if (!outcome) return std::unexpected(outcome.error());

  for (const auto& save : wanted->saves)
    if (auto ok = save_buffer(launch.buffers[save.buffer], save.rest); !ok) return ok;
  for (const auto& png : wanted->pngs)
    if (auto ok = save_png(launch.buffers[png.buffer], png.rest); !ok) return ok;
  if (options.json) {
    nlohmann::json j = describe(launch, *outcome);
    for (size_t i = 0; i < wanted->prints.size(); ++i)
      j["print"][options.prints[i]] = json_elements(launch, wanted->prints[i]);
    std::cout << j.dump() << '\n';
    return {};
  }
  for (size_t i = 0; i < wanted->prints.size(); ++i)
    std::cout << slice_text(launch, wanted->prints[i], options.prints[i]) << '\n';
  if (options.time) std::cerr << time_text(*outcome) << '\n';
  for (const auto& s : outcome->run.driver)
    std::cerr << fmt::format("{}: {} {}\n", s.executable, s.name, s.text);
  return {};
}

} // namespace

void add_run(Command& root, int& status) {
  auto options = std::make_shared<RunOptions>();
  Command command = root.add("run", "Run a kernel and show what it computed");
  add_launch_options(command, options->launch);
  command.text("--on", options->on, "emulator, interpreter or vulkan").show_default();
  add_device_options(command, options->launch);
  command.list("--print", options->prints, "print NAME, NAME[I] or NAME[FROM:TO] afterwards");
  command.list("--save", options->saves, "write a buffer afterwards, NAME=FILE");
  command.list("--png", options->pngs, "write a buffer as a picture, NAME=FILE:WxH[:FORMAT]");
  add_pass_options(command, options->passes);
  command.number("--threads", options->execute.threads, "threads of the emulator; 0: all cores");
  command.number("--repeat", options->execute.repeat, "Vulkan: dispatches in a row, for timing")
      .range(1, 100000);
  command.number("--seconds", options->seconds, "Vulkan: give up after so long")
      .range(0.001, 86400)
      .show_default();
  command.text("--capsule", options->capsule,
               "write the dispatch to a file for lanewise replay, before it runs");
  command.text("--module", options->module,
               "Vulkan: run this SPIR-V in the place of the recompiled module, with the same interface");
  command.flag("--driver-statistics", options->execute.driver_statistics,
               "Vulkan: say on standard error what the driver made of it (registers, spills, ...)");
  command.flag("--time", options->time, "say on standard error how long it took");
  command.flag("--json", options->json, "print one JSON object instead");
  command.run(status, [options] {
    auto ok = run(*options);
    return ok ? exit_done : report(ok.error());
  });
}

} // namespace lanewise::cli
