// How the time of each stage grows from 100 to 100,000 guest instructions, for code full of divergent regions
// and code full of loops over lanes. scripts/plot-growth draws it.
#include "guest_program.hpp"

#include "analysis/pressure.hpp"
#include "cli/heap.hpp"
#include "passes/diverge.hpp"
#include "passes/exec_select.hpp"
#include "passes/passes.hpp"
#include "passes/pipeline.hpp"
#include "spirv/emit.hpp"
#include "spirv/wave_lowering.hpp"
#include "translate/translate.hpp"

#include <benchmark/benchmark.h>

#include <optional>

namespace {

using namespace lanewise;

const spirv::Seating kNative{32, 32, {64, 1, 1}};

/// A program at the stage that is measured, made once for several repetitions.
struct Programs {
  std::optional<ir::Function> selects; ///< as exec_select gets it
  std::optional<ir::Function> lowered; ///< as diverge gets it
  std::optional<ir::Function> last;    ///< as the emitter gets it
};

std::optional<ir::Function> translated(const container::ShaderBinary& binary) {
  auto f = translate::translate(binary, binary.kernels[0], {});
  return f ? std::optional(std::move(*f)) : std::nullopt;
}

Programs programs(const container::ShaderBinary& binary) {
  Programs p;
  p.selects = translated(binary);
  passes::PipelineOptions upto;
  upto.before = "exec_select";
  if (!p.selects || !passes::run(*p.selects, upto)) return {};
  auto optimised = translated(binary);
  if (!optimised || !passes::run(*optimised)) return {};
  auto lowered = spirv::lower_waves(*optimised, {.seating = kNative, .partial = {}});
  if (!lowered) return {};
  passes::simplify(*lowered);
  passes::dead_code(*lowered);
  p.lowered = *lowered;
  passes::diverge(*lowered, {.reconverges = true});
  passes::simplify(*lowered);
  passes::cfg_cleanup(*lowered);
  passes::dead_code(*lowered);
  p.last = std::move(*lowered);
  return p;
}

/// `run` on a fresh copy of the program each time; only it is timed.
template <class Run>
void measure(benchmark::State& state, const bench::Piece& piece,
             std::optional<ir::Function> Programs::* which, Run run) {
  const auto count = static_cast<size_t>(state.range(0));
  const Programs made = programs(bench::guest_program(piece, count));
  if (!(made.*which)) return state.SkipWithError("the program cannot be made");
  for (auto _ : state) {
    state.PauseTiming();
    ir::Function copy = *(made.*which);
    state.ResumeTiming();
    run(copy);
  }
}

void translation(benchmark::State& state, const bench::Piece& piece) {
  const auto binary = bench::guest_program(piece, static_cast<size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(translate::translate(binary, binary.kernels[0], {}));
}

void lane_demand(benchmark::State& state, const bench::Piece& piece) {
  measure(state, piece, &Programs::selects,
          [](ir::Function& f) { benchmark::DoNotOptimize(passes::exec_select(f).dropped); });
}

void diverge(benchmark::State& state, const bench::Piece& piece) {
  measure(state, piece, &Programs::lowered, [](ir::Function& f) {
    benchmark::DoNotOptimize(passes::diverge(f, {.reconverges = true}).regions);
  });
}

void emission(benchmark::State& state, const bench::Piece& piece) {
  spirv::EmitOptions options;
  options.seating = kNative;
  options.device.fused_fma = {true, true, true};
  measure(state, piece, &Programs::last,
          [&](ir::Function& f) { benchmark::DoNotOptimize(spirv::emit(f, options)->words.size()); });
}

void live_values(benchmark::State& state, const bench::Piece& piece) {
  measure(state, piece, &Programs::last,
          [](ir::Function& f) { benchmark::DoNotOptimize(analysis::pressure_curve(f).points.size()); });
}

void sizes(benchmark::internal::Benchmark* b) {
  for (const int n : {100, 300, 1000, 3000, 10'000, 30'000, 100'000}) b->Arg(n);
  b->Unit(benchmark::kMicrosecond)->MinWarmUpTime(0.1);
}

BENCHMARK_CAPTURE(translation, regions, bench::kRegions)->Apply(sizes);
BENCHMARK_CAPTURE(lane_demand, regions, bench::kRegions)->Apply(sizes);
BENCHMARK_CAPTURE(diverge, regions, bench::kRegions)->Apply(sizes);
BENCHMARK_CAPTURE(emission, regions, bench::kRegions)->Apply(sizes);
BENCHMARK_CAPTURE(live_values, regions, bench::kRegions)->Apply(sizes);
BENCHMARK_CAPTURE(translation, loops, bench::kLoops)->Apply(sizes);
BENCHMARK_CAPTURE(lane_demand, loops, bench::kLoops)->Apply(sizes);
BENCHMARK_CAPTURE(diverge, loops, bench::kLoops)->Apply(sizes);
BENCHMARK_CAPTURE(emission, loops, bench::kLoops)->Apply(sizes);
BENCHMARK_CAPTURE(live_values, loops, bench::kLoops)->Apply(sizes);

} // namespace

/// With the heap of the command: one that gives memory back after each program spends its time on page
/// faults.
int main(int argc, char** argv) {
  lanewise::cli::prepare_heap();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
