// Time to translate machine code to IR per guest instruction, from 100 to 100,000 instructions: the growth
// should be near linear. Goal: under 0.4 us per instruction.
#include "translate/translate.hpp"
#include "guest_program.hpp"

#include <benchmark/benchmark.h>

namespace {

using namespace lanewise;

void translate_straight(benchmark::State& state) {
  const auto instructions = static_cast<size_t>(state.range(0));
  const auto binary = bench::guest_program(bench::kRegions, instructions);
  for (auto _ : state) {
    auto f = translate::translate(binary, binary.kernels[0], {});
    if (!f) return state.SkipWithError(f.error().to_string().c_str());
    benchmark::DoNotOptimize(f->value_count());
  }
  state.counters["us_per_instruction"] =
      benchmark::Counter(1e-6 * static_cast<double>(instructions),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(translate_straight)->RangeMultiplier(10)->Range(100, 100'000)->Unit(benchmark::kMicrosecond);

} // namespace
