// VOP1, VOP2 and VOP3 floating-point arithmetic of 16, 32 and 64 bits (RDNA2 ISA, section 6).
#include "translate/translator.hpp"

namespace lanewise::translate {
namespace {

using ir::FloatControl;
using ir::Op;

/// Reading and writing of one width.
struct F16 {
  static constexpr Type type = Type::f16;
  static Value read(Translator& t, const Instruction& i, unsigned n) { return t.f16(i, n); }
  static void write(Translator& t, const Instruction& i, Value v) { t.set_f16(i, v); }
};
struct F32 {
  static constexpr Type type = Type::f32;
  static Value read(Translator& t, const Instruction& i, unsigned n) { return t.f32(i, n); }
  static void write(Translator& t, const Instruction& i, Value v) { t.set_f32(i, v); }
};
struct F64 {
  static constexpr Type type = Type::f64;
  static Value read(Translator& t, const Instruction& i, unsigned n) { return t.f64(i, n); }
  static void write(Translator& t, const Instruction& i, Value v) { t.set_f64(i, v); }
};

template <class W, Op O>
void unary(Translator& t, const Instruction& i) {
  const FloatControl c = t.control(W::type);
  W::write(t, i, t.b.emit(O, {W::read(t, i, 0)}, Type::none, c.pack()));
}
/// The ISA's text says of these that denormals are flushed, whatever MODE says.
template <Op O>
void flushing(Translator& t, const Instruction& i) {
  FloatControl c = t.control(Type::f32);
  c.flush_in = c.flush_out = true;
  t.set_f32(i, t.b.emit(O, {t.f32(i, 0)}, Type::none, c.pack()));
}
template <class W, Op O>
void binary(Translator& t, const Instruction& i) {
  const FloatControl c = t.control(W::type);
  const Value x = W::read(t, i, 0), y = W::read(t, i, 1);
  W::write(t, i, t.b.emit(O, {x, y}, Type::none, c.pack()));
}
template <class W, bool Reversed>
void subtract(Translator& t, const Instruction& i) {
  const FloatControl c = t.control(W::type);
  Value x = W::read(t, i, 0), y = W::read(t, i, 1);
  if (Reversed) std::swap(x, y);
  W::write(t, i, t.b.fadd(x, t.b.fneg(y), c));
}
/// Fused multiply and add: fma, fmac (src2 is the old destination), fmamk, fmaak.
template <class W>
void fma(Translator& t, const Instruction& i) {
  const FloatControl c = t.control(W::type);
  const Value x = W::read(t, i, 0), y = W::read(t, i, 1), z = W::read(t, i, 2);
  W::write(t, i, t.b.ffma(x, y, z, c));
}
template <class W, Op O>
void three(Translator& t, const Instruction& i) { // O(O(x, y), z)
  const FloatControl c = t.control(W::type);
  const Value x = W::read(t, i, 0), y = W::read(t, i, 1), z = W::read(t, i, 2);
  const Value xy = t.b.emit(O, {x, y}, Type::none, c.pack());
  W::write(t, i, t.b.emit(O, {xy, z}, Type::none, c.pack()));
}

/// The ISA's own definition: min3 with a NaN; otherwise the larger of the two that are not the maximum.
template <class W>
void median(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const FloatControl c = t.control(W::type);
  const Value x = W::read(t, i, 0), y = W::read(t, i, 1), z = W::read(t, i, 2);
  const auto is_nan = [&](Value v) { return b.fcmp(v, v, ir::kUnordered, c); };
  const Value some_nan = b.or_(b.or_(is_nan(x), is_nan(y)), is_nan(z));
  const Value min3 = b.fmin(b.fmin(x, y, c), z, c), max3 = b.fmax(b.fmax(x, y, c), z, c);
  const auto is_max = [&](Value v) { return b.fcmp(max3, v, ir::kEqual, c); };
  const Value rest = b.select(is_max(y), b.fmax(x, z, c), b.fmax(x, y, c));
  W::write(t, i, b.select(some_nan, min3, b.select(is_max(x), b.fmax(y, z, c), rest)));
}

/// DX9 rules: zero times anything is +0.
Value legacy_product_is_zero(Translator& t, Value x, Value y, FloatControl c) {
  const Value zero = t.b.constant(Type::f32, 0);
  return t.b.or_(t.b.fcmp(x, zero, ir::kEqual, c), t.b.fcmp(y, zero, ir::kEqual, c));
}
void mul_legacy(Translator& t, const Instruction& i) {
  const FloatControl c = t.control(Type::f32);
  const Value x = t.f32(i, 0), y = t.f32(i, 1), zero = t.b.constant(Type::f32, 0);
  t.set_f32(i, t.b.select(legacy_product_is_zero(t, x, y, c), zero, t.b.fmul(x, y, c)));
}
void fma_legacy(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const FloatControl c = t.control(Type::f32);
  const Value x = t.f32(i, 0), y = t.f32(i, 1), z = t.f32(i, 2), zero = b.constant(Type::f32, 0);
  t.set_f32(i, b.select(legacy_product_is_zero(t, x, y, c), b.fadd(zero, z, c), b.ffma(x, y, z, c)));
}

// -- exponents
// --------------------------------------------------------------------------------------------------------

void ldexp_f16(Translator& t, const Instruction& i) {
  const FloatControl c = t.control(Type::f16);
  t.set_f16(i, t.b.fldexp(t.f16(i, 0), t.b.sext(t.b16(i, 1), Type::i32), c));
}
template <class W>
void ldexp(Translator& t, const Instruction& i) {
  const FloatControl c = t.control(W::type);
  W::write(t, i, t.b.fldexp(W::read(t, i, 0), t.b32(i, 1), c));
}
template <class W>
void frexp_exp(Translator& t, const Instruction& i) {
  t.set_b32(i, t.b.ffrexp_exp(W::read(t, i, 0), t.control(W::type)));
}
void frexp_exp_f16(Translator& t, const Instruction& i) {
  t.set_b16(i, t.b.trunc(t.b.ffrexp_exp(t.f16(i, 0), t.control(Type::f16)), Type::i16));
}

// -- division
// ----------------------------------------------------------------------------------------------------------

template <class W>
void div_scale(Translator& t, const Instruction& i) {
  const FloatControl c = t.control(W::type);
  const Value v = W::read(t, i, 0), denominator = W::read(t, i, 1), numerator = W::read(t, i, 2);
  const Value flag = t.b.fdiv_scale_flag(v, denominator, numerator, c);
  W::write(t, i, t.b.fdiv_scale(v, denominator, numerator, c));
  t.set_mask(i.dst[1], t.b.and_(flag, t.active()));
}
template <class W>
void div_fmas(Translator& t, const Instruction& i) {
  const FloatControl c = t.control(W::type);
  const Value x = W::read(t, i, 0), y = W::read(t, i, 1), z = W::read(t, i, 2);
  W::write(t, i, t.b.fdiv_fmas(x, y, z, t.active_mask(i.src[3]), c));
}
template <class W>
void div_fixup(Translator& t, const Instruction& i) {
  const FloatControl c = t.control(W::type);
  const Value x = W::read(t, i, 0), y = W::read(t, i, 1), z = W::read(t, i, 2);
  W::write(t, i, t.b.fdiv_fixup(x, y, z, c));
}
void trig_preop(Translator& t, const Instruction& i) {
  t.set_f64(i, t.b.ftrig_preop(t.f64(i, 0), t.b32(i, 1), t.control(Type::f64)));
}

// -- cube maps
// ------------------------------------------------------------------------------------------------------------

/// x, y, z and which of them is the major axis.
struct Cube {
  Value x, y, z, z_major, y_major, x_negative, y_negative, z_negative;
};
Cube cube(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const FloatControl c = t.control(Type::f32);
  Cube k{.x = t.f32(i, 0), .y = t.f32(i, 1), .z = t.f32(i, 2)};
  const Value ax = b.fabs(k.x), ay = b.fabs(k.y), az = b.fabs(k.z), zero = b.constant(Type::f32, 0);
  const auto at_least = [&](Value p, Value q) { return b.fcmp(p, q, ir::kGreater | ir::kEqual, c); };
  const auto negative = [&](Value p) { return b.fcmp(p, zero, ir::kLess, c); };
  k.z_major = b.and_(at_least(az, ax), at_least(az, ay));
  k.y_major = at_least(ay, ax);
  k.x_negative = negative(k.x), k.y_negative = negative(k.y), k.z_negative = negative(k.z);
  return k;
}
Value by_axis(Translator& t, const Cube& k, Value z_case, Value y_case, Value x_case) {
  return t.b.select(k.z_major, z_case, t.b.select(k.y_major, y_case, x_case));
}
void cube_id(Translator& t, const Instruction& i) {
  const Cube k = cube(t, i);
  const auto face = [&](Value negative, float base) {
    return t.b.select(negative, t.b.f32(base + 1), t.b.f32(base));
  };
  t.set_f32(i, by_axis(t, k, face(k.z_negative, 4), face(k.y_negative, 2), face(k.x_negative, 0)));
}
void cube_sc(Translator& t, const Instruction& i) {
  const Cube k = cube(t, i);
  auto& b = t.b;
  t.set_f32(i, by_axis(t, k, b.select(k.z_negative, b.fneg(k.x), k.x), k.x,
                       b.select(k.x_negative, k.z, b.fneg(k.z))));
}
void cube_tc(Translator& t, const Instruction& i) {
  const Cube k = cube(t, i);
  const Value down = t.b.fneg(k.y);
  t.set_f32(i, by_axis(t, k, down, t.b.select(k.y_negative, t.b.fneg(k.z), k.z), down));
}
void cube_ma(Translator& t, const Instruction& i) {
  const Cube k = cube(t, i);
  t.set_f32(i, t.b.fmul(by_axis(t, k, k.z, k.y, k.x), t.b.f32(2.0f), t.control(Type::f32)));
}

using enum Opcode;
constexpr Meaning vector_float_meanings[] = {
    {v_add_f16, binary<F16, Op::fadd>},
    {v_add_f32, binary<F32, Op::fadd>},
    {v_add_f64, binary<F64, Op::fadd>},
    {v_sub_f16, subtract<F16, false>},
    {v_sub_f32, subtract<F32, false>},
    {v_subrev_f16, subtract<F16, true>},
    {v_subrev_f32, subtract<F32, true>},
    {v_mul_f16, binary<F16, Op::fmul>},
    {v_mul_f32, binary<F32, Op::fmul>},
    {v_mul_f64, binary<F64, Op::fmul>},
    {v_mul_legacy_f32, mul_legacy},
    {v_fma_f16, fma<F16>},
    {v_fma_f32, fma<F32>},
    {v_fma_f64, fma<F64>},
    {v_fmac_f16, fma<F16>},
    {v_fmac_f32, fma<F32>},
    {v_fmamk_f16, fma<F16>},
    {v_fmamk_f32, fma<F32>},
    {v_fmaak_f16, fma<F16>},
    {v_fmaak_f32, fma<F32>},
    {v_fma_legacy_f32, fma_legacy},
    {v_fmac_legacy_f32, fma_legacy},

    {v_min_f16, binary<F16, Op::fmin>},
    {v_min_f32, binary<F32, Op::fmin>},
    {v_min_f64, binary<F64, Op::fmin>},
    {v_max_f16, binary<F16, Op::fmax>},
    {v_max_f32, binary<F32, Op::fmax>},
    {v_max_f64, binary<F64, Op::fmax>},
    {v_min3_f16, three<F16, Op::fmin>},
    {v_min3_f32, three<F32, Op::fmin>},
    {v_max3_f16, three<F16, Op::fmax>},
    {v_max3_f32, three<F32, Op::fmax>},
    {v_med3_f16, median<F16>},
    {v_med3_f32, median<F32>},

    {v_trunc_f16, unary<F16, Op::ftrunc>},
    {v_trunc_f32, unary<F32, Op::ftrunc>},
    {v_trunc_f64, unary<F64, Op::ftrunc>},
    {v_floor_f16, unary<F16, Op::ffloor>},
    {v_floor_f32, unary<F32, Op::ffloor>},
    {v_floor_f64, unary<F64, Op::ffloor>},
    {v_ceil_f16, unary<F16, Op::fceil>},
    {v_ceil_f32, unary<F32, Op::fceil>},
    {v_ceil_f64, unary<F64, Op::fceil>},
    {v_rndne_f16, unary<F16, Op::frndne>},
    {v_rndne_f32, unary<F32, Op::frndne>},
    {v_rndne_f64, unary<F64, Op::frndne>},
    {v_fract_f16, unary<F16, Op::ffract>},
    {v_fract_f32, unary<F32, Op::ffract>},
    {v_fract_f64, unary<F64, Op::ffract>},

    {v_rcp_f16, unary<F16, Op::frcp>},
    {v_rcp_f32, flushing<Op::frcp>},
    {v_rcp_iflag_f32, flushing<Op::frcp>},
    {v_rcp_f64, unary<F64, Op::frcp>},
    {v_rsq_f16, unary<F16, Op::frsq>},
    {v_rsq_f32, flushing<Op::frsq>},
    {v_rsq_f64, unary<F64, Op::frsq>},
    {v_sqrt_f16, unary<F16, Op::fsqrt>},
    {v_sqrt_f32, flushing<Op::fsqrt>},
    {v_sqrt_f64, unary<F64, Op::fsqrt>},
    {v_exp_f16, unary<F16, Op::fexp2>},
    {v_exp_f32, flushing<Op::fexp2>},
    {v_log_f16, unary<F16, Op::flog2>},
    {v_log_f32, flushing<Op::flog2>},
    {v_sin_f16, unary<F16, Op::fsin>},
    {v_sin_f32, unary<F32, Op::fsin>},
    {v_cos_f16, unary<F16, Op::fcos>},
    {v_cos_f32, unary<F32, Op::fcos>},

    {v_ldexp_f16, ldexp_f16},
    {v_ldexp_f32, ldexp<F32>},
    {v_ldexp_f64, ldexp<F64>},
    {v_frexp_mant_f16, unary<F16, Op::ffrexp_mant>},
    {v_frexp_mant_f32, unary<F32, Op::ffrexp_mant>},
    {v_frexp_mant_f64, unary<F64, Op::ffrexp_mant>},
    {v_frexp_exp_i16_f16, frexp_exp_f16},
    {v_frexp_exp_i32_f32, frexp_exp<F32>},
    {v_frexp_exp_i32_f64, frexp_exp<F64>},

    {v_div_scale_f32, div_scale<F32>},
    {v_div_scale_f64, div_scale<F64>},
    {v_div_fmas_f32, div_fmas<F32>},
    {v_div_fmas_f64, div_fmas<F64>},
    {v_div_fixup_f16, div_fixup<F16>},
    {v_div_fixup_f32, div_fixup<F32>},
    {v_div_fixup_f64, div_fixup<F64>},
    {v_trig_preop_f64, trig_preop},

    {v_cubeid_f32, cube_id},
    {v_cubesc_f32, cube_sc},
    {v_cubetc_f32, cube_tc},
    {v_cubema_f32, cube_ma},
};

} // namespace

std::span<const Meaning> vector_float() { return vector_float_meanings; }

} // namespace lanewise::translate
