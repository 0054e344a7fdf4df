#include "ir/soft_float.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lanewise::ir::soft {
namespace {

int top_bit(Wide x) {
  const auto high = static_cast<uint64_t>(x >> 64);
  return high ? 127 - std::countl_zero(high) : 63 - std::countl_zero(static_cast<uint64_t>(x));
}

/// The first NaN operand, quieted; `Format::default_nan` if there is none.
template <class... Bits>
uint64_t nan_result(Format f, Bits... x) {
  uint64_t result = f.default_nan();
  bool found = false;
  const auto take = [&](uint64_t v) {
    if (found || !is_nan(f, v)) return;
    result = v | f.quiet_bit();
    found = true;
  };
  (take(x), ...);
  return result;
}

uint64_t overflow(Format f, bool negative, unsigned mode) {
  const bool to_infinity = mode == 0 || (mode == 1 && !negative) || (mode == 2 && negative);
  return (negative ? f.sign_bit() : 0) | (to_infinity ? f.infinity() : f.infinity() - 1);
}

/// Does the discarded part `rest` of 2^bits (plus a little if sticky) round the magnitude up?
bool rounds_up(Wide kept, Wide rest, unsigned bits, bool sticky, bool negative, unsigned mode) {
  if (rest == 0 && !sticky) return false;
  if (mode == 1) return !negative;
  if (mode == 2) return negative;
  if (mode == 3) return false;
  if (bits == 0) return false; // less than a unit's fraction is left
  const Wide half = Wide{1} << (bits - 1);
  return rest > half || (rest == half && (sticky || (kept & 1)));
}

uint64_t signed_infinity(Format f, bool negative) { return f.infinity() | (negative ? f.sign_bit() : 0); }

} // namespace

Number unpack(Format f, uint64_t x) {
  const int e = biased_exponent(f, x);
  const uint64_t fraction = x & f.fraction_mask();
  const int lowest = 1 - f.bias() - static_cast<int>(f.fraction_bits);
  if (e == 0) return {is_negative(f, x), fraction, lowest};
  return {is_negative(f, x), fraction | uint64_t{1} << f.fraction_bits, lowest + e - 1};
}

uint64_t round(Format f, Number x, unsigned mode) {
  const uint64_t sign = x.negative ? f.sign_bit() : 0;
  if (x.mantissa == 0) return sign;
  const int lowest = 1 - f.bias() - static_cast<int>(f.fraction_bits);
  const int unit = std::max(top_bit(x.mantissa) + x.exponent - static_cast<int>(f.fraction_bits), lowest);
  const int shift = unit - x.exponent;
  Wide kept;
  if (shift <= 0) {
    kept = x.mantissa << -shift;
    if (rounds_up(kept, 0, 0, x.sticky, x.negative, mode)) ++kept;
  } else {
    const auto bits = static_cast<unsigned>(std::min(shift, 127));
    kept = shift > 127 ? 0 : x.mantissa >> bits;
    const Wide rest = shift > 127 ? 1 : x.mantissa & ((Wide{1} << bits) - 1);
    if (rounds_up(kept, rest, bits, x.sticky, x.negative, mode)) ++kept;
  }
  // The leading one of a normal mantissa adds itself to the exponent field; so does a carry out of rounding.
  const auto steps = static_cast<uint64_t>(unit - lowest);
  if (steps > (uint64_t{1} << f.exponent_bits)) return overflow(f, x.negative, mode);
  const Wide bits = (Wide{steps} << f.fraction_bits) + kept;
  if (bits >= f.infinity()) return overflow(f, x.negative, mode);
  return sign | static_cast<uint64_t>(bits);
}

Number add(Number a, Number b, unsigned mode) {
  if (a.mantissa == 0 && b.mantissa == 0) {
    return {a.negative == b.negative ? a.negative : mode == 2, 0, 0};
  }
  if (a.mantissa == 0) return b;
  if (b.mantissa == 0) return a;
  const auto normalise = [](Number& n) { // leading bit at 124, so that a sum has room
    const int up = 124 - top_bit(n.mantissa);
    n.mantissa <<= up;
    n.exponent -= up;
  };
  normalise(a);
  normalise(b);
  if (a.exponent < b.exponent || (a.exponent == b.exponent && a.mantissa < b.mantissa)) std::swap(a, b);
  const int down = a.exponent - b.exponent;
  const Wide lost = down > 127 ? b.mantissa : b.mantissa & ((Wide{1} << down) - 1);
  const Wide small = down > 127 ? 0 : b.mantissa >> down;
  a.sticky = lost != 0;
  if (a.negative == b.negative) {
    a.mantissa += small;
  } else {
    a.mantissa -= small + (a.sticky ? 1 : 0);
    if (a.mantissa == 0 && !a.sticky) a.negative = mode == 2;
  }
  return a;
}

