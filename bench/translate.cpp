// Time to translate machine code to IR per guest instruction, from 100 to 100,000 instructions: the growth should be
// near linear. Goal: under 0.4 us per instruction.
#include "translate/translate.hpp"

#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <vector>

namespace {

using namespace lanewise;

/// Sixteen instructions as compilers write them: a divergent region with a load, and a store.
constexpr std::array<uint32_t, 22> piece{
    0x7c080702,             // v_cmp_gt_f32_e32 vcc_lo, v2, v3
    0xbe863c6a,             // s_and_saveexec_b32 s6, vcc_lo
    0xbf88000a,             // s_cbranch_execz 10
    0xdc348000, 0x04040001, // global_load_dwordx2 v[4:5], v1, s[4:5]
    0xbf8c3f70,             // s_waitcnt vmcnt(0)
    0xd54b0002, 0x040a0b04, // v_fma_f32 v2, v4, v5, v2
    0x10060702,             // v_mul_f32_e32 v3, v2, v3
    0x4a020288,             // v_add_nc_u32_e32 v1, 8, v1
    0x360202ff, 0x0000ffff, // v_and_b32_e32 v1, 0xffff, v1
    0x02040503,             // v_cndmask_b32_e32 v2, v3, v2, vcc_lo
    0x887e067e,             // s_or_b32 exec_lo, exec_lo, s6
    0x81078107,             // s_add_i32 s7, s7, 1
    0x8f088207,             // s_lshl_b32 s8, s7, 2
    0x3a0c0208,             // v_xor_b32_e32 v6, s8, v1
    0xd7460007, 0x04010506, // v_lshl_add_u32 v7, v6, 2, v0
    0xdc708000, 0x00040207, // global_store_dword v7, v2, s[4:5]
    0xbf800000,             // s_nop 0
};
constexpr size_t piece_instructions = 17;

container::ShaderBinary straight(size_t instructions) {
  std::vector<uint32_t> words{0xf4040100, 0xfa000000}; // s_load_dwordx2 s[4:5], s[0:1], 0x0
  for (size_t n = 0; n < instructions; n += piece_instructions) words.insert(words.end(), piece.begin(), piece.end());
  words.push_back(0xbf810000); // s_endpgm
  container::ShaderBinary binary;
  container::Segment segment{.address = 0x1000, .bytes = {}, .executable = true, .writable = false};
  segment.bytes.resize(4 * words.size());
  std::memcpy(segment.bytes.data(), words.data(), segment.bytes.size());
  binary.segments.push_back(std::move(segment));
  container::Kernel kernel{.name = "bench", .entry = 0x1000, .code_size = 4 * words.size()};
  kernel.descriptor.wave32 = true;
  kernel.descriptor.user.kernarg_segment_ptr = true;
  kernel.descriptor.user.count = 2;
  kernel.descriptor.vgpr_count = 8;
  binary.kernels.push_back(std::move(kernel));
  return binary;
}

void translate_straight(benchmark::State& state) {
  const auto instructions = static_cast<size_t>(state.range(0));
  const auto binary = straight(instructions);
  for (auto _ : state) {
    auto f = translate::translate(binary, binary.kernels[0], {});
    if (!f) return state.SkipWithError(f.error().to_string().c_str());
    benchmark::DoNotOptimize(f->value_count());
  }
  state.counters["us_per_instruction"] = benchmark::Counter(
      1e-6 * static_cast<double>(instructions), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(translate_straight)->RangeMultiplier(10)->Range(100, 100'000)->Unit(benchmark::kMicrosecond);

} // namespace
