// Vector ALU on 32-bit floats (RDNA2 ISA, 12.7, 12.8 and 12.12).
#include "rdna2/emu_float_lanes.hpp"

namespace lanewise::rdna2::emu {
namespace {

using f = uint32_t; // bits of a float
using R = const FloatRules&;

float value(f bits) { return std::bit_cast<float>(bits); }
f bits(float v) { return std::bit_cast<f>(v); }

// The host's arithmetic with the guest's NaN.
f fast_add(f a, f b) {
  const float r = value(a) + value(b);
  return r != r ? nan_of(a, b) : bits(r);
}
f fast_subtract(f a, f b) { return fast_add(a, negate(b)); }
f fast_subtract_reversed(f a, f b) { return fast_subtract(b, a); }
f fast_multiply(f a, f b) {
  const float r = value(a) * value(b);
  return r != r ? nan_of(a, b) : bits(r);
}
f fast_fma(f a, f b, f c) {
  const double product = double{value(a)} * double{value(b)};
  const auto r = static_cast<float>(add_to_odd(product, value(c)));
  return r != r ? nan_of(a, b, c) : bits(r);
}

// Additions of the negated operand, NaN included: compilers take one for the other.
f subtract(f a, f b, R r) { return add(a, negate(b), r); }
f subtract_reversed(f a, f b, R r) { return subtract(b, a, r); }

// DX9 rules: zero times anything is +0.
f multiply_legacy(f a, f b, R r) {
  if (is_zero(flush(a, r.keep_in)) || is_zero(flush(b, r.keep_in))) return 0;
  return multiply(a, b, r);
}
f fma_legacy(f a, f b, f c, R r) {
  if (is_zero(flush(a, r.keep_in)) || is_zero(flush(b, r.keep_in))) return add(f{0}, c, r);
  return fma(a, b, c, r);
}
// Zero times anything is 0; an overflow or a NaN without a NaN operand does not occur in lighting terms.
f multiply_lighting(f a, f b, f c, R r) {
  if (is_zero(flush(a, r.keep_in)) || is_zero(flush(b, r.keep_in))) return 0;
  if (is_nan(c) || order(c) <= 0) return bits(-std::numeric_limits<float>::max());
  if (is_nan(b) || value(b) == -std::numeric_limits<float>::max() || is_infinite(b))
    return bits(-std::numeric_limits<float>::max());
  return multiply(a, b, r);
}

// Which of three coordinates is the major axis: z before y before x. Comparisons see denormals as MODE says;
// the coordinates themselves pass through as they are.
int major_axis(f x, f y, f z, R r) {
  const auto at_least = [&](f p, f q) {
    return !is_nan(p) && !is_nan(q) && magnitude(flush(p, r.keep_in)) >= magnitude(flush(q, r.keep_in));
  };
  if (at_least(z, x) && at_least(z, y)) return 2;
  return at_least(y, x) ? 1 : 0;
}
bool below_zero(f x, R r) { return !is_nan(x) && order(flush(x, r.keep_in)) < 0; }

f cube_id(f x, f y, f z, R r) {
  switch (major_axis(x, y, z, r)) {
  case 2: return bits(below_zero(z, r) ? 5.0f : 4.0f);
  case 1: return bits(below_zero(y, r) ? 3.0f : 2.0f);
  default: return bits(below_zero(x, r) ? 1.0f : 0.0f);
  }
}
f cube_s(f x, f y, f z, R r) {
  switch (major_axis(x, y, z, r)) {
  case 2: return below_zero(z, r) ? negate(x) : x;
  case 1: return x;
  default: return below_zero(x, r) ? z : negate(z);
  }
}
f cube_t(f x, f y, f z, R r) {
  if (major_axis(x, y, z, r) == 1) return below_zero(y, r) ? negate(z) : z;
  return negate(y);
}
f cube_major(f x, f y, f z, R r) {
  const f axis = std::array<f, 3>{x, y, z}[static_cast<unsigned>(major_axis(x, y, z, r))];
  return multiply(bits(2.0f), axis, r);
}

template <bool greater>
f extreme3(f a, f b, f c, R r) {
  return extreme<f, greater>(extreme<f, greater>(a, b, r), c, r);
}

// The exponent operand is an integer.
Flow load_exponent(Wave& w, const Step& s) {
  return float_lanes<f, 2, [](f x, f n, R r) { return scale(x, static_cast<int32_t>(n), r); }>(w, s);
}

void add_rounding(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler h) { t[static_cast<unsigned>(o)] = h; };
  set(v_trunc_f32, float_lanes<f, 1, [](f x, R r) { return round_to_integer(x, ToInteger::trunc, r); }>);
  set(v_ceil_f32, float_lanes<f, 1, [](f x, R r) { return round_to_integer(x, ToInteger::ceil, r); }>);
  set(v_rndne_f32,
      float_lanes<f, 1, [](f x, R r) { return round_to_integer(x, ToInteger::nearest_even, r); }>);
  set(v_floor_f32, float_lanes<f, 1, [](f x, R r) { return round_to_integer(x, ToInteger::floor, r); }>);
  set(v_fract_f32, float_lanes<f, 1, fract<f>>);
  set(v_frexp_mant_f32, float_lanes<f, 1, frexp_mantissa<f>>);
  set(v_frexp_exp_i32_f32, lane_any<[](const Step&, Mode m, f x) {
        return static_cast<uint32_t>(frexp_exponent(x, FloatRules::single(m)));
      },
                                    uint32_t, uint32_t>);
  set(v_ldexp_f32, load_exponent);
}

} // namespace

void add_float_32(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler h) { t[static_cast<unsigned>(o)] = h; };
  set(v_add_f32, float_lanes<f, 2, add<f>, fast_add>);
  set(v_sub_f32, float_lanes<f, 2, subtract, fast_subtract>);
  set(v_subrev_f32, float_lanes<f, 2, subtract_reversed, fast_subtract_reversed>);
  set(v_mul_f32, float_lanes<f, 2, multiply<f>, fast_multiply>);
  set(v_mul_legacy_f32, float_lanes<f, 2, multiply_legacy>);
  for (Opcode o : {v_fma_f32, v_fmac_f32, v_fmamk_f32, v_fmaak_f32})
    set(o, float_lanes<f, 3, fma<f>, fast_fma>);
  set(v_fma_legacy_f32, float_lanes<f, 3, fma_legacy>);
  set(v_fmac_legacy_f32, float_lanes<f, 3, fma_legacy>);
  set(v_mullit_f32, float_lanes<f, 3, multiply_lighting>);
  set(v_min_f32, float_lanes<f, 2, extreme<f, false>>);
  set(v_max_f32, float_lanes<f, 2, extreme<f, true>>);
  set(v_min3_f32, float_lanes<f, 3, extreme3<false>>);
  set(v_max3_f32, float_lanes<f, 3, extreme3<true>>);
  set(v_med3_f32, float_lanes<f, 3, median3<f>>);
  set(v_cubeid_f32, float_lanes<f, 3, cube_id>);
  set(v_cubesc_f32, float_lanes<f, 3, cube_s>);
  set(v_cubetc_f32, float_lanes<f, 3, cube_t>);
  set(v_cubema_f32, float_lanes<f, 3, cube_major>);
  add_rounding(t);
}

} // namespace lanewise::rdna2::emu