Number multiply(Number a, Number b) {
  return {a.negative != b.negative, a.mantissa * b.mantissa, a.exponent + b.exponent};
}

uint64_t add(Format f, uint64_t a, uint64_t b, FloatControl control) {
  a = flush(f, a, control.flush_in);
  b = flush(f, b, control.flush_in);
  if (is_nan(f, a) || is_nan(f, b)) return nan_result(f, a, b);
  if (is_infinite(f, a)) return is_infinite(f, b) && a != b ? f.default_nan() : a;
  if (is_infinite(f, b)) return b;
  return flush(f, round(f, add(unpack(f, a), unpack(f, b), control.round), control.round), control.flush_out);
}

uint64_t multiply(Format f, uint64_t a, uint64_t b, FloatControl control) {
  a = flush(f, a, control.flush_in);
  b = flush(f, b, control.flush_in);
  if (is_nan(f, a) || is_nan(f, b)) return nan_result(f, a, b);
  const bool negative = is_negative(f, a) != is_negative(f, b);
  if (is_infinite(f, a) || is_infinite(f, b)) {
    return is_zero(f, a) || is_zero(f, b) ? f.default_nan() : signed_infinity(f, negative);
  }
  return flush(f, round(f, multiply(unpack(f, a), unpack(f, b)), control.round), control.flush_out);
}

uint64_t fma(Format f, uint64_t a, uint64_t b, uint64_t c, FloatControl control) {
  a = flush(f, a, control.flush_in);
  b = flush(f, b, control.flush_in);
  c = flush(f, c, control.flush_in);
  if (is_nan(f, a) || is_nan(f, b) || is_nan(f, c)) return nan_result(f, a, b, c);
  const bool negative = is_negative(f, a) != is_negative(f, b);
  if (is_infinite(f, a) || is_infinite(f, b)) {
    if (is_zero(f, a) || is_zero(f, b)) return f.default_nan();
    if (is_infinite(f, c) && is_negative(f, c) != negative) return f.default_nan();
    return signed_infinity(f, negative);
  }
  if (is_infinite(f, c)) return c;
  const Number sum = add(multiply(unpack(f, a), unpack(f, b)), unpack(f, c), control.round);
  return flush(f, round(f, sum, control.round), control.flush_out);
}

uint64_t convert(Format to, Format from, uint64_t x, FloatControl control) {
  x = flush(from, x, control.flush_in);
  const bool negative = is_negative(from, x);
  if (is_nan(from, x)) {
    const uint64_t payload = x & from.fraction_mask();
    const uint64_t kept = to.fraction_bits >= from.fraction_bits
                              ? payload << (to.fraction_bits - from.fraction_bits)
                              : payload >> (from.fraction_bits - to.fraction_bits);
    return signed_infinity(to, negative) | kept | to.quiet_bit();
  }
  if (is_infinite(from, x)) return signed_infinity(to, negative);
  return flush(to, round(to, unpack(from, x), control.round), control.flush_out);
}

uint64_t scale(Format f, uint64_t x, int exponent, FloatControl control) {
  x = flush(f, x, control.flush_in);
  if (is_nan(f, x)) return x | f.quiet_bit();
  if (is_infinite(f, x) || is_zero(f, x)) return x;
  Number n = unpack(f, x);
  n.exponent += std::clamp(exponent, -8192, 8192);
  return flush(f, round(f, n, control.round), control.flush_out);
}

double to_double(Type t, uint64_t x) {
  if (t == Type::f64) return std::bit_cast<double>(x);
  return std::bit_cast<double>(convert(format(Type::f64), format(t), x, {}));
}

uint64_t from_long_double(Type t, long double x, FloatControl control) {
  const Format f = format(t);
  if (std::isnan(x)) return f.default_nan();
  if (std::isinf(x)) return signed_infinity(f, x < 0);
  if (x == 0) return std::signbit(x) ? f.sign_bit() : 0;
  int exponent = 0;
  const long double fraction = std::frexp(std::fabs(x), &exponent);
  const auto mantissa = static_cast<uint64_t>(std::ldexp(fraction, 64));
  return flush(f, round(f, {std::signbit(x), mantissa, exponent - 64}, control.round), control.flush_out);
}

} // namespace lanewise::ir::soft
