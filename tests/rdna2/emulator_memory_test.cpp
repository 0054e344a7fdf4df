// Memory instructions: what they move, what out-of-range accesses do, and what faults say.
#include "emulator_harness.hpp"

namespace lanewise::rdna2::emu {
namespace {

using enum Opcode;
using u = uint32_t;

class EmulatorMemory : public ::testing::Test {
 protected:
  OneWave w;
  uint64_t buffer = w.memory.allocate(256, "data");
  std::span<uint8_t> bytes() { return w.memory.at(buffer); }
  u word(unsigned i) {
    u v = 0;
    std::memcpy(&v, bytes().data() + 4 * i, 4);
    return v;
  }
  void SetUp() override {
    for (unsigned i = 0; i < 256; ++i) bytes()[i] = static_cast<uint8_t>(i);
    for (unsigned l = 0; l < 32; ++l) w.set64(0, l, buffer + 4 * l);
  }
};

TEST_F(EmulatorMemory, GlobalLoadsAndStores) {
  (void)w.run(flat(global_load_dword, 8, 0));
  EXPECT_EQ(w.wave.v(8)[2], 0x0b0a0908u);
  (void)w.run(flat(global_load_dwordx4, 8, 0, 0, null_code, 16));
  EXPECT_EQ(w.wave.v(11)[1], 0x23222120u);
  (void)w.run(flat(global_load_ubyte, 8, 0, 0, null_code, 3));
  EXPECT_EQ(w.wave.v(8)[31], 127u);
  (void)w.run(flat(global_load_sbyte, 8, 0, 0, null_code, 128));
  EXPECT_EQ(w.wave.v(8)[0], 0xffffff80u);
}

TEST_F(EmulatorMemory, SgprBasePlusOffset) {
  w.wave.set_pair(4, buffer), w.count(2, 0, 4);
  (void)w.run(flat(global_load_dword, 8, 2, 0, 4));
  EXPECT_EQ(w.wave.v(8)[3], 0x0f0e0d0cu);
  w.fill(3, 0x12345678);
  (void)w.run(flat(global_store_short, 0, 2, 3, 4, 2));
  EXPECT_EQ(word(3), 0x56780d0cu);
  (void)w.run(flat(global_store_byte_d16_hi, 0, 2, 3, 4));
  EXPECT_EQ(word(3), 0x56780d34u);
}

TEST_F(EmulatorMemory, D16LoadsKeepTheOtherHalf) {
  w.fill(8, 0xaaaabbbb);
  (void)w.run(flat(global_load_short_d16, 8, 0));
  EXPECT_EQ(w.wave.v(8)[1], 0xaaaa0504u);
  (void)w.run(flat(global_load_sbyte_d16_hi, 8, 0, 0, null_code, 128));
  EXPECT_EQ(w.wave.v(8)[1], 0xff840504u);
}

TEST_F(EmulatorMemory, LanesThatAreOffAccessNothing) {
  for (unsigned l = 0; l < 32; ++l) w.set64(0, l, l == 3 ? buffer : 0);
  w.set_exec(8), w.fill(8, 7);
  EXPECT_EQ(w.run(flat(global_load_dword, 8, 0)), Flow::next);
  EXPECT_EQ(w.wave.v(8)[3], 0x03020100u);
  EXPECT_EQ(w.wave.v(8)[2], 7u);
}

TEST_F(EmulatorMemory, FaultsNameLaneAndAddress) {
  w.set64(0, 5, buffer + 254);
  EXPECT_EQ(w.run(flat(global_load_dword, 8, 0)), Flow::fault);
  EXPECT_EQ(w.wave.fault.lane, 5);
  EXPECT_NE(w.wave.fault.what.find("over the end of data (256 bytes)"), std::string::npos)
      << w.wave.fault.what;
  w.set64(0, 5, buffer + 300);
  EXPECT_EQ(w.run(flat(global_store_dword, 0, 0, 8)), Flow::fault);
  EXPECT_NE(w.wave.fault.what.find("44 bytes behind data"), std::string::npos) << w.wave.fault.what;
  w.set64(0, 5, 0);
  EXPECT_EQ(w.run(flat(flat_load_dword, 8, 0)), Flow::fault);
  EXPECT_NE(w.wave.fault.what.find("outside every buffer"), std::string::npos) << w.wave.fault.what;
  ASSERT_TRUE(w.memory.map(0x10000, 64, "constants", false));
  w.set64(0, 5, 0x10000);
  EXPECT_EQ(w.run(flat(global_load_dword, 8, 0)), Flow::next);
  EXPECT_EQ(w.run(flat(global_store_dword, 0, 0, 8)), Flow::fault);
  EXPECT_NE(w.wave.fault.what.find("read-only"), std::string::npos) << w.wave.fault.what;
  w.set64(0, 5, buffer + 2);
  EXPECT_EQ(w.run(flat(global_atomic_add, 0, 0, 8)), Flow::fault);
}

struct AtomicRow {
  Opcode opcode, wide, lds;
  u old, data, compare, result;
};
TEST_F(EmulatorMemory, Atomics) {
  constexpr AtomicRow rows[] = {
      {global_atomic_swap, global_atomic_swap_x2, ds_wrxchg_rtn_b32, 5, 7, 0, 7},
      {global_atomic_cmpswap, global_atomic_cmpswap_x2, ds_cmpst_rtn_b32, 5, 7, 5, 7},
      {global_atomic_cmpswap, global_atomic_cmpswap_x2, ds_cmpst_rtn_b32, 5, 7, 6, 5},
      {global_atomic_add, global_atomic_add_x2, ds_add_rtn_u32, 5, 7, 0, 12},
      {global_atomic_sub, global_atomic_sub_x2, ds_sub_rtn_u32, 9, 7, 0, 2},
      {global_atomic_smin, global_atomic_smin_x2, ds_min_rtn_i32, 5, 7, 0, 5},
      {global_atomic_umin, global_atomic_umin_x2, ds_min_rtn_u32, 9, 7, 0, 7},
      {global_atomic_smax, global_atomic_smax_x2, ds_max_rtn_i32, 5, 7, 0, 7},
      {global_atomic_umax, global_atomic_umax_x2, ds_max_rtn_u32, 5, 7, 0, 7},
      {global_atomic_and, global_atomic_and_x2, ds_and_rtn_b32, 6, 3, 0, 2},
      {global_atomic_or, global_atomic_or_x2, ds_or_rtn_b32, 6, 3, 0, 7},
      {global_atomic_xor, global_atomic_xor_x2, ds_xor_rtn_b32, 6, 3, 0, 5},
      {global_atomic_inc, global_atomic_inc_x2, ds_inc_rtn_u32, 6, 6, 0, 0},
      {global_atomic_inc, global_atomic_inc_x2, ds_inc_rtn_u32, 5, 6, 0, 6},
      {global_atomic_dec, global_atomic_dec_x2, ds_dec_rtn_u32, 0, 6, 0, 6},
      {global_atomic_dec, global_atomic_dec_x2, ds_dec_rtn_u32, 5, 6, 0, 4},
  };
  w.set_exec(1);
  for (const AtomicRow& row : rows) {
    std::memset(bytes().data(), 0, 16), std::memcpy(bytes().data(), &row.old, 4);
    w.fill(2, row.data), w.fill(3, row.compare), w.fill(4, 0), w.fill(5, 0);
    (void)w.run(flat(row.opcode, 8, 0, 2, null_code, 0, true));
    EXPECT_EQ(word(0), row.result) << w.text;
    EXPECT_EQ(w.wave.v(8)[0], row.old) << w.text;
    std::memcpy(bytes().data(), &row.old, 4);
    w.fill(3, 0), w.fill(4, row.compare);
    (void)w.run(flat(row.wide, 8, 0, 2, null_code, 0, true));
    EXPECT_EQ(word(0), row.result) << w.text;
    EXPECT_EQ(w.get64(8, 0), row.old) << w.text;
    // LDS: the comparand comes first
    std::memcpy(w.group.lds.data(), &row.old, 4);
    const bool compares = row.opcode == global_atomic_cmpswap;
    w.fill(6, 0), w.fill(2, compares ? row.compare : row.data), w.fill(3, row.data);
    (void)w.run(ds(row.lds, 8, 6, 2, 3));
    u after = 0;
    std::memcpy(&after, w.group.lds.data(), 4);
    EXPECT_EQ(after, row.result) << w.text;
    EXPECT_EQ(w.wave.v(8)[0], row.old) << w.text;
  }
}

TEST_F(EmulatorMemory, AtomicsOfAllLanesAddUp) {
  for (unsigned l = 0; l < 32; ++l) w.set64(0, l, buffer);
  std::memset(bytes().data(), 0, 4);
  w.count(2, 1);
  (void)w.run(flat(global_atomic_add, 8, 0, 2, null_code, 0, true));
  EXPECT_EQ(word(0), 32u * 33 / 2);
  EXPECT_EQ(w.wave.v(8)[2], 3u); // lanes run in order
}

TEST_F(EmulatorMemory, LocalShare) {
  w.count(0, 0, 16), w.count(1, 1000), w.count(2, 2000);
  (void)w.run(ds(ds_write2_b32, 0, 0, 1, 2, 0, 2));
  (void)w.run(ds(ds_read2_b32, 8, 0, 0, 0, 2, 0));
  EXPECT_EQ(w.wave.v(8)[3], 2003u);
  EXPECT_EQ(w.wave.v(9)[3], 1003u);
  (void)w.run(ds(ds_read_b128, 8, 0));
  EXPECT_EQ(w.wave.v(10)[3], 2003u);
  w.fill(0, 0);
  (void)w.run(ds(ds_write2st64_b32, 0, 0, 1, 2, 0, 1)); // 256 bytes apart; the last lane wins
  (void)w.run(ds(ds_read_b32, 8, 0, 0, 0, 0, 1));
  EXPECT_EQ(w.wave.v(8)[0], 2031u);
  w.fill(0, 0xfffffffc);
  (void)w.run(ds(ds_read_b32, 8, 0, 0, 0, 4)); // wraps to 0
  EXPECT_EQ(w.wave.v(8)[0], 1031u);
  w.fill(0, 1024);
  EXPECT_EQ(w.run(ds(ds_read_b32, 8, 0)), Flow::fault);
  EXPECT_NE(w.wave.fault.what.find("LDS offset 0x400"), std::string::npos) << w.wave.fault.what;
}

TEST_F(EmulatorMemory, AppendAndConsumeCountLanes) {
  w.set_exec(0xff0), w.wave.sgpr[reg_m0] = 64;
  w.group.lds[72] = 5;
  (void)w.run(ds(ds_append, 8, 0, 0, 0, 8));
  EXPECT_EQ(w.wave.v(8)[4], 5u);
  EXPECT_EQ(w.group.lds[72], 13);
  (void)w.run(ds(ds_consume, 8, 0, 0, 0, 8));
  EXPECT_EQ(w.wave.v(8)[4], 13u);
  EXPECT_EQ(w.group.lds[72], 5);
}

TEST_F(EmulatorMemory, FlatFindsLdsAndScratchByAperture) {
  w.count(2, 100);
  for (unsigned l = 0; l < 32; ++l) w.set64(0, l, uint64_t{guest_abi::shared_aperture_hi} << 32 | 4 * l);
  (void)w.run(flat(flat_store_dword, 0, 0, 2));
  EXPECT_EQ(w.group.lds[12], 103);
  for (unsigned l = 0; l < 32; ++l) w.set64(0, l, uint64_t{guest_abi::private_aperture_hi} << 32 | 8);
  (void)w.run(flat(flat_store_dword, 0, 0, 2));
  // Byte 8 of a lane's scratch: dword 2, interleaved by lanes.
  EXPECT_EQ(w.wave.scratch[2 * 32 * 4 + 7 * 4], 107);
  w.fill(0, 8);
  (void)w.run(flat(scratch_load_dword, 8, 0, 0, null_code));
  EXPECT_EQ(w.wave.v(8)[7], 107u);
  (void)w.run(flat(scratch_load_ushort, 8, 0, 0, null_code, 0xfff)); // bytes 7 and 8: across two dwords
  EXPECT_EQ(w.wave.v(8)[7], 107u << 8);
  w.fill(0, 64);
  EXPECT_EQ(w.run(flat(scratch_load_dword, 8, 0, 0, null_code)), Flow::fault);
}

TEST_F(EmulatorMemory, ScratchThroughTheSegmentBuffer) {
  w.wave.sgpr[4] = guest_abi::scratch_rsrc_word0, w.wave.sgpr[5] = guest_abi::scratch_rsrc_word1;
  w.wave.sgpr[6] = guest_abi::scratch_rsrc_word2, w.wave.sgpr[7] = guest_abi::scratch_rsrc_word3(32);
  w.count(2, 100), w.fill(1, 8);
  ASSERT_EQ(w.run(Mubuf{
                .opcode = buffer_store_dword, .vdata = 2, .vaddr = 1, .srsrc = 4, .offset = 4, .offen = true}
                      .words()),
            Flow::next);
  EXPECT_EQ(w.wave.scratch[3 * 32 * 4 + 9 * 4], 109);
  w.wave.sgpr[8] = 12 * 32; // the stack pointer counts bytes of the whole wave
  (void)w.run(Mubuf{.opcode = buffer_load_ubyte, .vdata = 9, .srsrc = 4, .soffset = 8}.words());
  EXPECT_EQ(w.wave.v(9)[9], 109u);
}

TEST_F(EmulatorMemory, BufferRanges) {
  const auto descriptor = [&](unsigned stride, unsigned records, unsigned rule, bool swizzle = false) {
    w.wave.sgpr[4] = static_cast<u>(buffer);
    w.wave.sgpr[5] = static_cast<u>(buffer >> 32) | stride << 16 | (swizzle ? 1u << 31 : 0);
    w.wave.sgpr[6] = records, w.wave.sgpr[7] = 0x14fac | rule << 28;
  };
  const auto load = [&](bool idxen, unsigned offset = 0) {
    w.fill(8, 7);
    EXPECT_EQ(w.run(Mubuf{.opcode = buffer_load_dword,
                          .vdata = 8,
                          .vaddr = 1,
                          .srsrc = 4,
                          .offset = offset,
                          .offen = !idxen,
                          .idxen = idxen}
                        .words()),
              Flow::next);
    return w.lanes_of(8);
  };
  w.count(1, 0, 4);
  descriptor(0, 20, 3); // raw: 20 bytes
  auto v = load(false);
  EXPECT_EQ(v[4], 0x13121110u);
  EXPECT_EQ(v[5], 0u);
  w.count(1);
  descriptor(8, 4, 0); // structured: 4 records of 8 bytes
  v = load(true, 4);
  EXPECT_EQ(v[3], 0x1f1e1d1cu);
  EXPECT_EQ(v[4], 0u);
  EXPECT_EQ(load(true, 8)[0], 0u); // past the record
  descriptor(8, 0, 2);             // no check, but the buffer is empty
  EXPECT_EQ(load(true)[0], 0u);
  // Swizzled: 8 records of 8 bytes share 64 bytes, dword by dword.
  w.count(1);
  descriptor(8, 32, 0, true);
  v = load(true, 4);
  EXPECT_EQ(v[2], 0x2b2a2928u); // 32 + 2 * 4
  EXPECT_EQ(v[9], 0x67666564u); // 64 + 32 + 4
  // A store out of range vanishes.
  descriptor(0, 4, 3);
  w.count(1, 0, 4), w.fill(2, 0xffffffff);
  EXPECT_EQ(
      w.run(Mubuf{.opcode = buffer_store_dword, .vdata = 2, .vaddr = 1, .srsrc = 4, .offen = true}.words()),
      Flow::next);
  EXPECT_EQ(word(0), 0xffffffffu);
  EXPECT_EQ(word(1), 0x07060504u);
}

TEST_F(EmulatorMemory, TypedBuffers) {
  const u values[] = {0xff8040ff, 0x80ff017f, 0x3c00bc00, 0x12345678};
  std::memcpy(bytes().data(), values, sizeof(values));
  w.wave.sgpr[4] = static_cast<u>(buffer), w.wave.sgpr[5] = static_cast<u>(buffer >> 32) | 4 << 16;
  w.wave.sgpr[6] = 64, w.count(1);
  const auto load = [&](unsigned format) {
    w.wave.sgpr[7] = 0xfac | format << 12;
    EXPECT_EQ(
        w.run(Mubuf{.opcode = buffer_load_format_xyzw, .vdata = 8, .vaddr = 1, .srsrc = 4, .idxen = true}
                  .words()),
        Flow::next);
  };
  load(56); // 8_8_8_8_UNORM
  EXPECT_EQ(w.wave.v(8)[0], 0x3f800000u);
  EXPECT_EQ(w.wave.v(9)[0], std::bit_cast<u>(64 / 255.0f));
  load(57); // SNORM
  EXPECT_EQ(w.wave.v(8)[1], 0x3f800000u);
  EXPECT_EQ(w.wave.v(11)[1], 0xbf800000u);
  load(29); // 16_16_FLOAT: z is 0, w is 1
  EXPECT_EQ(w.wave.v(8)[2], 0xbf800000u);
  EXPECT_EQ(w.wave.v(9)[2], 0x3f800000u);
  EXPECT_EQ(w.wave.v(10)[2], 0u);
  EXPECT_EQ(w.wave.v(11)[2], 0x3f800000u);
  load(54); // 2_10_10_10_UINT
  EXPECT_EQ(w.wave.v(8)[3], 0x278u);
  EXPECT_EQ(w.wave.v(11)[3], 0u);
  w.fill(2, 0x3f000000), w.fill(3, 0xbf800000), w.fill(4, 0x40000000), w.fill(5, 0x3f800000);
  w.wave.sgpr[7] = 0xfac | 56 << 12;
  (void)w.run(
      Mubuf{.opcode = buffer_store_format_xyzw, .vdata = 2, .vaddr = 1, .srsrc = 4, .idxen = true}.words());
  EXPECT_EQ(word(0), 0xffff0080u);
  w.wave.sgpr[7] = 0xfac;
  EXPECT_EQ(
      w.run(Mubuf{.opcode = buffer_load_format_x, .vdata = 8, .vaddr = 1, .srsrc = 4, .idxen = true}.words()),
      Flow::fault);
}

TEST_F(EmulatorMemory, ScalarLoads) {
  w.wave.set_pair(4, buffer + 2); // the two lowest bits of the address are ignored
  // s_load_dwordx2 s[8:9], s[4:5], 0x8
  (void)w.run(std::vector<u>{0x3du << 26 | 1u << 18 | 8 << 6 | 2, 125u << 25 | 8});
  EXPECT_EQ(w.wave.pair(8), 0x0f0e0d0c0b0a0908u);
  w.wave.set_pair(4, buffer), w.wave.sgpr[6] = 12, w.wave.sgpr[7] = 0;
  // s_buffer_load_dwordx2 s[8:9], s[4:7], 0x8: the second dword is out of range
  (void)w.run(std::vector<u>{0x3du << 26 | 9u << 18 | 8 << 6 | 2, 125u << 25 | 8});
  EXPECT_EQ(w.wave.pair(8), 0x0b0a0908u);
  w.wave.set_pair(4, 0x1000);
  EXPECT_EQ(w.run(std::vector<u>{0x3du << 26 | 1u << 18 | 8 << 6 | 2, 125u << 25 | 8}), Flow::fault);
}

TEST(EmulatorAddressSpace, BuffersKeepApart) {
  Memory m;
  ASSERT_TRUE(m.map(0x10000, 64, "a"));
  EXPECT_FALSE(m.map(0x10010, 64, "b"));
  EXPECT_FALSE(m.map(0xfff0, 64, "b"));
  EXPECT_FALSE(m.map(0x20008, 64, "b"));
  ASSERT_TRUE(m.map(0x10040, 64, "b"));
  EXPECT_EQ(m.find(0x1003f)->name, "a");
  EXPECT_EQ(m.find(0x10040)->name, "b");
  EXPECT_EQ(m.find(0x10080), nullptr);
  EXPECT_EQ(m.at(0x10070).size(), 16u);
  const uint64_t c = m.allocate(100, "c"), d = m.allocate(100, "d");
  EXPECT_GE(d - c, 4096u + 100);
  m.release(c);
  EXPECT_TRUE(m.at(c).empty());
}

} // namespace
} // namespace lanewise::rdna2::emu
