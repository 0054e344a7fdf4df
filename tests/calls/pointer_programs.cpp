#include "pointer_programs.hpp"

namespace lanewise::calls {
namespace {

template <uint32_t n>
uint32_t all(uint32_t) {
  return n;
}

/// Callees f and g, which add 2 and 4 and return through s[30:31].
const std::string f_and_g = R"(
callees%:
f%:
  plus 2
  s_setpc_b64 s[30:31]
g%:
  plus 4
  s_setpc_b64 s[30:31]
)";

} // namespace

const std::vector<PointerProgram>& pointer_programs() {
  static const std::vector<PointerProgram> table{
      {.name = "the pair itself",
       .source = R"(
  begin
  s_swappc_b64 s[30:31], s[2:3]
  plus 1
  finish)" + f_and_g,
       .a = "f",
       .plus = all<3>},
      {.name = "copied by s_mov_b64",
       .source = R"(
  begin
  s_mov_b64 s[20:21], s[2:3]
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .a = "g",
       .plus = all<5>},
      {.name = "copied by halves, high half first",
       .source = R"(
  begin
  s_mov_b32 s21, s3
  s_mov_b32 s20, s2
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .a = "f",
       .plus = all<3>},
      {.name = "the last writer of the pair counts",
       .source = R"(
  begin
  s_mov_b64 s[20:21], s[2:3]
  s_mov_b64 s[20:21], s[4:5]
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .a = "f",
       .b = "g",
       .plus = all<5>},
      {.name = "copied, then the source is reused by s_load",
       .source = R"(
  begin
  s_mov_b64 s[20:21], s[2:3]
  s_load_dwordx2 s[2:3], s[6:7], 0x0
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
  plus s2
  finish)" + f_and_g,
       .a = "f",
       .table = {uint64_t{0x100}},
       .plus = all<0x102>},
      {.name = "the link pair is read before the first call",
       .source = R"(
  begin
  s_mov_b32 s40, s30
  s_add_u32 s40, s40, s31
  s_swappc_b64 s[30:31], s[2:3]
  plus s40
  plus 1
  finish)" + f_and_g,
       .a = "f",
       .plus = all<3>},
      {.name = "four calls through one link pair, one from a, three from b",
       .source = R"(
  begin
  s_mov_b64 s[20:21], s[2:3]
  s_swappc_b64 s[30:31], s[20:21]
  plus 0x10
  s_mov_b64 s[20:21], s[4:5]
  s_swappc_b64 s[30:31], s[20:21]
  v_lshlrev_b32 v1, 1, v1
  s_mov_b64 s[20:21], s[4:5]
  s_swappc_b64 s[30:31], s[20:21]
  plus 0x20
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .a = "f",
       .b = "g",
       .plus = [](uint32_t i) { return (i + 2 + 0x10 + 4) * 2 + 4 + 0x20 + 4 + 1 - i; }},
      {.name = "compare, branch and trap between copy and call",
       .source = R"(
  begin
  s_mov_b64 s[20:21], s[2:3]
  s_cmp_eq_u64 s[20:21], 0
  s_cbranch_scc1 null%
  s_cmp_lg_u32 s21, 0
  s_cbranch_scc0 null%
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish
null%:
  s_trap 2
  s_endpgm)" + f_and_g,
       .a = "f",
       .plus = all<3>},
      {.name = "a forward branch between copy and call",
       .source = R"(
  begin
  s_mov_b64 s[20:21], s[2:3]
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc0 over%
  plus 0x10
over%:
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .a = "f",
       .plus = all<0x13>},
      {.name = "both ways bring the same pair",
       .source = R"(
  begin
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc0 other%
  s_mov_b64 s[20:21], s[2:3]
  s_branch join%
other%:
  s_mov_b32 s20, s2
  s_mov_b32 s21, s3
join%:
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .a = "f",
       .plus = all<3>},
      {.name = "a loop that leaves the pair alone",
       .source = R"(
  begin
  s_mov_b64 s[20:21], s[2:3]
  s_mov_b32 s40, 0
loop%:
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  s_add_u32 s40, s40, 1
  s_cmp_lt_u32 s40, 5
  s_cbranch_scc1 loop%
  finish)" + f_and_g,
       .a = "f",
       .plus = all<15>},
      {.name = "a loop that writes the pair the same way each time",
       .source = R"(
  begin
  s_mov_b32 s40, 0
loop%:
  s_mov_b64 s[20:21], s[4:5]
  s_swappc_b64 s[30:31], s[20:21]
  s_mov_b64 s[20:21], 0
  s_add_u32 s40, s40, 1
  s_cmp_lt_u32 s40, 3
  s_cbranch_scc1 loop%
  plus 1
  finish)" + f_and_g,
       .b = "g",
       .plus = all<13>},
      {.name = "s_cselect_b64, first pair",
       .source = R"(
  begin
  s_cmp_eq_u32 s8, 0
  s_cselect_b64 s[20:21], s[2:3], s[4:5]
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .a = "f",
       .b = "g",
       .plus = all<3>},
      {.name = "s_cselect_b32 by halves, second pair",
       .source = R"(
  begin
  s_cmp_lg_u32 s8, 0
  s_cselect_b32 s20, s2, s4
  s_cselect_b32 s21, s3, s5
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .a = "f",
       .b = "g",
       .plus = all<5>},
      {.name = "s_cmov_b64",
       .source = R"(
  begin
  s_mov_b64 s[20:21], s[2:3]
  s_cmp_eq_u32 s8, 0
  s_cmov_b64 s[20:21], s[4:5]
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .a = "f",
       .b = "g",
       .plus = all<5>},
      {.name = "a choice of the host and a fixed function",
       .source = R"(
  begin
  address 10, 11, own%
  s_cmp_eq_u32 s8, 1
  s_cselect_b64 s[20:21], s[2:3], s[10:11]
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish
own%:
  plus 0x20
  s_setpc_b64 s[30:31])" +
                 f_and_g,
       .a = "f",
       .plus = all<0x21>},
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
      {.name = "another link pair",
       .source = R"(
  begin
  s_swappc_b64 s[44:45], s[2:3]
  plus 1
  finish
callees%:
f%:
  plus 2
  s_setpc_b64 s[44:45])",
       .a = "f",
       .plus = all<3>},
      {.name = "target pair and link pair are one",
       .source = R"(
  begin
  s_swappc_b64 s[2:3], s[2:3]
  plus 1
  finish
callees%:
f%:
  plus 2
  s_setpc_b64 s[2:3])",
       .a = "f",
       .plus = all<3>},
      {.name = "the callee moves its link away and back",
       .source = R"(
  begin
  s_swappc_b64 s[30:31], s[2:3]
  plus 1
  finish
callees%:
f%:
  s_mov_b64 s[50:51], s[30:31]
  s_mov_b64 s[30:31], 0
  plus 2
  s_mov_b64 s[30:31], s[50:51]
  s_setpc_b64 s[30:31])",
       .a = "f",
       .plus = all<3>},
      {.name = "the callee calls a function of its own",
       .source = R"(
  begin
  s_swappc_b64 s[30:31], s[2:3]
  plus 1
  finish
callees%:
f%:
  s_mov_b64 s[50:51], s[30:31]
  plus 2
  s_call_b64 s[30:31], g%
  plus 8
  s_setpc_b64 s[50:51]
g%:
  plus 4
  s_setpc_b64 s[30:31])",
       .a = "f",
       .plus = all<15>},
      {.name = "the callee has two returns",
       .source = R"(
  begin
  s_swappc_b64 s[30:31], s[2:3]
  s_add_u32 s8, s8, 1
  s_swappc_b64 s[30:31], s[2:3]
  plus 1
  finish
callees%:
f%:
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 other%
  plus 2
  s_setpc_b64 s[30:31]
other%:
  plus 4
  s_setpc_b64 s[30:31])",
       .a = "f",
       .plus = all<7>},
      {.name = "the callee reads data beside its code",
       .source = R"(
  begin
  s_swappc_b64 s[30:31], s[2:3]
  plus s40
  finish
callees%:
  s_nop 0
f%:
  address 12, 13, data%
  s_load_dword s40, s[12:13], 0x4
  s_waitcnt lgkmcnt(0)
  s_setpc_b64 s[30:31]
data%:
  .long 0x111, 0x222)",
       .a = "f",
       .plus = all<0x222>},
      {.name = "the callee reads its own pc",
       .source = R"(
  begin
  s_swappc_b64 s[30:31], s[2:3]
  plus s14
  finish
callees%:
  s_nop 0
f%:
  s_nop 0
  s_getpc_b64 s[14:15]
  s_sub_u32 s14, s14, s2
  s_subb_u32 s15, s15, s3
  s_setpc_b64 s[30:31])",
       .a = "f",
       .plus = all<8>},
      {.name = "the call in some lanes",
       .source = R"(
  begin
  if_lanes_below 40
  s_cbranch_execz over%
  s_swappc_b64 s[30:31], s[2:3]
  plus 1
over%:
  end_if
  plus 8
  finish)" + f_and_g,
       .a = "f",
       .plus = [](uint32_t i) { return i < 40 ? 11u : 8u; }},
      {.name = "lanes leave in the callee",
       .source = R"(
  begin
  s_swappc_b64 s[30:31], s[2:3]
  plus 1
  finish
callees%:
f%:
  if_lanes_below 17
  plus 2
  end_if
  s_setpc_b64 s[30:31])",
       .a = "f",
       .plus = [](uint32_t i) { return i < 17 ? 3u : 1u; }},
      {.name = "a mask made before the call is used behind it",
       .source = R"(
  begin
  if_lanes_below 9
  end_if
  s_mov_b64 s[22:23], vcc
  s_swappc_b64 s[30:31], s[2:3]
.if WAVE == 32
  s_and_saveexec_b32 s20, s22
.else
  s_and_saveexec_b64 s[20:21], s[22:23]
.endif
  plus 1
  end_if
  finish
callees%:
f%:
  s_mov_b64 vcc, 0
  plus 2
  s_setpc_b64 s[30:31])",
       .a = "f",
       .plus = [](uint32_t i) { return i < 9 ? 3u : 2u; }},
      {.name = "arguments and results in registers",
       .source = R"(
  begin
  s_mov_b32 s40, 5
  v_mov_b32 v5, 3
  s_swappc_b64 s[30:31], s[2:3]
  plus s41
  v_add_nc_u32 v1, v6, v1
  finish
callees%:
f%:
  s_lshl_b32 s41, s40, 4
  v_mul_u32_u24 v6, v5, v0
  s_setpc_b64 s[30:31])",
       .a = "f",
       .plus = [](uint32_t i) { return 80 + 3 * i; }},
      {.name = "the callee loops until its lanes are done",
       .source = R"(
  begin
  s_swappc_b64 s[30:31], s[2:3]
  plus 1
  finish
callees%:
f%:
  s_mov_b64 s[20:21], exec
  v_and_b32 v4, 3, v0
loop%:
  plus 4
  v_sub_nc_u32 v4, v4, 1
.if WAVE == 32
  v_cmpx_le_i32 0, v4
.else
  v_cmpx_le_i32 0, v4
.endif
  s_cbranch_execnz loop%
  s_mov_b64 exec, s[20:21]
  s_setpc_b64 s[30:31])",
       .a = "f",
       .plus = [](uint32_t i) { return ((i & 3) + 1) * 4 + 1; }},
      {.name = "the callee uses LDS and a barrier",
       .source = R"(
  begin
  v_lshlrev_b32 v4, 2, v0
  ds_write_b32 v4, v0
  s_swappc_b64 s[30:31], s[2:3]
  plus 1
  finish
callees%:
f%:
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_xor_b32 v5, 0xfc, v4
  ds_read_b32 v6, v5
  s_waitcnt lgkmcnt(0)
  v_add_nc_u32 v1, v6, v1
  s_setpc_b64 s[30:31])",
       .a = "f",
       .plus = [](uint32_t i) { return 63 - i + 1; }},
      {.name = "the callee ends the program",
       .source = R"(
  begin
  s_swappc_b64 s[30:31], s[2:3]
  plus 1
  finish
callees%:
f%:
  plus 2
  finish)",
       .a = "f",
       .plus = all<2>},
      {.name = "a jump with a link made by hand",
       .source = R"(
  begin
  address 30, 31, back%
  s_setpc_b64 s[2:3]
  plus 0x10
back%:
  plus 1
  finish)" + f_and_g,
       .a = "f",
       .plus = all<3>},
      {.name = "a jump without a way back",
       .source = R"(
  begin
  s_setpc_b64 s[2:3]
callees%:
f%:
  plus 2
  finish)",
       .a = "f",
       .plus = all<2>},
      {.name = "the call in a function of the shader",
       .source = R"(
  begin
  s_call_b64 s[30:31], own%
  plus 1
  s_call_b64 s[30:31], own%
  finish
own%:
  s_mov_b64 s[34:35], s[30:31]
  plus 8
  s_swappc_b64 s[30:31], s[2:3]
  s_setpc_b64 s[34:35])" +
                 f_and_g,
       .a = "f",
       .plus = all<21>},
      {.name = "a tail jump in a function of the shader",
       .source = R"(
  begin
  s_call_b64 s[30:31], own%
  plus 1
  finish
own%:
  plus 8
  s_setpc_b64 s[2:3])" +
                 f_and_g,
       .a = "f",
       .plus = all<11>},
      {.name = "a fixed call whose target was made before",
       .source = R"(
  begin
  address 10, 11, own%
  s_swappc_b64 s[30:31], s[2:3]
  s_swappc_b64 s[30:31], s[10:11]
  plus 1
  finish
own%:
  plus 0x40
  s_setpc_b64 s[30:31])" +
                 f_and_g,
       .a = "f",
       .plus = all<0x43>},
      {.name = "through the kernel arguments in memory",
       .source = R"(
  begin
  s_mov_b64 s[20:21], s[6:7]
  s_load_dwordx2 s[20:21], s[20:21], 0x0
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
  plus 1
  finish)" + f_and_g,
       .table = {"f"},
       .plus = all<3>},

      {.name = "the callee returns through another pair with the same address",
       .source = R"(
  begin
  address 32, 33, back%
  s_swappc_b64 s[30:31], s[2:3]
back%:
  plus 1
  finish
callees%:
f%:
  plus 2
  s_setpc_b64 s[32:33])",
       .a = "f",
       .plus = all<3>},
      {.name = "the callee calls through another pair of the host",
       .source = R"(
  begin
  s_swappc_b64 s[30:31], s[2:3]
  plus 1
  finish
callees%:
f%:
  s_mov_b64 s[50:51], s[30:31]
  s_swappc_b64 s[30:31], s[4:5]
  plus 8
  s_setpc_b64 s[50:51]
g%:
  plus 4
  s_setpc_b64 s[30:31])",
       .a = "f",
       .b = "g",
       .plus = all<13>},
      {.name = "the callee calls through a copy that its caller made",
       .source = R"(
  begin
  s_mov_b64 s[20:21], s[4:5]
  s_mov_b64 s[4:5], 0
  s_swappc_b64 s[30:31], s[2:3]
  plus 1
  finish
callees%:
f%:
  s_mov_b64 s[50:51], s[30:31]
  plus 8
  s_mov_b32 s40, s20
  s_mov_b32 s41, s21
  s_swappc_b64 s[30:31], s[40:41]
  s_setpc_b64 s[50:51]
g%:
  plus 4
  s_setpc_b64 s[30:31])",
       .a = "f",
       .b = "g",
       .plus = all<13>},
      {.name = "three deep through pairs of the host",
       .source = R"(
  begin
  s_mov_b64 s[20:21], s[6:7]
  s_add_u32 s20, s4, h%-g%
  s_addc_u32 s21, s5, 0
  s_swappc_b64 s[30:31], s[2:3]
  plus 1
  finish
callees%:
f%:
  s_mov_b64 s[50:51], s[30:31]
  s_swappc_b64 s[30:31], s[4:5]
  plus 2
  s_setpc_b64 s[50:51]
g%:
  s_mov_b64 s[52:53], s[30:31]
  plus 4
  s_swappc_b64 s[30:31], s[20:21]
  s_setpc_b64 s[52:53]
h%:
  if_lanes_below 30
  plus 8
  end_if
  s_setpc_b64 s[30:31])",
       .a = "f",
       .b = "g",
       .plus = [](uint32_t i) { return i < 30 ? 15u : 7u; }},
      {.name = "depends on lanes",
       .source = R"(
  v_readfirstlane_b32 s20, v0
  s_mov_b32 s21, s3
  s_swappc_b64 s[30:31], s[20:21]
  s_endpgm)",
       .refused =
           "s_swappc_b64 s[30:31], s[20:21]: the target of this call or jump depends on data (it depends on "
           "lanes: pc 0x1000: v_readfirstlane_b32 s20, v0)"},
      {.name = "loaded from where lanes say",
       .source = R"(
  v_readlane_b32 s12, v0, 3
  s_mov_b32 s13, s3
  s_load_dwordx2 s[20:21], s[12:13], 0x0
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
  s_endpgm)",
       .refused = "(it depends on lanes: pc 0x1000: v_readlane_b32 s12, v0, 3)"},
      {.name = "a branch enters between copy and call",
       .source = R"(
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 enter%
  s_mov_b64 s[20:21], s[2:3]
enter%:
  s_swappc_b64 s[30:31], s[20:21]
  s_endpgm)",
       .refused = "s[20:21]: the target of this call or jump depends on data (s20 holds nothing that the "
                  "host passes)"},
      {.name = "a branch enters with another pair",
       .source = R"(
  s_mov_b64 s[20:21], s[4:5]
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 enter%
  s_mov_b64 s[20:21], s[2:3]
enter%:
  s_swappc_b64 s[30:31], s[20:21]
  s_endpgm)",
       .refused = "(paths that meet at pc 0x1010 bring different values)"},
      {.name = "a loop changes the pair",
       .source = R"(
  s_mov_b64 s[20:21], s[2:3]
  s_mov_b32 s40, 0
loop%:
  s_swappc_b64 s[30:31], s[20:21]
  s_mov_b64 s[20:21], s[4:5]
  s_add_u32 s40, s40, 1
  s_cmp_lt_u32 s40, 2
  s_cbranch_scc1 loop%
  s_endpgm)",
       .refused = "(paths that meet at pc 0x1008 bring different values)"},
      {.name = "loaded through a pointer of unknown origin",
       .source = R"(
  s_load_dwordx2 s[20:21], s[40:41], 0x0
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
  s_endpgm)",
       .refused = "(it is loaded through a pointer that is not proven: pc 0x1000: s_load_dwordx2 s[20:21], "
                  "s[40:41], null)"},
      {.name = "an index without a bound",
       .source = R"(
  s_lshl_b32 s12, s8, 3
  s_load_dwordx2 s[20:21], s[6:7], s12
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
  s_endpgm)",
       .refused = "(it is loaded through a pointer that is not proven: pc 0x1004: s_load_dwordx2"},
      {.name = "computed",
       .source = R"(
  s_xor_b32 s20, s2, s4
  s_mov_b32 s21, s3
  s_swappc_b64 s[30:31], s[20:21]
  s_endpgm)",
       .refused = "(it is computed: pc 0x1000: s_xor_b32 s20, s2, s4)"},
      {.name = "halves chosen apart",
       .source = R"(
  s_cmp_eq_u32 s8, 0
  s_cselect_b32 s20, s2, s4
  s_cmp_eq_u32 s8, 1
  s_cselect_b32 s21, s3, s5
  s_swappc_b64 s[30:31], s[20:21]
  s_endpgm)",
       .refused = "pc 0x1010: the halves of the call target are chosen apart"},
      {.name = "more targets than one call may have",
       .source = R"(
  s_add_u32 s12, s8, 7
  s_and_b32 s12, s12, 0x3ff
  s_lshl_b32 s12, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s12
  s_swappc_b64 s[30:31], s[20:21]
  s_endpgm)",
       .refused = "max_slot_targets"},

      {.name = "null",
       .source = R"(
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm)",
       .unlinked = "kernel test, call at pc 0x1000, address 0x0: the call target is null"},
      {.name = "misaligned",
       .source = R"(
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm)" + f_and_g,
       .a = {"f", 2},
       .unlinked = "the call target is not a multiple of 4"},
      {.name = "unmapped",
       .source = R"(
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm)",
       .a = uint64_t{0x7000'1234'5678},
       .unlinked = "address 0x700012345678: the callee's address is not mapped"},
      {.name = "pointer on the way unmapped",
       .source = R"(
  s_load_dwordx2 s[20:21], s[2:3], 0x0
  s_waitcnt lgkmcnt(0)
  s_swappc_b64 s[30:31], s[20:21]
  s_endpgm)",
       .a = uint64_t{0x7000'1234'5678},
       .unlinked = "kernel test, pc 0x100c: a call target is read from unmapped address 0x700012345678"},
      {.name = "truncated",
       .source = R"(
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm
callees%:
f%:
  plus 2)",
       .a = "f",
       .unlinked = "the program runs past its end"},
      {.name = "no code",
       .source = R"(
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm
callees%:
f%:
  .long 0xffffffff)",
       .a = "f",
       .unlinked = "is no gfx1030 instruction"},
      {.name = "endless",
       .source = R"(
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm
callees%:
f%:
  plus 2
  s_branch f%)",
       .a = "f",
       .unlinked = "the callee never returns and never ends"},
      {.name = "longer than a callee may be",
       .source = R"(
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm
callees%:
f%:
.rept 300000
  s_nop 0
.endr
  s_setpc_b64 s[30:31])",
       .a = "f",
       .unlinked = "the callee is longer than max_callee_bytes"},
      {.name = "link overwritten",
       .source = R"(
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm
callees%:
f%:
  s_mov_b64 s[30:31], 0
  s_setpc_b64 s[30:31])",
       .a = "f",
       .unlinked = "pc 0x40000004: the callee calls or returns through 0x0"},
      {.name = "returns behind the next instruction",
       .source = R"(
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm
callees%:
f%:
  s_add_u32 s30, s30, 4
  s_addc_u32 s31, s31, 0
  s_setpc_b64 s[30:31])",
       .a = "f",
       .unlinked = "the callee calls or returns through its caller's s30, which the host does not know"},
      {.name = "returns through another pair",
       .source = R"(
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm
callees%:
f%:
  plus 2
  s_setpc_b64 s[32:33])",
       .a = "f",
       .unlinked = "call at pc 0x1000: the callee returns through s[32:33], the call's link is s[30:31]"},
      {.name = "returns from a jump that wants nothing back",
       .source = R"(
  s_setpc_b64 s[2:3])" +
                 f_and_g,
       .a = "f",
       .unlinked = "the callee returns through s[30:31], but the jump passes no way back"},
      {.name = "overwrites the pair of the next call",
       .source = R"(
  s_mov_b64 s[20:21], s[2:3]
  s_swappc_b64 s[30:31], s[20:21]
  s_swappc_b64 s[30:31], s[20:21]
  s_endpgm
callees%:
f%:
  s_mov_b32 s21, 0
  s_setpc_b64 s[30:31])",
       .a = "f",
       .unlinked = "call at pc 0x1004: the callee changes s21, which a later call or return relies on"},
      {.name = "overwrites a saved return address",
       .source = R"(
  s_call_b64 s[30:31], own%
  s_endpgm
own%:
  s_mov_b64 s[34:35], s[30:31]
  s_swappc_b64 s[30:31], s[2:3]
  s_setpc_b64 s[34:35]
callees%:
f%:
  s_mov_b32 s34, 0
  s_setpc_b64 s[30:31])",
       .a = "f",
       .unlinked = "the callee changes s34"},
      {.name = "recursion",
       .source = R"(
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm
callees%:
f%:
  s_mov_b64 s[34:35], s[30:31]
  s_call_b64 s[30:31], f%
  s_setpc_b64 s[34:35])",
       .a = "f",
       .unlinked = "recursive call of the function at 0x40000000"},
      {.name = "leaves another MODE",
       .source = R"(
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm
callees%:
f%:
  s_round_mode 3
  s_setpc_b64 s[30:31])",
       .a = "f",
       .unlinked = "the callee returns with another MODE"},
      {.name = "more VGPRs than the caller has",
       .source = R"(
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm
callees%:
f%:
  v_mov_b32 v40, 0
  s_setpc_b64 s[30:31])",
       .a = "f",
       .unlinked = "v_mov_b32_e32 v40, 0: a callee uses more than the caller's 32 VGPRs"},
      {.name = "the callee relies on a register that an earlier callee may have changed",
       .source = R"(
  s_swappc_b64 s[30:31], s[4:5]
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm
callees%:
f%:
  s_mov_b64 s[34:35], s[30:31]
  s_swappc_b64 s[30:31], s[4:5]
  s_setpc_b64 s[34:35]
g%:
  plus 2
  s_setpc_b64 s[30:31])",
       .a = "f",
       .b = "g",
       .unlinked = "its caller's s4, which the host does not know"},
      {.name = "the inner callee overwrites what the outer one needs",
       .source = R"(
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm
callees%:
f%:
  s_mov_b64 s[34:35], s[30:31]
  s_swappc_b64 s[30:31], s[4:5]
  s_setpc_b64 s[34:35]
g%:
  s_mov_b32 s35, 0
  s_setpc_b64 s[30:31])",
       .a = "f",
       .b = "g",
       .unlinked = "the callee changes s35, which a later call or return relies on"},
      {.name = "calls itself through a pair of the caller",
       .source = R"(
  s_swappc_b64 s[30:31], s[2:3]
  s_endpgm
callees%:
f%:
  s_mov_b64 s[34:35], s[30:31]
  s_swappc_b64 s[30:31], s[4:5]
  s_setpc_b64 s[34:35])",
       .a = "f",
       .b = "f",
       .unlinked = "recursive call through pointers"},
  };
  return table;
}

} // namespace lanewise::calls
