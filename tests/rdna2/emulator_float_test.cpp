// Floating-point arithmetic in all rounding and denormal modes, against the host: f32 and f64 by its own
// arithmetic under fesetround, f16 by exact long double arithmetic and one rounding written another way.
#include "emulator_harness.hpp"
#include "host_rounding.hpp"

#include <cfenv>
#include <cmath>

namespace lanewise::rdna2::emu {
namespace {

using enum Opcode;
using u32 = uint32_t;
using u64 = uint64_t;

struct Single {
  using Bits = u32;
  using Value = float;
  static constexpr Bits sign = 0x80000000, infinity = 0x7f800000, quiet = 0x400000;
  static Value value(Bits b) { return std::bit_cast<float>(b); }
  static u32 mode(unsigned round, unsigned denorm) { return round | denorm << 4 | 0xc0; }
};
struct Double {
  using Bits = u64;
  using Value = double;
  static constexpr Bits sign = Bits{1} << 63, infinity = Bits{0x7ff} << 52, quiet = Bits{1} << 51;
  static Value value(Bits b) { return std::bit_cast<double>(b); }
  static u32 mode(unsigned round, unsigned denorm) { return round << 2 | denorm << 6 | 0x30; }
};

template <class F>
bool nan(typename F::Bits b) {
  return (b & ~F::sign) > F::infinity;
}
template <class F>
typename F::Bits flushed(typename F::Bits b, bool keep) {
  const bool denormal = (b & F::infinity) == 0 && (b & ~F::sign) != 0;
  return denormal && !keep ? b & F::sign : b;
}

/// A subtraction is the addition of the negated operand, NaN included: operands as the addition sees them.
template <class Bits>
std::array<Bits, 3> as_addition(Opcode opcode, std::array<Bits, 3> x, Bits sign) {
  if (opcode == v_subrev_f32 || opcode == v_subrev_f16) std::swap(x[0], x[1]);
  if (opcode == v_subrev_f32 || opcode == v_subrev_f16 || opcode == v_sub_f32 || opcode == v_sub_f16)
    x[1] ^= sign;
  return x;
}

/// The guest's result of an operation that the host computes.
template <class F, class Op>
typename F::Bits expected(std::array<typename F::Bits, 3> x, unsigned count, unsigned round, unsigned denorm,
                          Op op) {
  for (unsigned i = 0; i < count; ++i)
    if (nan<F>(x[i])) return x[i] | F::quiet;
  for (auto& b : x) b = flushed<F>(b, (denorm & 1) != 0);
  const volatile typename F::Value a = F::value(x[0]), b = F::value(x[1]), c = F::value(x[2]);
  const typename F::Value result = rounded(round, [&] { return op(a, b, c); });
  const auto bits = std::bit_cast<typename F::Bits>(result);
  if (nan<F>(bits)) return F::infinity | F::quiet;
  return flushed<F>(bits, (denorm & 2) != 0);
}

template <class F>
typename F::Bits get(const OneWave& w, unsigned reg, unsigned lane) {
  if constexpr (sizeof(typename F::Bits) == 8)
    return w.get64(reg, lane);
  else
    return w.wave.v(reg)[lane];
}
template <class F>
void put(OneWave& w, unsigned reg, unsigned lane, Patterns& p) {
  if constexpr (sizeof(typename F::Bits) == 8)
    w.set64(reg, lane, p.next64());
  else
    w.wave.v(reg)[lane] = p.next32();
}

template <class F, class Op>
void check(Opcode opcode, unsigned count, Op op) {
  Patterns patterns(static_cast<u64>(opcode));
  OneWave w;
  for (unsigned round = 0; round < 4; ++round)
    for (unsigned denorm = 0; denorm < 4; ++denorm)
      for (unsigned repeat = 0; repeat < 6; ++repeat) {
        w.wave.mode.bits = F::mode(round, denorm);
        for (unsigned l = 0; l < 32; ++l)
          for (unsigned r : {0, 2, 4}) put<F>(w, r, l, patterns);
        // now and then nearly cancelling operands
        if (repeat == 0)
          for (unsigned l = 0; l < 32; ++l)
            w.wave.v(2)[l] = w.wave.v(0)[l] ^ 1, w.wave.v(3)[l] = w.wave.v(1)[l] ^ 0x80000000;
        ASSERT_EQ(w.run(Vop3{
                      .opcode = opcode, .dst = 8, .src0 = V(0), .src1 = V(2), .src2 = count > 2 ? V(4) : zero}
                            .words()),
                  Flow::next);
        for (unsigned l = 0; l < 32; ++l) {
          const auto a = get<F>(w, 0, l), b = get<F>(w, 2, l), c = get<F>(w, 4, l);
          const auto x = as_addition<typename F::Bits>(opcode, {a, b, c}, F::sign);
          ASSERT_EQ(get<F>(w, 8, l), expected<F>(x, count, round, denorm, op))
              << w.text << std::hex << " of " << a << ", " << b << ", " << c << " round " << round
              << " denorm " << denorm;
        }
      }
}

TEST(EmulatorFloat, Arithmetic32) {
  check<Single>(v_add_f32, 2, [](float a, float b, float) { return a + b; });
  check<Single>(v_sub_f32, 2, [](float a, float b, float) { return a + b; });
  check<Single>(v_subrev_f32, 2, [](float a, float b, float) { return a + b; });
  check<Single>(v_mul_f32, 2, [](float a, float b, float) { return a * b; });
  check<Single>(v_fma_f32, 3, [](float a, float b, float c) { return std::fma(a, b, c); });
}

TEST(EmulatorFloat, Arithmetic64) {
  check<Double>(v_add_f64, 2, [](double a, double b, double) { return a + b; });
  check<Double>(v_mul_f64, 2, [](double a, double b, double) { return a * b; });
  check<Double>(v_fma_f64, 3, [](double a, double b, double c) { return std::fma(a, b, c); });
}

// Half precision: values as long double, and one rounding by the host's rint at the right place.
long double half_value(uint16_t b) {
  const int e = b >> 10 & 31;
  const long double m = b & 0x3ff;
  const long double v = e == 0    ? std::ldexp(m, -24)
                        : e == 31 ? (m == 0 ? INFINITY : NAN)
                                  : std::ldexp(m + 1024, e - 25);
  return (b & 0x8000) != 0 ? -v : v;
}
uint16_t round_half(long double v, unsigned round) {
  const uint16_t sign = std::signbit(v) ? 0x8000 : 0;
  if (v == 0) return sign;
  if (std::isinf(v)) return sign | 0x7c00;
  const int e = std::max(std::ilogb(v), -14);
  const volatile long double scaled = std::ldexp(v, 10 - e);
  const long double q = std::fabs(rounded(round, [&] { return std::rint(scaled); }));
  const long double limit = std::ldexp(q, e - 10);
  if (limit >= 65536) {
    const bool infinite = round == 0 || (round == 1 && sign == 0) || (round == 2 && sign != 0);
    return sign | (infinite ? 0x7c00 : 0x7bff);
  }
  const int out = std::ilogb(limit == 0 ? 1e-30L : limit);
  if (limit < std::ldexp(1.0L, -14)) return sign | static_cast<uint16_t>(std::ldexp(limit, 24));
  return sign |
         static_cast<uint16_t>((out + 15) << 10 | (static_cast<int>(std::ldexp(limit, 10 - out)) & 0x3ff));
}
bool half_nan(uint16_t b) { return (b & 0x7fff) > 0x7c00; }
uint16_t half_flush(uint16_t b, bool keep) { return !keep && (b & 0x7c00) == 0 ? b & 0x8000 : b; }

template <class Op>
void check_half(Opcode opcode, unsigned count, Op op) {
  Patterns patterns(static_cast<u64>(opcode));
  OneWave w;
  for (unsigned mode = 0; mode < 16; ++mode)
    for (unsigned repeat = 0; repeat < 6; ++repeat) {
      const unsigned round = mode & 3, denorm = mode >> 2;
      w.wave.mode.bits = round << 2 | denorm << 6 | 0x30;
      for (unsigned l = 0; l < 32; ++l)
        for (unsigned r : {0, 2, 4}) w.wave.v(r)[l] = patterns.next32();
      w.fill(8, 0xabcd0000);
      ASSERT_EQ(
          w.run(Vop3{.opcode = opcode, .dst = 8, .src0 = V(0), .src1 = V(2), .src2 = count > 2 ? V(4) : zero}
                    .words()),
          Flow::next);
      for (unsigned l = 0; l < 32; ++l) {
        std::array<uint16_t, 3> x{};
        for (unsigned i = 0; i < 3; ++i) x[i] = static_cast<uint16_t>(w.wave.v(2 * i)[l]);
        x = as_addition<uint16_t>(opcode, x, 0x8000);
        uint16_t want = 0;
        const auto* bad = std::find_if(x.begin(), x.begin() + count, half_nan);
        if (bad != x.begin() + count) {
          want = *bad | 0x200;
        } else {
          for (auto& b : x) b = half_flush(b, (denorm & 1) != 0);
          std::feclearexcept(FE_INEXACT);
          const volatile long double a = half_value(x[0]), b = half_value(x[1]), c = half_value(x[2]);
          const long double exact = rounded(round, [&] { return op(a, b, c); });
          if (std::fetestexcept(FE_INEXACT) != 0) continue; // more than 64 bits: not a reference
          want = std::isnan(exact) ? 0x7e00 : half_flush(round_half(exact, round), (denorm & 2) != 0);
        }
        ASSERT_EQ(w.wave.v(8)[l], 0xabcd0000u | want)
            << w.text << " round " << round << " denorm " << denorm << std::hex << " of " << x[0] << ", "
            << x[1] << ", " << x[2];
      }
    }
}

TEST(EmulatorFloat, Arithmetic16) {
  using L = long double;
  check_half(v_add_f16, 2, [](L a, L b, L) { return a + b; });
  check_half(v_sub_f16, 2, [](L a, L b, L) { return a + b; });
  check_half(v_subrev_f16, 2, [](L a, L b, L) { return a + b; });
  check_half(v_mul_f16, 2, [](L a, L b, L) { return a * b; });
  check_half(v_fma_f16, 3, [](L a, L b, L c) { return std::fma(a, b, c); });
}

struct FloatRow {
  Opcode opcode;
  u32 a, b, c, result;
  bool ieee = true;
};

// Bits beside bits: rules of minimum and maximum, rounding to integers, splitting, legacy products.
constexpr FloatRow rows[] = {
    {v_min_f32, 0x3f800000, 0x40000000, 0, 0x3f800000},
    {v_min_f32, 0x00000000, 0x80000000, 0, 0x80000000},
    {v_min_f32, 0x80000000, 0x00000000, 0, 0x80000000},
    {v_min_f32, 0x7fc00001, 0x3f800000, 0, 0x3f800000},
    {v_min_f32, 0x3f800000, 0xffc00001, 0, 0x3f800000},
    {v_min_f32, 0x7f800001, 0x3f800000, 0, 0x7fc00001},
    {v_min_f32, 0x7f800001, 0x3f800000, 0, 0x3f800000, false},
    {v_max_f32, 0x3f800000, 0x40000000, 0, 0x40000000},
    {v_max_f32, 0x00000000, 0x80000000, 0, 0x00000000},
    {v_max_f32, 0xff800000, 0x7fc00000, 0, 0xff800000},
    {v_min3_f32, 0x40400000, 0x3f800000, 0x40000000, 0x3f800000},
    {v_max3_f32, 0x40400000, 0x3f800000, 0x40000000, 0x40400000},
    {v_med3_f32, 0x40400000, 0x3f800000, 0x40000000, 0x40000000},
    {v_med3_f32, 0x40400000, 0x7fc00000, 0x40000000, 0x40000000},
    {v_trunc_f32, 0xbfc00000, 0, 0, 0xbf800000},
    {v_trunc_f32, 0xbf000000, 0, 0, 0x80000000},
    {v_ceil_f32, 0x3f000000, 0, 0, 0x3f800000},
    {v_ceil_f32, 0xbf000000, 0, 0, 0x80000000},
    {v_floor_f32, 0x80000001, 0, 0, 0xbf800000},
    {v_rndne_f32, 0x40200000, 0, 0, 0x40000000},
    {v_rndne_f32, 0x40600000, 0, 0, 0x40800000},
    {v_fract_f32, 0xbf99999a, 0, 0, 0x3f4ccccc},
    {v_fract_f32, 0x80000001, 0, 0, 0x3f7fffff},
    {v_fract_f32, 0x7f800000, 0, 0, 0x7fc00000},
    {v_frexp_mant_f32, 0x41000000, 0, 0, 0x3f000000},
    {v_frexp_exp_i32_f32, 0x41000000, 0, 0, 4},
    {v_frexp_exp_i32_f32, 0x00000001, 0, 0, static_cast<u32>(-148)},
    {v_frexp_exp_i32_f32, 0x7f800000, 0, 0, 0},
    {v_ldexp_f32, 0x3f800000, 0x00000003, 0, 0x41000000},
    {v_ldexp_f32, 0x3f800001, static_cast<u32>(-149), 0, 0x00000001},
    {v_ldexp_f32, 0x3f800000, 0x7fffffff, 0, 0x7f800000},
    {v_ldexp_f32, 0xbf800000, 0x80000000, 0, 0x80000000},
    {v_mul_legacy_f32, 0x00000000, 0x7f800000, 0, 0x00000000},
    {v_mul_legacy_f32, 0x80000000, 0x7fc00000, 0, 0x00000000},
    {v_fma_legacy_f32, 0x00000000, 0x7f800000, 0x40000000, 0x40000000},
    {v_cubeid_f32, 0x3f800000, 0x3f800000, 0xbf800000, 0x40a00000}, // z wins ties, negative: face 5
    {v_cubeid_f32, 0xc0000000, 0x3f800000, 0x3f800000, 0x3f800000},
    {v_cubesc_f32, 0xc0000000, 0x3f800000, 0x3f800000, 0x3f800000},
    {v_cubetc_f32, 0xc0000000, 0x3f800000, 0x3f800000, 0xbf800000},
    {v_cubema_f32, 0xc0000000, 0x3f800000, 0x3f800000, 0xc0800000},
    // the manual's examples, with their negative NaN where the function is undefined
    {v_exp_f32, 0xff800000, 0, 0, 0x00000000},
    {v_exp_f32, 0x80000000, 0, 0, 0x3f800000},
    {v_exp_f32, 0x7f800000, 0, 0, 0x7f800000},
    {v_log_f32, 0xff800000, 0, 0, 0xffc00000},
    {v_log_f32, 0x80000000, 0, 0, 0xff800000},
    {v_log_f32, 0x3f800000, 0, 0, 0x00000000},
    {v_log_f32, 0x7f800000, 0, 0, 0x7f800000},
    {v_log_f32, 0x00000001, 0, 0, 0xff800000}, // denormals are flushed
    {v_rcp_f32, 0xff800000, 0, 0, 0x80000000},
    {v_rcp_f32, 0xc0000000, 0, 0, 0xbf000000},
    {v_rcp_f32, 0x80000000, 0, 0, 0xff800000},
    {v_rcp_f32, 0x7f7fffff, 0, 0, 0x00000000},
    {v_rsq_f32, 0x80000000, 0, 0, 0xff800000},
    {v_rsq_f32, 0x40800000, 0, 0, 0x3f000000},
    {v_rsq_f32, 0x7f800000, 0, 0, 0x00000000},
    {v_sqrt_f32, 0x80000000, 0, 0, 0x80000000},
    {v_sqrt_f32, 0x40800000, 0, 0, 0x40000000},
    {v_sqrt_f32, 0xff800000, 0, 0, 0xffc00000},
    {v_sin_f32, 0xff7fffff, 0, 0, 0x00000000},
    {v_sin_f32, 0x80000000, 0, 0, 0x80000000},
    {v_sin_f32, 0x3e800000, 0, 0, 0x3f800000},
    {v_sin_f32, 0x7f800000, 0, 0, 0xffc00000},
    {v_cos_f32, 0xff7fffff, 0, 0, 0x3f800000},
    {v_cos_f32, 0x3e800000, 0, 0, 0x00000000},
};

TEST(EmulatorFloat, Table) {
  OneWave w;
  for (const FloatRow& row : rows) {
    w.wave.mode.bits = 0xf0 | (row.ieee ? 1u << 9 : 0u);
    w.fill(0, row.a), w.fill(1, row.b), w.fill(2, row.c);
    const OpcodeInfo& o = info(row.opcode);
    const auto source = [&](unsigned i) { return o.src[i] == OperandType::none ? zero : V(i); };
    ASSERT_EQ(
        w.run(
            Vop3{.opcode = row.opcode, .dst = 8, .src0 = V(0), .src1 = source(1), .src2 = source(2)}.words()),
        Flow::next);
    EXPECT_EQ(w.wave.v(8)[5], row.result)
        << w.text << std::hex << " of " << row.a << ", " << row.b << ", " << row.c;
  }
}

// Results are the exact function's, rounded once: checked against long double.
TEST(EmulatorFloat, TranscendentalsAreCorrectlyRounded) {
  struct {
    Opcode opcode;
    long double (*f)(long double);
  } const functions[] = {
      {v_rcp_f32, [](long double x) { return 1 / x; }},
      {v_sqrt_f32, [](long double x) { return std::sqrt(x); }},
      {v_rsq_f32, [](long double x) { return 1 / std::sqrt(x); }},
      {v_exp_f32, [](long double x) { return std::exp2(x); }},
      {v_log_f32, [](long double x) { return std::log2(x); }},
      {v_sin_f32,
       [](long double x) { return std::sin(2 * 3.14159265358979323846264338L * (x - std::rint(x))); }},
      {v_cos_f32,
       [](long double x) {
         return std::sin(2 * 3.14159265358979323846264338L * (0.25L - std::fabs(x - std::rint(x))));
       }},
  };
  Patterns patterns(7);
  OneWave w;
  for (const auto& f : functions)
    for (unsigned round = 0; round < 40; ++round) {
      for (unsigned l = 0; l < 32; ++l) {
        const bool turns = f.opcode == v_sin_f32 || f.opcode == v_cos_f32 || f.opcode == v_exp_f32;
        const auto random = static_cast<u32>(patterns.raw());
        w.wave.v(0)[l] = (random & 0x7fffff) | (turns ? 110 + random % 23 : 1 + random % 253) << 23;
      }
      ASSERT_EQ(w.run(vop1(f.opcode, 8, V(0))), Flow::next);
      for (unsigned l = 0; l < 32; ++l) {
        const auto want = static_cast<float>(f.f(std::bit_cast<float>(w.wave.v(0)[l])));
        if (std::fabs(want) < 1.2e-38f || !std::isfinite(want)) continue;
        ASSERT_EQ(w.wave.v(8)[l], std::bit_cast<u32>(want)) << w.text << std::hex << w.wave.v(0)[l];
      }
    }
}

/// A numerator whose quotient by `denominator` is within a few units of the last place of the least normal
/// number, or of half, twice or four times it.
template <class F>
typename F::Bits near_least_quotient(typename F::Bits denominator, Patterns& p) {
  using Bits = typename F::Bits;
  constexpr unsigned mantissa = sizeof(Bits) == 8 ? 52 : 23;
  constexpr int bias = sizeof(Bits) == 8 ? 1023 : 127;
  const auto field = static_cast<int>((denominator & F::infinity) >> mantissa);
  const u64 random = p.raw();
  const int wanted = field + 1 - bias + static_cast<int>(random & 3) - 1;
  const Bits fraction = denominator & ((Bits{1} << mantissa) - 1);
  if (wanted <= 0) return fraction; // a denormal, another quotient
  return static_cast<Bits>((static_cast<Bits>(wanted) << mantissa | fraction) + (random >> 8 & 7) - 4);
}

// clang's division: scale, reciprocal, refine, fmas, fixup. It must round correctly everywhere.
template <class F>
void divide(Opcode scale, Opcode rcp, Opcode fma, Opcode mul, Opcode fmas, Opcode fixup) {
  Patterns patterns(8);
  OneWave w;
  const unsigned num = 0, den = 2, sden = 4, snum = 6, r = 8, e = 10, q = 12, out = 14;
  const auto fused = [&](unsigned d, unsigned a, unsigned b, unsigned c, unsigned neg) {
    (void)w.run(Vop3{.opcode = fma, .dst = d, .src0 = V(a), .src1 = V(b), .src2 = c, .neg = neg}.words());
  };
  for (unsigned round = 0; round < 600; ++round) {
    for (unsigned l = 0; l < 32; ++l) {
      put<F>(w, num, l, patterns), put<F>(w, den, l, patterns);
      if (round % 3 != 0 || nan<F>(get<F>(w, den, l))) continue;
      const auto numerator = near_least_quotient<F>(get<F>(w, den, l), patterns);
      if constexpr (sizeof(typename F::Bits) == 8)
        w.set64(num, l, numerator);
      else
        w.wave.v(num)[l] = numerator;
    }
    (void)w.run(Vop3{.opcode = scale, .dst = sden, .src0 = V(den), .src1 = V(den), .src2 = V(num), .sdst = 20}
                    .words());
    (void)w.run(
        Vop3{.opcode = scale, .dst = snum, .src0 = V(num), .src1 = V(den), .src2 = V(num), .sdst = reg_vcc}
            .words());
    (void)w.run(vop1(rcp, r, V(sden)));
    for (unsigned k = 0; k < 2; ++k) {
      fused(e, sden, r, 242, 1); // 1.0
      fused(r, e, r, V(r), 0);
    }
    (void)w.run(Vop3{.opcode = mul, .dst = q, .src0 = V(snum), .src1 = V(r)}.words());
    fused(e, sden, q, V(snum), 1);
    fused(q, e, r, V(q), 0);
    fused(e, sden, q, V(snum), 1);
    (void)w.run(Vop3{.opcode = fmas, .dst = out, .src0 = V(e), .src1 = V(r), .src2 = V(q)}.words());
    (void)w.run(Vop3{.opcode = fixup, .dst = out, .src0 = V(out), .src1 = V(den), .src2 = V(num)}.words());
    for (unsigned l = 0; l < 32; ++l) {
      const auto n = get<F>(w, num, l), d = get<F>(w, den, l);
      const volatile typename F::Value a = F::value(n), b = F::value(d);
      const typename F::Value quotient = a / b;
      const auto bits = std::bit_cast<typename F::Bits>(quotient), got = get<F>(w, out, l);
      if (nan<F>(bits))
        ASSERT_TRUE(nan<F>(got));
      else
        ASSERT_EQ(got, bits) << std::hex << n << " / " << d;
    }
  }
}

TEST(EmulatorFloat, DivisionsRoundCorrectly) {
  divide<Single>(v_div_scale_f32, v_rcp_f32, v_fma_f32, v_mul_f32, v_div_fmas_f32, v_div_fixup_f32);
  divide<Double>(v_div_scale_f64, v_rcp_f64, v_fma_f64, v_mul_f64, v_div_fmas_f64, v_div_fixup_f64);
}

TEST(EmulatorFloat, OutputModifiers) {
  OneWave w;
  w.fill(0, 0x3f000000); // 0.5
  const auto add = [&](unsigned omod, bool clamp) {
    (void)w.run(Vop3{.opcode = v_add_f32, .dst = 8, .src0 = V(0), .src1 = V(0), .omod = omod, .clamp = clamp}
                    .words());
    return w.wave.v(8)[0];
  };
  EXPECT_EQ(add(1, false), 0x3f800000u); // ignored: IEEE is set and denormals are kept
  w.wave.mode.bits = 0;
  EXPECT_EQ(add(1, false), 0x40000000u);
  EXPECT_EQ(add(2, false), 0x40800000u);
  EXPECT_EQ(add(3, false), 0x3f000000u);
  EXPECT_EQ(add(2, true), 0x3f800000u);
  w.fill(0, 0x7fc00000);
  EXPECT_EQ(add(0, true), 0x7fc00000u);
  w.wave.mode.bits = 1u << 8; // DX10_CLAMP
  EXPECT_EQ(add(0, true), 0u);
  w.fill(0, 0xbf000000);
  EXPECT_EQ(add(0, true), 0u);
}

TEST(EmulatorFloat, SourceModifiers) {
  OneWave w;
  w.fill(0, 0xc0000000), w.fill(1, 0x3f800000); // -2, 1
  (void)w.run(Vop3{.opcode = v_add_f32, .dst = 8, .src0 = V(0), .src1 = V(1), .abs = 1}.words());
  EXPECT_EQ(w.wave.v(8)[0], 0x40400000u);
  (void)w.run(Vop3{.opcode = v_add_f32, .dst = 8, .src0 = V(0), .src1 = V(1), .abs = 1, .neg = 1}.words());
  EXPECT_EQ(w.wave.v(8)[0], 0xbf800000u);
  w.wave.sgpr[4] = 0xffffffff;
  (void)w.run(
      Vop3{.opcode = v_cndmask_b32, .dst = 8, .src0 = V(0), .src1 = V(1), .src2 = 4, .neg = 2}.words());
  EXPECT_EQ(w.wave.v(8)[0], 0xbf800000u);
}

TEST(EmulatorFloat, PackedAndMixed) {
  OneWave w;
  w.fill(0, 0x3c004000); // lo 2, hi 1
  w.fill(1, 0x42004400); // lo 4, hi 3
  w.fill(2, 0x3c003c00);
  const auto run = [&](const Vop3p& i) {
    (void)w.run(i.words());
    return w.wave.v(8)[0];
  };
  EXPECT_EQ(run({.opcode = v_pk_add_f16, .dst = 8, .src0 = V(0), .src1 = V(1)}), 0x44004600u); // 6, 4
  EXPECT_EQ(run({.opcode = v_pk_mul_f16, .dst = 8, .src0 = V(0), .src1 = V(1), .neg = 1, .neg_hi = 2}),
            0xc200c800u);
  EXPECT_EQ(run({.opcode = v_pk_fma_f16, .dst = 8, .src0 = V(0), .src1 = V(1), .src2 = V(2)}),
            0x44004880u); // 9, 4
  EXPECT_EQ(run({.opcode = v_pk_add_f16, .dst = 8, .src0 = V(0), .src1 = V(1), .op_sel = 1, .op_sel_hi = 0}),
            0x46004500u);
  EXPECT_EQ(run({.opcode = v_dot2_f32_f16, .dst = 8, .src0 = V(0), .src1 = V(1)}), 0x41300000u); // 2*4 + 1*3
  w.fill(3, 0x40a00000);                                                                         // 5.0f
  // fma(v0.hi = 1, v3 = 5, v1.lo = 4) = 9
  EXPECT_EQ(run({.opcode = v_fma_mix_f32,
                 .dst = 8,
                 .src0 = V(0),
                 .src1 = V(3),
                 .src2 = V(1),
                 .op_sel = 1,
                 .op_sel_hi = 5}),
            0x41100000u);
  w.fill(8, 0x11112222);
  EXPECT_EQ(run({.opcode = v_fma_mixlo_f16,
                 .dst = 8,
                 .src0 = V(0),
                 .src1 = V(3),
                 .src2 = V(1),
                 .op_sel = 1,
                 .op_sel_hi = 5}),
            0x11114880u);
  EXPECT_EQ(run({.opcode = v_fma_mixhi_f16,
                 .dst = 8,
                 .src0 = V(0),
                 .src1 = V(3),
                 .src2 = V(1),
                 .op_sel = 1,
                 .op_sel_hi = 5}),
            0x48804880u);
}

struct ClassRow {
  u32 bits;
  unsigned bit;
};
TEST(EmulatorFloat, Classes) {
  constexpr ClassRow classes[] = {{0x7f800001, 0}, {0x7fc00000, 1}, {0xff800000, 2}, {0xbf800000, 3},
                                  {0x80000001, 4}, {0x80000000, 5}, {0x00000000, 6}, {0x00000001, 7},
                                  {0x3f800000, 8}, {0x7f800000, 9}};
  OneWave w;
  for (const ClassRow& row : classes) {
    w.fill(0, row.bits);
    for (unsigned bit = 0; bit < 10; ++bit) {
      w.fill(1, 1u << bit);
      (void)w.run(vopc(v_cmp_class_f32, V(0), 1));
      EXPECT_EQ(w.wave.vcc(), bit == row.bit ? 0xffffffffu : 0u) << std::hex << row.bits << " class " << bit;
    }
  }
}

} // namespace
} // namespace lanewise::rdna2::emu
