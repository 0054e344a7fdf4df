// A kernel of a few words for tests: wave32, kernel arguments at s[0:1], the workgroup's id in s2, v0 its
// work-item.
#pragma once

#include "container/load.hpp"

#include <gtest/gtest.h>

#include <string>

namespace lanewise::runtime {

/// `words` and `arguments` are the lists of a raw container (docs/containers.md).
inline std::string raw_kernel_text(const std::string& words, const std::string& arguments,
                                   unsigned lds_bytes = 128) {
  return R"({"format": "lanewise-raw-1", "words": [)" + words +
         R"(], "kernels": [{"name": "k", "wave": 32, "vgprs": 8, "lds": )" + std::to_string(lds_bytes) +
         R"(, "user_sgprs": ["kernarg_segment_ptr"],
             "workgroup_ids": "x", "args": [)" +
         arguments + "]}]}";
}

inline const std::string one_buffer =
    R"({"name": "out", "kind": "global_buffer", "type": "uint*", "offset": 0, "size": 8})";

/// s_load_dwordx2 s[4:5], s[0:1], 0; s_memtime s[6:7]; v_lshlrev_b32 v0, 2, v0; s_waitcnt; v_mov_b32 v1, s6;
/// global_store_dword v0, v1, s[4:5]; s_endpgm
inline const std::string stores_clock =
    R"("0xf4040100", "0xfa000000", "0xf4900180", "0x00000000", "0x34000082",
    "0xbf8cc07f", "0x7e020206", "0xdc708000", "0x00040100", "0xbf810000")";

/// The same without the clock: each workgroup stores its id (s2) to the first element.
inline const std::string stores_group =
    R"("0xf4040100", "0xfa000000", "0x7e000280", "0x7e020202", "0xbf8cc07f",
    "0xdc708000", "0x00040100", "0xbf810000")";

/// v_exp_f32 of every element in its place.
inline const std::string stores_exp = R"("0xf4040100", "0xfa000000", "0x34000082", "0xbf8cc07f", "0xdc308000",
    "0x01040000", "0xbf8c3f70", "0x7e024b01", "0xdc708000", "0x00040100", "0xbf810000")";

/// s_load_dwordx4 s[4:7], s[0:1], 8 with 20 bytes of arguments; stores the last, s6... to the buffer at 8.
inline const std::string loads_past_arguments = R"("0xf4080100", "0xfa000008", "0x34000082", "0xbf8cc07f",
    "0x7e020206", "0xdc708000", "0x00040100", "0xbf810000")";

/// Stores 1 to out[0] where out[2] is out[3] with all bits turned: s_load_dwordx2 s[4:5], s[0:1], 0;
/// s_waitcnt; s_load_dwordx2 s[6:7], s[4:5], 8; s_waitcnt; s_not_b32 s7, s7; v_mov_b32 v2, s7; v_cmpx_eq_u32
/// s6, v2; v_mov_b32 v0, 0; v_mov_b32 v1, 1; global_store_dword v0, v1, s[4:5]; s_endpgm
inline const std::string stores_if_guessed =
    R"("0xf4040100", "0xfa000000", "0xbf8cc07f", "0xf4040182", "0xfa000008", "0xbf8cc07f", "0xbe870707", "0x7e040207",
    "0x7da40406", "0x7e000280", "0x7e020281", "0xdc708000", "0x00040100", "0xbf810000")";

/// Stores what LDS and v5 hold at the start: s_load_dwordx2 s[4:5], s[0:1], 0; v_lshlrev_b32 v0, 2, v0;
/// ds_read_b32 v6, v0; s_waitcnt; global_store_dword v0, v6, s[4:5]; the same of v5 at offset 128; s_endpgm
inline const std::string stores_uninitialised =
    R"("0xf4040100", "0xfa000000", "0x34000082", "0xd8d80000", "0x06000000", "0xbf8cc07f", "0xdc708000", "0x00040600",
    "0xdc708080", "0x00040500", "0xbf810000")";

/// Stores 1.0 more than what LDS holds at the start as a float.
inline const std::string adds_to_uninitialised =
    R"("0xf4040100", "0xfa000000", "0x34000082", "0xd8d80000", "0x06000000", "0xbf8cc07f", "0x060c0cf2", "0xdc708000",
    "0x00040600", "0xbf810000")";

/// Every lane leaves its number in out[0]: global_store_dword, ds_write_b32 (then read and stored),
/// global_atomic_swap, buffer_store_dword of v0 at 0.
inline const std::string lanes_store_to_one[]{
    R"("0xf4040100", "0xfa000000", "0x7e020280", "0xbf8cc07f", "0xdc708000", "0x00040001", "0xbf810000")",
    R"("0xf4040100", "0xfa000000", "0x7e020280", "0xd8340000", "0x00000001", "0xbf8cc07f", "0xd8d80000", "0x02000001",
    "0xbf8cc07f", "0xdc708000", "0x00040201", "0xbf810000")",
    R"("0xf4040100", "0xfa000000", "0x7e020280", "0xbf8cc07f", "0xdcc08000", "0x00040001", "0xbf810000")",
    R"("0xf4040100", "0xfa000000", "0x7e020280", "0xb0060100", "0xbe8703ff", "0x10014fac", "0xbf8cc07f", "0xe0701000",
    "0x80010001", "0xbf810000")"};

/// out[64 * group + i] = 100 + (i ^ 1), by way of LDS (256 bytes) and a barrier that a wave without lanes
/// does not come to: s_load_dwordx2 s[4:5], s[0:1], 0; v_cmp_ne_u32 vcc_lo, -1, v0; s_and_saveexec_b32 s6,
/// vcc_lo; s_cbranch_execz end; v_lshlrev_b32 v1, 2, v0; v_add_nc_u32 v2, 100, v0; ds_write_b32 v1, v2;
/// s_waitcnt; s_barrier; v_xor_b32 v3, 4, v1; ds_read_b32 v4, v3; v_lshl_add_u32 v5, s2, 8, v1; s_waitcnt;
/// global_store_dword v5, v4, s[4:5]; end: s_endpgm
inline const std::string swaps_neighbours =
    R"("0xf4040100", "0xfa000000", "0x7d8a00c1", "0xbe863c6a", "0xbf88000f", "0x34020082", "0x4a0400ff", "0x00000064",
    "0xd8340000", "0x00000201", "0xbf8cc07f", "0xbf8a0000", "0x3a060284", "0xd8d80000", "0x04000003", "0xd7460005",
    "0x04051002", "0xbf8cc07f", "0xdc708000", "0x00040405", "0xbf810000")";

inline container::ShaderBinary raw_kernel(const std::string& words, const std::string& arguments = one_buffer,
                                          unsigned lds_bytes = 128) {
  const std::string text = raw_kernel_text(words, arguments, lds_bytes);
  auto binary = container::load(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
  EXPECT_TRUE(binary) << binary.error().to_string();
  return binary ? std::move(*binary) : container::ShaderBinary{};
}

} // namespace lanewise::runtime
