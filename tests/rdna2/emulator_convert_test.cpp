// Conversions against the host's, in all rounding modes where they round.
#include "emulator_harness.hpp"
#include "host_rounding.hpp"

#include <algorithm>
#include <cfenv>
#include <cmath>

namespace lanewise::rdna2::emu {
namespace {

using enum Opcode;
using u32 = uint32_t;
using u64 = uint64_t;

u32 saturate(long double v, long double least, long double most) {
  if (std::isnan(v)) return 0;
  return static_cast<u32>(static_cast<int64_t>(std::min(std::max(std::trunc(v), least), most)));
}

TEST(EmulatorConvert, FloatToInteger) {
  Patterns patterns(1);
  OneWave w;
  for (unsigned round = 0; round < 100; ++round) {
    for (unsigned l = 0; l < 32; ++l) w.wave.v(0)[l] = patterns.next32(), w.set64(2, l, patterns.next64());
    const auto check = [&](Opcode o, unsigned source, auto want) {
      ASSERT_EQ(w.run(vop1(o, 8, V(source))), Flow::next);
      for (unsigned l = 0; l < 32; ++l)
        ASSERT_EQ(w.wave.v(8)[l], want(l)) << w.text << std::hex << w.wave.v(0)[l];
    };
    const auto f = [&](unsigned l) -> long double { return std::bit_cast<float>(w.wave.v(0)[l]); };
    const auto d = [&](unsigned l) -> long double { return std::bit_cast<double>(w.get64(2, l)); };
    check(v_cvt_i32_f32, 0, [&](unsigned l) { return saturate(f(l), INT32_MIN, INT32_MAX); });
    check(v_cvt_u32_f32, 0, [&](unsigned l) { return saturate(f(l), 0, UINT32_MAX); });
    check(v_cvt_i32_f64, 2, [&](unsigned l) { return saturate(d(l), INT32_MIN, INT32_MAX); });
    check(v_cvt_u32_f64, 2, [&](unsigned l) { return saturate(d(l), 0, UINT32_MAX); });
    check(v_cvt_flr_i32_f32, 0, [&](unsigned l) { return saturate(std::floor(f(l)), INT32_MIN, INT32_MAX); });
    check(v_cvt_rpi_i32_f32, 0,
          [&](unsigned l) { return saturate(std::floor(f(l) + 0.5L), INT32_MIN, INT32_MAX); });
    w.fill(8, 0);
    const auto half = [&](unsigned l) -> long double {
      const u32 b = w.wave.v(0)[l] & 0xffff;
      const long double v = (b >> 10 & 31) == 31  ? ((b & 0x3ff) != 0 ? NAN : INFINITY)
                            : (b >> 10 & 31) == 0 ? std::ldexp(static_cast<long double>(b & 0x3ff), -24)
                                                  : std::ldexp(static_cast<long double>((b & 0x3ff) | 0x400),
                                                               static_cast<int>(b >> 10 & 31) - 25);
      return (b & 0x8000) != 0 ? -v : v;
    };
    check(v_cvt_i16_f16, 0, [&](unsigned l) { return saturate(half(l), -32768, 32767) & 0xffff; });
    check(v_cvt_u16_f16, 0, [&](unsigned l) { return saturate(half(l), 0, 65535) & 0xffff; });
  }
}

TEST(EmulatorConvert, IntegerAndFloatWidths) {
  Patterns patterns(2);
  OneWave w;
  for (unsigned mode = 0; mode < 4; ++mode)
    for (unsigned repeat = 0; repeat < 30; ++repeat) {
      w.wave.mode.bits = mode | mode << 2 | 0xf0;
      for (unsigned l = 0; l < 32; ++l) w.wave.v(0)[l] = patterns.next32(), w.set64(2, l, patterns.next64());
      const auto check = [&](Opcode o, unsigned source, auto want) {
        ASSERT_EQ(w.run(vop1(o, 8, V(source))), Flow::next);
        for (unsigned l = 0; l < 32; ++l) {
          const auto result = want(l);
          if (std::isnan(result)) continue;
          if constexpr (sizeof(result) == 8)
            ASSERT_EQ(w.get64(8, l), std::bit_cast<u64>(result)) << w.text;
          else
            ASSERT_EQ(w.wave.v(8)[l], std::bit_cast<u32>(result)) << w.text << std::hex << w.get64(2, l);
        }
      };
      const auto v = [&](unsigned l) { return w.wave.v(0)[l]; };
      check(v_cvt_f32_i32, 0, [&](unsigned l) {
        const volatile auto x = static_cast<int32_t>(v(l));
        return rounded(mode, [&] { return static_cast<float>(x); });
      });
      check(v_cvt_f32_u32, 0, [&](unsigned l) {
        const volatile int64_t x = v(l);
        return rounded(mode, [&] { return static_cast<float>(x); });
      });
      check(v_cvt_f64_i32, 0, [&](unsigned l) { return static_cast<double>(static_cast<int32_t>(v(l))); });
      check(v_cvt_f64_u32, 0, [&](unsigned l) { return static_cast<double>(v(l)); });
      check(v_cvt_f64_f32, 0, [&](unsigned l) { return static_cast<double>(std::bit_cast<float>(v(l))); });
      check(v_cvt_f32_f64, 2, [&](unsigned l) {
        const volatile double x = std::bit_cast<double>(w.get64(2, l));
        return rounded(mode, [&] { return static_cast<float>(x); });
      });
      check(v_cvt_f32_ubyte0, 0, [&](unsigned l) { return static_cast<float>(v(l) & 0xff); });
      check(v_cvt_f32_ubyte1, 0, [&](unsigned l) { return static_cast<float>(v(l) >> 8 & 0xff); });
      check(v_cvt_f32_ubyte2, 0, [&](unsigned l) { return static_cast<float>(v(l) >> 16 & 0xff); });
      check(v_cvt_f32_ubyte3, 0, [&](unsigned l) { return static_cast<float>(v(l) >> 24); });
    }
}

struct Row {
  Opcode opcode;
  u32 source, round, result;
};
// f16: bits beside bits.
constexpr Row halves[] = {
    {v_cvt_f16_f32, 0x3f800000, 0, 0x3c00},  {v_cvt_f16_f32, 0x3f801000, 0, 0x3c00},
    {v_cvt_f16_f32, 0x3f801000, 1, 0x3c01},  {v_cvt_f16_f32, 0xbf801000, 2, 0xbc01},
    {v_cvt_f16_f32, 0xbf801fff, 3, 0xbc00},  {v_cvt_f16_f32, 0x3f803000, 0, 0x3c02},
    {v_cvt_f16_f32, 0x477fefff, 0, 0x7bff},  {v_cvt_f16_f32, 0x477ff000, 0, 0x7c00},
    {v_cvt_f16_f32, 0x7f7fffff, 3, 0x7bff},  {v_cvt_f16_f32, 0x33000000, 0, 0x0000},
    {v_cvt_f16_f32, 0x33000001, 0, 0x0001},  {v_cvt_f16_f32, 0x387fe000, 0, 0x0400},
    {v_cvt_f16_f32, 0x7fc02000, 0, 0x7e01},  {v_cvt_f16_f32, 0x7f800001, 0, 0x7e00},
    {v_cvt_f16_f32, 0xff800000, 0, 0xfc00},  {v_cvt_f32_f16, 0x3c00, 0, 0x3f800000},
    {v_cvt_f32_f16, 0x0001, 0, 0x33800000},  {v_cvt_f32_f16, 0x8400, 0, 0xb8800000},
    {v_cvt_f32_f16, 0x7c01, 0, 0x7fc02000},  {v_cvt_f32_f16, 0xfc00, 0, 0xff800000},
    {v_cvt_f16_u16, 0xffff, 0, 0x7c00},      {v_cvt_f16_u16, 0xffff, 3, 0x7bff},
    {v_cvt_f16_u16, 2049, 0, 0x6800},        {v_cvt_f16_i16, 0x8000, 0, 0xf800},
    {v_cvt_norm_i16_f16, 0xbc00, 0, 0x8001}, {v_cvt_norm_i16_f16, 0x3800, 0, 0x4000},
    {v_cvt_norm_u16_f16, 0x3c00, 0, 0xffff}, {v_cvt_norm_u16_f16, 0xbc00, 0, 0},
    {v_cvt_off_f32_i4, 0x8, 0, 0xbf000000},  {v_cvt_off_f32_i4, 0x7, 0, 0x3ee00000},
};

TEST(EmulatorConvert, Halves) {
  OneWave w;
  for (const Row& row : halves) {
    w.wave.mode.bits = row.round << 2 | 0xf0;
    w.fill(0, row.source), w.fill(8, 0);
    ASSERT_EQ(w.run(vop1(row.opcode, 8, V(0))), Flow::next);
    EXPECT_EQ(w.wave.v(8)[0], row.result)
        << w.text << std::hex << " of " << row.source << " round " << row.round;
  }
}

TEST(EmulatorConvert, Packing) {
  OneWave w;
  const auto run = [&](Opcode o, u32 a, u32 b, u32 c = 0) {
    w.fill(0, a), w.fill(1, b), w.fill(2, c);
    const bool three = info(o).src[2] != OperandType::none;
    (void)w.run(Vop3{.opcode = o, .dst = 8, .src0 = V(0), .src1 = V(1), .src2 = three ? V(2) : zero}.words());
    return w.wave.v(8)[0];
  };
  EXPECT_EQ(run(v_cvt_pkrtz_f16_f32, 0x3f801fff, 0xbf801fff), 0xbc003c00u);
  EXPECT_EQ(run(v_cvt_pknorm_i16_f32, 0x3f800000, 0xc0000000), 0x80017fffu);
  EXPECT_EQ(run(v_cvt_pknorm_u16_f32, 0x3f000000, 0x40000000), 0xffff8000u);
  EXPECT_EQ(run(v_cvt_pk_u8_f32, 0x43ff8000, 2, 0x11223344), 0x11ff3344u); // 511: saturates
  EXPECT_EQ(run(v_cvt_pk_u8_f32, 0x40200000, 0, 0x11223344), 0x11223302u); // 2.5: to even
  EXPECT_EQ(run(v_pack_b32_f16, 0x1111, 0x2222), 0x22221111u);
}

} // namespace
} // namespace lanewise::rdna2::emu
