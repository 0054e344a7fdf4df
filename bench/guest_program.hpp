// Machine code of any length, as compilers write it.
#pragma once

#include "container/shader_binary.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace lanewise::bench {

/// What is repeated: instructions and their words.
struct Piece {
  size_t instructions;
  std::span<const uint32_t> words;
};

/// A divergent region with a load, and a store.
inline constexpr std::array<uint32_t, 22> kRegionWords{
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
inline constexpr Piece kRegions{17, kRegionWords};

/// A loop until no lane is left, with a divergent region inside.
inline constexpr std::array<uint32_t, 26> kLoopWords{
    0xbe89037e,             // s_mov_b32 s9, exec_lo
    0x7e0c0280,             // v_mov_b32_e32 v6, 0
    0x7d880d01,             // loop: v_cmp_gt_u32_e32 vcc_lo, v1, v6
    0x877e6a7e,             // s_and_b32 exec_lo, exec_lo, vcc_lo
    0xbf88000c,             // s_cbranch_execz out
    0xd54b0002, 0x040a0b04, // v_fma_f32 v2, v4, v5, v2
    0x7c020702,             // v_cmp_lt_f32_e32 vcc_lo, v2, v3
    0xbe8a3c6a,             // s_and_saveexec_b32 s10, vcc_lo
    0xbf880004,             // s_cbranch_execz skip
    0x10080702,             // v_mul_f32_e32 v4, v2, v3
    0xdc308000, 0x05040007, // global_load_dword v5, v7, s[4:5]
    0xbf8c3f70,             // s_waitcnt vmcnt(0)
    0x887e0a7e,             // skip: s_or_b32 exec_lo, exec_lo, s10
    0x4a0c0c81,             // v_add_nc_u32_e32 v6, 1, v6
    0xbf82fff1,             // s_branch loop
    0xbefe0309,             // out: s_mov_b32 exec_lo, s9
    0x3a0e0306,             // v_xor_b32_e32 v7, v6, v1
    0xd7460007, 0x04010507, // v_lshl_add_u32 v7, v7, 2, v0
    0xdc708000, 0x00040207, // global_store_dword v7, v2, s[4:5]
    0x4a020d01,             // v_add_nc_u32_e32 v1, v1, v6
    0x360202ff, 0x000000ff, // v_and_b32_e32 v1, 0xff, v1
};
inline constexpr Piece kLoops{21, kLoopWords};

/// At least so many instructions of one kind of piece.
inline container::ShaderBinary guest_program(const Piece& piece, size_t instructions) {
  std::vector<uint32_t> words{
      0xf4040100, 0xfa000000, // s_load_dwordx2 s[4:5], s[0:1], 0x0
      0xdc348000, 0x02040000, // global_load_dwordx2 v[2:3], v0, s[4:5]
      0xbf8c3f70,             // s_waitcnt vmcnt(0)
      0x7e020300,             // v_mov_b32_e32 v1, v0
  };
  for (size_t n = 0; n < instructions; n += piece.instructions)
    words.insert(words.end(), piece.words.begin(), piece.words.end());
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

} // namespace lanewise::bench
