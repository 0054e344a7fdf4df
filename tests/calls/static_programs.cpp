#include "static_programs.hpp"

namespace lanewise::calls {
namespace {

/// f0 calls f1 calls ... calls a function that returns; each adds 1 and keeps its link in its own pair of
/// lanes.
std::string nest(unsigned depth) {
  std::string text = "begin\n s_call_b64 s[30:31], f0%\n finish\n";
  for (unsigned k = 0; k < depth; ++k) {
    const std::string n = std::to_string(k), lane = std::to_string(2 * (k % 16)),
                      next = std::to_string(2 * (k % 16) + 1), v = std::to_string(8 + k / 16);
    text += "f" + n + "%:\n plus 1\n";
    if (k + 1 < depth)
      text += " v_writelane_b32 v" + v + ", s30, " + lane + "\n v_writelane_b32 v" + v + ", s31, " + next +
              "\n s_call_b64 s[30:31], f" + std::to_string(k + 1) + "%\n v_readlane_b32 s30, v" + v + ", " +
              lane + "\n v_readlane_b32 s31, v" + v + ", " + next + "\n";
    text += " s_setpc_b64 s[30:31]\n";
  }
  return text;
}

} // namespace

const std::vector<StaticProgram>& static_programs() {
  static const auto table = [] {
    std::vector<StaticProgram> programs{
        {"getpc + add", R"(
  begin
  address 10, 11, f%
  s_swappc_b64 s[30:31], s[10:11]
  plus 1
  finish
f%:
  plus 2
  s_setpc_b64 s[30:31])",
         all<3>},
        {"getpc - sub", R"(
  s_branch start%
f%:
  plus 2
  s_setpc_b64 s[30:31]
start%:
  begin
  s_getpc_b64 s[10:11]
here%:
  s_sub_u32 s10, s10, here%-f%
  s_subb_u32 s11, s11, 0
  s_swappc_b64 s[30:31], s[10:11]
  plus 1
  finish)",
         all<3>},
        {"getpc + negative literal", R"(
  s_branch start%
f%:
  plus 2
  s_setpc_b64 s[30:31]
start%:
  begin
  s_getpc_b64 s[10:11]
here%:
  s_add_u32 s10, s10, f%-here%
  s_addc_u32 s11, s11, -1
  s_swappc_b64 s[30:31], s[10:11]
  plus 1
  finish)",
         all<3>},
        {"getpc - negative literal", R"(
  begin
  s_getpc_b64 s[10:11]
here%:
  s_sub_u32 s10, s10, here%-f%
  s_subb_u32 s11, s11, -1
  s_swappc_b64 s[30:31], s[10:11]
  plus 1
  finish
f%:
  plus 2
  s_setpc_b64 s[30:31])",
         all<3>},
        {"offset in registers", R"(
  begin
  s_mov_b32 s12, f%-here%
  s_mov_b32 s13, 0
  s_getpc_b64 s[10:11]
here%:
  s_add_u32 s10, s12, s10
  s_addc_u32 s11, s13, s11
  s_swappc_b64 s[30:31], s[10:11]
  plus 1
  finish
f%:
  plus 2
  s_setpc_b64 s[30:31])",
         all<3>},
        {"offset out of a table in the code", R"(
  begin
  address 12, 13, table%
  s_load_dword s14, s[12:13], 0x4
  s_waitcnt lgkmcnt(0)
  s_add_u32 s12, s12, s14
  s_addc_u32 s13, s13, 0
  s_swappc_b64 s[30:31], s[12:13]
  plus 1
  finish
table%:
  .long 0, f%-table%
f%:
  plus 2
  s_setpc_b64 s[30:31])",
         all<3>},
        {"s_call_b64 forwards", R"(
  begin
  s_call_b64 s[30:31], f%
  plus 1
  finish
f%:
  plus 2
  s_setpc_b64 s[30:31])",
         all<3>},
        {"s_call_b64 backwards", R"(
  s_branch start%
f%:
  plus 2
  s_setpc_b64 s[30:31]
start%:
  begin
  s_call_b64 s[30:31], f%
  plus 1
  finish)",
         all<3>},
        {"target pair copied by halves", R"(
  begin
  address 10, 11, f%
  s_mov_b32 s40, s10
  s_mov_b32 s41, s11
  s_mov_b64 s[10:11], 0
  s_swappc_b64 s[30:31], s[40:41]
  plus 1
  finish
f%:
  plus 2
  s_setpc_b64 s[30:31])",
         all<3>},
        {"link and target in one pair", R"(
  begin
  address 10, 11, f%
  s_swappc_b64 s[10:11], s[10:11]
  plus 1
  finish
f%:
  plus 2
  s_setpc_b64 s[10:11])",
         all<3>},
        {"link made by hand", R"(
  begin
  address 10, 11, f%
  address 30, 31, back%
  s_setpc_b64 s[10:11]
  plus 16
back%:
  plus 1
  finish
f%:
  plus 2
  s_setpc_b64 s[30:31])",
         all<3>},
        {"nested, link saved in SGPRs", R"(
  begin
  s_call_b64 s[30:31], f%
  plus 1
  finish
f%:
  s_mov_b64 s[34:35], s[30:31]
  s_call_b64 s[30:31], g%
  plus 2
  s_setpc_b64 s[34:35]
g%:
  plus 4
  s_setpc_b64 s[30:31])",
         all<7>},
        {"nested, another link pair", R"(
  begin
  s_call_b64 s[30:31], f%
  plus 1
  finish
f%:
  address 10, 11, g%
  s_swappc_b64 s[32:33], s[10:11]
  plus 2
  s_setpc_b64 s[30:31]
g%:
  plus 4
  s_setpc_b64 s[32:33])",
         all<7>},
        {"nested, link saved in lanes", R"(
  begin
  s_call_b64 s[30:31], f%
  plus 1
  finish
f%:
  v_writelane_b32 v8, s30, 3
  v_writelane_b32 v8, s31, 7
  s_call_b64 s[30:31], g%
  plus 2
  v_readlane_b32 s30, v8, 3
  v_readlane_b32 s31, v8, 7
  s_setpc_b64 s[30:31]
g%:
  plus 4
  s_setpc_b64 s[30:31])",
         all<7>},
        {"twelve deep", nest(12), all<12>},
        {"deeper than the limit", nest(70), nullptr, "max_call_depth"},
        {"one callee, five sites", R"(
  begin
  s_mov_b32 s40, 1
  s_call_b64 s[30:31], f%
  s_mov_b32 s40, 2
  s_call_b64 s[30:31], f%
  s_mov_b32 s40, 4
  s_call_b64 s[30:31], f%
  address 10, 11, f%
  s_mov_b32 s40, 8
  s_swappc_b64 s[30:31], s[10:11]
  s_mov_b32 s40, 16
  s_swappc_b64 s[30:31], s[10:11]
  plus 1
  finish
f%:
  plus s40
  v_mul_u32_u24 v1, 3, v1
  s_setpc_b64 s[30:31])",
         [](uint32_t i) { return ((((((i + 1) * 3 + 2) * 3 + 4) * 3 + 8) * 3 + 16) * 3 + 1) - i; }},
        {"four callees through one link pair", R"(
  begin
  s_call_b64 s[30:31], a%
  plus 1
  s_call_b64 s[30:31], b%
  plus 2
  s_call_b64 s[30:31], c%
  plus 4
  s_call_b64 s[30:31], d%
  plus 8
  finish
a%:
  v_add_nc_u32 v1, 0x100, v1
  s_setpc_b64 s[30:31]
b%:
  v_add_nc_u32 v1, 0x200, v1
  s_setpc_b64 s[30:31]
c%:
  v_add_nc_u32 v1, 0x400, v1
  s_setpc_b64 s[30:31]
d%:
  v_add_nc_u32 v1, 0x800, v1
  s_setpc_b64 s[30:31])",
         all<0xf0f>},
        {"link moved away and back", R"(
  begin
  s_call_b64 s[30:31], f%
  plus 1
  finish
f%:
  s_mov_b64 s[40:41], s[30:31]
  s_mov_b64 s[30:31], 0
  plus 2
  s_mov_b32 s31, s41
  s_mov_b32 s30, s40
  s_setpc_b64 s[30:31])",
         all<3>},
        {"return through a copy", R"(
  begin
  s_call_b64 s[30:31], f%
  plus 1
  finish
f%:
  s_mov_b32 s44, s30
  s_mov_b32 s45, s31
  s_mov_b64 s[30:31], 0
  plus 2
  s_setpc_b64 s[44:45])",
         all<3>},
        {"tail call", R"(
  begin
  s_call_b64 s[30:31], f%
  plus 1
  finish
f%:
  plus 2
  address 12, 13, g%
  s_setpc_b64 s[12:13]
g%:
  plus 4
  s_setpc_b64 s[30:31])",
         all<7>},
        {"tail shared by a branch", R"(
  begin
  s_call_b64 s[30:31], f%
  s_call_b64 s[30:31], g%
  plus 1
  finish
f%:
  plus 2
  s_branch tail%
g%:
  plus 4
tail%:
  plus 8
  s_setpc_b64 s[30:31])",
         all<23>},
        {"two returns", R"(
  begin
  s_call_b64 s[30:31], f%
  s_add_u32 s8, s8, 1
  s_call_b64 s[30:31], f%
  plus 1
  finish
f%:
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 other%
  plus 2
  s_setpc_b64 s[30:31]
other%:
  plus 4
  s_setpc_b64 s[30:31])",
         all<7>},
        {"returns from inside a loop", R"(
  begin
  s_mov_b32 s40, 0
  s_call_b64 s[30:31], f%
  plus 1
  finish
f%:
  plus 2
  s_add_u32 s40, s40, 1
  s_cmp_eq_u32 s40, 3
  s_cbranch_scc0 more%
  s_setpc_b64 s[30:31]
more%:
  s_cmp_eq_u32 s40, 9
  s_cbranch_scc0 f%
  s_setpc_b64 s[30:31])",
         all<7>},
        {"call in a loop", R"(
  begin
  s_mov_b32 s40, 0
  address 10, 11, f%
loop%:
  s_swappc_b64 s[30:31], s[10:11]
  plus 1
  s_add_u32 s40, s40, 1
  s_cmp_lt_u32 s40, 5
  s_cbranch_scc1 loop%
  finish
f%:
  plus s40
  s_setpc_b64 s[30:31])",
         all<15>},
        {"call on one side of a branch", R"(
  begin
  s_cmp_eq_u32 s8, 1
  s_cbranch_scc1 over%
  s_call_b64 s[30:31], f%
over%:
  plus 1
  finish
f%:
  plus 2
  s_setpc_b64 s[30:31])",
         all<3>},
        {"calls on both sides of a branch", R"(
  begin
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 other%
  s_call_b64 s[30:31], f%
  plus 16
  s_branch join%
other%:
  plus 32
  s_call_b64 s[30:31], f%
join%:
  plus 1
  finish
f%:
  plus 2
  s_setpc_b64 s[30:31])",
         all<35>},
        {"call in some lanes", R"(
  begin
  if_lanes_below 20
  s_cbranch_execz over%
  s_call_b64 s[30:31], f%
  plus 1
over%:
  end_if
  plus 4
  finish
f%:
  plus 2
  s_setpc_b64 s[30:31])",
         [](uint32_t i) { return i < 20 ? 7u : 4u; }},
        {"call with all lanes off", R"(
  begin
  s_mov_b32 s40, 0
  if_lanes_below 0
  s_call_b64 s[30:31], f%
  end_if
  plus s40
  finish
f%:
  plus 2
  s_add_u32 s40, s40, 4
  s_setpc_b64 s[30:31])",
         all<4>},
        {"lanes leave in the callee", R"(
  begin
  s_call_b64 s[30:31], f%
  plus 1
  finish
f%:
  if_lanes_below 50
  plus 2
  end_if
  s_setpc_b64 s[30:31])",
         [](uint32_t i) { return i < 50 ? 3u : 1u; }},
        {"the caller's mask goes through the callee", R"(
  begin
  if_lanes_below 33
  s_call_b64 s[30:31], f%
  plus 1
  end_if
  finish
f%:
  s_mov_b64 s[22:23], exec
  plus 2
  s_mov_b64 exec, s[22:23]
  s_setpc_b64 s[30:31])",
         [](uint32_t i) { return i < 33 ? 3u : 0u; }},
        {"callee talks through LDS", R"(
  begin
  v_lshlrev_b32 v4, 2, v0
  s_call_b64 s[30:31], f%
  plus 1
  finish
f%:
  ds_write_b32 v4, v0
  s_waitcnt lgkmcnt(0)
  s_barrier
  v_xor_b32 v5, 4, v4
  ds_read_b32 v6, v5
  s_waitcnt lgkmcnt(0)
  v_add_nc_u32 v1, v6, v1
  s_setpc_b64 s[30:31])",
         [](uint32_t i) { return (i ^ 1) + 1; }},
        {"callee that knows where it stands", R"(
  begin
  s_getpc_b64 s[12:13]
here%:
  s_call_b64 s[30:31], f%
  s_sub_u32 s14, s14, s12
  plus s14
  finish
f%:
  s_getpc_b64 s[14:15]
there%:
  s_sub_u32 s14, s14, there%-here%
  s_add_u32 s14, s14, 5
  s_setpc_b64 s[30:31])",
         all<5>},
        {"return behind the next instruction", R"(
  begin
  s_call_b64 s[30:31], f%
  plus 1
  plus 2
  finish
f%:
  plus 4
  s_add_u32 s30, s30, 4
  s_addc_u32 s31, s31, 0
  s_setpc_b64 s[30:31])",
         all<6>},
        {"the program ends in the callee", R"(
  begin
  s_call_b64 s[30:31], f%
  plus 1
  finish
f%:
  plus 2
  finish)",
         all<2>},
    };
    for (StaticProgram& p : refused_static_programs()) programs.push_back(std::move(p));
    return programs;
  }();
  return table;
}

} // namespace lanewise::calls
