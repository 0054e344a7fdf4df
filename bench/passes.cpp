// How long the passes take, and that this grows near linearly: random programs of 100 to 100,000
// instructions.
#include "passes/passes.hpp"
#include "../tests/ir/random_ir.hpp"
#include "passes/pipeline.hpp"

#include <benchmark/benchmark.h>

namespace {

using namespace lanewise;

ir::Function program(int64_t instructions) {
  ir::Function f =
      ir::testing::random_function(42, {.instructions = static_cast<unsigned>(instructions), .max_depth = 8});
  passes::uniformity(f);
  return f;
}

void Pipeline(benchmark::State& state) {
  const ir::Function f = program(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    ir::Function copy = f;
    state.ResumeTiming();
    benchmark::DoNotOptimize(passes::run(copy));
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * f.value_count());
  state.SetComplexityN(f.value_count());
}
BENCHMARK(Pipeline)->RangeMultiplier(10)->Range(100, 100'000)->Unit(benchmark::kMicrosecond)->Complexity();

template <bool (*pass)(ir::Function&)>
void Pass(benchmark::State& state) {
  const ir::Function f = program(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    ir::Function copy = f;
    state.ResumeTiming();
    benchmark::DoNotOptimize(pass(copy));
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * f.value_count());
}
BENCHMARK(Pass<passes::simplify>)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(Pass<passes::mask_phis>)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(Pass<passes::dead_code>)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(Pass<passes::uniformity>)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

} // namespace
