// Floating-point arithmetic of the guest on bit patterns: f16, f32 and f64 in all rounding and denormal
// modes.
//
// f16 and f32 are computed exactly, or to odd in double precision (53 bits, enough that rounding again to 24
// or 11 bits gives what one rounding gives), then rounded once. f64 uses the host's arithmetic, with its
// rounding mode set where needed. NaN: the first NaN operand, quieted; an invalid operation gives the
// positive quiet NaN without payload. A result is flushed when it is denormal after rounding.
#pragma once

#include "rdna2/emu_machine.hpp"

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace lanewise::rdna2::emu {

enum class Round : uint8_t { nearest, up, down, zero };

struct FloatRules {
  Round round = Round::nearest;
  bool keep_in = true, keep_out = true; ///< denormals of operands and results
  bool ieee = false;
  bool dx10_clamp = false;

  [[nodiscard]] static FloatRules make(Mode mode, unsigned round, unsigned denorm) {
    return {static_cast<Round>(round), (denorm & 1) != 0, (denorm & 2) != 0, mode.ieee(), mode.dx10_clamp()};
  }
  [[nodiscard]] static FloatRules single(Mode mode) { return make(mode, mode.round_32(), mode.denorm_32()); }
  [[nodiscard]] static FloatRules wide(Mode mode) {
    return make(mode, mode.round_16_64(), mode.denorm_16_64());
  }
  /// The rules for a format, told by its bits.
  template <class B>
  [[nodiscard]] static FloatRules of(Mode mode) {
    return sizeof(B) == 4 ? single(mode) : wide(mode);
  }
};

/// IEEE 754 interchange formats, named by the type of their bits.
template <class B>
struct Format;
template <>
struct Format<uint16_t> {
  static constexpr int mantissa = 10, bias = 15;
};
template <>
struct Format<uint32_t> {
  static constexpr int mantissa = 23, bias = 127;
};
template <>
struct Format<uint64_t> {
  static constexpr int mantissa = 52, bias = 1023;
};

template <class B>
inline constexpr B sign_bit = static_cast<B>(B{1} << (8 * sizeof(B) - 1));
template <class B>
inline constexpr B infinity = static_cast<B>(B{2 * Format<B>::bias + 1} << Format<B>::mantissa);
template <class B>
inline constexpr B quiet_bit = static_cast<B>(B{1} << (Format<B>::mantissa - 1));
template <class B>
inline constexpr B default_nan = static_cast<B>(infinity<B> | quiet_bit<B>);
/// What the functions whose text names the bits give where they are undefined: the manual's 0xffc00000.
template <class B>
inline constexpr B invalid = static_cast<B>(default_nan<B> | sign_bit<B>);
template <class B>
inline constexpr B one = static_cast<B>(B{Format<B>::bias} << Format<B>::mantissa);

template <class B>
constexpr B magnitude(B x) {
  return static_cast<B>(x & static_cast<B>(~sign_bit<B>));
}
template <class B>
constexpr bool is_negative(B x) {
  return (x & sign_bit<B>) != 0;
}
template <class B>
constexpr bool is_nan(B x) {
  return magnitude(x) > infinity<B>;
}
template <class B>
constexpr bool is_signaling(B x) {
  return is_nan(x) && (x & quiet_bit<B>) == 0;
}
template <class B>
constexpr bool is_infinite(B x) {
  return magnitude(x) == infinity<B>;
}
template <class B>
constexpr bool is_zero(B x) {
  return magnitude(x) == 0;
}
template <class B>
constexpr bool is_denormal(B x) {
  return magnitude(x) != 0 && magnitude(x) < (B{1} << Format<B>::mantissa);
}
template <class B>
constexpr B quiet(B nan) {
  return static_cast<B>(nan | quiet_bit<B>);
}
template <class B>
constexpr B negate(B x) {
  return static_cast<B>(x ^ sign_bit<B>);
}
/// Biased exponent field.
template <class B>
constexpr int exponent_field(B x) {
  return static_cast<int>(magnitude(x) >> Format<B>::mantissa);
}
/// A denormal as zero of its sign, unless kept.
template <class B>
constexpr B flush(B x, bool keep) {
  return keep || !is_denormal(x) ? x : static_cast<B>(x & sign_bit<B>);
}
/// Orders non-NaN values as numbers; zeros of both signs are equal.
template <class B>
constexpr std::make_signed_t<B> order(B x) {
  using S = std::make_signed_t<B>;
  return is_negative(x) ? static_cast<S>(-static_cast<S>(magnitude(x))) : static_cast<S>(x);
}
template <class B>
constexpr bool float_less(B a, B b) {
  return !is_nan(a) && !is_nan(b) && order(a) < order(b);
}
template <class B>
constexpr bool float_equal(B a, B b) {
  return !is_nan(a) && !is_nan(b) && order(a) == order(b);
}

/// The NaN that an operation with a NaN operand (or none: an invalid one) gives.
template <class B>
constexpr B nan_of(B a) {
  return is_nan(a) ? quiet(a) : default_nan<B>;
}
template <class B, class... Rest>
constexpr B nan_of(B a, Rest... rest) {
  return is_nan(a) ? quiet(a) : nan_of(rest...);
}

/// Exact value; f16 and f32 only. NaN stays NaN.
[[nodiscard]] double to_double(uint16_t bits);
[[nodiscard]] inline double to_double(uint32_t bits) {
  return static_cast<double>(std::bit_cast<float>(bits));
}
[[nodiscard]] inline double to_double(uint64_t bits) { return std::bit_cast<double>(bits); }

/// Rounds a number that is exact or rounded to odd; overflow and denormals as IEEE 754 says.
template <class B>
[[nodiscard]] B from_double(double value, Round round);

/// Rounds (-1)^negative * significand * 2^(exponent - 63), where bit 63 of the significand is set.
template <class B>
[[nodiscard]] B assemble(bool negative, uint64_t significand, int exponent, Round round);

/// a + b rounded to odd: an inexact sum has its last bit set.
[[nodiscard]] inline double add_to_odd(double a, double b) {
  const double sum = a + b, b_part = sum - a;
  const double error = (a - (sum - b_part)) + (b - b_part);
  auto bits = std::bit_cast<uint64_t>(sum);
  const bool inexact = error > 0 || error < 0; // not for infinities, whose error is NaN
  if (inexact && (bits & 1) == 0) bits += (error > 0) == (sum > 0) ? uint64_t{1} : ~uint64_t{0};
  return std::bit_cast<double>(bits);
}

/// An exact zero result: -0 when both terms are, or when rounding down and the signs differ.
[[nodiscard]] inline double signed_zero(double a, double b, Round round) {
  const bool na = std::signbit(a), nb = std::signbit(b);
  if (na == nb) return na ? -0.0 : 0.0;
  return round == Round::down ? -0.0 : 0.0;
}

// f64 by the host, in a given rounding mode.
[[nodiscard]] double host_add(double a, double b, Round round);
[[nodiscard]] double host_multiply(double a, double b, Round round);
[[nodiscard]] double host_fma(double a, double b, double c, Round round);

template <class B>
[[nodiscard]] B add(B a, B b, const FloatRules& r) {
  if (is_nan(a) || is_nan(b)) return nan_of(a, b);
  const double x = to_double(flush(a, r.keep_in)), y = to_double(flush(b, r.keep_in));
  double sum = 0;
  if constexpr (sizeof(B) == 8)
    sum = host_add(x, y, r.round);
  else
    sum = add_to_odd(x, y);
  if (std::isnan(sum)) return default_nan<B>;
  if (sum == 0 && x == -y) sum = signed_zero(x, y, r.round);
  return flush(from_double<B>(sum, r.round), r.keep_out);
}

template <class B>
[[nodiscard]] B multiply(B a, B b, const FloatRules& r) {
  if (is_nan(a) || is_nan(b)) return nan_of(a, b);
  const double x = to_double(flush(a, r.keep_in)), y = to_double(flush(b, r.keep_in));
  double product = 0;
  if constexpr (sizeof(B) == 8)
    product = host_multiply(x, y, r.round);
  else
    product = x * y; // 48 bits at most: exact
  if (std::isnan(product)) return default_nan<B>;
  return flush(from_double<B>(product, r.round), r.keep_out);
}

template <class B>
[[nodiscard]] B fma(B a, B b, B c, const FloatRules& r) {
  if (is_nan(a) || is_nan(b) || is_nan(c)) return nan_of(a, b, c);
  const double x = to_double(flush(a, r.keep_in)), y = to_double(flush(b, r.keep_in)),
               z = to_double(flush(c, r.keep_in));
  double sum = 0;
  if constexpr (sizeof(B) == 8) {
    sum = host_fma(x, y, z, r.round);
  } else {
    const double product = x * y;
    sum = add_to_odd(product, z);
    if (sum == 0 && product == -z) sum = signed_zero(product, z, r.round);
  }
  if (std::isnan(sum)) return default_nan<B>;
  return flush(from_double<B>(sum, r.round), r.keep_out);
}

[[nodiscard]] inline uint32_t add_f32(uint32_t a, uint32_t b, const FloatRules& r) {
  return add<uint32_t>(a, b, r);
}

/// Scales by a power of two with one rounding.
template <class B>
[[nodiscard]] B scale(B x, int exponent, const FloatRules& r);

/// min and max (RDNA2 ISA, V_MIN_F32 and V_MAX_F32): a NaN loses against a number, -0 is below +0.
template <class B, bool greater>
[[nodiscard]] constexpr B extreme(B a, B b, const FloatRules& r) {
  if (r.ieee && is_signaling(a)) return quiet(a);
  if (r.ieee && is_signaling(b)) return quiet(b);
  a = flush(a, r.keep_in), b = flush(b, r.keep_in);
  if (is_nan(a)) return flush(b, r.keep_out);
  if (is_nan(b)) return flush(a, r.keep_out);
  bool first = greater ? order(a) > order(b) : order(a) < order(b);
  if (order(a) == order(b)) first = is_negative(a) != greater; // equal numbers: only zeros' signs differ
  return flush(first ? a : b, r.keep_out);
}

template <class B>
[[nodiscard]] B median3(B a, B b, B c, const FloatRules& r) {
  if (is_nan(a) || is_nan(b) || is_nan(c)) return extreme<B, false>(extreme<B, false>(a, b, r), c, r);
  const B most = extreme<B, true>(extreme<B, true>(a, b, r), c, r);
  if (float_equal(most, flush(a, r.keep_in))) return extreme<B, true>(b, c, r);
  if (float_equal(most, flush(b, r.keep_in))) return extreme<B, true>(a, c, r);
  return extreme<B, true>(a, b, r);
}

/// Rounding to an integer in the format itself: f is one of std::trunc, floor, ceil, nearbyint. NaN is
/// quieted.
enum class ToInteger : uint8_t { trunc, floor, ceil, nearest_even };
template <class B>
[[nodiscard]] B round_to_integer(B x, ToInteger how, const FloatRules& r);
template <class B>
[[nodiscard]] B fract(B x, const FloatRules& r);
template <class B>
[[nodiscard]] B frexp_mantissa(B x, const FloatRules& r);
/// 0 for zero, infinity and NaN.
template <class B>
[[nodiscard]] int frexp_exponent(B x, const FloatRules& r);

/// The output modifiers of VOP3, SDWA and VOP3P: omod (1 *2, 2 *4, 3 /2), then clamp to [0, 1]. omod has no
/// effect while results may be denormal or MODE.IEEE is set.
template <class B>
[[nodiscard]] B output_modifiers(B x, unsigned omod, bool clamp, const FloatRules& r);

/// Conversions between formats, one rounding. NaN keeps its sign and the top of its payload.
template <class To, class From>
[[nodiscard]] To convert(From x, bool keep_in, Round round, bool keep_out) {
  if (is_nan(x)) {
    constexpr int shift = Format<To>::mantissa - Format<From>::mantissa;
    const uint64_t payload = uint64_t{magnitude(x)} & (uint64_t{quiet_bit<From>} - 1);
    const uint64_t moved =
        shift >= 0 ? payload << (shift >= 0 ? shift : 0) : payload >> (shift < 0 ? -shift : 0);
    return static_cast<To>((is_negative(x) ? sign_bit<To> : To{0}) | default_nan<To> |
                           static_cast<To>(moved));
  }
  return flush(from_double<To>(to_double(flush(x, keep_in)), round), keep_out);
}

/// Class bits of v_cmp_class: signaling, quiet, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf.
template <class B>
[[nodiscard]] constexpr unsigned classify(B x) {
  if (is_nan(x)) return is_signaling(x) ? 1u : 2u;
  const unsigned kind = is_infinite(x) ? 0 : is_zero(x) ? 3 : is_denormal(x) ? 2 : 1;
  return is_negative(x) ? 4u << kind : 512u >> kind;
}

} // namespace lanewise::rdna2::emu
