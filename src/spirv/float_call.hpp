// Float operations that become a call: one helper for each (operation, types, FloatControl).
#pragma once

#include "spirv/emitter.hpp"
#include "spirv/float_format.hpp"

namespace lanewise::spirv {

/// What a body knows besides its operands.
struct FloatCall {
  const EmitOptions& options;
  Helpers& helpers;
  ir::Op op;
  ir::Type type;    ///< of the result
  ir::Type operand; ///< of operand 0
  ir::FloatControl control;
  uint64_t imm;
  [[nodiscard]] FloatFormat format() const { return format_of(operand); }
};

using FloatBody = Expr (*)(Code&, std::span<const Expr>, const FloatCall&);

/// Calls the helper for `v`, making it if it is new. Flushing of operands and result is done around `body`.
void write_float_call(Emitter& e, ir::Value v, FloatBody body);

template <FloatBody body>
void float_call(Emitter& e, ir::Value v) {
  write_float_call(e, v, body);
}

/// What SPIR-V's own operations do.
[[nodiscard]] inline bool plain(ir::FloatControl c) { return c.round == 0 && !c.flush_in && !c.flush_out; }

/// Trunc, RoundEven, Floor or Ceil of `x` on its bits (soft_round.cpp).
[[nodiscard]] Expr soft_round(GLSLstd450 op, Expr x);
/// x * 2^exponent with one rounding (FloatControl::round), whatever the numbers.
[[nodiscard]] Expr scale_exactly(Expr x, Expr exponent, unsigned round);
/// Whether a magnitude `q` gets one more in the last place: `rest` was cut off, `half` is half of a unit of
/// it.
[[nodiscard]] Expr rounds_away(Expr q, Expr rest, Expr half, Expr negative, unsigned round);
/// What a magnitude too large becomes: infinity, or the number before it where the rounding points inwards.
[[nodiscard]] Expr overflow(Expr infinity, Expr negative, unsigned round);
/// a * b + c with one rounding, as call.control.round says, without a fused operation (soft_fma.cpp).
[[nodiscard]] Expr soft_fma(Code& c, std::span<const Expr> x, const FloatCall& call);
/// (a * b + c) * 2^s with one rounding; s is +-64 for f32 and +-128 for f64, positive if c is at least 2.
[[nodiscard]] Expr soft_scaled_fma(Code& c, std::span<const Expr> x, const FloatCall& call);
/// significand * 2^(exponent - 1086) as the bits of an f64, rounded as FloatControl::round says. All are i64;
/// bit 63 of the significand is set and its lowest bit may stand for ones behind it.
[[nodiscard]] Expr round_to_f64(Expr significand, Expr exponent, Expr negative, unsigned round);
/// Index of the highest one of a nonzero i32 or i64, in its type.
[[nodiscard]] Expr highest_one(Expr x);
/// `x` in another float type with the rounding of `round` (FloatControl::round).
[[nodiscard]] Expr narrow_exactly(Expr x, ir::Type to, unsigned round);

} // namespace lanewise::spirv
