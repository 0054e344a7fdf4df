// Calls through pointers in memory: tables, descriptors, arithmetic.
#include "pointer_programs.hpp"

namespace lanewise::calls {

std::vector<PointerProgram> loaded_pointers() {
  return {
      {.name = "loaded from a proven pointer",
       .source = R"(
  begin
  s_load_dwordx2 s[20:21], s[6:7], 0x8
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .table = {uint64_t{0}, "g"},
       .plus = all<5>},
      {.name = "loaded through two pointers",
       .source = R"(
  begin
  s_load_dwordx4 s[12:15], s[6:7], 0x0
  s_waitcnt lgkmcnt(0)
  s_load_dwordx2 s[20:21], s[14:15], 0x10
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .table = {uint64_t{0}, "table", "g", "f"},
       .plus = all<5>},
      {.name = "table, index by s_and_b32",
       .source = R"(
  begin
  s_add_u32 s12, s8, 7
  s_and_b32 s12, s12, 3
  s_lshl_b32 s12, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s12
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .table = {"f", "f", "f", "g"},
       .plus = all<5>},
      {.name = "table, index below a bound: compare and branch",
       .source = R"(
  begin
  s_add_u32 s12, s8, 3
  s_cmp_lt_u32 s12, 4
  s_cbranch_scc0 over%
  s_lshl_b32 s13, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s13
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
over%:
  plus 1
  finish)" + f_and_g,
       .table = {"f", "f", "f", "g"},
       .plus = all<5>},
      {.name = "table, the index is beyond the bound",
       .source = R"(
  begin
  s_sub_u32 s12, s8, 1
  s_cmp_gt_u32 s12, 3
  s_cbranch_scc1 over%
  s_lshl_b32 s13, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s13
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
over%:
  plus 1
  finish)" + f_and_g,
       .table = {"f", "f", "f", "g"},
       .plus = all<1>},
      {.name = "table, number first, address by 64-bit shift and addition",
       .source = R"(
  begin
  s_add_u32 s12, s8, 1
  s_cmp_ge_u32 2, s12
  s_cbranch_scc0 over%
  s_mov_b32 s13, 0
  s_lshl_b64 s[12:13], s[12:13], 3
  s_add_u32 s12, s6, s12
  s_addc_u32 s13, s7, s13
  s_load_dwordx2 s[20:21], s[12:13], 0x8
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
over%:
  plus 1
  finish)" + f_and_g,
       .table = {uint64_t{0}, "f", "g", "f"},
       .plus = all<5>},
      {.name = "table, sign of a bounded index, s_cmpk",
       .source = R"(
  begin
  s_add_u32 s12, s8, 2
  s_cmpk_le_u32 s12, 0x3
  s_cbranch_scc1 call%
  s_branch over%
call%:
  s_ashr_i32 s13, s12, 31
  s_lshl_b64 s[12:13], s[12:13], 3
  s_add_u32 s12, s6, s12
  s_addc_u32 s13, s7, s13
  s_load_dwordx2 s[20:21], s[12:13], 0x0
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
over%:
  plus 1
  finish)" + f_and_g,
       .table = {"f", "f", "g", "f"},
       .plus = all<5>},
      {.name = "table, index equal to a number on this way",
       .source = R"(
  begin
  s_add_u32 s12, s8, 1
  s_cmp_lg_u32 s12, 1
  s_cbranch_scc1 over%
  s_lshl_b32 s13, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s13
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
over%:
  plus 1
  finish)" + f_and_g,
       .table = {uint64_t{0}, "g"},
       .plus = all<5>},
      {.name = "table, a loop counts through it",
       .source = R"(
  begin
  s_mov_b32 s12, 0
loop%:
  s_cmp_lt_u32 s12, 3
  s_cbranch_scc0 over%
  s_lshl_b32 s13, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s13
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
  s_add_u32 s12, s12, 1
  s_branch loop%
over%:
  plus 1
  finish)" + f_and_g,
       .table = {"f", "g", "f"},
       .plus = all<9>},
      {.name = "table, added to behind the comparison",
       .source = R"(
  begin
  s_add_u32 s12, s8, 1
  s_cmp_lt_u32 s12, 2
  s_cbranch_scc0 over%
  s_add_u32 s12, s12, 1
  s_lshl_b32 s13, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s13
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
over%:
  plus 1
  finish)" + f_and_g,
       .table = {uint64_t{0}, "f", "g"},
       .plus = all<5>},
      {.name = "table, index by a shifted mask; not all entries are functions",
       .source = R"(
  begin
  s_add_u32 s12, s8, 0x10
  s_and_b32 s12, s12, 0x18
  s_load_dwordx2 s[20:21], s[6:7], s12
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .table = {uint64_t{0}, uint64_t{0x123456}, "g", uint64_t{3}},
       .plus = all<5>},
      {.name = "table, index by s_min_u32",
       .source = R"(
  begin
  s_add_u32 s12, s8, 99
  s_min_u32 s12, s12, 2
  s_lshl_b32 s12, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s12
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .table = {"f", "f", "g"},
       .plus = all<5>},
      {.name = "table, index by s_bfe_u32, address by addition",
       .source = R"(
  begin
  s_add_u32 s12, s8, 0x20
  s_bfe_u32 s12, s12, 0x20004
  s_mov_b32 s13, 0
  s_lshl_b64 s[12:13], s[12:13], 3
  s_add_u32 s12, s6, s12
  s_addc_u32 s13, s7, s13
  s_load_dwordx2 s[20:21], s[12:13], 0x8
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .table = {uint64_t{0}, "f", "f", "g", "f"},
       .plus = all<5>},
      {.name = "table, the host passes the index",
       .source = R"(
  begin
  s_lshl_b32 s12, s4, 3
  s_load_dwordx2 s[20:21], s[6:7], s12
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .b = uint64_t{2},
       .table = {"f", "f", "g"},
       .plus = all<5>},
      {.name = "table behind a descriptor",
       .source = R"(
  begin
  s_load_dwordx4 s[12:15], s[6:7], 0x0
  s_waitcnt lgkmcnt(0)
  s_buffer_load_dwordx2 s[20:21], s[12:15], 0x8
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .table = {{"table", 16}, uint64_t{0x10}, "f", "g"},
       .plus = all<5>},
      {.name = "table behind a descriptor, bounded index",
       .source = R"(
  begin
  s_load_dwordx4 s[12:15], s[6:7], 0x0
  s_add_u32 s40, s8, 1
  s_and_b32 s40, s40, 1
  s_lshl_b32 s40, s40, 3
  s_waitcnt lgkmcnt(0)
  s_buffer_load_dwordx2 s[20:21], s[12:15], s40
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .table = {{"table", 16}, uint64_t{0x10}, "f", "g"},
       .plus = all<5>},
      {.name = "pointer plus a constant",
       .source = R"(
  begin
  s_add_u32 s20, s2, g%-f%
  s_addc_u32 s21, s3, 0
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .a = "f",
       .plus = all<5>},
      {.name = "pointer minus a constant",
       .source = R"(
  begin
  s_sub_u32 s20, s2, g%-f%
  s_subb_u32 s21, s3, 0
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .a = "g",
       .plus = all<3>},
      {.name = "pointer into the shader's own code",
       .source = R"(
  begin
  s_swappc_b64 s[30:31], s[2:3]
  plus 1
  finish
own%:
  plus 0x40
  s_setpc_b64 s[30:31])",
       .a = "own",
       .plus = all<0x41>},
  };
}

} // namespace lanewise::calls
