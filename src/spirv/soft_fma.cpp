// Fused multiply-add for devices that round twice, and for roundings other than to nearest even.
#include "spirv/float_call.hpp"

namespace lanewise::spirv {
namespace {

using ir::Type;

// -- f16 and f32, through f64
// ------------------------------------------------------------------------------------

/// a * b + c of narrower floats in f64, rounded to odd (Boldo and Melquiond, "Emulation of a FMA and
/// Correctly Rounded Sums", 2008): a later rounding to f32 or f16 gives what one rounding would have given.
/// The product is exact in f64.
Expr sum_to_odd(Code& c, std::span<const Expr> x) {
  std::array<Expr, 3> wide;
  for (unsigned i = 0; i < 3; ++i) wide[i] = c.unary(spv::Op::OpFConvert, x[i], Type::f64);
  const Expr product = wide[0] * wide[1], sum = product + wide[2];
  // Knuth's two-sum: what `sum` lost.
  const Expr part = sum - product, lost = (product - (sum - part)) + (wide[2] - part);
  const Expr zero = as_float(c.constant(Type::i64, 0), Type::f64);
  const Expr b = bits(sum), inexact = (lost < zero) | (lost > zero);
  const Expr outwards = (lost > zero) == (sum > zero);
  const Expr odd = select(outwards, b + 1, b - 1);
  return as_float(select(inexact & ((b & 1) == 0), odd, b), Type::f64);
}

Expr narrowed(Code& c, Expr x, Type to, unsigned round) {
  if (to == Type::f32 && round == 0) return c.unary(spv::Op::OpFConvert, x, to);
  return narrow_exactly(x, to, round);
}

Expr k64(Code& c, uint64_t v) { return c.constant(Type::i64, v); }
Expr one_if(Expr condition) { return select(condition, k64(*condition.code, 1), k64(*condition.code, 0)); }

/// x << n and x >> n for n in 0 .. 64, where SPIR-V stops at 63.
Expr up(Expr x, Expr n) { return select(n >= 64, 0, x << (n & 63)); }
Expr down(Expr x, Expr n) { return select(n >= 64, 0, x >> (n & 63)); }

} // namespace

Expr round_to_f64(Expr significand, Expr exponent, Expr negative, unsigned round) {
  Code& c = *significand.code;
  const FloatFormat f = format_of(Type::f64);
  const Expr normal = sgt(exponent, 0);
  // Below half of the smallest number only "something" is left.
  significand = select(slt(exponent, -52), 1, significand);
  const Expr deeper = k64(c, 12) - exponent;
  const Expr shift = select(normal, k64(c, 11), select(deeper > 64, k64(c, 64), deeper));
  const Expr q = down(significand, shift), rest = significand - up(q, shift);
  const Expr half = up(k64(c, 1), shift - 1);
  const Expr away = rounds_away(q, rest, half, negative, round);
  // The implicit one adds itself to the exponent field.
  Expr result = q + select(normal, (exponent - 1) << 52, k64(c, 0)) + one_if(away);
  const Expr over = overflow(k64(c, f.infinity()), negative, round);
  result = select((!slt(exponent, 2047)) | (result >= f.infinity()), over, result);
  return result | select(negative, k64(c, f.sign_bit()), k64(c, 0));
}

namespace {

// -- f64, in integers
// ------------------------------------------------------------------------------------------------

struct Wide { ///< 128 bits
  Expr high, low;
};

/// x >> n for any n; the lowest bit also tells of ones that fell off.
Wide down_sticky(Wide x, Expr n) {
  Code& c = *n.code;
  const Expr far = n >= 64, within = n & 63, back = k64(c, 64) - within;
  const Expr lost_low = up(x.low, back), crossing = up(x.high, back);
  const Expr near_low = (x.low >> within) | crossing, near_high = x.high >> within;
  const Expr very_far = n >= 128;
  const Expr low = select(very_far, 0, select(far, near_high, near_low));
  const Expr high = select(far, 0, near_high);
  const Expr lost = select(very_far, x.low | x.high, select(far, x.low | crossing, lost_low));
  return {high, low | one_if(lost != 0)};
}

Wide product(Expr a, Expr b) {
  const auto low_half = [](Expr x) { return x & 0xffff'ffff; };
  const Expr a0 = low_half(a), a1 = a >> 32, b0 = low_half(b), b1 = b >> 32;
  const Expr p = a0 * b0, q = a1 * b0 + (p >> 32), r = a0 * b1 + low_half(q);
  return {a1 * b1 + (q >> 32) + (r >> 32), r << 32 | low_half(p)};
}

Wide sum(Wide a, Wide b) {
  const Expr low = a.low + b.low;
  return {a.high + b.high + one_if(low < a.low), low};
}
Wide difference(Wide a, Wide b) { return {a.high - b.high - one_if(a.low < b.low), a.low - b.low}; }
Wide choose(Expr condition, Wide a, Wide b) {
  return {select(condition, a.high, b.high), select(condition, a.low, b.low)};
}

struct Unpacked {
  Expr significand, exponent, negative; ///< significand * 2^(exponent - 1075)
};

Unpacked unpack(Expr x) {
  const FloatFormat f = format_of(Type::f64);
  Code& c = *x.code;
  const Expr b = bits(x), field = (b >> 52) & 0x7ff, fraction = b & f.fraction();
  const Expr denormal = field == 0;
  return {select(denormal, fraction, fraction | f.implicit_one()), select(denormal, k64(c, 1), field),
          (b & f.sign_bit()) != 0};
}

/// (a * b + c) * 2^scale for finite a, b, c, not all products zero.
Expr finite_fma(Code& c, std::span<const Expr> x, Expr scale, unsigned round) {
  const Unpacked a = unpack(x[0]), b = unpack(x[1]), d = unpack(x[2]);
  const FloatFormat f = format_of(Type::f64);
  // The product below bit 126, the addend likewise; exponents of their lowest bits.
  const Wide raw = product(a.significand, b.significand);
  const Wide p{raw.high << 20 | raw.low >> 44, raw.low << 20};
  const Wide addend{d.significand << 9, k64(c, 0)};
  const Expr exponent_p = a.exponent + b.exponent - (1075 + 20), exponent_d = d.exponent - 73;
  // A zero has no exponent: the other one decides.
  const Expr p_zero = (raw.high | raw.low) == 0, d_zero = d.significand == 0;
  const Expr p_leads = d_zero | ((!p_zero) & (!slt(exponent_p, exponent_d)));
  const Expr distance = select(p_leads, exponent_p - exponent_d, exponent_d - exponent_p);
  const Wide moved = down_sticky(choose(p_leads, addend, p), distance), kept = choose(p_leads, p, addend);
  const Expr exponent = select(p_leads, exponent_p, exponent_d);
  const Expr p_negative = a.negative ^ b.negative;
  const Expr kept_negative = select(p_leads, p_negative, d.negative);
  const Expr opposite = p_negative ^ d.negative;
  const Expr smaller = (kept.high < moved.high) | ((kept.high == moved.high) & (kept.low < moved.low));
  const Wide apart = choose(smaller, difference(moved, kept), difference(kept, moved));
  const Wide total = choose(opposite, apart, sum(kept, moved));
  const Expr negative = kept_negative ^ (opposite & smaller);
  // Bit 63 of the upper word becomes the leading one.
  const Expr in_low = total.high == 0;
  const Expr top = select(in_low, total.low, total.high), below = select(in_low, 0, total.low);
  const Expr leading = k64(c, 63) - highest_one(top | 1);
  const Expr significand =
      (top << leading) | down(below, k64(c, 64) - leading) | one_if((below << leading) != 0);
  const Expr field = exponent + 64 + 11 - leading - select(in_low, k64(c, 64), k64(c, 0)) + scale;
  const Expr packed = round_to_f64(significand, field, negative, round);
  // An exact zero: -0 if both are negative, or when rounding down unless both are positive.
  const Expr both = p_negative & d.negative;
  const Expr zero_negative = round == 2 ? p_negative | d.negative : both;
  const Expr zero = select(zero_negative, k64(c, f.sign_bit()), k64(c, 0));
  return select((total.high | total.low) == 0, zero, packed);
}

Expr fma64(Code& c, std::span<const Expr> x, Expr scale, unsigned round) {
  const FloatFormat f = format_of(Type::f64);
  const auto finite = [&](Expr v) { return magnitude(v, f) < f.infinity(); };
  const Expr both_finite = finite(x[0]) & finite(x[1]);
  const Expr special = select(both_finite, x[2], x[0] * x[1] + x[2]);
  const Expr ordinary = as_float(finite_fma(c, x, scale, round), Type::f64);
  return select(both_finite & finite(x[2]), ordinary, special);
}

} // namespace

Expr soft_fma(Code& c, std::span<const Expr> x, const FloatCall& call) {
  const unsigned round = call.control.round;
  if (call.type == Type::f64) return fma64(c, x, k64(c, 0), round);
  const Expr exact = sum_to_odd(c, x);
  const Expr result = narrowed(c, exact, call.type, round);
  if (round != 2) return result;
  // Numbers that cancel give -0 when rounding down.
  const FloatFormat f = call.format();
  const Expr cancelled =
      (bits(exact) == 0) & (((sign_of(x[0], f) ^ sign_of(x[1], f) ^ sign_of(x[2], f)) != 0));
  return select(cancelled, as_float(c.constant(integer_like(call.type), f.sign_bit()), call.type), result);
}

Expr soft_scaled_fma(Code& c, std::span<const Expr> x, const FloatCall& call) {
  const FloatFormat f = call.format();
  const Expr above = magnitude(x[2], f) >= f.power(1);
  if (call.type == Type::f64)
    return fma64(c, x, select(above, k64(c, 128), k64(c, static_cast<uint64_t>(-128))), call.control.round);
  const FloatFormat wide = format_of(Type::f64);
  const Expr scale = select(above, k64(c, wide.power(64)), k64(c, wide.power(-64)));
  return narrowed(c, sum_to_odd(c, x) * as_float(scale, Type::f64), call.type, call.control.round);
}

} // namespace lanewise::spirv
