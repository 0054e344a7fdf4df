// Transcendental functions, rounded from the host's long double, and the helpers of the guest's division.
#include "ir/evaluate_float.hpp"

#include <bit>
#include <cmath>

namespace lanewise::ir {
namespace {

using L = LaneOperation;
using soft::Format;

/// `compute` on a number, rounded to nearest even whatever the control says. NaN stays, quieted; where the
/// function is undefined the manual's examples show the NaN with its sign set.
template <class Compute>
uint64_t function(const L& x, Compute compute) {
  const Format f = format(x);
  const uint64_t a = input(x, 0);
  if (soft::is_nan(f, a)) return a | f.quiet_bit();
  const long double result = compute(static_cast<long double>(soft::to_double(x.operand_type, a)));
  if (std::isnan(result)) return f.default_nan() | f.sign_bit();
  FloatControl nearest = control(x);
  nearest.round = 0;
  return soft::from_long_double(x.type, result, nearest);
}

/// `rounded` is a positive or negative result to 64 bits and `rest` has the sign of (exact - rounded) in the
/// direction of the result. Rounding to odd keeps the inexactness, so that one more rounding to a narrower
/// type is correct (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
long double to_odd(long double rounded, long double rest) {
  if (rest == 0 || !std::isfinite(rounded) || !std::isfinite(rest) || rounded == 0) return rounded;
  const bool beyond = (rest < 0) != (rounded < 0); // the exact value is nearer to zero
  const long double cut = beyond ? std::nextafter(rounded, 0.0L) : rounded;
  int exponent = 0;
  const long double mantissa = std::ldexp(std::frexp(std::abs(cut), &exponent), 64);
  const auto bits = static_cast<uint64_t>(mantissa) | 1;
  return std::copysign(std::ldexp(static_cast<long double>(bits), exponent - 64), cut);
}

/// The exact 1 / a is rounded + rest / a, the exact square root rounded + rest / (2 rounded).
long double reciprocal(long double a) {
  const long double rounded = 1 / a, rest = std::fma(-rounded, a, 1.0L);
  return to_odd(rounded, a < 0 ? -rest : rest);
}
long double square_root(long double a) {
  const long double rounded = std::sqrt(a);
  return to_odd(rounded, std::fma(-rounded, rounded, a));
}

/// sin(2 pi x), exact at multiples of a quarter turn. The nearest quarter is taken off, which is exact, so
/// that the angle left keeps all its bits: they decide near the zeros.
long double turn_sine(long double x, bool cosine) {
  if (!std::isfinite(x)) return NAN;
  if (x == 0) return cosine ? 1 : x;
  const long double turns = x - std::nearbyint(x);
  const long double quarter = std::nearbyint(turns * 4), rest = turns - quarter / 4;
  const auto q = (static_cast<int>(quarter) + (cosine ? 1 : 0)) & 3;
  constexpr long double kTwoPi = 6.283185307179586476925286766559005768L;
  const long double s = std::sin(rest * kTwoPi), c = std::cos(rest * kTwoPi);
  switch (q) {
  case 0: return rest == 0 ? 0.0L : s;
  case 1: return c;
  case 2: return rest == 0 ? 0.0L : -s;
  default: return -c;
  }
}

// -- division (RDNA2 ISA, V_DIV_SCALE, V_DIV_FMAS, V_DIV_FIXUP)
// -------------------------------------------------------

struct Division {
  int near_overflow; ///< exponent difference from which on the quotient may overflow
  int tiny;          ///< exponent field below which a numerator is tiny
  int scale;         ///< by which operands are scaled, as a power of two, and results back
};
Division division(Type t) { return t == Type::f64 ? Division{768, 53, 128} : Division{96, 23, 64}; }

struct Scaled {
  uint64_t value;
  bool flag;
};

/// Is the exact quotient of two nonzero values below the least normal number?
bool quotient_is_denormal(Format f, uint64_t numerator, uint64_t denominator) {
  if (soft::is_nan(f, numerator) || soft::is_infinite(f, numerator)) return false;
  if (soft::is_nan(f, denominator) || soft::is_infinite(f, denominator)) return false;
  const soft::Number n = soft::unpack(f, numerator), d = soft::unpack(f, denominator);
  // n < d * 2^least, with the numerator's mantissa moved so far that both have their leading one together.
  const auto bits = [](const soft::Number& x) {
    return static_cast<int>(std::bit_width(static_cast<uint64_t>(x.mantissa)));
  };
  const int up = bits(d) - bits(n), exponent = n.exponent - d.exponent - up;
  const soft::Wide left = up > 0 ? n.mantissa << up : n.mantissa,
                   right = up < 0 ? d.mantissa << -up : d.mantissa;
  return exponent - (left < right ? 1 : 0) < 1 - f.bias();
}

Scaled div_scale(const L& x) {
  const Format f = format(x);
  const Division rules = division(x.operand_type);
  const uint64_t value = x.v[0], denominator = x.v[1], numerator = x.v[2];
  const auto scaled = [&](int by) { return soft::scale(f, value, by, {}); };
  if (soft::is_nan(f, value)) return {value | f.quiet_bit(), false};
  if (soft::is_zero(f, numerator) || soft::is_zero(f, denominator)) return {f.default_nan(), false};
  const int difference = soft::biased_exponent(f, numerator) - soft::biased_exponent(f, denominator);
  if (difference >= rules.near_overflow) return {value == denominator ? scaled(rules.scale) : value, true};
  if (soft::is_denormal(f, denominator)) return {scaled(rules.scale), false};
  const bool small_reciprocal = quotient_is_denormal(f, f.one(), denominator);
  const bool small_quotient = quotient_is_denormal(f, numerator, denominator);
  // The manual's text scales the denominator up here, away from 1; the iteration needs it down.
  if (small_reciprocal && small_quotient) return {value == denominator ? scaled(-rules.scale) : value, true};
  if (small_reciprocal) return {scaled(-rules.scale), false};
  if (small_quotient) return {value == numerator ? scaled(rules.scale) : value, true};
  if (soft::biased_exponent(f, numerator) <= rules.tiny) return {scaled(rules.scale), false};
  return {value, false};
}

/// One rounding: the scaling happens on the exact sum. The quotient (third operand) is far above or below 1
/// when the operands were scaled, which tells the direction back.
uint64_t div_fmas(const L& x) {
  const Format f = format(x);
  FloatControl c = control(x);
  c.flush_in = false; // "input denormals are not flushed"
  if (!x.v[3]) return soft::fma(f, x.v[0], x.v[1], x.v[2], c);
  const bool finite = !soft::is_nan(f, x.v[0]) && !soft::is_infinite(f, x.v[0]) && !soft::is_nan(f, x.v[1]) &&
                      !soft::is_infinite(f, x.v[1]) && !soft::is_nan(f, x.v[2]) &&
                      !soft::is_infinite(f, x.v[2]);
  if (!finite) return soft::fma(f, x.v[0], x.v[1], x.v[2], c);
  const auto in = [&](unsigned i) { return soft::unpack(f, soft::flush(f, x.v[i], c.flush_in)); };
  soft::Number sum = soft::add(soft::multiply(in(0), in(1)), in(2), c.round);
  const int scale = division(x.operand_type).scale;
  sum.exponent += soft::biased_exponent(f, x.v[2]) > f.bias() ? scale : -scale;
  return soft::flush(f, soft::round(f, sum, c.round), c.flush_out);
}

uint64_t div_fixup(const L& x) {
  const Format f = format(x);
  const uint64_t quotient = x.v[0], denominator = input(x, 1), numerator = input(x, 2);
  const uint64_t sign = (denominator ^ numerator) & f.sign_bit();
  if (soft::is_nan(f, numerator)) return numerator | f.quiet_bit();
  if (soft::is_nan(f, denominator)) return denominator | f.quiet_bit();
  const bool both_zero = soft::is_zero(f, numerator) && soft::is_zero(f, denominator);
  const bool both_infinite = soft::is_infinite(f, numerator) && soft::is_infinite(f, denominator);
  if (both_zero || both_infinite) return f.default_nan() | f.sign_bit();
  if (soft::is_zero(f, denominator) || soft::is_infinite(f, numerator)) return f.infinity() | sign;
  if (soft::is_infinite(f, denominator) || soft::is_zero(f, numerator)) return sign;
  if (x.operand_type != Type::f16) {
    const int difference = soft::biased_exponent(f, numerator) - soft::biased_exponent(f, denominator);
    // Underflow and overflow round as a number far below or above every other.
    const auto extreme = [&](int exponent) {
      return soft::round(f, {sign != 0, 1, exponent}, control(x).round);
    };
    if (difference < (x.operand_type == Type::f64 ? -1075 : -150)) return output(x, extreme(-4000));
    // The iteration's infinity, or the NaN that came of it, stands for a quotient too large.
    if (soft::is_nan(f, quotient) || soft::is_infinite(f, quotient)) return extreme(4000);
  }
  if (soft::is_nan(f, quotient)) return sign | (quotient & ~f.sign_bit()) | f.quiet_bit();
  return output(x, sign | (quotient & ~f.sign_bit()));
}

// -- argument reduction (RDNA2 ISA, V_TRIG_PREOP_F64)
// ------------------------------------------------------------------

/// The first 1201 bits of 2 / pi behind the binary point, the highest first, and zeros.
constexpr std::array<uint64_t, 20> kTwoOverPi{
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
    0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4,
    0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d,
    0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b0000, 0};

uint64_t trig_preop(const L& x) {
  const Format f = format(x);
  const int exponent = soft::biased_exponent(f, x.v[0]);
  unsigned shift = static_cast<unsigned>(x.v[1] & 31) * 53;
  if (exponent > 1077) shift += static_cast<unsigned>(exponent - 1077);
  uint64_t segment = 0;
  for (unsigned i = 0; i < 53; ++i) {
    const unsigned bit = shift + i;
    const uint64_t value = bit < 1201 ? kTwoOverPi[bit / 64] >> (63 - bit % 64) & 1 : 0;
    segment = segment << 1 | value;
  }
  const int scale = -53 - static_cast<int>(shift) + (exponent >= 1968 ? 128 : 0);
  return output(x, soft::round(f, {false, segment, scale}, 3));
}

} // namespace

void add_transcendental_evaluators(std::array<Evaluator, kOpCount>& t) {
  const auto at = [&](Op op) -> Evaluator& { return t[static_cast<unsigned>(op)]; };
  at(Op::fsqrt) = [](const L& x) { return function(x, square_root); };
  at(Op::frcp) = [](const L& x) { return function(x, reciprocal); };
  at(Op::frsq) = [](const L& x) { return function(x, [](long double a) { return 1 / std::sqrt(a); }); };
  at(Op::fexp2) = [](const L& x) { return function(x, [](long double a) { return std::exp2(a); }); };
  at(Op::flog2) = [](const L& x) { return function(x, [](long double a) { return std::log2(a); }); };
  at(Op::fsin) = [](const L& x) { return function(x, [](long double a) { return turn_sine(a, false); }); };
  at(Op::fcos) = [](const L& x) { return function(x, [](long double a) { return turn_sine(a, true); }); };
  at(Op::fdiv_scale) = [](const L& x) { return div_scale(x).value; };
  at(Op::fdiv_scale_flag) = [](const L& x) { return uint64_t{div_scale(x).flag}; };
  at(Op::fdiv_fmas) = div_fmas;
  at(Op::fdiv_fixup) = div_fixup;
  at(Op::ftrig_preop) = trig_preop;
}

} // namespace lanewise::ir
