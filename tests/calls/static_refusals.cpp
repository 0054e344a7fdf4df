// Calls to fixed places that are refused, and those that trap.
#include "static_programs.hpp"

namespace lanewise::calls {

std::vector<StaticProgram> refused_static_programs() {
  return {
      {"recursion", R"(
  begin
  s_call_b64 s[30:31], f%
  finish
f%:
  plus 2
  s_call_b64 s[30:31], f%
  s_setpc_b64 s[30:31])",
       nullptr, "s_call_b64 s[30:31], 65534: recursive call of the function at 0x"},
      {"mutual recursion", R"(
  begin
  s_call_b64 s[30:31], f%
  finish
f%:
  s_call_b64 s[32:33], g%
  s_setpc_b64 s[30:31]
g%:
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc1 over%
  s_call_b64 s[34:35], f%
over%:
  s_setpc_b64 s[32:33])",
       nullptr, "recursive call of the function at 0x"},
      {"link overwritten with a number", R"(
  begin
  s_call_b64 s[30:31], f%
  finish
f%:
  s_mov_b64 s[30:31], 0
  s_setpc_b64 s[30:31])",
       nullptr, nullptr, "return"},
      {"call into data", R"(
  begin
  address 10, 11, f%
  s_swappc_b64 s[30:31], s[10:11]
  finish
f%:
  .long 0xffffffff)",
       nullptr, "is no gfx1030 instruction"},
      {"call past the end", R"(
  begin
  address 10, 11, f%
  s_swappc_b64 s[30:31], s[10:11]
  finish
f%:
  plus 2)",
       nullptr, "the program runs past its end"},
  };
}

} // namespace lanewise::calls
