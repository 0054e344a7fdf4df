// Calls through pairs that the host passes, copied, chosen and kept on the way.
#include "pointer_programs.hpp"

namespace lanewise::calls {

std::vector<PointerProgram> copied_pointers() {
  return {
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
  };
}

} // namespace lanewise::calls
