// What callees do: links, returns, calls of their own, lanes, memory.
#include "pointer_programs.hpp"

namespace lanewise::calls {

std::vector<PointerProgram> pointer_callees() {
  return {
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
  };
}

} // namespace lanewise::calls
