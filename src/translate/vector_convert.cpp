// Conversions between numbers of all widths (RDNA2 ISA, VOP1 and VOP3).
#include "translate/translator.hpp"

namespace lanewise::translate {
namespace {

using ir::FloatControl;
using ir::Op;

// -- float <-> integer
// --------------------------------------------------------------------------------------------------

template <Op Convert>
void f32_to_int(Translator& t, const Instruction& i) {
  t.set_b32(i, t.b.emit(Convert, {t.f32(i, 0)}, Type::i32, t.control(Type::f32).pack()));
}
template <Op Convert>
void f64_to_int(Translator& t, const Instruction& i) {
  t.set_b32(i, t.b.emit(Convert, {t.f64(i, 0)}, Type::i32, t.control(Type::f64).pack()));
}
template <Op Convert>
void f16_to_int(Translator& t, const Instruction& i) {
  t.set_b16(i, t.b.emit(Convert, {t.f16(i, 0)}, Type::i16, t.control(Type::f16).pack()));
}
template <Op Convert>
void int_to_f32(Translator& t, const Instruction& i) {
  t.set_f32(i, t.b.emit(Convert, {t.b32(i, 0)}, Type::f32, t.control(Type::f32).pack()));
}
template <Op Convert>
void int_to_f64(Translator& t, const Instruction& i) {
  t.set_f64(i, t.b.emit(Convert, {t.b32(i, 0)}, Type::f64, t.control(Type::f64).pack()));
}
template <Op Convert>
void int_to_f16(Translator& t, const Instruction& i) {
  t.set_f16(i, t.b.emit(Convert, {t.b16(i, 0)}, Type::f16, t.control(Type::f16).pack()));
}
template <unsigned Byte>
void ubyte_to_f32(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value byte = b.ubfe(t.b32(i, 0), b.i32(8 * Byte), b.i32(8));
  t.set_f32(i, b.u2f(byte, Type::f32, t.control(Type::f32)));
}

/// Rounds to nearest even and keeps denormals of results; those of operands count as MODE says.
FloatControl exact_with_mode(Translator& t, Type operand) {
  FloatControl c;
  c.flush_in = t.control(operand).flush_in;
  return c;
}

/// floor(x + 0.5) and floor(x). MODE's rounding does not count; the sum is exact in f64.
void rpi(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const FloatControl exact{};
  const Value wide = b.f2f(t.f32(i, 0), Type::f64, exact_with_mode(t, Type::f32));
  t.set_b32(i, b.f2s(b.ffloor(b.fadd(wide, b.f64(0.5), exact), exact), Type::i32, exact));
}
void flr(Translator& t, const Instruction& i) {
  const FloatControl exact{};
  t.set_b32(i, t.b.f2s(t.b.ffloor(t.f32(i, 0), exact_with_mode(t, Type::f32)), Type::i32, exact));
}
void off_f32_i4(Translator& t, const Instruction& i) { // the low four bits, signed, over 16
  auto& b = t.b;
  const FloatControl exact{};
  const Value n = b.s2f(b.sbfe(t.b32(i, 0), b.i32(0), b.i32(4)), Type::f32, exact);
  t.set_f32(i, b.fmul(n, b.f32(0.0625f), exact));
}

// -- between float widths
// -------------------------------------------------------------------------------------------------

/// Denormals: those of f16 and f64 follow one field of MODE, those of f32 the other; the conversion takes the
/// rules of the operand's width for the operand and of the result's width for the result.
FloatControl conversion(Translator& t, Type from, Type to) {
  FloatControl c = t.control(to);
  c.flush_in = t.control(from).flush_in;
  return c;
}
void f32_from_f16(Translator& t, const Instruction& i) {
  t.set_f32(i, t.b.f2f(t.f16(i, 0), Type::f32, conversion(t, Type::f16, Type::f32)));
}
void f16_from_f32(Translator& t, const Instruction& i) {
  t.set_f16(i, t.b.f2f(t.f32(i, 0), Type::f16, conversion(t, Type::f32, Type::f16)));
}
/// Rounds by the mode of f16 and f64 (docs/isa-notes.md).
void f32_from_f64(Translator& t, const Instruction& i) {
  FloatControl c = conversion(t, Type::f64, Type::f32);
  c.round = t.control(Type::f64).round;
  t.set_f32(i, t.b.f2f(t.f64(i, 0), Type::f32, c));
}
void f64_from_f32(Translator& t, const Instruction& i) {
  t.set_f64(i, t.b.f2f(t.f32(i, 0), Type::f64, conversion(t, Type::f32, Type::f64)));
}

// -- packed results
// ---------------------------------------------------------------------------------------------------------

/// Rounds towards zero whatever MODE says.
void pkrtz(Translator& t, const Instruction& i) {
  auto& b = t.b;
  FloatControl c = conversion(t, Type::f32, Type::f16);
  c.round = 3;
  const auto half = [&](unsigned n) {
    return b.bitcast(t.output_modifier(i, b.f2f(t.f32(i, n), Type::f16, c)), Type::i16);
  };
  const Value lo = half(0), hi = half(1);
  t.set_b32(i, t.pack16(lo, hi));
}

/// Normalized: clamped to [-1, 1] or [0, 1], scaled, rounded to nearest even. NaN gives 0. The product is
/// exact in f64, so that there is one rounding.
Value norm16(Translator& t, Type type, Value x, bool is_signed) {
  auto& b = t.b;
  const FloatControl exact{};
  const Value scale = b.f64(is_signed ? 32767.0 : 65535.0), low = b.f64(is_signed ? -1.0 : 0.0);
  const Value wide = b.f2f(x, Type::f64, exact_with_mode(t, type));
  const Value bounded = b.fmin(b.fmax(wide, low, exact), b.f64(1.0), exact);
  const Value whole = b.frndne(b.fmul(bounded, scale, exact), exact);
  const Value nan = b.fcmp(x, x, ir::kUnordered, exact);
  const Value n = is_signed ? b.f2s(whole, Type::i32, exact) : b.f2u(whole, Type::i32, exact);
  return b.trunc(b.select(nan, b.i32(0), n), Type::i16);
}
template <bool Signed>
void pknorm_f32(Translator& t, const Instruction& i) {
  const Value lo = norm16(t, Type::f32, t.f32(i, 0), Signed), hi = norm16(t, Type::f32, t.f32(i, 1), Signed);
  t.set_b32(i, t.pack16(lo, hi));
}
template <bool Signed>
void pknorm_f16(Translator& t, const Instruction& i) {
  const Value lo = norm16(t, Type::f16, t.f16(i, 0), Signed), hi = norm16(t, Type::f16, t.f16(i, 1), Signed);
  t.set_b32(i, t.pack16(lo, hi));
}
template <bool Signed>
void norm_f16(Translator& t, const Instruction& i) {
  t.set_b16(i, norm16(t, Type::f16, t.f16(i, 0), Signed));
}

/// Saturating.
void pk_u16_u32(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const auto half = [&](unsigned n) { return b.trunc(b.umin(t.b32(i, n), b.i32(0xffff)), Type::i16); };
  const Value lo = half(0), hi = half(1);
  t.set_b32(i, t.pack16(lo, hi));
}
void pk_i16_i32(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const auto half = [&](unsigned n) {
    return b.trunc(b.smax(b.smin(t.b32(i, n), b.i32(0x7fff)), b.i32(0xffff8000)), Type::i16);
  };
  const Value lo = half(0), hi = half(1);
  t.set_b32(i, t.pack16(lo, hi));
}
void pk_u8_f32(Translator& t, const Instruction& i) { // into byte S1 of S2, rounded by MODE and saturated
  auto& b = t.b;
  const FloatControl c = t.control(Type::f32);
  constexpr std::array<Op, 4> rounding{Op::frndne, Op::fceil, Op::ffloor, Op::ftrunc};
  const Value whole = b.emit(rounding[c.round], {t.f32(i, 0)}, Type::none, c.pack());
  const Value byte = b.umin(b.f2u(whole, Type::i32, c), b.i32(255));
  const Value offset = b.shl(b.and_(t.b32(i, 1), b.i32(3)), b.i32(3));
  const Value rest = b.andn(t.b32(i, 2), b.shl(b.i32(255), offset));
  t.set_b32(i, b.or_(rest, b.shl(byte, offset)));
}
void sat_pk_u8_i16(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value v = t.b32(i, 0);
  const auto byte = [&](Value half) {
    const Value wide = b.sext(half, Type::i32);
    return b.smin(b.smax(wide, b.i32(0)), b.i32(255));
  };
  const Value lo = byte(t.low16(v)), hi = byte(t.high16(v));
  t.set_b32(i, b.or_(lo, b.shl(hi, b.i32(8))));
}
/// Two f16, flushed where operands are and quieted in IEEE mode.
void pack_f16(Translator& t, const Instruction& i) {
  FloatControl c = t.control(Type::f16);
  c.flush_out = false;
  const auto half = [&](unsigned n) {
    const Value v = t.f16(i, n), bits = t.b.bitcast(v, Type::i16);
    if (c.ieee) return t.b.bitcast(t.b.fcanonicalize(v, c), Type::i16);
    if (!c.flush_in) return bits;
    const Value is_zero = t.b.fcmp(v, t.b.constant(Type::f16, 0), ir::kEqual, c);
    return t.b.select(is_zero, t.b.and_(bits, t.b.constant(Type::i16, 0x8000)), bits);
  };
  const Value lo = half(0), hi = half(1);
  t.set_b32(i, t.pack16(lo, hi));
}

using enum Opcode;
constexpr Meaning vector_convert_meanings[] = {
    {v_cvt_i32_f32, f32_to_int<Op::f2s>},
    {v_cvt_u32_f32, f32_to_int<Op::f2u>},
    {v_cvt_i32_f64, f64_to_int<Op::f2s>},
    {v_cvt_u32_f64, f64_to_int<Op::f2u>},
    {v_cvt_i16_f16, f16_to_int<Op::f2s>},
    {v_cvt_u16_f16, f16_to_int<Op::f2u>},
    {v_cvt_f32_i32, int_to_f32<Op::s2f>},
    {v_cvt_f32_u32, int_to_f32<Op::u2f>},
    {v_cvt_f64_i32, int_to_f64<Op::s2f>},
    {v_cvt_f64_u32, int_to_f64<Op::u2f>},
    {v_cvt_f16_i16, int_to_f16<Op::s2f>},
    {v_cvt_f16_u16, int_to_f16<Op::u2f>},
    {v_cvt_f32_ubyte0, ubyte_to_f32<0>},
    {v_cvt_f32_ubyte1, ubyte_to_f32<1>},
    {v_cvt_f32_ubyte2, ubyte_to_f32<2>},
    {v_cvt_f32_ubyte3, ubyte_to_f32<3>},
    {v_cvt_rpi_i32_f32, rpi},
    {v_cvt_flr_i32_f32, flr},
    {v_cvt_off_f32_i4, off_f32_i4},
    {v_cvt_f32_f16, f32_from_f16},
    {v_cvt_f16_f32, f16_from_f32},
    {v_cvt_f32_f64, f32_from_f64},
    {v_cvt_f64_f32, f64_from_f32},
    {v_cvt_pkrtz_f16_f32, pkrtz},
    {v_cvt_pknorm_i16_f32, pknorm_f32<true>},
    {v_cvt_pknorm_u16_f32, pknorm_f32<false>},
    {v_cvt_pknorm_i16_f16, pknorm_f16<true>},
    {v_cvt_pknorm_u16_f16, pknorm_f16<false>},
    {v_cvt_norm_i16_f16, norm_f16<true>},
    {v_cvt_norm_u16_f16, norm_f16<false>},
    {v_cvt_pk_u16_u32, pk_u16_u32},
    {v_cvt_pk_i16_i32, pk_i16_i32},
    {v_cvt_pk_u8_f32, pk_u8_f32},
    {v_sat_pk_u8_i16, sat_pk_u8_i16},
    {v_pack_b32_f16, pack_f16},
};

} // namespace

std::span<const Meaning> vector_convert() { return vector_convert_meanings; }

} // namespace lanewise::translate
