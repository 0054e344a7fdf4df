#include "runtime/check.hpp"

#include "runtime/linked_launch.hpp"
#include "runtime/vulkan_device.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lanewise::runtime {

namespace {

using By = CheckStep::By;
using Outcome = CheckStep::Outcome;

By stage_of(std::string_view point) {
  if (point == "after translation") return By::translation;
  return point.starts_with("after pass") ? By::passes : By::lowering;
}

/// Instructions whose accuracy is the driver's on Vulkan (docs/lane-contract.md).
bool has_any(const ir::Function& f, std::initializer_list<ir::Op> ops) {
  for (const auto& block : f.blocks)
    for (const ir::Value v : block.instructions)
      if (std::ranges::find(ops, f[v].op) != ops.end()) return true;
  return false;
}

bool is_approximate(const ir::Function& f) {
  return has_any(f, {ir::Op::fsqrt, ir::Op::frcp, ir::Op::frsq, ir::Op::fexp2, ir::Op::flog2, ir::Op::fsin,
                     ir::Op::fcos});
}

std::string left_out(const std::vector<std::string>& without) {
  return without.empty() ? "" : fmt::format(", without {}", fmt::join(without, ","));
}

/// IR instructions for one of the guest; a loop without end is found soon.
constexpr uint64_t slack = 256;

class Checker {
 public:
  Checker(const Launch& launch, const CheckOptions& options) : launch_(launch), options_(options) {}

  Expected<CheckReport> run() {
    if (auto ok = check_launch(launch_); !ok) return std::unexpected(ok.error());
    reference_ = launch_;
    auto emulated = timed([&] { return run_on_emulator(reference_, options_.execute); });
    if (!emulated) return std::unexpected(emulated.error());
    report_.steps.push_back({By::emulator, "emulator", Outcome::reference, {}, {}, ms_});
    report_.instructions = emulated->instructions;
    for (size_t i = 0; i < launch_.buffers.size(); ++i)
      report_.changed_memory |= launch_.buffers[i].contents != reference_.buffers[i].contents;
    // The others put the buffers at the same addresses where they can.
    execute_ = vulkan_ = options_.execute;
    execute_.addresses = emulated->addresses;
    execute_.max_instructions = slack * (emulated->instructions + 10000);

    if (has_call_slots(*launch_.binary, *launch_.kernel)) {
      auto found = link_launch(launch_);
      if (!found) return std::unexpected(found.error());
      linked_ = std::move(*found);
      linked_->add_to(execute_);
      linked_->add_to(vulkan_);
    }
    if (const auto compiled = compile(options_.without, true); compiled && options_.device)
      compare(By::spirv, "SPIR-V on " + options_.device->info().name,
              [&](Launch& l) { return run_on_vulkan(l, *options_.device, *compiled, vulkan_); });
    for (const auto& without : options_.variants) (void)compile(without, false);
    settle();
    return std::move(report_);
  }

 private:
  /// Compiles with these passes left out and runs the IR in the interpreter: of every stage, or of what the
  /// passes and wave lowering leave. An error becomes a step.
  Expected<CompiledKernel> compile(const std::vector<std::string>& without, bool every_stage) {
    const size_t before = report_.steps.size();
    std::optional<ir::Function> passed;
    CompileOptions c = compile_options_of();
    c.without = without;
    c.verify = every_stage;
    c.observe = [&](std::string_view point, const ir::Function& f, unsigned host_lanes) -> Expected<void> {
      const By by = stage_of(point);
      if (by == By::translation) note_accuracy(f);
      if (!options_.interpreter) return {};
      if (!every_stage && by == By::passes) passed = f;
      if (!every_stage && by != By::lowering) return {};
      if (passed) interpret(By::passes, "interpreter after the passes" + left_out(without), *passed, 0);
      passed.reset();
      interpret(by, fmt::format("interpreter {}{}", point, left_out(without)), f, host_lanes);
      return {};
    };
    auto compiled = linked_ ? link(*linked_->shader, linked_->sets, c)
                            : runtime::compile(*launch_.binary, *launch_.kernel, c);
    if (!compiled) {
      const By by = !options_.interpreter            ? By::spirv
                    : report_.steps.size() == before ? By::translation
                                                     : By::lowering;
      report_.steps.push_back({by, "recompilation" + left_out(without), Outcome::failed,
                               compiled.error().to_string(), compiled.error().kind, 0});
    }
    return compiled;
  }

