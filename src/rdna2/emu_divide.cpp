// The pieces of a correctly rounded division: v_div_scale, v_div_fmas, v_div_fixup, and v_trig_preop (RDNA2
// ISA, 12.12). The manual's text for scale and fmas contradicts itself where both 1/denominator and the
// quotient are denormal, and gives one post-scale for both directions; docs/emulator.md derives what is here.
#include "rdna2/emu_float_lanes.hpp"

#include <cfenv>

namespace lanewise::rdna2::emu {
namespace {

using R = const FloatRules&;

template <class B>
struct Division;
template <>
struct Division<uint32_t> {
  static constexpr int near_overflow = 96, shift = 64, tiny = 23, least = -126;
};
template <>
struct Division<uint64_t> {
  static constexpr int near_overflow = 768, shift = 128, tiny = 53, least = -1022;
};

/// A nonzero finite number as significand * 2^(exponent - 63), bit 63 of the significand set.
struct Normalised {
  uint64_t significand;
  int exponent;
};
template <class B>
Normalised normalise(B x) {
  constexpr int mantissa = Format<B>::mantissa;
  const uint64_t fraction = magnitude(x) & ((B{1} << mantissa) - 1);
  const int field = exponent_field(x);
  const uint64_t significand = field == 0 ? fraction : fraction | uint64_t{1} << mantissa;
  const int zeros = std::countl_zero(significand);
  return {significand << zeros, std::max(field, 1) - Format<B>::bias - mantissa + 63 - zeros};
}

// Whether the exact quotient of nonzero numbers lies below the least normal number, however far: exponents
// and significands tell without a division.
template <class B>
bool quotient_is_denormal(B numerator, B denominator) {
  if (exponent_field(numerator) == 2 * Format<B>::bias + 1) return false;
  if (exponent_field(denominator) == 2 * Format<B>::bias + 1) return false;
  const Normalised n = normalise(numerator), d = normalise(denominator);
  return n.exponent - d.exponent - (n.significand < d.significand ? 1 : 0) < Division<B>::least;
}

template <class B>
struct Scaled {
  B value;
  bool flag;
};

// `x` is the denominator or the numerator, whichever is to be scaled.
template <class B>
Scaled<B> divide_scale(B x, B denominator, B numerator) {
  using D = Division<B>;
  // Scaling is exact, and keeps denormals whatever MODE says.
  const FloatRules exact{};
  const auto scaled = [&](int by) { return scale(x, by, exact); };
  if (is_nan(x)) return {quiet(x), false};
  if (is_zero(numerator) || is_zero(denominator)) return {default_nan<B>, false};
  const bool is_denominator = float_equal(x, denominator), is_numerator = float_equal(x, numerator);
  if (exponent_field(numerator) - exponent_field(denominator) >= D::near_overflow)
    return {is_denominator ? scaled(D::shift) : x, true};
  if (is_denormal(denominator)) return {scaled(D::shift), false};
  const bool reciprocal_denormal = quotient_is_denormal<B>(one<B>, denominator),
             denormal = quotient_is_denormal<B>(numerator, denominator);
  if (reciprocal_denormal && denormal) return {is_denominator ? scaled(-D::shift) : x, true};
  if (reciprocal_denormal) return {scaled(-D::shift), false};
  if (denormal) return {is_numerator ? scaled(D::shift) : x, true};
  if (exponent_field(numerator) <= D::tiny) return {scaled(D::shift), false};
  return {x, false};
}

template <class B>
Flow divide_scale_lanes(Wave& w, const Step& s) {
  Vector x(w, s);
  Lanes<B> a, b, c, out;
  x.source(0, a);
  x.source(1, b);
  x.source(2, c);
  uint64_t flags = 0;
  const FloatRules rules = FloatRules::of<B>(w.mode);
  each_active(x.active, [&](unsigned l) {
    const Scaled<B> r = divide_scale<B>(a[l], b[l], c[l]);
    out[l] = s.float_modifiers ? output_modifiers<B>(r.value, s.in.omod, s.in.clamp, rules) : r.value;
    flags |= uint64_t{r.flag} << l;
  });
  x.write(out);
  x.write_mask(flags, 1);
  return Flow::next;
}

// a * b + c in the x87 format (64 bits, 15 bits of exponent), rounded to odd.
long double fma_to_odd(double a, double b, double c) {
  const volatile long double x = a, y = b, z = c;
  std::fesetround(FE_TOWARDZERO);
  std::feclearexcept(FE_INEXACT);
  const volatile long double result = std::fma(x, y, z);
  const bool inexact = std::fetestexcept(FE_INEXACT) != 0;
  std::fesetround(FE_TONEAREST);
  if (!inexact || result == 0) return result;
  int exponent = 0;
  const long double fraction = std::frexp(result, &exponent);
  const auto bits = static_cast<uint64_t>(std::ldexp(std::fabs(fraction), 64)) | 1;
  return std::copysign(std::ldexp(static_cast<long double>(bits), exponent - 64), result);
}

// fma, scaled afterwards, with one rounding. VCC says that the operands were scaled: the quotient (third
// operand) is then far above or far below 1, which tells the direction back.
template <class B>
B divide_fma(B a, B b, B c, bool flag, R r) {
  FloatRules inner = r;
  inner.keep_in = true; // "input denormals are not flushed"
  const B plain = fma(a, b, c, inner);
  if (!flag || is_nan(plain)) return plain;
  const long double sum = fma_to_odd(to_double(a), to_double(b), to_double(c));
  if (sum == 0 || std::isinf(sum)) return plain;
  int exponent = 0;
  const long double fraction = std::frexp(std::fabs(sum), &exponent);
  exponent += exponent_field(c) > Format<B>::bias ? Division<B>::shift : -Division<B>::shift;
  const auto significand = static_cast<uint64_t>(std::ldexp(fraction, 64));
  return flush(assemble<B>(std::signbit(sum), significand, exponent - 1, r.round), r.keep_out);
}

template <class B>
Flow divide_fma_lanes(Wave& w, const Step& s) {
  Vector x(w, s);
  Lanes<B> a, b, c, out;
  x.source(0, a);
  x.source(1, b);
  x.source(2, c);
  const uint64_t flags = x.source_mask(3);
  const FloatRules rules = FloatRules::of<B>(w.mode);
  each_active(x.active, [&](unsigned l) {
    out[l] = divide_fma<B>(a[l], b[l], c[l], (flags >> l & 1) != 0, rules);
    if (s.float_modifiers) out[l] = output_modifiers<B>(out[l], s.in.omod, s.in.clamp, rules);
  });
  x.write(out);
  return Flow::next;
}

// Special cases of numerator / denominator; otherwise the quotient with the sign of both.
template <class B>
B divide_fixup(B quotient, B denominator, B numerator, R r) {
  const B sign = static_cast<B>((denominator ^ numerator) & sign_bit<B>);
  if (is_nan(numerator)) return quiet(numerator);
  if (is_nan(denominator)) return quiet(denominator);
  denominator = flush(denominator, r.keep_in), numerator = flush(numerator, r.keep_in);
  if (is_zero(numerator) && is_zero(denominator)) return invalid<B>;
  if (is_infinite(numerator) && is_infinite(denominator)) return invalid<B>;
  if (is_zero(denominator) || is_infinite(numerator)) return static_cast<B>(sign | infinity<B>);
  if (is_infinite(denominator) || is_zero(numerator)) return sign;
  constexpr int underflow = sizeof(B) == 8 ? -1075 : -150;
  if (sizeof(B) > 2 && exponent_field(numerator) - exponent_field(denominator) < underflow) {
    const bool away = (r.round == Round::up && sign == 0) || (r.round == Round::down && sign != 0);
    return flush(static_cast<B>(sign | (away ? B{1} : B{0})), r.keep_out);
  }
  // The iteration's infinity, or the NaN that came of it, stands for a quotient too large.
  if (sizeof(B) > 2 && exponent_field(quotient) == 2 * Format<B>::bias + 1) {
    const bool to_most = r.round == Round::zero || (r.round == Round::up && sign != 0) ||
                         (r.round == Round::down && sign == 0);
    return static_cast<B>(sign | (to_most ? infinity<B> - 1 : infinity<B>));
  }
  if (is_nan(quotient)) return static_cast<B>(sign | magnitude(quiet(quotient)));
  return static_cast<B>(sign | magnitude(flush(quotient, r.keep_out)));
}

// The first 1201 bits of 2/pi, most significant first: bit 1200 is 1/2.
constexpr std::array<uint64_t, 19> two_over_pi = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab,
};

// Bits [first, first + 53) of 2/pi, counted from the most significant; zeros behind the table.
uint64_t two_over_pi_bits(unsigned first) {
  uint64_t out = 0;
  for (unsigned k = 0; k < 53; ++k) {
    const unsigned at = first + k;
    const bool bit = at < 1201 && (two_over_pi[at / 64] >> (63 - at % 64) & 1) != 0;
    out = out << 1 | (bit ? 1 : 0);
  }
  return out;
}

uint64_t trig_preop(const Step& s, Mode mode, uint64_t x, uint32_t segment) {
  const FloatRules r = FloatRules::wide(mode);
  const int exponent = exponent_field(x);
  unsigned shift = (segment & 31) * 53;
  if (exponent > 1077) shift += static_cast<unsigned>(exponent - 1077);
  const int by = -53 - static_cast<int>(shift) + (exponent >= 1968 ? 128 : 0);
  FloatRules truncating = r;
  truncating.round = Round::zero;
  const auto bits = std::bit_cast<uint64_t>(static_cast<double>(two_over_pi_bits(shift)));
  return output_modifiers(scale(bits, by, truncating), s.in.omod, s.in.clamp, r);
}

} // namespace

void add_divide(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler h) { t[static_cast<unsigned>(o)] = h; };
  set(v_div_scale_f32, divide_scale_lanes<uint32_t>);
  set(v_div_scale_f64, divide_scale_lanes<uint64_t>);
  set(v_div_fmas_f32, divide_fma_lanes<uint32_t>);
  set(v_div_fmas_f64, divide_fma_lanes<uint64_t>);
  set(v_div_fixup_f16, float_lanes<uint16_t, 3, divide_fixup<uint16_t>>);
  set(v_div_fixup_f32, float_lanes<uint32_t, 3, divide_fixup<uint32_t>>);
  set(v_div_fixup_f64, float_lanes<uint64_t, 3, divide_fixup<uint64_t>>);
  set(v_trig_preop_f64, lane_any<trig_preop, uint64_t, uint64_t, uint32_t>);
}

} // namespace lanewise::rdna2::emu
