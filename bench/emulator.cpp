// How fast the emulator runs: guest instructions and lane-instructions a second, by kind of instruction.
#include "rdna2/emulator.hpp"

#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

namespace {

using namespace lanewise;

// s_mov_b32 s0, 1000; loop: BODY...; s_sub_u32 s0, s0, 1; s_cmp_lg_u32 s0, 0; s_cbranch_scc1 loop; s_endpgm
container::ShaderBinary loop_of(const std::vector<uint32_t>& body) {
  std::vector<uint32_t> code{0xbe8003ff, 1000};
  code.insert(code.end(), body.begin(), body.end());
  code.insert(code.end(), {0x80808100, 0xbf078000});
  const auto back = static_cast<uint16_t>(-static_cast<int>(body.size() + 3));
  code.insert(code.end(), {0xbf850000u | back, 0xbf810000});
  container::ShaderBinary binary;
  container::Segment segment{.address = 0x1000, .executable = true};
  segment.bytes.resize(code.size() * 4);
  std::memcpy(segment.bytes.data(), code.data(), segment.bytes.size());
  binary.segments.push_back(std::move(segment));
  container::Kernel kernel{.name = "loop", .entry = 0x1000};
  kernel.descriptor.wave32 = true;
  kernel.descriptor.ieee = kernel.descriptor.dx10_clamp = true;
  binary.kernels.push_back(kernel);
  return binary;
}

void run_loop(benchmark::State& state, const std::vector<uint32_t>& body) {
  std::vector<uint32_t> many;
  for (unsigned i = 0; i < 16; ++i) many.insert(many.end(), body.begin(), body.end());
  const container::ShaderBinary binary = loop_of(many);
  rdna2::Memory memory;
  const rdna2::Dispatch dispatch{.grid = {32, 1, 1}, .block = {32, 1, 1}, .threads = 1};
  uint64_t instructions = 0, lanes = 0;
  for (auto _ : state) {
    auto done = rdna2::run(binary, binary.kernels[0], memory, dispatch);
    if (!done) {
      state.SkipWithError(done.error().to_string().c_str());
      break;
    }
    instructions += done->instructions, lanes += done->lane_instructions;
  }
  const auto rate = [](uint64_t n) {
    return benchmark::Counter(static_cast<double>(n), benchmark::Counter::kIsRate);
  };
  state.counters["instructions"] = rate(instructions);
  state.counters["lane-instructions"] = rate(lanes);
}

BENCHMARK_CAPTURE(run_loop, scalar_add, std::vector<uint32_t>{0x80018101});     // s_add_u32 s1, s1, 1
BENCHMARK_CAPTURE(run_loop, vector_add, std::vector<uint32_t>{0x4a020501});     // v_add_nc_u32 v1, v1, v2
BENCHMARK_CAPTURE(run_loop, vector_fma, std::vector<uint32_t>{0x56020702});     // v_fmac_f32 v1, v2, v3
BENCHMARK_CAPTURE(run_loop, vector_add_f16, std::vector<uint32_t>{0x64020501}); // v_add_f16 v1, v1, v2
BENCHMARK_CAPTURE(run_loop, vector_compare, std::vector<uint32_t>{0x7d820501}); // v_cmp_lt_u32 vcc_lo, v1, v2
BENCHMARK_CAPTURE(run_loop, reciprocal, std::vector<uint32_t>{0x7e025502});     // v_rcp_f32 v1, v2
BENCHMARK_CAPTURE(run_loop, dpp, std::vector<uint32_t>{0x4a0204fa, 0xff011101}); // v_add_nc_u32_dpp row_shr:1

} // namespace
