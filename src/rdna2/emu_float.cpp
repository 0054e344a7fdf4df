#include "rdna2/emu_float.hpp"

#include <cfenv>

namespace lanewise::rdna2::emu {

double to_double(uint16_t bits) {
  const int field = exponent_field(bits), fraction = bits & 0x3ff;
  double value = 0;
  if (field == 31)
    value =
        fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  else if (field == 0)
    value = fraction * 0x1p-24;
  else // exponent and fraction move into a double's place
    value = std::bit_cast<double>(static_cast<uint64_t>(field - 15 + 1023) << 52 |
                                  static_cast<uint64_t>(fraction) << 42);
  return is_negative(bits) ? -value : value;
}

namespace {

// What a number too large for the format becomes.
template <class B>
B overflow(bool negative, Round round) {
  const bool to_infinity =
      round == Round::nearest || (round == Round::up && !negative) || (round == Round::down && negative);
  const B value = to_infinity ? infinity<B> : static_cast<B>(infinity<B> - 1);
  return static_cast<B>(value | (negative ? sign_bit<B> : B{0}));
}

bool rounds_away(uint64_t kept, uint64_t rest, uint64_t half, bool negative, Round round) {
  switch (round) {
  case Round::nearest: return rest > half || (rest == half && (kept & 1) != 0);
  case Round::up: return rest != 0 && !negative;
  case Round::down: return rest != 0 && negative;
  case Round::zero: break;
  }
  return false;
}

} // namespace

template <class B>
B assemble(bool negative, uint64_t significand, int exponent, Round round) {
  using F = Format<B>;
  constexpr int least = 1 - F::bias;
  int drop = 63 - F::mantissa;
  const bool denormal = exponent < least;
  if (denormal) drop += least - exponent;
  uint64_t kept = 0, rest = significand, half = ~uint64_t{0};
  if (drop < 64)
    kept = significand >> drop, rest = significand & ((uint64_t{1} << drop) - 1),
    half = uint64_t{1} << (drop - 1);
  else if (drop == 64)
    half = uint64_t{1} << 63;
  if (rounds_away(kept, rest, half, negative, round)) ++kept;
  // A carry out of the fraction runs into the exponent, as it should.
  uint64_t bits = kept;
  if (!denormal) bits += static_cast<uint64_t>(exponent - least) << F::mantissa;
  if (bits >= infinity<B>) return overflow<B>(negative, round);
  return static_cast<B>(static_cast<B>(bits) | (negative ? sign_bit<B> : B{0}));
}
template uint16_t assemble<uint16_t>(bool, uint64_t, int, Round);
template uint32_t assemble<uint32_t>(bool, uint64_t, int, Round);
template uint64_t assemble<uint64_t>(bool, uint64_t, int, Round);

namespace {

struct Parts {
  uint64_t significand;
  int exponent;
};
Parts take_apart(double value) { // finite, not 0
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent); // [0.5, 1)
  return {static_cast<uint64_t>(std::ldexp(fraction, 64)), exponent - 1};
}

} // namespace

template <class B>
B from_double(double value, Round round) {
  const auto bits = std::bit_cast<uint64_t>(value);
  const bool negative = bits >> 63 != 0;
  if constexpr (sizeof(B) == 8) return bits;
  if (value == 0) return negative ? sign_bit<B> : B{0};
  if (std::isinf(value)) return static_cast<B>(infinity<B> | (negative ? sign_bit<B> : B{0}));
  if (std::isnan(value)) return default_nan<B>;
  const Parts parts = take_apart(value);
  return assemble<B>(negative, parts.significand, parts.exponent, round);
}
template uint16_t from_double<uint16_t>(double, Round);
template uint32_t from_double<uint32_t>(double, Round);
template uint64_t from_double<uint64_t>(double, Round);

namespace {

// Runs an operation in a rounding mode. Operands and result pass through volatile objects, so that the
// compiler moves nothing across the mode changes.
template <class F>
double rounded(Round round, F operation) {
  static constexpr int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  if (round == Round::nearest) return operation();
  std::fesetround(modes[static_cast<unsigned>(round)]);
  const volatile double result = operation();
  std::fesetround(FE_TONEAREST);
  return result;
}

} // namespace

