// VOP3P: two 16-bit results in one register, mixed precision, dot products (RDNA2 ISA, 6.5 and 13.3.6); and
// the VOP2 instructions of the same kind.
#include "translate/translator.hpp"

namespace lanewise::translate {
namespace {

using ir::FloatControl;
using ir::Op;
using rdna2::Encoding;

/// The half of a source that the low or high result takes. VOP2 forms have no choice.
bool takes_high(const Instruction& i, unsigned n, bool high_result) {
  if (i.encoding != Encoding::vop3p) return high_result;
  return ((high_result ? i.op_sel_hi : i.op_sel) >> n & 1) != 0;
}
Value half(Translator& t, const Instruction& i, unsigned n, bool high_result) {
  const Value v = t.b32(i, n);
  return takes_high(i, n, high_result) ? t.high16(v) : t.low16(v);
}
/// `neg` of a packed source negates for the low result, `abs` stands for neg_hi.
Value float_half(Translator& t, const Instruction& i, unsigned n, bool high_result) {
  const Value v = t.b.bitcast(half(t, i, n, high_result), Type::f16);
  const bool negate = high_result ? i.src[n].abs : i.src[n].neg;
  return negate ? t.b.fneg(v) : v;
}

/// f(result is high) -> i16, twice.
template <class F>
void both(Translator& t, const Instruction& i, F f) {
  const Value lo = f(false), hi = f(true);
  t.set_b32(i, t.pack16(lo, hi));
}

// -- packed integers
// -----------------------------------------------------------------------------------------------------

template <Op O>
void integer(Translator& t, const Instruction& i) {
  both(t, i, [&](bool high) { return t.b.emit(O, {half(t, i, 0, high), half(t, i, 1, high)}); });
}
template <Op Shift>
void shift(Translator& t, const Instruction& i) { // src1 by src0
  both(t, i, [&](bool high) {
    const Value count = t.b.and_(half(t, i, 0, high), t.b.i16(15));
    return t.b.emit(Shift, {half(t, i, 1, high), count});
  });
}

Value widen(Translator& t, Value v, bool is_signed, Type type) {
  return is_signed ? t.b.sext(v, type) : t.b.zext(v, type);
}
Value saturate16(Translator& t, Value wide, bool is_signed) {
  auto& b = t.b;
  // A negative sum of unsigned values is below 0, so the bounds are signed ones in both cases.
  const Value low = b.i32(is_signed ? 0xffff8000 : 0), high = b.i32(is_signed ? 0x7fff : 0xffff);
  return b.trunc(b.smax(b.smin(wide, high), low), Type::i16);
}
/// In 32 bits, which hold every result but 0xffff * 0xffff + 0xffff as a signed number; that one is unsigned.
template <Op O, bool Signed>
void sum(Translator& t, const Instruction& i) {
  both(t, i, [&](bool high) {
    const Value x = half(t, i, 0, high), y = half(t, i, 1, high);
    if (!i.clamp) return t.b.emit(O, {x, y});
    return saturate16(t, t.b.emit(O, {widen(t, x, Signed, Type::i32), widen(t, y, Signed, Type::i32)}),
                      Signed);
  });
}
template <bool Signed>
void mad(Translator& t, const Instruction& i) {
  auto& b = t.b;
  both(t, i, [&](bool high) {
    const Value x = half(t, i, 0, high), y = half(t, i, 1, high), z = half(t, i, 2, high);
    if (!i.clamp) return b.add(b.mul(x, y), z);
    const auto wide = [&](Value v) { return widen(t, v, Signed, Type::i32); };
    const Value total = b.add(b.mul(wide(x), wide(y)), wide(z));
    return Signed ? saturate16(t, total, true) : b.trunc(b.umin(total, b.i32(0xffff)), Type::i16);
  });
}

// -- packed f16
// ------------------------------------------------------------------------------------------------------------

Value finish(Translator& t, const Instruction& i, Value v) {
  return t.b.bitcast(i.clamp ? t.clamp(v) : v, Type::i16);
}
template <Op O>
void float2(Translator& t, const Instruction& i) {
  const FloatControl c = t.control(Type::f16);
  both(t, i, [&](bool high) {
    const Value v = t.b.emit(O, {float_half(t, i, 0, high), float_half(t, i, 1, high)}, Type::none, c.pack());
    return finish(t, i, v);
  });
}
void fma2(Translator& t, const Instruction& i) { // v_pk_fma_f16, v_pk_fmac_f16
  const FloatControl c = t.control(Type::f16);
  both(t, i, [&](bool high) {
    const Value x = float_half(t, i, 0, high), y = float_half(t, i, 1, high), z = float_half(t, i, 2, high);
    return finish(t, i, t.b.ffma(x, y, z, c));
  });
}

// -- mixed precision
// ---------------------------------------------------------------------------------------------------------

FloatControl from_f16(Translator& t) {
  FloatControl c = t.control(Type::f32);
  c.flush_in = t.control(Type::f16).flush_in;
  return c;
}
/// op_sel_hi chooses f16 for a source, op_sel its half; neg and abs are as in VOP3.
Value mixed(Translator& t, const Instruction& i, unsigned n) {
  auto& b = t.b;
  const Value v = t.raw32(i.src[n]);
  if ((i.op_sel_hi >> n & 1) == 0) return t.with_modifiers(b.bitcast(v, Type::f32), i.src[n]);
  const Value h = b.bitcast((i.op_sel >> n & 1) != 0 ? t.high16(v) : t.low16(v), Type::f16);
  return t.with_modifiers(b.f2f(h, Type::f32, from_f16(t)), i.src[n]);
}
Value mixed_fma(Translator& t, const Instruction& i) {
  const Value x = mixed(t, i, 0), y = mixed(t, i, 1), z = mixed(t, i, 2);
  return t.b.ffma(x, y, z, t.control(Type::f32));
}
void mix_f32(Translator& t, const Instruction& i) { t.set_f32(i, mixed_fma(t, i)); }
template <bool High>
void mix_f16(Translator& t, const Instruction& i) {
  FloatControl c = t.control(Type::f16);
  c.flush_in = t.control(Type::f32).flush_in;
  const Value v = t.b.f2f(mixed_fma(t, i), Type::f16, c);
  t.set_half(i.dst[0].reg, finish(t, i, v), High);
}

// -- dot products
// --------------------------------------------------------------------------------------------------------------

/// (x.lo * y.lo + x.hi * y.hi) + z in f32, rounded twice; products of f16 are exact there. src2 has abs and
/// neg as in VOP3.
void dot2_f32_f16(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const FloatControl c = t.control(Type::f32), in = from_f16(t);
  const Value z = t.with_modifiers(b.bitcast(t.b32(i, 2), Type::f32), i.src[2]);
  const auto wide = [&](unsigned n, bool high) { return b.f2f(float_half(t, i, n, high), Type::f32, in); };
  const Value high = b.fmul(wide(0, true), wide(1, true), c);
  const Value products = b.ffma(wide(0, false), wide(1, false), high, c);
  t.set_f32(i, b.fadd(products, z, c));
}

/// z plus a sum of products, saturated to 32 bits if clamp is set.
void set_dot(Translator& t, const Instruction& i, std::span<const Value> products, bool is_signed) {
  auto& b = t.b;
  const Type type = i.clamp ? Type::i64 : Type::i32;
  Value total = t.b32(i, 2);
  if (i.clamp) total = widen(t, total, is_signed, type);
  for (const Value p : products) total = b.add(total, i.clamp ? widen(t, p, is_signed, type) : p);
  if (!i.clamp) return t.set_b32(i, total);
  if (!is_signed) return t.set_b32(i, b.lo32(b.umin(total, b.i64(0xffffffff))));
  t.set_b32(i, b.lo32(b.smax(b.smin(total, b.i64(0x7fffffff)), b.i64(0xffffffff80000000))));
}
template <bool Signed>
void dot2(Translator& t, const Instruction& i) {
  std::array<Value, 2> products;
  for (const bool high : {false, true}) {
    const Value x = widen(t, half(t, i, 0, high), Signed, Type::i32),
                y = widen(t, half(t, i, 1, high), Signed, Type::i32);
    products[high] = t.b.mul(x, y);
  }
  set_dot(t, i, products, Signed);
}
template <unsigned Bits, bool Signed>
void dot(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value x = t.b32(i, 0), y = t.b32(i, 1);
  std::array<Value, 32 / Bits> products;
  for (unsigned k = 0; k < products.size(); ++k) {
    const auto field = [&](Value v) {
      return Signed ? b.sbfe(v, b.i32(k * Bits), b.i32(Bits)) : b.ubfe(v, b.i32(k * Bits), b.i32(Bits));
    };
    products[k] = b.mul(field(x), field(y));
  }
  set_dot(t, i, products, Signed);
}

using enum Opcode;
constexpr Meaning vector_packed_meanings[] = {
    {v_pk_add_i16, sum<Op::add, true>},
    {v_pk_sub_i16, sum<Op::sub, true>},
    {v_pk_add_u16, sum<Op::add, false>},
    {v_pk_sub_u16, sum<Op::sub, false>},
    {v_pk_mad_i16, mad<true>},
    {v_pk_mad_u16, mad<false>},
    {v_pk_mul_lo_u16, integer<Op::mul>},
    {v_pk_min_i16, integer<Op::smin>},
    {v_pk_max_i16, integer<Op::smax>},
    {v_pk_min_u16, integer<Op::umin>},
    {v_pk_max_u16, integer<Op::umax>},
    {v_pk_lshlrev_b16, shift<Op::shl>},
    {v_pk_lshrrev_b16, shift<Op::lshr>},
    {v_pk_ashrrev_i16, shift<Op::ashr>},
    {v_pk_add_f16, float2<Op::fadd>},
    {v_pk_mul_f16, float2<Op::fmul>},
    {v_pk_min_f16, float2<Op::fmin>},
    {v_pk_max_f16, float2<Op::fmax>},
    {v_pk_fma_f16, fma2},
    {v_pk_fmac_f16, fma2},
    {v_fma_mix_f32, mix_f32},
    {v_fma_mixlo_f16, mix_f16<false>},
    {v_fma_mixhi_f16, mix_f16<true>},
    {v_dot2_f32_f16, dot2_f32_f16},
    {v_dot2c_f32_f16, dot2_f32_f16},
    {v_dot2_i32_i16, dot2<true>},
    {v_dot2_u32_u16, dot2<false>},
    {v_dot4_i32_i8, dot<8, true>},
    {v_dot4_u32_u8, dot<8, false>},
    {v_dot4c_i32_i8, dot<8, true>},
    {v_dot8_i32_i4, dot<4, true>},
    {v_dot8_u32_u4, dot<4, false>},
};

} // namespace

std::span<const Meaning> vector_packed() { return vector_packed_meanings; }

} // namespace lanewise::translate
