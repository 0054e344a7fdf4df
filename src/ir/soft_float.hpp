// Binary floating point in integers: exact intermediate results and one rounding, in every rounding mode and
// for every format, independent of the host's floating-point unit.
#pragma once

#include "ir/ir.hpp"

namespace lanewise::ir::soft {

__extension__ using Wide = unsigned __int128;

struct Format {
  unsigned exponent_bits, fraction_bits;
  [[nodiscard]] constexpr unsigned width() const { return 1 + exponent_bits + fraction_bits; }
  [[nodiscard]] constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  [[nodiscard]] constexpr uint64_t sign_bit() const { return uint64_t{1} << (width() - 1); }
  [[nodiscard]] constexpr uint64_t fraction_mask() const { return (uint64_t{1} << fraction_bits) - 1; }
  [[nodiscard]] constexpr uint64_t infinity() const {
    return ((uint64_t{1} << exponent_bits) - 1) << fraction_bits;
  }
  [[nodiscard]] constexpr uint64_t quiet_bit() const { return uint64_t{1} << (fraction_bits - 1); }
  [[nodiscard]] constexpr uint64_t default_nan() const { return infinity() | quiet_bit(); }
  [[nodiscard]] constexpr uint64_t one() const { return static_cast<uint64_t>(bias()) << fraction_bits; }
};

[[nodiscard]] constexpr Format format(Type t) {
  return t == Type::f16 ? Format{5, 10} : t == Type::f64 ? Format{11, 52} : Format{8, 23};
}

[[nodiscard]] constexpr bool is_nan(Format f, uint64_t x) { return (x & ~f.sign_bit()) > f.infinity(); }
[[nodiscard]] constexpr bool is_infinite(Format f, uint64_t x) { return (x & ~f.sign_bit()) == f.infinity(); }
[[nodiscard]] constexpr bool is_zero(Format f, uint64_t x) { return (x & ~f.sign_bit()) == 0; }
[[nodiscard]] constexpr bool is_denormal(Format f, uint64_t x) {
  const uint64_t magnitude = x & ~f.sign_bit();
  return magnitude != 0 && magnitude <= f.fraction_mask();
}
[[nodiscard]] constexpr bool is_signaling(Format f, uint64_t x) {
  return is_nan(f, x) && !(x & f.quiet_bit());
}
[[nodiscard]] constexpr bool is_negative(Format f, uint64_t x) { return (x & f.sign_bit()) != 0; }
/// The exponent field.
[[nodiscard]] constexpr int biased_exponent(Format f, uint64_t x) {
  return static_cast<int>((x & f.infinity()) >> f.fraction_bits);
}
/// Denormals become zero of their sign.
[[nodiscard]] constexpr uint64_t flush(Format f, uint64_t x, bool wanted = true) {
  return wanted && is_denormal(f, x) ? x & f.sign_bit() : x;
}

/// (-1)^negative * mantissa * 2^exponent, exactly.
struct Number {
  bool negative = false;
  Wide mantissa = 0;
  int exponent = 0;
  bool sticky = false; ///< a little more than this in magnitude; the mantissa then has more than 100 bits
};

/// Of a finite value.
[[nodiscard]] Number unpack(Format f, uint64_t x);
/// Rounded by FloatControl::round; zero keeps its sign.
[[nodiscard]] uint64_t round(Format f, Number x, unsigned mode);
/// Sum of two finite numbers; an exact zero is +0, or -0 when rounding down.
[[nodiscard]] Number add(Number a, Number b, unsigned mode);
/// Mantissas up to 64 bits.
[[nodiscard]] Number multiply(Number a, Number b);

/// a * b + c with the rounding and denormal rules of the control; NaN results as docs/ir.md says.
[[nodiscard]] uint64_t fma(Format f, uint64_t a, uint64_t b, uint64_t c, FloatControl control);
[[nodiscard]] uint64_t add(Format f, uint64_t a, uint64_t b, FloatControl control);
[[nodiscard]] uint64_t multiply(Format f, uint64_t a, uint64_t b, FloatControl control);
/// Between formats, payloads of NaN kept from the top.
[[nodiscard]] uint64_t convert(Format to, Format from, uint64_t x, FloatControl control);
/// x * 2^exponent.
[[nodiscard]] uint64_t scale(Format f, uint64_t x, int exponent, FloatControl control);

/// The value as a host number: exact for every format.
[[nodiscard]] double to_double(Type t, uint64_t x);
/// Rounded to the format from a host number.
[[nodiscard]] uint64_t from_long_double(Type t, long double x, FloatControl control);

} // namespace lanewise::ir::soft
