// Scalar ALU: operand bits beside expected bits, many of them the ISA manual's own examples.
#include "emulator_harness.hpp"

namespace lanewise::rdna2::emu {
namespace {

using enum Opcode;

struct Row32 {
  Opcode opcode;
  uint32_t s0, s1;
  bool scc_in;
  uint32_t result;
  int scc_out; // -1: left as it was
};

constexpr Row32 two_sources[] = {
    {s_add_u32, 0xffffffff, 1, false, 0, 1},
    {s_add_u32, 0x7fffffff, 1, true, 0x80000000, 0},
    {s_sub_u32, 0, 1, false, 0xffffffff, 1},
    {s_sub_u32, 5, 5, true, 0, 0},
    {s_add_i32, 0x7fffffff, 1, false, 0x80000000, 1},
    {s_add_i32, 0xffffffff, 1, true, 0, 0},
    {s_sub_i32, 0x80000000, 1, false, 0x7fffffff, 1},
    {s_sub_i32, 3, 5, true, 0xfffffffe, 0},
    {s_addc_u32, 0xffffffff, 0, true, 0, 1},
    {s_addc_u32, 1, 2, true, 4, 0},
    {s_subb_u32, 0, 0, true, 0xffffffff, 1},
    {s_subb_u32, 5, 0xffffffff, true, 5, 1},
    {s_min_i32, 0xffffffff, 1, false, 0xffffffff, 1},
    {s_min_u32, 0xffffffff, 1, true, 1, 0},
    {s_max_i32, 0xffffffff, 1, true, 1, 0},
    {s_max_u32, 0xffffffff, 1, false, 0xffffffff, 1},
    {s_max_u32, 4, 4, true, 4, 0},
    {s_cselect_b32, 7, 9, true, 7, -1},
    {s_cselect_b32, 7, 9, false, 9, -1},
    {s_and_b32, 0xf0f0, 0x0f0f, true, 0, 0},
    {s_or_b32, 0xf0f0, 0x0f0f, false, 0xffff, 1},
    {s_xor_b32, 0xffff, 0x0f0f, false, 0xf0f0, 1},
    {s_andn2_b32, 0xffff, 0x0f0f, false, 0xf0f0, 1},
    {s_orn2_b32, 1, 0xfffffffe, false, 1, 1},
    {s_nand_b32, 0xffffffff, 0xffffffff, true, 0, 0},
    {s_nor_b32, 0, 0, false, 0xffffffff, 1},
    {s_xnor_b32, 0xff, 0xff, false, 0xffffffff, 1},
    {s_lshl_b32, 1, 33, false, 2, 1},
    {s_lshr_b32, 0x80000000, 31, false, 1, 1},
    {s_ashr_i32, 0x80000000, 31, false, 0xffffffff, 1},
    {s_bfm_b32, 8, 4, true, 0xff0, -1},
    {s_bfm_b32, 0, 4, true, 0, -1},
    {s_mul_i32, 0x10001, 0x10001, true, 0x20001, -1},
    {s_mul_hi_u32, 0xffffffff, 0xffffffff, true, 0xfffffffe, -1},
    {s_mul_hi_i32, 0xffffffff, 0xffffffff, true, 0, -1},
    {s_bfe_u32, 0x12345678, 8 | 8 << 16, false, 0x56, 1},
    {s_bfe_u32, 0x12345678, 8 | 0 << 16, true, 0, 0},
    {s_bfe_u32, 0x12345678, 28 | 31 << 16, false, 1, 1},
    {s_bfe_i32, 0x00000f00, 8 | 4 << 16, false, 0xffffffff, 1},
    {s_bfe_i32, 0x80000000, 28 | 16 << 16, false, 0xfffffff8, 1},
    {s_absdiff_i32, 2, 5, false, 3, 1},
    {s_absdiff_i32, 0xffffffff, 0, false, 1, 1},
    {s_absdiff_i32, 0x80000000, 0, false, 0x80000000, 1},
    {s_absdiff_i32, 0x80000000, 0xffffffff, false, 0x7fffffff, 1},
    {s_lshl1_add_u32, 0x80000000, 3, false, 3, 1},
    {s_lshl2_add_u32, 3, 5, true, 17, 0},
    {s_lshl3_add_u32, 3, 5, true, 29, 0},
    {s_lshl4_add_u32, 0x10000000, 0, false, 0, 1},
    {s_pack_ll_b32_b16, 0x11112222, 0x33334444, true, 0x44442222, -1},
    {s_pack_lh_b32_b16, 0x11112222, 0x33334444, true, 0x33332222, -1},
    {s_pack_hh_b32_b16, 0x11112222, 0x33334444, true, 0x33331111, -1},
};

TEST(EmulatorScalar, TwoSources) {
  for (const Row32& row : two_sources) {
    OneWave w;
    w.wave.sgpr[4] = row.s0, w.wave.sgpr[5] = row.s1, w.wave.scc = row.scc_in;
    ASSERT_EQ(w.run(sop2(row.opcode, 6, 4, 5)), Flow::next);
    EXPECT_EQ(w.wave.sgpr[6], row.result) << w.text;
    EXPECT_EQ(w.wave.scc, row.scc_out < 0 ? row.scc_in : row.scc_out == 1) << w.text;
  }
}

struct Row64 {
  Opcode opcode;
  uint64_t s0, s1, result;
  bool scc; // true where it is left as it was
};

constexpr uint64_t all = ~uint64_t{0}, top = uint64_t{1} << 63;
constexpr Row64 wide_sources[] = {
    {s_and_b64, top, top | 1, top, true},
    {s_or_b64, 0, 0, 0, false},
    {s_xor_b64, all, 1, all - 1, true},
    {s_andn2_b64, all, all, 0, false},
    {s_orn2_b64, 0, all - 1, 1, true},
    {s_nand_b64, all, all, 0, false},
    {s_nor_b64, 0, 0, all, true},
    {s_xnor_b64, top, 0, all >> 1, true},
    {s_lshl_b64, 1, 127, top, true},
    {s_lshr_b64, top, 63, 1, true},
    {s_ashr_i64, top, 63, all, true},
    {s_bfe_u64, 0x123456789abcdef0, 4 | 40 << 16, 0x6789abcdef, true},
    {s_bfe_i64, 0xf000000000000000, 56 | 32 << 16, 0xfffffffffffffff0, true},
    {s_bfe_u64, all, 63 | 64 << 16, 1, true},
    {s_bfm_b64, 40, 8, 0xffffffffff00, true},
};

TEST(EmulatorScalar, TwoSources64) {
  for (const Row64& row : wide_sources) {
    OneWave w;
    w.wave.set_pair(4, row.s0), w.wave.set_pair(6, row.s1), w.wave.scc = true;
    ASSERT_EQ(w.run(sop2(row.opcode, 8, 4, 6)), Flow::next);
    EXPECT_EQ(w.wave.pair(8), row.result) << w.text;
    EXPECT_EQ(w.wave.scc, row.scc) << w.text;
  }
}

struct Row1 {
  Opcode opcode;
  uint64_t source, result;
  bool scc; // true where it is left as it was
};

constexpr Row1 one_source[] = {
    {s_mov_b32, 5, 5, true},
    {s_mov_b64, top | 5, top | 5, true},
    {s_not_b32, 0xffffffff, 0, false},
    {s_not_b64, 0, all, true},
    {s_wqm_b32, 0x00010200, 0x000f0f00, true},
    {s_wqm_b64, 0x8000000000000001, 0xf00000000000000f, true},
    {s_quadmask_b32, 0x80010200, 0x00000094, true},
    {s_quadmask_b64, 0x8000000000000001, 0x8001, true},
    {s_brev_b32, 1, 0x80000000, true},
    {s_brev_b64, 1, top, true},
    {s_bcnt0_i32_b32, 0, 32, true},
    {s_bcnt0_i32_b32, 0xcccccccc, 16, true},
    {s_bcnt0_i32_b32, 0xffffffff, 0, false},
    {s_bcnt1_i32_b32, 0xcccccccc, 16, true},
    {s_bcnt0_i32_b64, 0xffffffff, 32, true},
    {s_bcnt1_i32_b64, all, 64, true},
    {s_ff0_i32_b32, 0xaaaaaaaa, 0, true},
    {s_ff0_i32_b32, 0xffffffff, 0xffffffff, true},
    {s_ff0_i32_b32, 0xfffeffff, 16, true},
    {s_ff0_i32_b64, 0xffffffff, 32, true},
    {s_ff1_i32_b32, 0, 0xffffffff, true},
    {s_ff1_i32_b32, 0x00010000, 16, true},
    {s_ff1_i32_b64, top, 63, true},
    {s_flbit_i32_b32, 0, 0xffffffff, true},
    {s_flbit_i32_b32, 0x0000cccc, 16, true},
    {s_flbit_i32_b64, 1, 63, true},
    {s_flbit_i32, 0x0000cccc, 16, true},
    {s_flbit_i32, 0xffff3333, 16, true},
    {s_flbit_i32, 0x80000000, 1, true},
    {s_flbit_i32, 0xffffffff, 0xffffffff, true},
    {s_flbit_i32_i64, all - 1, 63, true},
    {s_sext_i32_i8, 0x180, 0xffffff80, true},
    {s_sext_i32_i16, 0x17fff, 0x7fff, true},
    {s_abs_i32, 0x80000000, 0x80000000, true},
    {s_abs_i32, 0x80000001, 0x7fffffff, true},
    {s_abs_i32, 0, 0, false},
    {s_bitreplicate_b64_b32, 0x80000005, 0xc000000000000033, true},
};

TEST(EmulatorScalar, OneSource) {
  for (const Row1& row : one_source) {
    OneWave w;
    w.wave.set_pair(4, row.source), w.wave.scc = true;
    ASSERT_EQ(w.run(sop1(row.opcode, 8, 4)), Flow::next);
    const bool wide = dwords(info(row.opcode).dst[0], WaveSize::wave32) == 2;
    EXPECT_EQ(wide ? w.wave.pair(8) : w.wave.sgpr[8], row.result) << w.text;
    EXPECT_EQ(w.wave.scc, row.scc) << w.text;
  }
}

TEST(EmulatorScalar, TiedDestinations) {
  OneWave w;
  w.wave.sgpr[8] = 0xf0, w.wave.sgpr[4] = 36; // bit 4, or bit 36 of 64
  (void)w.run(sop1(s_bitset0_b32, 8, 4));
  EXPECT_EQ(w.wave.sgpr[8], 0xe0u);
  (void)w.run(sop1(s_bitset1_b64, 8, 4));
  EXPECT_EQ(w.wave.pair(8), 0x10000000e0u);
  w.wave.scc = false;
  (void)w.run(sop1(s_cmov_b32, 8, 4));
  EXPECT_EQ(w.wave.sgpr[8], 0xe0u);
  w.wave.scc = true;
  (void)w.run(sop1(s_cmov_b32, 8, 4));
  EXPECT_EQ(w.wave.sgpr[8], 36u);
  (void)w.run(sopk(s_cmovk_i32, 8, 0xfffe));
  EXPECT_EQ(w.wave.sgpr[8], 0xfffffffeu);
  (void)w.run(sopk(s_addk_i32, 8, 3));
  EXPECT_EQ(w.wave.sgpr[8], 1u);
  EXPECT_FALSE(w.wave.scc);
  (void)w.run(sopk(s_mulk_i32, 8, 0xffff));
  EXPECT_EQ(w.wave.sgpr[8], 0xffffffffu);
}

struct Compare {
  Opcode scalar, constant;
  uint32_t a;
  uint16_t b;
  bool result;
};
constexpr Compare compares[] = {
    {s_cmp_eq_i32, s_cmpk_eq_i32, 0xffffffff, 0xffff, true},
    {s_cmp_lg_i32, s_cmpk_lg_i32, 1, 1, false},
    {s_cmp_gt_i32, s_cmpk_gt_i32, 1, 0xffff, true},
    {s_cmp_ge_i32, s_cmpk_ge_i32, 0xffffffff, 0xffff, true},
    {s_cmp_lt_i32, s_cmpk_lt_i32, 0xfffffffe, 0xffff, true},
    {s_cmp_le_i32, s_cmpk_le_i32, 5, 4, false},
    {s_cmp_eq_u32, s_cmpk_eq_u32, 0xffff, 0xffff, true},
    {s_cmp_lg_u32, s_cmpk_lg_u32, 0xffffffff, 0xffff, true},
    {s_cmp_gt_u32, s_cmpk_gt_u32, 0x10000, 0xffff, true},
    {s_cmp_ge_u32, s_cmpk_ge_u32, 4, 5, false},
    {s_cmp_lt_u32, s_cmpk_lt_u32, 4, 0x8000, true},
    {s_cmp_le_u32, s_cmpk_le_u32, 4, 4, true},
};

TEST(EmulatorScalar, Compares) {
  for (const Compare& c : compares) {
    OneWave w;
    const bool is_signed = info(c.scalar).src[0] == OperandType::i32;
    w.wave.sgpr[4] = c.a;
    w.wave.sgpr[5] = is_signed ? static_cast<uint32_t>(int32_t{static_cast<int16_t>(c.b)}) : c.b;
    w.wave.scc = !c.result;
    (void)w.run(sopc(c.scalar, 4, 5));
    EXPECT_EQ(w.wave.scc, c.result) << w.text;
    w.wave.scc = !c.result;
    (void)w.run(sopk(c.constant, 4, c.b));
    EXPECT_EQ(w.wave.scc, c.result) << w.text;
  }
}

struct Saveexec {
  Opcode opcode;
  uint32_t source, exec, result;
};
TEST(EmulatorScalar, SaveExec) {
  constexpr Saveexec rows[] = {
      {s_and_saveexec_b32, 0xff00, 0x0ff0, 0x0f00},
      {s_or_saveexec_b32, 0xff00, 0x0ff0, 0xfff0},
      {s_xor_saveexec_b32, 0xff00, 0x0ff0, 0xf0f0},
      {s_andn2_saveexec_b32, 0xff00, 0x0ff0, 0xf000},
      {s_orn2_saveexec_b32, 0, ~0xffu, 0xff},
      {s_nand_saveexec_b32, ~0u, ~0u, 0},
      {s_nor_saveexec_b32, 0, ~1u, 1},
      {s_xnor_saveexec_b32, 5, ~5u, 0},
      {s_andn1_saveexec_b32, 0xff00, 0x0ff0, 0x00f0},
      {s_orn1_saveexec_b32, ~1u, 2, 3},
  };
  for (const Saveexec& row : rows) {
    OneWave w;
    w.set_exec(row.exec), w.wave.sgpr[4] = row.source;
    (void)w.run(sop1(row.opcode, 8, 4));
    EXPECT_EQ(w.wave.sgpr[8], row.exec) << w.text;
    EXPECT_EQ(w.wave.exec(), row.result) << w.text;
    EXPECT_EQ(w.wave.scc, row.result != 0) << w.text;
  }
  OneWave w;
  w.set_exec(0xff), w.wave.sgpr[4] = 0xf;
  (void)w.run(sop1(s_andn1_wrexec_b32, 8, 4));
  EXPECT_EQ(w.wave.sgpr[8], 0xf0u);
  EXPECT_EQ(w.wave.exec(), 0xf0u);
}

TEST(EmulatorScalar, NullRegisterReadsZeroAndIgnoresWrites) {
  OneWave w;
  w.wave.sgpr[4] = 7;
  (void)w.run(sop2(s_add_u32, null_code, 4, 4));
  (void)w.run(sop2(s_add_u32, 5, 4, null_code));
  EXPECT_EQ(w.wave.sgpr[5], 7u);
}

TEST(EmulatorScalar, RelativeMoves) {
  OneWave w;
  w.wave.sgpr[17] = 99, w.wave.sgpr[reg_m0] = 10;
  (void)w.run(sop1(s_movrels_b32, 5, 7));
  EXPECT_EQ(w.wave.sgpr[5], 99u);
  (void)w.run(sop1(s_movreld_b32, 5, 17));
  EXPECT_EQ(w.wave.sgpr[15], 99u);
  w.wave.sgpr[reg_m0] = 20 << 16 | 10;
  (void)w.run(sop1(s_movrelsd_2_b32, 5, 7));
  EXPECT_EQ(w.wave.sgpr[25], 99u);
  w.wave.sgpr[reg_m0] = 200;
  EXPECT_EQ(w.run(sop1(s_movrels_b32, 5, 7)), Flow::fault);
}

TEST(EmulatorScalar, HardwareRegisters) {
  OneWave w;
  w.wave.sgpr[4] = 5;
  (void)w.run(sopk(s_setreg_b32, 4, 1 | 0 << 6 | 3 << 11)); // hwreg(HW_REG_MODE, 0, 4)
  EXPECT_EQ(w.wave.mode.bits & 15, 5u);
  (void)w.run(sopk(s_getreg_b32, 6, 1 | 4 << 6 | 3 << 11));
  EXPECT_EQ(w.wave.sgpr[6], 15u);
  (void)w.run(sopp(s_round_mode, 3));
  (void)w.run(sopp(s_denorm_mode, 1));
  EXPECT_EQ(w.wave.mode.bits & 0xff, 0x13u);
  // The apertures, as clang 14 asks for them.
  (void)w.run(sopk(s_getreg_b32, 6, 15 | 16 << 6 | 15 << 11));
  EXPECT_EQ(w.wave.sgpr[6] << 16, guest_abi::shared_aperture_hi);
  EXPECT_EQ(w.run(sopk(s_getreg_b32, 6, 50)), Flow::fault);
  EXPECT_EQ(w.wave.fault.kind, ErrorKind::unsupported);
}

TEST(EmulatorScalar, Control) {
  OneWave w;
  w.wave.pc = 0x1000;
  EXPECT_EQ(w.run(sopp(s_branch, 0xfffe)), Flow::jump);
  EXPECT_EQ(w.wave.pc, 0xffcu);
  w.wave.pc = 0x1000;
  EXPECT_EQ(w.run(sopk(s_call_b64, 8, 4)), Flow::jump);
  EXPECT_EQ(w.wave.pair(8), 0x1004u);
  EXPECT_EQ(w.wave.pc, 0x1014u);
  w.wave.set_pair(4, 0x2000), w.wave.pc = 0x1000;
  EXPECT_EQ(w.run(sop1(s_swappc_b64, 4, 4)), Flow::jump);
  EXPECT_EQ(w.wave.pc, 0x2000u);
  EXPECT_EQ(w.wave.pair(4), 0x1004u);
  EXPECT_EQ(w.run(sop1(s_getpc_b64, 6, 0)), Flow::next);
  EXPECT_EQ(w.wave.pair(6), 0x2004u);
  EXPECT_EQ(w.run(sopp(s_trap, 2)), Flow::fault);
  EXPECT_EQ(w.run(sopp(s_endpgm)), Flow::end);
  EXPECT_EQ(w.run(sopp(s_barrier)), Flow::barrier);
  EXPECT_EQ(w.run(sopp(s_code_end)), Flow::fault);
  EXPECT_EQ(w.run(sopp(s_sendmsg, 1)), Flow::next);
  EXPECT_EQ(w.run(sopp(s_sendmsg, 10)), Flow::fault);
}

struct Branch {
  Opcode opcode;
  bool scc;
  uint32_t vcc, exec;
  bool taken;
};
TEST(EmulatorScalar, ConditionalBranches) {
  constexpr Branch rows[] = {
      {s_cbranch_scc0, false, 0, 1, true},   {s_cbranch_scc0, true, 0, 1, false},
      {s_cbranch_scc1, true, 0, 1, true},    {s_cbranch_vccz, false, 0, 1, true},
      {s_cbranch_vccz, false, 4, 1, false},  {s_cbranch_vccnz, false, 4, 1, true},
      {s_cbranch_execz, false, 0, 0, true},  {s_cbranch_execnz, false, 0, 0, false},
      {s_cbranch_execnz, false, 0, 2, true}, {s_cbranch_cdbguser, false, 0, 1, false},
  };
  for (const Branch& b : rows) {
    OneWave w;
    w.wave.scc = b.scc, w.wave.sgpr[reg_vcc] = b.vcc, w.set_exec(b.exec);
    // In wave32 the high halves are plain registers and do not count.
    w.wave.sgpr[reg_vcc + 1] = w.wave.sgpr[reg_exec + 1] = 0xffff;
    EXPECT_EQ(w.run(sopp(b.opcode, 3)) == Flow::jump, b.taken) << w.text;
  }
}

TEST(EmulatorScalar, SubvectorLoopRunsBothHalves) {
  OneWave w(64);
  w.set_exec(0x5'0000'0003);
  std::vector<uint64_t> passes;
  ASSERT_EQ(w.run(sopk(s_subvector_loop_begin, 8, 10)), Flow::next);
  for (;;) {
    passes.push_back(w.wave.exec());
    if (w.run(sopk(s_subvector_loop_end, 8, 0xfff0)) != Flow::jump || passes.size() > 3) break;
  }
  EXPECT_EQ(passes, (std::vector<uint64_t>{3, 0x5'0000'0000}));
  EXPECT_EQ(w.wave.exec(), 0x5'0000'0003u);
}

} // namespace
} // namespace lanewise::rdna2::emu
