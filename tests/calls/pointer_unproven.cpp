// Targets that preparing refuses, because the host cannot know them.
#include "pointer_programs.hpp"

namespace lanewise::calls {

std::vector<PointerProgram> unproven_pointers() {
  return {
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
      {.name = "compared, but no branch",
       .source = R"(
  s_add_u32 s12, s8, 3
  s_cmp_lt_u32 s12, 4
  s_lshl_b32 s13, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s13
  s_swappc_b64 s[30:31], s[20:21]
over%:
  s_endpgm)",
       .refused = "(it is loaded through a pointer that is not proven: pc 0x100c: s_load_dwordx2"},
      {.name = "the branch leads the wrong way",
       .source = R"(
  s_add_u32 s12, s8, 3
  s_cmp_lt_u32 s12, 4
  s_cbranch_scc1 over%
  s_lshl_b32 s13, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s13
  s_swappc_b64 s[30:31], s[20:21]
over%:
  s_endpgm)",
       .refused = "(it is loaded through a pointer that is not proven: pc 0x1010: s_load_dwordx2"},
      {.name = "a signed comparison",
       .source = R"(
  s_add_u32 s12, s8, 3
  s_cmp_lt_i32 s12, 4
  s_cbranch_scc0 over%
  s_lshl_b32 s13, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s13
  s_swappc_b64 s[30:31], s[20:21]
over%:
  s_endpgm)",
       .refused = "(it is loaded through a pointer that is not proven: pc 0x1010: s_load_dwordx2"},
      {.name = "another register is compared",
       .source = R"(
  s_add_u32 s12, s8, 3
  s_add_u32 s14, s8, 3
  s_cmp_lt_u32 s14, 4
  s_cbranch_scc0 over%
  s_lshl_b32 s13, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s13
  s_swappc_b64 s[30:31], s[20:21]
over%:
  s_endpgm)",
       .refused = "(it is loaded through a pointer that is not proven: pc 0x1014: s_load_dwordx2"},
      {.name = "the bound is no constant",
       .source = R"(
  s_add_u32 s12, s8, 3
  s_cmp_lt_u32 s12, s2
  s_cbranch_scc0 over%
  s_lshl_b32 s13, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s13
  s_swappc_b64 s[30:31], s[20:21]
over%:
  s_endpgm)",
       .refused = "(it is loaded through a pointer that is not proven: pc 0x1010: s_load_dwordx2"},
      {.name = "the index changes between comparison and branch",
       .source = R"(
  s_add_u32 s12, s8, 3
  s_cmp_lt_u32 s12, 4
  s_mov_b32 s12, s8
  s_cbranch_scc0 over%
  s_lshl_b32 s13, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s13
  s_swappc_b64 s[30:31], s[20:21]
over%:
  s_endpgm)",
       .refused = "(it is loaded through a pointer that is not proven: pc 0x1014: s_load_dwordx2"},
      {.name = "the index changes behind the branch",
       .source = R"(
  s_add_u32 s12, s8, 3
  s_cmp_lt_u32 s12, 4
  s_cbranch_scc0 over%
  s_mov_b32 s12, s8
  s_lshl_b32 s13, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s13
  s_swappc_b64 s[30:31], s[20:21]
over%:
  s_endpgm)",
       .refused = "(it is loaded through a pointer that is not proven: pc 0x1014: s_load_dwordx2"},
      {.name = "SCC is another comparison",
       .source = R"(
  s_add_u32 s12, s8, 3
  s_cmp_lt_u32 s12, 4
  s_cmp_lt_u32 s8, 4
  s_cbranch_scc0 over%
  s_lshl_b32 s13, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s13
  s_swappc_b64 s[30:31], s[20:21]
over%:
  s_endpgm)",
       .refused = "(it is loaded through a pointer that is not proven: pc 0x1014: s_load_dwordx2"},
      {.name = "a branch enters behind the guard",
       .source = R"(
  s_add_u32 s12, s8, 3
  s_cmp_eq_u32 s8, 9
  s_cbranch_scc1 in%
  s_cmp_lt_u32 s12, 4
  s_cbranch_scc0 over%
in%:
  s_lshl_b32 s13, s12, 3
  s_load_dwordx2 s[20:21], s[6:7], s13
  s_swappc_b64 s[30:31], s[20:21]
over%:
  s_endpgm)",
       .refused = "(it is loaded through a pointer that is not proven: pc 0x1018: s_load_dwordx2"},
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

  };
}

} // namespace lanewise::calls
