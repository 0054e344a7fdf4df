#include "rdna2/decoder.hpp"

#include "rdna2/disassembler.hpp"
#include "rdna2/random_words.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

using namespace lanewise;
using namespace lanewise::rdna2;
using namespace lanewise::rdna2::test;

namespace {

std::vector<uint8_t> bytes_of(std::initializer_list<uint32_t> words) {
  return to_bytes(words.begin(), words.size());
}

Instruction decoded(std::initializer_list<uint32_t> words, WaveSize wave = WaveSize::wave32) {
  const Expected<Instruction> i = decode(bytes_of(words), 0, wave);
  EXPECT_TRUE(i) << (i ? "" : i.error().to_string());
  return i.value_or(Instruction{});
}

void expect_sgpr(const Operand& o, unsigned reg, unsigned dwords) {
  EXPECT_TRUE(o.is_sgpr());
  EXPECT_EQ(o.reg, reg);
  EXPECT_EQ(o.dwords, dwords);
}

void expect_vgpr(const Operand& o, unsigned reg, unsigned dwords) {
  EXPECT_TRUE(o.is_vgpr());
  EXPECT_EQ(o.reg, reg);
  EXPECT_EQ(o.dwords, dwords);
}

} // namespace

// Operands that the text leaves implicit stand at fixed places, whatever the encoding.
TEST(Decoder, ImplicitOperands) {
  // v_cndmask_b32_e32 v0, v1, v2, vcc
  const Instruction cndmask = decoded({0x02000501}, WaveSize::wave64);
  EXPECT_EQ(cndmask.opcode, Opcode::v_cndmask_b32);
  expect_vgpr(cndmask.dst[0], 0, 1);
  expect_sgpr(cndmask.src[2], 106, 2);
  // v_add_co_ci_u32_e32 v0, vcc_lo, v1, v2, vcc_lo
  const Instruction addc = decoded({0x50000501});
  expect_sgpr(addc.dst[1], 106, 1);
  expect_sgpr(addc.src[2], 106, 1);
  // v_fmac_f32_e32 v5, v1, v2: the old v5 is src2
  const Instruction fmac = decoded({0x560a0501});
  expect_vgpr(fmac.src[2], 5, 1);
  // v_fmamk_f32 v5, v1, 0x11213141, v2 and v_fmaak_f32 v5, v1, v2, 0x11213141
  const Instruction fmamk = decoded({0x580a0501, 0x11213141});
  EXPECT_EQ(fmamk.src[1].value, 0x11213141u);
  expect_vgpr(fmamk.src[2], 2, 1);
  const Instruction fmaak = decoded({0x5a0a0501, 0x11213141});
  expect_vgpr(fmaak.src[1], 2, 1);
  EXPECT_EQ(fmaak.src[2].value, 0x11213141u);
  // v_cmp_lt_f32_e32 vcc, v1, v2; v_cmpx_lt_f32_e32 v1, v2; v_cmpx_lt_f32_e64
  expect_sgpr(decoded({0x7c020501}, WaveSize::wave64).dst[0], 106, 2);
  expect_sgpr(decoded({0x7c220501}, WaveSize::wave64).dst[0], 126, 2);
  expect_sgpr(decoded({0xd4110000, 0x00020501}).dst[0], 126, 1);
  // v_div_fmas_f32 reads VCC
  expect_sgpr(decoded({0xd56f0005, 0x040e0501}).src[3], 106, 1);
  // v_swap_b32 v5, v1 writes both
  const Instruction swap = decoded({0x7e0acb01});
  expect_vgpr(swap.dst[0], 5, 1);
  expect_vgpr(swap.dst[1], 1, 1);
  expect_vgpr(swap.src[0], 1, 1);
  expect_vgpr(swap.src[1], 5, 1);
  // s_cmpk_eq_i32 and _u32: the constant is the second source, extended by type
  EXPECT_EQ(decoded({0xb1800000u | 0xffff}).src[1].value, 0xffffffffu);
  EXPECT_EQ(decoded({0xb4800000u | 0xffff}).src[1].value, 0xffffu);
  expect_sgpr(decoded({0xb1830000}).src[0], 3, 1);
  // s_addk_i32 s4, 2: dst, tied source, constant
  const Instruction addk = decoded({0xb7840002});
  expect_sgpr(addk.dst[0], 4, 1);
  expect_sgpr(addk.src[0], 4, 1);
  EXPECT_EQ(addk.src[1].value, 2u);
}

