#include "translate/relative_reach.hpp"

#include "program.hpp"

#include <gtest/gtest.h>

namespace lanewise::translate {
namespace {

/// How many registers the first relative instruction of a program may choose from.
unsigned reach(std::vector<uint32_t> words) {
  words.push_back(0xbf810000); // s_endpgm
  const auto binary = program(words);
  const auto graph = build_graph(binary, program_base, rdna2::WaveSize::wave32, {});
  EXPECT_TRUE(graph);
  if (!graph) return 0;
  for (const auto& i : graph->code.instructions())
    if (i.opcode == rdna2::Opcode::v_movreld_b32) return RelativeReach(*graph).registers(i);
  return 0;
}

constexpr uint32_t move = 0x7e1c8502; // v_movreld_b32_e32 v14, v2

TEST(RelativeReach, IsWhatTheScalarCodeSays) {
  const struct {
    const char* code;
    std::vector<uint32_t> words;
    unsigned registers;
  } cases[] = {
      {"s_mov_b32 m0, 3", {0xbefc0383, move}, 4},
      {"s_mov_b32 m0, s16", {0xbefc0310, move}, 256},
      {"s_and_b32 m0, s16, 3", {0x877c8310, move}, 4},
      {"s_min_u32 m0, s16, 3", {0x83fc8310, move}, 4},
      {"s_bfe_u32 s16, s17, 0x80008 ; s_lshr_b32 m0, s16, 2", {0x9390ff11, 0x00080008, 0x907c8210, move}, 64},
      {"s_and_b32 s16, s17, 3 ; s_add_u32 m0, s16, 2", {0x87108311, 0x807c8210, move}, 6},
      {"s_and_b32 s16, s17, 3 ; s_lshl_b32 m0, s16, 2", {0x87108311, 0x8f7c8210, move}, 13},
      {"s_and_b32 s16, s17, 3 ; s_mul_i32 m0, s16, 3", {0x87108311, 0x937c8310, move}, 10},
      {"s_and_b32 s16, s17, 1 ; s_or_b32 m0, s16, 2", {0x87108111, 0x887c8210, move}, 4},
      {"s_and_b32 s16, s17, 3 ; s_cselect_b32 m0, s16, 2", {0x87108311, 0x857c8210, move}, 4},
      {"s_and_b32 s16, s17, 3 ; s_sub_u32 m0, s16, 2 may wrap", {0x87108311, 0x80fc8210, move}, 256},
      {"s_add_u32 m0, s16, 2 may wrap", {0x807c8210, move}, 256},
      {"a compare writes vcc_lo between s_and_b32 vcc_lo and s_mov_b32 m0",
       {0x876a8310, 0x7d840702, 0xbefc036a, move},
       256},
      {"the same without the compare", {0x876a8310, 0xbefc036a, move}, 4},
      // s_cbranch_scc1 to the second of: s_mov_b32 m0, 3 ; s_branch over it | s_mov_b32 m0, 9
      {"3 from one side, 9 from the other", {0xbf850002, 0xbefc0383, 0xbf820001, 0xbefc0389, move}, 10},
      {"one side knows nothing", {0xbf850002, 0xbefc0383, 0xbf820001, 0xbefc0310, move}, 256},
      // s_mov_b32 m0, 0 | v_movreld ; s_add_u32 m0, m0, 1 ; s_cmp_lg_u32 m0, s16 ; s_cbranch_scc1 back
      {"a counter", {0xbefc0380, move, 0x807c817c, 0xbf07107c, 0xbf85fffc}, 256},
      // s_mov_b32 m0, 3 | v_movreld ; s_cmp_lg_u32 m0, s16 ; s_cbranch_scc1 back
      {"a loop that leaves it alone", {0xbefc0383, move, 0xbf07107c, 0xbf85fffd}, 4},
  };
  for (const auto& c : cases) EXPECT_EQ(reach(c.words), c.registers) << c.code;
}

} // namespace
} // namespace lanewise::translate