double host_add(double a, double b, Round round) {
  const volatile double x = a, y = b;
  return rounded(round, [&] { return x + y; });
}
double host_multiply(double a, double b, Round round) {
  const volatile double x = a, y = b;
  return rounded(round, [&] { return x * y; });
}
double host_fma(double a, double b, double c, Round round) {
  const volatile double x = a, y = b, z = c;
  return rounded(round, [&] { return std::fma(x, y, z); });
}

template <class B>
B scale(B x, int exponent, const FloatRules& r) {
  if (is_nan(x)) return quiet(x);
  x = flush(x, r.keep_in);
  if (is_zero(x) || is_infinite(x)) return x;
  const Parts parts = take_apart(to_double(x));
  // Beyond these the result is 0 or infinity (or the nearest number to them) whatever the exponent exactly
  // is.
  const int64_t wanted =
      std::min<int64_t>(std::max<int64_t>(int64_t{parts.exponent} + exponent, -2000), 2000);
  const B result = assemble<B>(is_negative(x), parts.significand, static_cast<int>(wanted), r.round);
  return flush(result, r.keep_out);
}

template <class B>
B round_to_integer(B x, ToInteger how, const FloatRules& r) {
  if (is_nan(x)) return quiet(x);
  const double value = to_double(flush(x, r.keep_in));
  double out = 0;
  switch (how) {
  case ToInteger::trunc: out = std::trunc(value); break;
  case ToInteger::floor: out = std::floor(value); break;
  case ToInteger::ceil: out = std::ceil(value); break;
  case ToInteger::nearest_even: out = std::nearbyint(value); break;
  }
  return from_double<B>(std::copysign(out, value), Round::nearest);
}

template <class B>
B fract(B x, const FloatRules& r) {
  if (is_nan(x)) return quiet(x);
  if (is_infinite(x)) return default_nan<B>;
  const B floor = round_to_integer(x, ToInteger::floor, r);
  const B rest = add(x, negate(floor), r);
  constexpr B below_one = one<B> - 1;
  return order(rest) > order(below_one) ? below_one : rest;
}

template <class B>
B frexp_mantissa(B x, const FloatRules& r) {
  if (is_nan(x)) return quiet(x);
  x = flush(x, r.keep_in);
  if (is_infinite(x) || is_zero(x)) return x;
  int exponent = 0;
  return from_double<B>(std::frexp(to_double(x), &exponent), Round::nearest);
}

template <class B>
int frexp_exponent(B x, const FloatRules& r) {
  x = flush(x, r.keep_in);
  if (is_nan(x) || is_infinite(x) || is_zero(x)) return 0;
  int exponent = 0;
  (void)std::frexp(to_double(x), &exponent);
  return exponent;
}

template <class B>
B output_modifiers(B x, unsigned omod, bool clamp, const FloatRules& r) {
  if (omod != 0 && !r.ieee && !r.keep_out) {
    static constexpr int exponents[] = {0, 1, 2, -1};
    x = scale(x, exponents[omod & 3], r);
    if (x == sign_bit<B>) x = 0;
  }
  if (!clamp) return x;
  if (is_nan(x)) return r.dx10_clamp ? B{0} : quiet(x);
  if (is_negative(x)) return 0;
  return x > one<B> ? one<B> : x;
}

#define LANEWISE_INSTANTIATE(B)                                                                              \
  template B scale<B>(B, int, const FloatRules&);                                                            \
  template B round_to_integer<B>(B, ToInteger, const FloatRules&);                                           \
  template B fract<B>(B, const FloatRules&);                                                                 \
  template B frexp_mantissa<B>(B, const FloatRules&);                                                        \
  template int frexp_exponent<B>(B, const FloatRules&);                                                      \
  template B output_modifiers<B>(B, unsigned, bool, const FloatRules&);
LANEWISE_INSTANTIATE(uint16_t)
LANEWISE_INSTANTIATE(uint32_t)
LANEWISE_INSTANTIATE(uint64_t)
#undef LANEWISE_INSTANTIATE

} // namespace lanewise::rdna2::emu
