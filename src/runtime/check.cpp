#include "runtime/check.hpp"

#include "runtime/linked_launch.hpp"
#include "runtime/vulkan_device.hpp"

#include <algorithm>
#include <chrono>
#include <optional>

#include <fmt/format.h>

namespace lanewise::runtime {

namespace {

std::string hex_of(const Buffer& b, size_t index) {
  const size_t size = bytes(b.type);
  std::string text = "0x";
  for (size_t i = size; i-- > 0;) text += fmt::format("{:02x}", b.contents[index * size + i]);
  return text;
}

bool same_element(const Buffer& a, const Buffer& b, size_t index, bool exact_nan) {
  const size_t size = bytes(a.type);
  const auto begin = static_cast<std::ptrdiff_t>(index * size),
             end = begin + static_cast<std::ptrdiff_t>(size);
  if (std::equal(a.contents.begin() + begin, a.contents.begin() + end, b.contents.begin() + begin))
    return true;
  return !exact_nan && element_is_nan(a.type, a.contents, index) && element_is_nan(b.type, b.contents, index);
}

class Checker {
 public:
  Checker(const Launch& launch, const CheckOptions& options) : launch_(launch), options_(options) {}

  Expected<CheckReport> run() {
    if (auto ok = check_launch(launch_); !ok) return std::unexpected(ok.error());
    reference_ = launch_;
    auto emulated = timed("emulator", [&] { return run_on_emulator(reference_, options_.execute); });
    if (!emulated) return std::unexpected(emulated.error());
    report_.steps.push_back({"emulator", CheckStep::Outcome::reference, {}, ms_});
    // The others put the buffers at the same addresses where they can.
    execute_ = vulkan_ = options_.execute;
    execute_.addresses = emulated->addresses;

    std::optional<LinkedLaunch> linked;
    if (has_call_slots(*launch_.binary, *launch_.kernel)) {
      auto found = link_launch(launch_);
      if (!found) return std::unexpected(found.error());
      linked = std::move(*found);
      linked->add_to(execute_);
      linked->add_to(vulkan_);
    }
    const CompileOptions compile_options_for = compile_options_of();
    auto compiled = linked ? link(*linked->shader, linked->sets, compile_options_for)
                           : runtime::compile(*launch_.binary, *launch_.kernel, compile_options_for);
    if (!compiled) {
      report_.steps.push_back({"recompilation", CheckStep::Outcome::failed, compiled.error().to_string(), 0});
      return std::move(report_);
    }
    if (options_.device)
      compare("SPIR-V on " + options_.device->info().name,
              [&](Launch& l) { return run_on_vulkan(l, *options_.device, *compiled, vulkan_); });
    return std::move(report_);
  }

 private:
  CompileOptions compile_options_of() {
    CompileOptions c;
    if (options_.device)
      c = compile_options(launch_, *options_.device);
    else {
      c.block = launch_.block;
      c.dynamic_lds_bytes = lds_bytes(launch_) - launch_.kernel->descriptor.group_segment_fixed_size;
      c.host.subgroup_operations = true; // the interpreter has them
    }
    c.seating = options_.seating;
    if (options_.subgroup_size) {
      c.host.subgroup_size = options_.subgroup_size;
      c.host.subgroup_operations &= options_.subgroup_size > 1;
    }
    c.verify = true;
    c.without = options_.without;
    c.calls = options_.calls;
    c.validate = options_.validate;
    if (options_.interpreter)
      c.observe = [this](std::string_view point, const ir::Function& f,
                         unsigned host_lanes) -> Expected<void> {
        ExecuteOptions execute = execute_;
        execute.host_invocations = host_lanes;
        compare(fmt::format("interpreter {}", point),
                [&](Launch& l) { return run_on_interpreter(l, f, execute); });
        return {};
      };
    return c;
  }

  template <class F>
  Expected<RunReport> timed(std::string_view, F run) {
    const auto start = std::chrono::steady_clock::now();
    auto result = run();
    ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return result;
  }

  template <class F>
  void compare(std::string name, F run) {
    Launch copy = launch_;
    auto result = timed(name, [&] { return run(copy); });
    CheckStep step{std::move(name), CheckStep::Outcome::equal, {}, ms_};
    if (!result) {
      step.outcome = CheckStep::Outcome::failed;
      step.text = result.error().to_string();
    } else {
      for (size_t i = 0; i < copy.buffers.size() && step.text.empty(); ++i)
        step.text = first_difference(reference_.buffers[i], copy.buffers[i], options_.exact_nan);
      if (!step.text.empty()) step.outcome = CheckStep::Outcome::different;
    }
    report_.steps.push_back(std::move(step));
  }

  const Launch& launch_;
  const CheckOptions& options_;
  ExecuteOptions execute_, vulkan_;
  Launch reference_;
  CheckReport report_;
  double ms_ = 0;
};

} // namespace

bool CheckReport::passed() const {
  return std::ranges::none_of(steps, [](const CheckStep& s) {
    return s.outcome == CheckStep::Outcome::different || s.outcome == CheckStep::Outcome::failed;
  });
}

std::string first_difference(const Buffer& a, const Buffer& b, bool exact_nan) {
  if (a.contents.size() != b.contents.size())
    return fmt::format("{}: {} and {} bytes", a.name, a.contents.size(), b.contents.size());
  if (a.contents == b.contents) return {};
  size_t first = a.count(), different = 0;
  for (size_t i = 0; i < a.count(); ++i)
    if (!same_element(a, b, i, exact_nan)) {
      if (different++ == 0) first = i;
    }
  if (different == 0) return {};
  return fmt::format("{}[{}]: {} and {} ({} and {}), {} of {} elements differ", a.name, first,
                     element_text(a.type, a.contents, first), element_text(b.type, b.contents, first),
                     hex_of(a, first), hex_of(b, first), different, a.count());
}

Expected<CheckReport> check_references(const Launch& launch, const CheckOptions& options) {
  return Checker(launch, options).run();
}

} // namespace lanewise::runtime
