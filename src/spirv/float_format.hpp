// IEEE formats as integer code sees them, and float expressions taken apart.
#pragma once

#include "spirv/code.hpp"

namespace lanewise::spirv {

struct FloatFormat {
  unsigned width, mantissa; ///< bits
  [[nodiscard]] constexpr unsigned exponent() const { return width - 1 - mantissa; }
  [[nodiscard]] constexpr uint64_t bias() const { return (uint64_t{1} << (exponent() - 1)) - 1; }
  [[nodiscard]] constexpr uint64_t sign_bit() const { return uint64_t{1} << (width - 1); }
  [[nodiscard]] constexpr uint64_t all_but_sign() const { return sign_bit() - 1; }
  [[nodiscard]] constexpr uint64_t implicit_one() const { return uint64_t{1} << mantissa; }
  [[nodiscard]] constexpr uint64_t fraction() const { return implicit_one() - 1; }
  [[nodiscard]] constexpr uint64_t infinity() const { return all_but_sign() & ~fraction(); }
  [[nodiscard]] constexpr uint64_t quiet_bit() const { return implicit_one() >> 1; }
  [[nodiscard]] constexpr uint64_t nan() const { return infinity() | quiet_bit(); }
  [[nodiscard]] constexpr uint64_t one() const { return bias() << mantissa; }
  /// 2^e as bits, e in the normal range.
  [[nodiscard]] constexpr uint64_t power(int e) const {
    return static_cast<uint64_t>(static_cast<int64_t>(bias()) + e) << mantissa;
  }
};

[[nodiscard]] constexpr FloatFormat format_of(ir::Type t) {
  return t == ir::Type::f16   ? FloatFormat{16, 10}
         : t == ir::Type::f64 ? FloatFormat{64, 52}
                              : FloatFormat{32, 23};
}

[[nodiscard]] inline Expr bits(Expr x) { return bitcast(x, integer_like(x.type)); }
[[nodiscard]] inline Expr as_float(Expr x, ir::Type t) { return bitcast(x, t); }
/// Bits without the sign.
[[nodiscard]] inline Expr magnitude(Expr x, const FloatFormat& f) { return bits(x) & f.all_but_sign(); }
[[nodiscard]] inline Expr sign_of(Expr x, const FloatFormat& f) { return bits(x) & f.sign_bit(); }
[[nodiscard]] inline Expr is_nan(Expr x, const FloatFormat& f) { return magnitude(x, f) > f.infinity(); }
/// Denormals become zero of their sign.
[[nodiscard]] inline Expr flush(Expr x) {
  const FloatFormat f = format_of(x.type);
  const Expr b = bits(x);
  return as_float(select((b & f.infinity()) == 0, b & f.sign_bit(), b), x.type);
}
[[nodiscard]] inline Expr glsl(GLSLstd450 op, Expr x) {
  return x.code->expr(x.code->glsl(op, x.code->types[x.type], {x.id}), x.type);
}

} // namespace lanewise::spirv