  CompileOptions compile_options_of() {
    CompileOptions c;
    if (options_.device)
      c = compile_options(launch_, *options_.device);
    else {
      c.block = launch_.block;
      c.dynamic_lds_bytes = lds_bytes(launch_) - launch_.kernel->descriptor.group_segment_fixed_size;
      // The interpreter has them all, and its lanes meet again.
      c.host.subgroup_operations = true;
      c.host.device.shader_clock = c.host.device.reconverges = true;
      c.separate_buffers = buffer_facts(launch_).separate;
      c.aligned_buffers = buffer_facts(launch_).aligned;
    }
    c.seating = options_.seating;
    if (options_.subgroup_size) {
      c.host.subgroup_size = options_.subgroup_size;
      c.host.subgroup_operations &= options_.subgroup_size > 1;
    }
    c.calls = options_.calls;
    c.validate = options_.validate;
    return c;
  }

  void interpret(By by, const std::string& name, const ir::Function& f, unsigned host_lanes) {
    ExecuteOptions execute = execute_;
    execute.host_invocations = host_lanes;
    compare(by, name, [&](Launch& l) { return run_on_interpreter(l, f, execute); });
    if (host_lanes == 0 || !ir::lanes_may_part(f)) return;
    execute.lane_order = ir::LaneOrder::ascending;
    compare(by, name + ", lanes apart", [&](Launch& l) { return run_on_interpreter(l, f, execute); });
  }

  template <class F>
  Expected<RunReport> timed(F run) {
    const auto start = std::chrono::steady_clock::now();
    auto result = run();
    ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

  void note_accuracy(const ir::Function& f) {
    approximate_ |= is_approximate(f);
    if (has_any(f, {ir::Op::flog2})) slack_near_0_ = kApproximateNear0;
  }

  template <class F>
  void compare(By by, std::string name, F run) {
    Launch copy = launch_;
    auto result = timed([&] { return run(copy); });
    CheckStep step{by, std::move(name), Outcome::equal, {}, {}, ms_};
    if (!result) {
      step.outcome = Outcome::failed;
      step.text = result.error().to_string();
      step.kind = result.error().kind;
    } else {
      for (size_t i = 0; i < copy.buffers.size() && step.text.empty(); ++i)
        step.text = first_difference(reference_.buffers[i], copy.buffers[i], options_.exact_nan);
      if (!step.text.empty()) {
        step.outcome = Outcome::different;
        step.distance = distance(reference_.buffers, copy.buffers);
        const Distance beyond = distance(reference_.buffers, copy.buffers, slack_near_0_);
        different_.push_back({report_.steps.size(),
                              Differences(reference_.buffers, copy.buffers, options_.exact_nan),
                              beyond.others == 0 && beyond.ulps <= kApproximateUlps});
      }
    }
    report_.steps.push_back(std::move(step));
  }

  /// What a difference means: nothing where the program leaves the element to choices that are not its own.
  void settle() {
    if (different_.empty()) return;
    Differences open(reference_.buffers, reference_.buffers, true);
    for (const unsigned turns : {1u << 16, 61u, 7u}) {
      Launch other = launch_;
      ExecuteOptions execute = options_.execute;
      execute.addresses.clear();
      execute.other_turns = turns;
      execute.max_instructions =
          slack * (report_.instructions + 10000); // one that waits for another group ends too
      execute.threads = 1;
      if (run_on_emulator(other, execute))
        open.add(Differences(reference_.buffers, other.buffers, options_.exact_nan));
    }
    for (const auto& [index, elements, close] : different_) {
      CheckStep& step = report_.steps[index];
      if (elements.any() && elements.within(open))
        step.outcome = Outcome::undetermined;
      else if (step.by == By::spirv && approximate_ && elements.any() && close)
        step.outcome = Outcome::approximate;
    }
  }

  const Launch& launch_;
  const CheckOptions& options_;
  ExecuteOptions execute_, vulkan_;
  std::optional<LinkedLaunch> linked_;
  Launch reference_;
  bool approximate_ = false; ///< the program has approximate instructions
  double slack_near_0_ = 0;  ///< kApproximateNear0 if their results may be that far off
  struct Different {
    size_t step;
    Differences elements;
    bool close; ///< as approximate results may be
  };
  std::vector<Different> different_;
  CheckReport report_;
  double ms_ = 0;
};

} // namespace

bool CheckReport::passed() const {
  return std::ranges::none_of(steps, [](const CheckStep& s) {
    return s.outcome == Outcome::different || s.outcome == Outcome::failed;
  });
}

Expected<CheckReport> check_references(const Launch& launch, const CheckOptions& options) {
  return Checker(launch, options).run();
}

} // namespace lanewise::runtime
