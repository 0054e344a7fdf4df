// The lane rules: what EXEC, masks, DPP, SDWA and the cross-lane instructions do in lanes that are on and
// off.
#include "emulator_harness.hpp"

namespace lanewise::rdna2::emu {
namespace {

using enum Opcode;
using u = uint32_t;

std::vector<uint32_t> dpp16(uint32_t word, unsigned src0, unsigned control, bool bound_ctrl = false,
                            bool fetch_inactive = false, unsigned row_mask = 15, unsigned bank_mask = 15) {
  return {(word & ~0x1ffu) | 250, src0 | control << 8 | (fetch_inactive ? 1u << 18 : 0) |
                                      (bound_ctrl ? 1u << 19 : 0) | bank_mask << 24 | row_mask << 28};
}
std::vector<uint32_t> dpp8(uint32_t word, unsigned src0, std::array<unsigned, 8> lanes,
                           bool fetch_inactive = false) {
  uint32_t select = 0;
  for (unsigned i = 0; i < 8; ++i) select |= lanes[i] << 3 * i;
  return {(word & ~0x1ffu) | (fetch_inactive ? 234u : 233u), src0 | select << 8};
}

TEST(EmulatorLanes, WritesOnlyActiveLanes) {
  OneWave w;
  w.count(0), w.fill(8, 77), w.set_exec(0x0000f00f);
  (void)w.run(vop1(v_mov_b32, 8, V(0)));
  for (unsigned l = 0; l < 32; ++l) EXPECT_EQ(w.wave.v(8)[l], (0xf00fu >> l & 1) != 0 ? l : 77u);
}

TEST(EmulatorLanes, ComparesWriteZeroInLanesThatAreOff) {
  for (unsigned lanes : {32u, 64u}) {
    OneWave w(lanes);
    w.count(0), w.fill(1, 0), w.set_exec(0xf0f0'0000'ff0f);
    w.wave.set_pair(reg_vcc, ~uint64_t{0});
    (void)w.run(vopc(v_cmp_ge_u32, V(0), 1));
    EXPECT_EQ(w.wave.vcc(), w.wave.exec());
    // wave32 leaves the high halves of VCC and EXEC alone
    EXPECT_EQ(w.wave.sgpr[reg_vcc + 1], lanes == 32 ? 0xffffffffu : w.wave.sgpr[reg_exec + 1]);
    w.wave.sgpr[reg_exec + 1] |= lanes == 32 ? 0x55u : 0;
    const u high = w.wave.sgpr[reg_exec + 1];
    w.fill(1, 2);
    (void)w.run(vopc(v_cmpx_gt_u32, V(0), 1));
    EXPECT_EQ(w.wave.exec() & 0xffff, 0xff08u);
    EXPECT_TRUE(lanes == 64 || w.wave.sgpr[reg_exec + 1] == high);
  }
}

TEST(EmulatorLanes, FirstLaneOrLaneZero) {
  OneWave w;
  w.count(0, 100);
  for (const auto& [exec, want] : {std::pair<u, u>{0xffffffff, 100}, {0x00010000, 116}, {0, 100}}) {
    w.set_exec(exec);
    (void)w.run(vop1(v_readfirstlane_b32, 4, V(0)));
    EXPECT_EQ(w.wave.sgpr[4], want);
  }
}

TEST(EmulatorLanes, ReadAndWriteLaneIgnoreExec) {
  OneWave w;
  w.count(0, 100), w.set_exec(0), w.wave.sgpr[4] = 37, w.wave.sgpr[5] = 999; // lane 37 modulo 32
  (void)w.run(Vop3{.opcode = v_readlane_b32, .dst = 6, .src0 = V(0), .src1 = 4}.words());
  EXPECT_EQ(w.wave.sgpr[6], 105u);
  (void)w.run(Vop3{.opcode = v_writelane_b32, .dst = 0, .src0 = 5, .src1 = 4}.words());
  EXPECT_EQ(w.wave.v(0)[5], 999u);
  EXPECT_EQ(w.wave.v(0)[4], 104u);
}

struct DppRow {
  unsigned control;
  int (*source)(int lane); // in the row of 16; -1: none
};
TEST(EmulatorLanes, Dpp16Patterns) {
  constexpr DppRow rows[] = {
      {0x1b, [](int l) { return (l & ~3) + 3 - (l & 3); }},   // quad_perm:[3,2,1,0]
      {0x101, [](int l) { return l + 1 < 16 ? l + 1 : -1; }}, // row_shl:1
      {0x113, [](int l) { return l - 3; }},                   // row_shr:3
      {0x12f, [](int l) { return (l + 1) % 16; }},            // row_ror:15
      {0x140, [](int l) { return 15 - l; }},                  // row_mirror
      {0x141, [](int l) { return (l & 8) + 7 - (l & 7); }},   // row_half_mirror
      {0x155, [](int) { return 5; }},                         // row_share:5
      {0x16a, [](int l) { return l ^ 10; }},                  // row_xmask:10
  };
  for (unsigned lanes : {32u, 64u})
    for (const DppRow& row : rows)
      for (bool bound : {false, true}) {
        OneWave w(lanes);
        w.count(0, 1000), w.fill(8, 7);
        ASSERT_EQ(w.run(dpp16(vop1(v_mov_b32, 8, 0), 0, row.control, bound)), Flow::next);
        for (unsigned l = 0; l < lanes; ++l) {
          const int s = row.source(static_cast<int>(l % 16));
          const u want = s >= 0 ? 1000 + (l & ~15u) + static_cast<u>(s) : bound ? 0 : 7;
          ASSERT_EQ(w.wave.v(8)[l], want) << w.text << " lane " << l;
        }
      }
}

TEST(EmulatorLanes, Dpp16LanesThatAreOff) {
  const auto mirror = [](bool bound, bool fetch) {
    OneWave w;
    w.count(0, 100), w.fill(8, 7), w.set_exec(0x00000103); // lane 0 reads 15 (off), lane 8 reads 7 (off)
    (void)w.run(dpp16(vop1(v_mov_b32, 8, 0), 0, 0x140, bound, fetch));
    return std::array<u, 3>{w.wave.v(8)[0], w.wave.v(8)[8], w.wave.v(8)[2]};
  };
  EXPECT_EQ(mirror(false, false), (std::array<u, 3>{7, 7, 7}));
  EXPECT_EQ(mirror(true, false), (std::array<u, 3>{0, 0, 7}));
  EXPECT_EQ(mirror(false, true), (std::array<u, 3>{115, 107, 7}));
}

TEST(EmulatorLanes, Dpp16Masks) {
  OneWave w;
  w.count(0, 100), w.fill(8, 7);
  (void)w.run(dpp16(vop1(v_mov_b32, 8, 0), 0, 0x1b, true, false, 2, 5)); // row 1, banks 0 and 2
  for (unsigned l = 0; l < 32; ++l)
    EXPECT_EQ(w.wave.v(8)[l] != 7, l >= 16 && (l / 4 % 4 == 0 || l / 4 % 4 == 2)) << l;
}

TEST(EmulatorLanes, DppAppliesBeforeArithmetic) {
  OneWave w;
  w.count(0), w.count(1, 1000);
  (void)w.run(dpp16(vop2(v_add_nc_u32, 8, 0, 1), 0, 0x111, true)); // v0 shifted right by one lane, plus v1
  EXPECT_EQ(w.wave.v(8)[0], 1000u);
  EXPECT_EQ(w.wave.v(8)[5], 1009u);
  EXPECT_EQ(w.wave.v(8)[16], 1016u);
}

TEST(EmulatorLanes, Dpp8) {
  OneWave w;
  w.count(0, 100), w.set_exec(0xffff00ff);
  (void)w.run(dpp8(vop1(v_mov_b32, 8, 0), 0, {7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(w.wave.v(8)[1], 106u);
  EXPECT_EQ(w.wave.v(8)[24], 131u);
  w.set_exec(0xf0);
  (void)w.run(dpp8(vop1(v_mov_b32, 8, 0), 0, {0, 0, 0, 0, 0, 7, 0, 0}));
  EXPECT_EQ(w.wave.v(8)[4], 0u); // lane 0 is off
  EXPECT_EQ(w.wave.v(8)[5], 107u);
  (void)w.run(dpp8(vop1(v_mov_b32, 8, 0), 0, {0, 0, 0, 0, 0, 7, 0, 0}, true));
  EXPECT_EQ(w.wave.v(8)[4], 100u);
}

TEST(EmulatorLanes, Sdwa) {
  const auto sdwa = [](uint32_t word, unsigned src0, unsigned dst_sel, unsigned unused, unsigned sel0,
                       unsigned sel1, unsigned sext0 = 0) {
    return std::vector<uint32_t>{(word & ~0x1ffu) | 249,
                                 src0 | dst_sel << 8 | unused << 11 | sel0 << 16 | sext0 << 19 | sel1 << 24};
  };
  OneWave w;
  w.fill(0, 0x8899aabb), w.fill(1, 0x11223344);
  const auto run = [&](const std::vector<uint32_t>& words) {
    w.fill(8, 0x55667788);
    EXPECT_EQ(w.run(words), Flow::next);
    return w.wave.v(8)[3];
  };
  // selectors: byte0..3 = 0..3, word0 = 4, word1 = 5, dword = 6; unused: 0 pad, 1 sign, 2 preserve
  EXPECT_EQ(run(sdwa(vop2(v_add_nc_u32, 8, 0, 1), 0, 6, 0, 1, 4)), 0x3344u + 0xaau);
  EXPECT_EQ(run(sdwa(vop2(v_add_nc_u32, 8, 0, 1), 0, 6, 0, 1, 0, 1)), 0x44u - 0x56u);
  EXPECT_EQ(run(sdwa(vop1(v_mov_b32, 8, 0), 0, 1, 2, 3, 0)), 0x55668888u);
  EXPECT_EQ(run(sdwa(vop1(v_mov_b32, 8, 0), 0, 1, 0, 3, 0)), 0x00008800u);
  EXPECT_EQ(run(sdwa(vop1(v_mov_b32, 8, 0), 0, 1, 1, 3, 0)), 0xffff8800u);
  EXPECT_EQ(run(sdwa(vop1(v_mov_b32, 8, 0), 0, 5, 2, 4, 0)), 0xaabb7788u);
}

TEST(EmulatorLanes, PermuteRows) {
  OneWave w;
  w.count(0, 100);
  w.wave.sgpr[4] = 0x76543210, w.wave.sgpr[5] = 0x01234567; // lanes 8..15 read 7..0
  (void)w.run(Vop3{.opcode = v_permlane16_b32, .dst = 8, .src0 = V(0), .src1 = 4, .src2 = 5}.words());
  EXPECT_EQ(w.wave.v(8)[3], 103u);
  EXPECT_EQ(w.wave.v(8)[24], 123u);
  (void)w.run(Vop3{.opcode = v_permlanex16_b32, .dst = 8, .src0 = V(0), .src1 = 4, .src2 = 5}.words());
  EXPECT_EQ(w.wave.v(8)[3], 119u);
  EXPECT_EQ(w.wave.v(8)[24], 107u);
  // Source lanes that are off: kept, 0 with bound control (op_sel 2), read with fetch inactive (op_sel 1).
  w.set_exec(0xffff), w.fill(8, 7);
  for (const auto& [op_sel, want] : {std::pair<unsigned, u>{0, 7}, {2, 0}, {1, 119}}) {
    (void)w.run(
        Vop3{.opcode = v_permlanex16_b32, .dst = 8, .src0 = V(0), .src1 = 4, .src2 = 5, .op_sel = op_sel}
            .words());
    EXPECT_EQ(w.wave.v(8)[3], want) << w.text;
  }
}

TEST(EmulatorLanes, SwizzleAndPermute) {
  OneWave w;
  w.count(0, 100), w.set_exec(0xfffffffe);
  const auto swizzle = [&](unsigned offset) {
    (void)w.run(ds(ds_swizzle_b32, 8, 0, 0, 0, offset & 255, offset >> 8));
  };
  swizzle(0x1f | 1 << 10); // swap neighbours
  EXPECT_EQ(w.wave.v(8)[4], 105u);
  EXPECT_EQ(w.wave.v(8)[1], 0u); // lane 0 is off
  swizzle(0x8000 | 0x1b);
  EXPECT_EQ(w.wave.v(8)[4], 107u);
  swizzle(0xc000 | 3 << 5); // rotate by 3
  EXPECT_EQ(w.wave.v(8)[30], 101u);
  for (unsigned l = 0; l < 32; ++l) w.wave.v(1)[l] = 4 * (31 - l);
  (void)w.run(ds(ds_bpermute_b32, 8, 1, 0));
  EXPECT_EQ(w.wave.v(8)[4], 127u);
  EXPECT_EQ(w.wave.v(8)[31], 0u); // reads lane 0, which is off
  w.fill(1, 4 * 9);               // all push to lane 9: the highest wins
  (void)w.run(ds(ds_permute_b32, 8, 1, 0));
  EXPECT_EQ(w.wave.v(8)[9], 131u);
  EXPECT_EQ(w.wave.v(8)[10], 0u);
}

TEST(EmulatorLanes, MaskedBitCounts) {
  for (unsigned lanes : {32u, 64u}) {
    OneWave w(lanes);
    w.fill(1, 0);
    (void)w.run(Vop3{.opcode = v_mbcnt_lo_u32_b32, .dst = 1, .src0 = 193, .src1 = V(1)}.words()); // -1
    (void)w.run(Vop3{.opcode = v_mbcnt_hi_u32_b32, .dst = 1, .src0 = 193, .src1 = V(1)}.words());
    for (unsigned l = 0; l < lanes; ++l) EXPECT_EQ(w.wave.v(1)[l], l);
  }
}

TEST(EmulatorLanes, RelativeMovesAndSwaps) {
  OneWave w;
  w.count(17, 500), w.wave.sgpr[reg_m0] = 10;
  (void)w.run(vop1(v_movrels_b32, 5, V(7)));
  EXPECT_EQ(w.wave.v(5)[3], 503u);
  (void)w.run(vop1(v_movreld_b32, 20, V(5)));
  EXPECT_EQ(w.wave.v(30)[3], 503u);
  w.count(0), w.count(1, 50), w.set_exec(2);
  (void)w.run(vop1(v_swap_b32, 0, V(1)));
  EXPECT_EQ(w.wave.v(0)[1], 51u);
  EXPECT_EQ(w.wave.v(1)[1], 1u);
  EXPECT_EQ(w.wave.v(0)[2], 2u);
  w.wave.sgpr[reg_m0] = 300;
  EXPECT_EQ(w.run(vop1(v_movrels_b32, 5, V(7))), Flow::fault);
}

} // namespace
} // namespace lanewise::rdna2::emu
