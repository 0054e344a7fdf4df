// How long whole recompilations take, stage by stage: bench_recompile FILE... compiles every kernel of code
// objects several times and counts the least of each stage, as a process that has compiled before would see
// it.
#include "cli/heap.hpp"
#include "container/load.hpp"
#include "passes/diverge.hpp"
#include "runtime/compile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <ranges>
#include <string>
#include <vector>

namespace {

using namespace lanewise;

/// Least microseconds of each stage, and what the kernel is.
struct Measured {
  std::string name;
  size_t instructions = 0, values = 0, words = 0;
  std::array<double, 4> stages{};
  std::map<std::string, double, std::less<>> passes;

  void operator+=(const Measured& other) {
    for (size_t i = 0; i < stages.size(); ++i) stages[i] += other.stages[i];
    for (const auto& [pass, us] : other.passes) passes[pass] += us;
  }
  [[nodiscard]] double total() const { return stages[0] + stages[1] + stages[2] + stages[3]; }
  [[nodiscard]] double pass(std::string_view pass) const {
    const auto it = passes.find(pass);
    return it == passes.end() ? 0 : it->second;
  }
};

constexpr std::array stage_names{"translate", "passes", "lower", "emit"};

runtime::CompileOptions options() {
  runtime::CompileOptions o;
  o.host.subgroup_size = 32;
  o.host.subgroup_operations = true;
  o.host.device.unaligned_global = true;
  o.host.device.reconverges = true; // diverge has the most to do
  o.partial_workgroups = {};
  return o;
}

bool measure(const container::ShaderBinary& binary, const container::Kernel& kernel, unsigned runs,
             Measured& m) {
  for (unsigned run = 0; run < runs; ++run) {
    const auto compiled = runtime::compile(binary, kernel, options());
    if (!compiled) return false;
    const auto& t = compiled->times;
    const std::array stages{t.translate_us, t.passes_us, t.lower_us, t.emit_us};
    std::map<std::string, double, std::less<>> passes;
    const auto add = [&](const passes::PipelineReport& report) {
      for (const auto& p : report.passes) passes[std::string(p.pass)] += p.microseconds;
    };
    add(compiled->passes);
    for (const auto& callee : compiled->callee_passes) add(callee);
    passes["diverge"] = t.diverge_us;
    if (run == 0) {
      m.instructions = compiled->reached_instructions;
      m.values = compiled->translated_values;
      m.words = compiled->module.words.size();
      m.stages = stages;
      m.passes = passes;
      continue;
    }
    for (size_t s = 0; s < stages.size(); ++s) m.stages[s] = std::min(m.stages[s], stages[s]);
    for (auto& [name, us] : m.passes) us = std::min(us, passes[name]);
  }
  return true;
}

template <class F>
double median(const std::vector<Measured>& kernels, F figure) {
  std::vector<double> list;
  for (const Measured& m : kernels) list.push_back(figure(m));
  if (list.empty()) return 0;
  std::ranges::nth_element(list, list.begin() + static_cast<ptrdiff_t>(list.size() / 2));
  return list[list.size() / 2];
}

void print(std::string_view title, const std::vector<Measured>& kernels) {
  double instructions = 0, values = 0, words = 0, total = 0;
  std::array<double, 4> stages{};
  std::map<std::string, double> passes;
  for (const Measured& m : kernels) {
    instructions += static_cast<double>(m.instructions);
    values += static_cast<double>(m.values);
    words += static_cast<double>(m.words);
    total += m.total();
    for (size_t s = 0; s < stages.size(); ++s) stages[s] += m.stages[s];
    for (const auto& [name, us] : m.passes) passes[name] += us;
  }
  const auto each = [](const Measured& m, double us) { return us / static_cast<double>(m.instructions); };
  fmt::print("{}: {} kernels, {} instructions, {} values, {:.2f} words each, median kernel {:.2f}\n", title,
             kernels.size(), instructions, values, words / instructions,
             median(kernels, [&](const Measured& m) { return each(m, static_cast<double>(m.words)); }));
  fmt::print("  us an instruction {:.3f}, a value {:.3f}, median kernel {:.3f}; us a kernel, median {:.1f}\n",
             total / instructions, total / values,
             median(kernels, [&](const Measured& m) { return each(m, m.total()); }),
             median(kernels, [](const Measured& m) { return m.total(); }));
  fmt::print("  {:16} {:>10} {:>10} {:>14}\n", "", "ms", "us a value", "median us");
  for (size_t s = 0; s < stages.size(); ++s)
    fmt::print("  {:16} {:10.2f} {:10.3f} {:14.1f}\n", stage_names[s], stages[s] / 1000, stages[s] / values,
               median(kernels, [&](const Measured& m) { return m.stages[s]; }));
  for (const auto& [name, us] : passes)
    fmt::print("    {:14} {:10.2f} {:10.3f} {:14.1f}\n", name, us / 1000, us / values,
               median(kernels, [&](const Measured& m) { return m.pass(name); }));
}

/// Lane demand against translation (docs/lane-demand.md, "Cost").
void print_lane_demand(std::string_view what, std::vector<Measured> list) {
  const auto lanes = [](const Measured& m) {
    return m.pass("exec_select") + m.pass("lane_spills") + m.pass("diverge");
  };
  const auto share = [&](const Measured& m) { return lanes(m) / m.stages[0]; };
  std::ranges::sort(list, std::ranges::greater{}, share);
  const auto slower = std::ranges::count_if(list, [&](const Measured& m) { return share(m) > 1; });
  for (const Measured& m : list | std::views::take(std::clamp<ptrdiff_t>(slower, 4, 20)))
    fmt::print("  exec_select, lane_spills and diverge {:.0f} us, translation {:.0f} us, {:.2f} times: {}\n",
               lanes(m), m.stages[0], share(m), m.name);
  fmt::print("exec_select, lane_spills and diverge took longer than translation in {} of {} {}\n", slower,
             list.size(), what);
}

} // namespace

/// LANEWISE_BENCH_RUNS: how often each kernel is compiled, by default 3.
int main(int argc, char** argv) {
  cli::prepare_heap();
  const char* text = std::getenv("LANEWISE_BENCH_RUNS");
  const unsigned runs = std::max(1, text ? std::atoi(text) : 3);
  std::vector<Measured> all, programs; ///< kernels, and the sums of each code object
  for (int k = 1; k < argc; ++k) {
    const auto binary = container::load_file(argv[k], {.target = {}, .folder = {}});
    if (!binary) continue;
    Measured program{.name = argv[k]};
    for (const auto& kernel : binary->kernels) {
      Measured m{.name = fmt::format("{} {}", argv[k], kernel.name)};
      if (!measure(*binary, kernel, runs, m)) continue;
      program += m;
      all.push_back(std::move(m));
    }
    if (program.total() > 0) programs.push_back(std::move(program));
  }
  print("all", all);
  std::vector<Measured> small;
  std::ranges::copy_if(all, std::back_inserter(small),
                       [](const Measured& m) { return m.instructions < 100; });
  print("below 100 instructions", small);
  print_lane_demand("kernels", std::move(all));
  print_lane_demand("programs", std::move(programs));
  return 0;
}