TEST(Decoder, SameOpcodeInAllForms) {
  for (const auto& words : std::vector<std::vector<uint32_t>>{{0x06000501},
                                                              {0xd5030000, 0x00020501},
                                                              {0x060004f9, 0x06060601},
                                                              {0x060004fa, 0xff00e401},
                                                              {0x060004e9, 0xfac68801}}) {
    const Expected<Instruction> i = decode(to_bytes(words.data(), words.size()), 0, WaveSize::wave32);
    ASSERT_TRUE(i) << i.error().to_string();
    EXPECT_EQ(i->opcode, Opcode::v_add_f32);
    EXPECT_EQ(i->size, 4 * words.size());
    expect_vgpr(i->dst[0], 0, 1);
    expect_vgpr(i->src[0], 1, 1);
    expect_vgpr(i->src[1], 2, 1);
  }
}

TEST(Decoder, Constants) {
  const struct {
    const char* text;
    std::vector<uint32_t> words;
    unsigned source;
    uint64_t value;
  } cases[] = {
      {"v_add_f32_e32 v0, 1.0, v0", {0x060000f2}, 0, 0x3f800000},
      {"v_add_f16_e32 v0, 1.0, v0", {0x640000f2}, 0, 0x3c00},
      {"v_add_f16_e32 v0, 0.15915494, v0", {0x640000f8}, 0, 0x3118},
      {"v_add_f32_e32 v0, 0.15915494, v0", {0x060000f8}, 0, 0x3e22f983},
      {"v_add_f16_e32 v0, -1, v0", {0x640000c1}, 0, 0xffffffff},
      {"v_add_f64 v[0:1], 1.0, v[0:1]", {0xd5640000, 0x000200f2}, 0, 0x3ff0000000000000},
      {"v_add_f64 v[0:1], 0.15915494309189532, v[0:1]", {0xd5640000, 0x000200f8}, 0, 0x3fc45f306dc9c882},
      {"v_add_f64 v[0:1], -16, v[0:1]", {0xd5640000, 0x000200d0}, 0, 0xfffffffffffffff0},
      {"v_add_f64 v[0:1], 0x40100001, v[0:1]", {0xd5640000, 0x000200ff, 0x40100001}, 0, 0x4010000100000000},
      {"s_mov_b64 s[0:1], 0x80000000", {0xbe8004ff, 0x80000000}, 0, 0x80000000},
      {"s_mov_b64 s[0:1], -1", {0xbe8004c1}, 0, 0xffffffffffffffff},
      {"s_ashr_i64 s[0:1], 0x80000000, s2", {0x918002ffu, 0x80000000}, 0, 0xffffffff80000000},
      {"v_pk_add_f16 v0, 1.0, v0", {0xcc0f4000, 0x180200f2}, 0, 0x3c00},
      {"v_pk_add_i16 v0, 1.0, v0", {0xcc024000, 0x180200f2}, 0, 0x3f800000},
      {"s_movk_i32 s0, 0xffff", {0xb000ffff}, 0, 0xffffffff},
  };
  for (const auto& c : cases) {
    const Expected<Instruction> i = decode(to_bytes(c.words.data(), c.words.size()), 0, WaveSize::wave32);
    ASSERT_TRUE(i) << c.text << ": " << i.error().to_string();
    EXPECT_EQ(disassemble(*i, WaveSize::wave32), c.text);
    EXPECT_TRUE(i->src[c.source].is_constant()) << c.text;
    EXPECT_EQ(i->src[c.source].value, c.value) << c.text;
  }
}

TEST(Decoder, Errors) {
  const struct {
    std::vector<uint32_t> words;
    const char* message;
  } cases[] = {
      {{0xbf9d0000}, "pc 0x0: word 0xbf9d0000 is no gfx1030 instruction (no such opcode)"},
      {{0xd0000000, 0}, "pc 0x0: word 0xd0000000 is no gfx1030 instruction (no such format)"},
      {{0xbe8003d1}, "pc 0x0: word 0xbe8003d1 is no gfx1030 instruction (source operand code is reserved)"},
      {{0xbe8003fe},
       "pc 0x0: word 0xbe8003fe is no gfx1030 instruction (scalar source cannot be LDS_DIRECT)"},
      {{0xbeeb0480},
       "pc 0x0: word 0xbeeb0480 is no gfx1030 instruction (scalar register tuple is not one that gfx1030 "
       "has)"},
      {{0xd5640000, 0x000201ff},
       "pc 0x0: word 0xd5640000 is no gfx1030 instruction (vector register tuple runs past v255)"},
      {{0x060004fa, 0x01010001},
       "pc 0x0: word 0x060004fa is no gfx1030 instruction (DPP control is reserved)"},
      {{0x060004f9, 0x06060701},
       "pc 0x0: word 0x060004f9 is no gfx1030 instruction (SDWA selector is reserved)"},
      {{0x560004f9, 0x06060601},
       "pc 0x0: word 0x560004f9 is no gfx1030 instruction (opcode has no SDWA form)"},
      {{0xd8600000, 0}, "pc 0x0: word 0xd8600000 is no gfx1030 instruction (opcode exists for GDS only)"},
      {{0xdc30c000, 0x007d0000}, "pc 0x0: word 0xdc30c000 is no gfx1030 instruction (no such opcode)"},
      {{0x060000ff}, "pc 0x0: instruction is truncated"},
      {{0xd5030000}, "pc 0x0: instruction is truncated"},
      {{0xd5030000, 0x000200ff}, "pc 0x0: instruction is truncated"},
      {{0x060004f9}, "pc 0x0: instruction is truncated"},
  };
  for (const auto& c : cases) {
    const Expected<Instruction> i = decode(to_bytes(c.words.data(), c.words.size()), 0, WaveSize::wave64);
    ASSERT_FALSE(i) << disassemble(*i, WaveSize::wave64);
    EXPECT_EQ(i.error().to_string(), c.message);
    EXPECT_EQ(i.error().kind, ErrorKind::input);
  }
}

