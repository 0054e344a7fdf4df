// What resolving and linking refuse: bad pointers, code and callees.
#include "pointer_programs.hpp"

namespace lanewise::calls {

std::vector<PointerProgram> refused_callees() {
  return {
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
}

} // namespace lanewise::calls
