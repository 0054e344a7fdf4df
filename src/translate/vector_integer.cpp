// VOP1, VOP2 and VOP3 on integers and bits of 16, 32 and 64 bits (RDNA2 ISA, section 6).
#include "translate/translator.hpp"

namespace lanewise::translate {
namespace {

using ir::Op;

Value count16(Translator& t, Value v) { return t.b.and_(v, t.b.i16(15)); }

/// op(src0, src1); Reversed: op(src1, src0), as the "rev" instructions.
template <Op O, bool Reversed = false>
void binary(Translator& t, const Instruction& i) {
  const Value x = t.b32(i, 0), y = t.b32(i, 1);
  t.set_b32(i, Reversed ? t.b.emit(O, {y, x}) : t.b.emit(O, {x, y}));
}
template <Op O>
void unary(Translator& t, const Instruction& i) {
  t.set_b32(i, t.b.emit(O, {t.b32(i, 0)}));
}
template <Op Outer, Op Inner>
void inner_outer(Translator& t, const Instruction& i) { // outer(inner(s0, s1), s2)
  t.set_b32(i, t.b.emit(Outer, {t.b.emit(Inner, {t.b32(i, 0), t.b32(i, 1)}), t.b32(i, 2)}));
}
template <Op Shift>
void shift_reversed(Translator& t, const Instruction& i) { // s1 shifted by s0
  const Value count = count32(t, t.b32(i, 0));
  t.set_b32(i, t.b.emit(Shift, {t.b32(i, 1), count}));
}
template <Op Shift>
void shift64(Translator& t, const Instruction& i) {
  const Value count = count64(t, t.b32(i, 0));
  t.set_b64(i, t.b.emit(Shift, {t.b64(i, 1), count}));
}

// -- addition with saturation
// ----------------------------------------------------------------------------------------

/// x + y or x - y in the value's own width, saturated if `clamp`.
Value add_unsigned(ir::Builder& b, Value x, Value y, bool clamp) {
  const Type type = b.function[x].type;
  const Value sum = b.add(x, y);
  return clamp ? b.select(b.carry(x, y, b.u1(false)), b.constant(type, ~uint64_t{0}), sum) : sum;
}
Value sub_unsigned(ir::Builder& b, Value x, Value y, bool clamp) {
  const Value difference = b.sub(x, y);
  return clamp ? b.select(b.ult(x, y), b.constant(b.function[x].type, 0), difference) : difference;
}
/// `overflow` is negative where `result` overflowed; the wrapped result then has the wrong sign.
Value saturate_signed(ir::Builder& b, Value result, Value overflow) {
  const Type type = b.function[result].type;
  const unsigned width = ir::bit_width(type);
  const Value top = b.constant(type, uint64_t{1} << (width - 1));
  const Value limit = b.xor_(b.ashr(result, b.constant(type, width - 1)), top);
  return b.select(b.slt(overflow, b.constant(type, 0)), limit, result);
}
Value add_signed(ir::Builder& b, Value x, Value y, bool clamp) {
  const Value sum = b.add(x, y);
  return clamp ? saturate_signed(b, sum, b.and_(b.xor_(x, sum), b.xor_(y, sum))) : sum;
}
Value sub_signed(ir::Builder& b, Value x, Value y, bool clamp) {
  const Value d = b.sub(x, y);
  return clamp ? saturate_signed(b, d, b.and_(b.xor_(x, y), b.xor_(x, d))) : d;
}

using Sum = Value (*)(ir::Builder&, Value, Value, bool);
template <Sum S, bool Reversed = false>
void sum32(Translator& t, const Instruction& i) {
  const Value x = t.b32(i, 0), y = t.b32(i, 1);
  t.set_b32(i, Reversed ? S(t.b, y, x, i.clamp) : S(t.b, x, y, i.clamp));
}
template <Sum S>
void sum16(Translator& t, const Instruction& i) {
  t.set_b16(i, S(t.b, t.b16(i, 0), t.b16(i, 1), i.clamp));
}

// -- addition with carry
// -----------------------------------------------------------------------------------------------

/// The register below holds the low half of `wide`, as far as lanes that are on are concerned: name it so.
/// Unfolded, as pack64(lo32(x), hi32(x)) is what is wanted.
void name_low_vgpr(Translator& t, const Instruction& i, Value wide, Value carry, Op op) {
  const unsigned r = i.dst[0].reg;
  if (r != 0 && t.is_low_of(t.strip(t.vgpr(r - 1)), carry, op)) t.set_vgpr(r - 1, t.low_half(wide));
}

/// src0 + src1 (+ carry in); the carries out go to dst1, 0 in lanes that are off.
template <bool CarryIn>
void add_co(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value x = t.b32(i, 0), y = t.b32(i, 1), c = CarryIn ? t.active_mask(i.src[2]) : b.u1(false);
  const Value carry = b.carry(x, y, c);
  if (const Value wide = CarryIn && !i.clamp ? t.wide_sum(x, y, c) : Value{}) {
    name_low_vgpr(t, i, wide, c, Op::add);
    t.set_b32(i, b.hi32(wide));
  } else {
    const Value sum = CarryIn ? b.add_c(x, y, c) : b.add(x, y);
    t.set_b32(i, i.clamp ? b.select(carry, b.i32(~0u), sum) : sum);
  }
  t.set_mask(i.dst[1], b.and_(carry, t.active()));
}
template <bool BorrowIn, bool Reversed>
void sub_co(Translator& t, const Instruction& i) {
  auto& b = t.b;
  Value x = t.b32(i, 0), y = t.b32(i, 1);
  if (Reversed) std::swap(x, y);
  const Value c = BorrowIn ? t.active_mask(i.src[2]) : b.u1(false);
  const Value borrow = BorrowIn ? b.borrow(x, y, c) : b.ult(x, y);
  if (const Value wide = BorrowIn && !i.clamp ? t.wide_difference(x, y, c) : Value{}) {
    name_low_vgpr(t, i, wide, c, Op::sub);
    t.set_b32(i, b.hi32(wide));
  } else {
    const Value difference = BorrowIn ? b.sub_c(x, y, c) : b.sub(x, y);
    t.set_b32(i, i.clamp ? b.select(borrow, b.i32(0), difference) : difference);
  }
  t.set_mask(i.dst[1], b.and_(borrow, t.active()));
}

// -- multiplication
// ------------------------------------------------------------------------------------------------------

Value low24(Translator& t, Value v, bool is_signed) {
  const Value zero = t.b.i32(0), bits = t.b.i32(24);
  return is_signed ? t.b.sbfe(v, zero, bits) : t.b.and_(v, t.b.i32(0xffffff));
}
template <bool Signed>
void mul24(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value x = low24(t, t.b32(i, 0), Signed), y = low24(t, t.b32(i, 1), Signed);
  const Value product = b.mul(x, y);
  if (!i.clamp) return t.set_b32(i, product);
  if (!Signed) return t.set_b32(i, b.select(b.ne(b.mul_hi_u(x, y), b.i32(0)), b.i32(~0u), product));
  const Value high = b.mul_hi_s(x, y), limit = b.xor_(b.ashr(high, b.i32(31)), b.i32(0x7fffffff));
  t.set_b32(i, b.select(b.ne(high, b.ashr(product, b.i32(31))), limit, product));
}
template <bool Signed>
void mul_hi24(Translator& t, const Instruction& i) {
  const Value x = low24(t, t.b32(i, 0), Signed), y = low24(t, t.b32(i, 1), Signed);
  t.set_b32(i, Signed ? t.b.mul_hi_s(x, y) : t.b.mul_hi_u(x, y));
}

/// A 64-bit sum cut or saturated to 32 bits.
Value narrow(Translator& t, Value wide, bool is_signed, bool clamp) {
  auto& b = t.b;
  if (!clamp) return b.lo32(wide);
  if (!is_signed) return b.lo32(b.umin(wide, b.i64(0xffffffff)));
  const Value high = b.smin(wide, b.i64(0x7fffffff));
  return b.lo32(b.smax(high, b.i64(0xffffffff80000000)));
}
Value widen(Translator& t, Value v, bool is_signed) {
  return is_signed ? t.b.sext(v, Type::i64) : t.b.zext(v, Type::i64);
}
template <bool Signed>
void mad24(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value x = low24(t, t.b32(i, 0), Signed), y = low24(t, t.b32(i, 1), Signed), z = t.b32(i, 2);
  if (!i.clamp) return t.set_b32(i, b.add(b.mul(x, y), z));
  const Value wide = b.add(b.mul(widen(t, x, Signed), widen(t, y, Signed)), widen(t, z, Signed));
  t.set_b32(i, narrow(t, wide, Signed, true));
}

/// The flag is the carry out of the unsigned sum, the overflow of the signed one.
template <bool Signed>
void mad64(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value product = b.mul(widen(t, t.b32(i, 0), Signed), widen(t, t.b32(i, 1), Signed)), z = t.b64(i, 2);
  const Value sum = b.add(product, z);
  const Value out =
      Signed ? b.slt(b.and_(b.xor_(product, sum), b.xor_(z, sum)), b.i64(0)) : b.ult(sum, product);
  const Value limit = Signed ? b.xor_(b.ashr(sum, b.i64(63)), b.i64(uint64_t{1} << 63)) : b.i64(~uint64_t{0});
  t.set_b64(i, i.clamp ? b.select(out, limit, sum) : sum);
  t.set_mask(i.dst[1], b.and_(out, t.active()));
}

template <bool Signed>
void mad16(Translator& t, const Instruction& i) {
  auto& b = t.b;
  if (!i.clamp) return t.set_b16(i, b.add(b.mul(t.b16(i, 0), t.b16(i, 1)), t.b16(i, 2)));
  const auto wide = [&](unsigned n) {
    return Signed ? b.sext(t.b16(i, n), Type::i32) : b.zext(t.b16(i, n), Type::i32);
  };
  const Value product = b.mul(wide(0), wide(1)), z = wide(2);
  // 0xffff * 0xffff + 0xffff and -0x8000 * -0x8000 + 0x7fff fit into 32 bits.
  const Value sum = b.add(product, z);
  const Value cut =
      Signed ? b.smax(b.smin(sum, b.i32(0x7fff)), b.i32(0xffff8000)) : b.umin(sum, b.i32(0xffff));
  t.set_b16(i, b.trunc(cut, Type::i16));
}
template <bool Signed>
void mad32_16(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const auto wide = [&](unsigned n) {
    return Signed ? b.sext(t.b16(i, n), Type::i32) : b.zext(t.b16(i, n), Type::i32);
  };
  const Value product = b.mul(wide(0), wide(1)), z = t.b32(i, 2);
  t.set_b32(i, Signed ? add_signed(b, product, z, i.clamp) : add_unsigned(b, product, z, i.clamp));
}

// -- bits
// ------------------------------------------------------------------------------------------------------------------

template <bool Signed>
void bfe(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value v = t.b32(i, 0), offset = count32(t, t.b32(i, 1)), width = count32(t, t.b32(i, 2));
  t.set_b32(i, Signed ? b.sbfe(v, offset, width) : b.ubfe(v, offset, width));
}
void bfi(Translator& t, const Instruction& i) { // (s0 & s1) | (~s0 & s2)
  auto& b = t.b;
  const Value m = t.b32(i, 0);
  t.set_b32(i, b.or_(b.and_(m, t.b32(i, 1)), b.and_(b.not_(m), t.b32(i, 2))));
}
void bfm(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value ones = b.sub(b.shl(b.i32(1), count32(t, t.b32(i, 0))), b.i32(1));
  t.set_b32(i, b.shl(ones, count32(t, t.b32(i, 1))));
}
/// Low half of {s0, s1} shifted right by `count`, in bits below 32.
void align(Translator& t, const Instruction& i, Value count) {
  auto& b = t.b;
  const Value wide = b.lshr(b.pack64(t.b32(i, 1), t.b32(i, 0)), b.zext(count, Type::i64));
  t.set_b32(i, b.lo32(wide));
}
void alignbit(Translator& t, const Instruction& i) { align(t, i, count32(t, t.b32(i, 2))); }
void alignbyte(Translator& t, const Instruction& i) {
  align(t, i, t.b.shl(t.b.and_(t.b32(i, 2), t.b.i32(3)), t.b.i32(3)));
}
void ffbh_u32(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value position = b.find_msb(t.b32(i, 0));
  t.set_b32(i, b.select(b.eq(position, b.i32(~0u)), position, b.sub(b.i32(31), position)));
}
void ffbh_i32(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value x = t.b32(i, 0), position = b.find_msb(b.xor_(x, b.ashr(x, b.i32(31))));
  t.set_b32(i, b.select(b.eq(position, b.i32(~0u)), position, b.sub(b.i32(31), position)));
}

template <Op Outer, Op Inner>
void shift_then(Translator& t, const Instruction& i) { // outer(s0 << s1, s2)
  const Value shifted = t.b.emit(Inner, {t.b32(i, 0), count32(t, t.b32(i, 1))});
  t.set_b32(i, t.b.emit(Outer, {shifted, t.b32(i, 2)}));
}
void add_lshl(Translator& t, const Instruction& i) {
  const Value sum = t.b.add(t.b32(i, 0), t.b32(i, 1));
  t.set_b32(i, t.b.shl(sum, count32(t, t.b32(i, 2))));
}

template <Op Min, Op Max>
void median(Translator& t, const Instruction& i) { // max(min(x, y), min(max(x, y), z))
  auto& b = t.b;
  const Value x = t.b32(i, 0), y = t.b32(i, 1), z = t.b32(i, 2);
  t.set_b32(i, b.emit(Max, {b.emit(Min, {x, y}), b.emit(Min, {b.emit(Max, {x, y}), z})}));
}
template <Op Min, Op Max>
void median16(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value x = t.b16(i, 0), y = t.b16(i, 1), z = t.b16(i, 2);
  t.set_b16(i, b.emit(Max, {b.emit(Min, {x, y}), b.emit(Min, {b.emit(Max, {x, y}), z})}));
}

template <Op O>
void binary16(Translator& t, const Instruction& i) {
  t.set_b16(i, t.b.emit(O, {t.b16(i, 0), t.b16(i, 1)}));
}
template <Op O>
void ternary16(Translator& t, const Instruction& i) {
  t.set_b16(i, t.b.emit(O, {t.b.emit(O, {t.b16(i, 0), t.b16(i, 1)}), t.b16(i, 2)}));
}
template <Op Shift>
void shift16(Translator& t, const Instruction& i) {
  const Value count = count16(t, t.b16(i, 0));
  t.set_b16(i, t.b.emit(Shift, {t.b16(i, 1), count}));
}

// -- moves
// -------------------------------------------------------------------------------------------------------------------

/// v_mov_b32 and v_cndmask_b32 take abs and neg as if on floats.
Value moved(Translator& t, const Instruction& i, unsigned n) {
  const Operand& o = i.src[n];
  const Value v = t.b32(i, n);
  if (!o.abs && !o.neg) return v;
  return t.b.bitcast(t.with_modifiers(t.b.bitcast(v, Type::f32), o), Type::i32);
}
void mov(Translator& t, const Instruction& i) { t.set_b32(i, moved(t, i, 0)); }
void cndmask(Translator& t, const Instruction& i) {
  const Value off = moved(t, i, 0), on = moved(t, i, 1);
  t.set_b32(i, t.b.select(t.active_mask(i.src[2]), on, off));
}
void swap(Translator& t, const Instruction& i) {
  const Value x = t.b32(i, 0), y = t.b32(i, 1);
  t.set_vgpr(i.dst[0].reg, x);
  t.set_vgpr(i.dst[1].reg, y);
}

/// v[first] .. before `end` are what a relative access may mean.
unsigned end_of_vgprs(Translator& t, const Instruction& i, unsigned first) {
  const unsigned there = std::max(t.kernel().descriptor.vgpr_count, first + 1);
  return std::min({256u, there, first + t.relative_reach(i)});
}

/// One of v[first], v[first + 1] .. by a uniform index; registers that the kernel does not have read as 0.
Value relative(Translator& t, const Instruction& i, Value index) {
  const unsigned first = i.src[0].reg, end = end_of_vgprs(t, i, first);
  std::vector<Value> level;
  for (unsigned r = first; r < end; ++r) level.push_back(t.strip(t.vgpr(r)));
  // A tree of selects, one level for each bit of the index.
  const bool may_leave = t.relative_reach(i) > end - first;
  const Value in_range = may_leave ? t.b.ult(index, t.b.i32(end - first)) : t.b.u1(true);
  for (unsigned bit = 0; level.size() > 1; ++bit) {
    const Value odd = t.b.ne(t.b.and_(index, t.b.i32(1u << bit)), t.b.i32(0));
    for (size_t k = 0; 2 * k < level.size(); ++k)
      level[k] = 2 * k + 1 < level.size() ? t.b.select(odd, level[2 * k + 1], level[2 * k]) : level[2 * k];
    level.resize((level.size() + 1) / 2);
  }
  return t.b.select(in_range, level[0], t.b.i32(0));
}
void set_relative(Translator& t, const Instruction& i, Value index, Value v) {
  const unsigned first = i.dst[0].reg, end = end_of_vgprs(t, i, first);
  for (unsigned r = first; r < end; ++r) {
    const Value old = t.strip(t.vgpr(r));
    t.set_vgpr(r, t.b.select(t.b.eq(index, t.b.i32(r - first)), v, old));
  }
}
void movrels(Translator& t, const Instruction& i) { t.set_b32(i, relative(t, i, t.sgpr(reg::m0))); }
void movreld(Translator& t, const Instruction& i) { set_relative(t, i, t.sgpr(reg::m0), t.b32(i, 0)); }
void movrelsd(Translator& t, const Instruction& i) {
  const Value m0 = t.sgpr(reg::m0);
  set_relative(t, i, m0, relative(t, i, m0));
}
/// M0 holds two indices: 9:0 of the source, 25:16 of the destination.
void movrelsd_2(Translator& t, const Instruction& i) {
  const Value m0 = t.sgpr(reg::m0), ten = t.b.i32(10);
  const Value v = relative(t, i, t.b.ubfe(m0, t.b.i32(0), ten));
  set_relative(t, i, t.b.ubfe(m0, t.b.i32(16), ten), v);
}

using enum Opcode;
constexpr Meaning vector_integer_meanings[] = {
    {v_mov_b32, mov},
    {v_cndmask_b32, cndmask},
    {v_swap_b32, swap},
    {v_movrels_b32, movrels},
    {v_movreld_b32, movreld},
    {v_movrelsd_b32, movrelsd},
    {v_movrelsd_2_b32, movrelsd_2},

    {v_add_nc_u32, sum32<add_unsigned>},
    {v_sub_nc_u32, sum32<sub_unsigned>},
    {v_subrev_nc_u32, sum32<sub_unsigned, true>},
    {v_add_nc_i32, sum32<add_signed>},
    {v_sub_nc_i32, sum32<sub_signed>},
    {v_add_nc_u16, sum16<add_unsigned>},
    {v_sub_nc_u16, sum16<sub_unsigned>},
    {v_add_nc_i16, sum16<add_signed>},
    {v_sub_nc_i16, sum16<sub_signed>},
    {v_add_co_u32, add_co<false>},
    {v_add_co_ci_u32, add_co<true>},
    {v_sub_co_u32, sub_co<false, false>},
    {v_subrev_co_u32, sub_co<false, true>},
    {v_sub_co_ci_u32, sub_co<true, false>},
    {v_subrev_co_ci_u32, sub_co<true, true>},
    {v_add3_u32, inner_outer<Op::add, Op::add>},

    {v_mul_lo_u32, binary<Op::mul>},
    {v_mul_hi_u32, binary<Op::mul_hi_u>},
    {v_mul_hi_i32, binary<Op::mul_hi_s>},
    {v_mul_i32_i24, mul24<true>},
    {v_mul_u32_u24, mul24<false>},
    {v_mul_hi_i32_i24, mul_hi24<true>},
    {v_mul_hi_u32_u24, mul_hi24<false>},
    {v_mul_lo_u16, binary16<Op::mul>},
    {v_mad_i32_i24, mad24<true>},
    {v_mad_u32_u24, mad24<false>},
    {v_mad_i16, mad16<true>},
    {v_mad_u16, mad16<false>},
    {v_mad_i32_i16, mad32_16<true>},
    {v_mad_u32_u16, mad32_16<false>},
    {v_mad_u64_u32, mad64<false>},
    {v_mad_i64_i32, mad64<true>},

    {v_min_i32, binary<Op::smin>},
    {v_max_i32, binary<Op::smax>},
    {v_min_u32, binary<Op::umin>},
    {v_max_u32, binary<Op::umax>},
    {v_min3_i32, inner_outer<Op::smin, Op::smin>},
    {v_max3_i32, inner_outer<Op::smax, Op::smax>},
    {v_min3_u32, inner_outer<Op::umin, Op::umin>},
    {v_max3_u32, inner_outer<Op::umax, Op::umax>},
    {v_med3_i32, median<Op::smin, Op::smax>},
    {v_med3_u32, median<Op::umin, Op::umax>},
    {v_min_i16, binary16<Op::smin>},
    {v_max_i16, binary16<Op::smax>},
    {v_min_u16, binary16<Op::umin>},
    {v_max_u16, binary16<Op::umax>},
    {v_min3_i16, ternary16<Op::smin>},
    {v_max3_i16, ternary16<Op::smax>},
    {v_min3_u16, ternary16<Op::umin>},
    {v_max3_u16, ternary16<Op::umax>},
    {v_med3_i16, median16<Op::smin, Op::smax>},
    {v_med3_u16, median16<Op::umin, Op::umax>},

    {v_lshlrev_b32, shift_reversed<Op::shl>},
    {v_lshrrev_b32, shift_reversed<Op::lshr>},
    {v_ashrrev_i32, shift_reversed<Op::ashr>},
    {v_lshlrev_b16, shift16<Op::shl>},
    {v_lshrrev_b16, shift16<Op::lshr>},
    {v_ashrrev_i16, shift16<Op::ashr>},
    {v_lshlrev_b64, shift64<Op::shl>},
    {v_lshrrev_b64, shift64<Op::lshr>},
    {v_ashrrev_i64, shift64<Op::ashr>},
    {v_lshl_add_u32, shift_then<Op::add, Op::shl>},
    {v_lshl_or_b32, shift_then<Op::or_, Op::shl>},
    {v_add_lshl_u32, add_lshl},

    {v_and_b32, binary<Op::and_>},
    {v_or_b32, binary<Op::or_>},
    {v_xor_b32, binary<Op::xor_>},
    {v_xnor_b32,
     [](Translator& t, const Instruction& i) { t.set_b32(i, t.b.not_(t.b.xor_(t.b32(i, 0), t.b32(i, 1)))); }},
    {v_not_b32, unary<Op::not_>},
    {v_bfrev_b32, unary<Op::bit_reverse>},
    {v_ffbl_b32, unary<Op::find_lsb>},
    {v_ffbh_u32, ffbh_u32},
    {v_ffbh_i32, ffbh_i32},
    {v_bcnt_u32_b32,
     [](Translator& t, const Instruction& i) {
       t.set_b32(i, t.b.add(t.b.popcount(t.b32(i, 0)), t.b32(i, 1)));
     }},
    {v_and_or_b32, inner_outer<Op::or_, Op::and_>},
    {v_or3_b32, inner_outer<Op::or_, Op::or_>},
    {v_xor3_b32, inner_outer<Op::xor_, Op::xor_>},
    {v_xad_u32, inner_outer<Op::add, Op::xor_>},
    {v_bfe_u32, bfe<false>},
    {v_bfe_i32, bfe<true>},
    {v_bfi_b32, bfi},
    {v_bfm_b32, bfm},
    {v_alignbit_b32, alignbit},
    {v_alignbyte_b32, alignbyte},
};

} // namespace

std::span<const Meaning> vector_integer() { return vector_integer_meanings; }

} // namespace lanewise::translate