TEST(Decoder, ErrorsInsideProgram) {
  const std::vector<uint8_t> code = bytes_of({0xbf800000, 0xbf800000, 0xd0000000});
  EXPECT_EQ(decode(code, 8, WaveSize::wave32).error().where, "pc 0x8");
  EXPECT_EQ(decode_program(code, WaveSize::wave32).error().where, "pc 0x8");
  EXPECT_EQ(decode(code, 12, WaveSize::wave32).error().what, "program counter is outside the program");
  EXPECT_EQ(decode({}, 0, WaveSize::wave32).error().what, "program counter is outside the program");
  const std::vector<uint8_t> three_bytes = {0, 0, 0x80};
  EXPECT_EQ(decode(three_bytes, 0, WaveSize::wave32).error().what, "instruction is truncated");
  std::vector<Instruction> before;
  EXPECT_EQ(decode_append(code, WaveSize::wave32, before), 8u);
  EXPECT_EQ(before.size(), 2u);
  EXPECT_EQ(before[1].pc, 4u);
}

// Every instruction, cut at every byte: an error, never a read past the end (the sanitizers watch).
TEST(Decoder, Truncation) {
  std::mt19937_64 random(1);
  for (const Form& form : all_forms()) {
    const std::array<uint32_t, 5> words = random_words(form, random);
    const std::vector<uint8_t> bytes = to_bytes(words.data(), words.size());
    const Expected<Instruction> whole = decode(bytes, 0, WaveSize::wave32);
    if (!whole) continue;
    for (unsigned size = 0; size < whole->size; ++size) {
      const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + size);
      const Expected<Instruction> i = decode(cut, 0, WaveSize::wave32);
      ASSERT_FALSE(i) << name(form.opcode) << " cut to " << size;
    }
  }
}

// What encodes from a decoded instruction decodes to the same text.
TEST(Decoder, EncodeIsTheInverse) {
  std::mt19937_64 random(2);
  unsigned valid = 0;
  for (unsigned round = 0; round < 20; ++round) {
    for (const Form& form : all_forms()) {
      for (const WaveSize wave : {WaveSize::wave32, WaveSize::wave64}) {
        const std::array<uint32_t, 5> words = random_words(form, random);
        const Expected<Instruction> i = decode(to_bytes(words.data(), words.size()), 0, wave);
        if (!i) continue;
        ++valid;
        const EncodedWords e = encode(*i);
        const Expected<Instruction> again = decode(to_bytes(e.words.data(), e.count), 0, wave);
        ASSERT_TRUE(again) << disassemble(*i, wave) << ": " << again.error().to_string();
        ASSERT_EQ(again->size, e.count * 4);
        ASSERT_FALSE(has_ignored_bits(*again)) << disassemble(*i, wave);
        if (i->nsa_count != 1) {
          ASSERT_EQ(disassemble(*again, wave), disassemble(*i, wave));
        }
      }
    }
  }
  EXPECT_GT(valid, 60000u);
}

TEST(Decoder, RandomWords) {
  std::mt19937_64 random(3);
  std::vector<uint8_t> code(4u << 20);
  for (uint8_t& byte : code) byte = uint8_t(random());
  unsigned valid = 0;
  for (size_t pc = 0; pc + 4 <= code.size(); pc += 4) {
    const Expected<Instruction> i =
        decode(std::span(code).first(std::min(code.size(), pc + 20)), uint32_t(pc), WaveSize::wave64);
    if (!i) continue;
    ++valid;
    ASSERT_LE(pc + i->size, code.size());
    if (valid % 8 == 0) {
      ASSERT_FALSE(disassemble(*i, WaveSize::wave64).empty());
    }
  }
  EXPECT_GT(valid, 100000u);
}
