// Wave lowering and SPIR-V emission: time for each IR instruction from 100 to 100,000, and words for each.
#include <benchmark/benchmark.h>

#include "cfg/structurize.hpp"
#include "ir/builder.hpp"
#include "spirv/emit.hpp"
#include "spirv/wave_lowering.hpp"

namespace {

using namespace lanewise;
using ir::Builder;
using ir::Type;
using ir::Value;

/// Like compiled code: mostly arithmetic, a load now and then, an if with a store every forty instructions.
ir::Function program(unsigned instructions) {
  ir::Function f(32);
  Builder b(f, f.add_block());
  b.folding = false;
  const Value base = b.input(ir::Input::kernarg_ptr), lane = b.lane_id();
  Value x = b.emit(ir::Op::add, {lane, b.input(ir::Input::workgroup_id_x)});
  Value y = b.bitcast(x, Type::f32);
  uint32_t random = 1;
  for (unsigned i = 0; i < instructions; ++i) {
    random = random * 1664525u + 1013904223u;
    const Value k = b.i32(random >> 8);
    switch (random >> 28) {
    case 0: {
      const Value at = b.add(base, b.zext(b.and_(x, b.i32(0xfffc)), Type::i64));
      x = b.load(Type::i32, at, b.u1(true), {});
      break;
    }
    case 1: y = b.fadd(y, b.bitcast(x, Type::f32), {}); break;
    case 2: y = b.fmul(y, y, {}); break;
    case 3: x = b.xor_(x, b.bitcast(y, Type::i32)); break;
    case 4: x = b.shl(x, b.i32(random & 31)); break;
    case 5: x = b.select(b.ult(x, k), k, x); break;
    case 6: x = b.umax(x, k); break;
    default: x = b.add(x, k);
    }
    if (i % 40 == 39) {
      const auto then = f.add_block(), merge = f.add_block();
      b.cond_br(b.any(b.ult(x, k)), then, merge);
      b.block = then;
      b.store(b.add(base, b.zext(b.and_(x, b.i32(0xfffc)), Type::i64)), b.ult(x, k), x, {});
      b.br(merge);
      b.block = merge;
    }
  }
  b.store(base, b.u1(true), x, {});
  b.ret();
  return f;
}

void emit_program(benchmark::State& state, unsigned host_lanes) {
  const ir::Function f = program(static_cast<unsigned>(state.range(0)));
  const spirv::Seating seating{32, host_lanes, {256, 1, 1}};
  spirv::EmitOptions options;
  options.seating = seating;
  options.device.fused_fma = {true, true, true};
  size_t words = 0;
  for (auto _ : state) {
    const auto lowered = spirv::lower_waves(f, {.seating = seating});
    const auto module = spirv::emit(*lowered, options);
    words = module->words.size();
  }
  const auto n = static_cast<double>(state.range(0));
  state.counters["words/instr"] = static_cast<double>(words) / n;
  state.counters["ns/instr"] = benchmark::Counter(n * 1e-9, benchmark::Counter::kIsIterationInvariantRate |
                                                                benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(emit_program, native, 32)
    ->RangeMultiplier(10)
    ->Range(100, 100000)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(emit_program, folded8, 8)
    ->RangeMultiplier(10)
    ->Range(100, 10000)
    ->Unit(benchmark::kMicrosecond);

void structurize_chain(benchmark::State& state) {
  std::vector<cfg::Edge> edges;
  const auto count = static_cast<uint32_t>(state.range(0));
  for (uint32_t n = 0; n + 3 < count; n += 3) { // a loop around an if, then the next
    edges.insert(edges.end(), {{n, n + 1}, {n, n + 2}, {n + 1, n + 2}, {n + 2, n + 3}});
    if (n != 0) edges.emplace_back(n + 2, n);
  }
  const cfg::Graph g(count, edges);
  for (auto _ : state) benchmark::DoNotOptimize(cfg::structurize(g));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(structurize_chain)->RangeMultiplier(10)->Range(100, 100000)->Complexity(benchmark::oN);

} // namespace
