// SOP1, SOP2, SOPK and SOPC: integer arithmetic, compares and moves (RDNA2 ISA, section 5).
#include "translate/translator.hpp"

namespace lanewise::translate {
namespace {

using ir::Op;

// -- results that set SCC
// -------------------------------------------------------------------------------------------

void set32(Translator& t, const Instruction& i, Value v) { t.set_scalar32(i.dst[0], v); }
void set64(Translator& t, const Instruction& i, Value v) { t.set_scalar64(i.dst[0], v); }

void set32_nonzero(Translator& t, const Instruction& i, Value v) {
  set32(t, i, v);
  t.set_scc(t.b.ne(v, t.b.i32(0)));
}
void set64_nonzero(Translator& t, const Instruction& i, Value v) {
  set64(t, i, v);
  t.set_scc(t.b.ne(v, t.b.i64(0)));
}

Value source(Translator& t, const Instruction& i, unsigned n) { return t.scalar32(i.src[n]); }
Value source64(Translator& t, const Instruction& i, unsigned n) { return t.scalar64(i.src[n]); }

// -- addition
// ---------------------------------------------------------------------------------------------------------

void add_u32(Translator& t, const Instruction& i) {
  const Value x = source(t, i, 0), y = source(t, i, 1), none = t.b.u1(false);
  set32(t, i, t.b.add(x, y));
  t.set_scc(t.b.carry(x, y, none));
}

void sub_u32(Translator& t, const Instruction& i) {
  const Value x = source(t, i, 0), y = source(t, i, 1);
  set32(t, i, t.b.sub(x, y));
  t.set_scc(t.b.ult(x, y));
}

/// The register below holds the low half of `wide`: name it so.
void name_low_sgpr(Translator& t, const Instruction& i, Value wide, Value carry, Op op) {
  const unsigned r = i.dst[0].reg;
  if (r == 0 || r > reg::vcc_hi || !t.is_low_of(t.sgpr(r - 1), carry, op)) return;
  t.set_sgpr(r - 1, t.low_half(wide));
}

void addc_u32(Translator& t, const Instruction& i) {
  const Value x = source(t, i, 0), y = source(t, i, 1), c = t.scc(), carry = t.b.carry(x, y, c);
  if (const Value wide = t.wide_sum(x, y, c)) {
    name_low_sgpr(t, i, wide, c, Op::add);
    set32(t, i, t.b.hi32(wide));
  } else {
    set32(t, i, t.b.add_c(x, y, c));
  }
  t.set_scc(carry);
}

void subb_u32(Translator& t, const Instruction& i) {
  const Value x = source(t, i, 0), y = source(t, i, 1), c = t.scc(), borrow = t.b.borrow(x, y, c);
  if (const Value wide = t.wide_difference(x, y, c)) {
    name_low_sgpr(t, i, wide, c, Op::sub);
    set32(t, i, t.b.hi32(wide));
  } else {
    set32(t, i, t.b.sub_c(x, y, c));
  }
  t.set_scc(borrow);
}

/// Signed overflow of x + y = sum: both differ from the sum in sign.
Value overflows(Translator& t, Value x, Value y, Value sum) {
  return t.b.slt(t.b.and_(t.b.xor_(x, sum), t.b.xor_(y, sum)), t.b.i32(0));
}

void add_i32(Translator& t, const Instruction& i) { // also s_addk_i32
  const Value x = source(t, i, 0), y = source(t, i, 1), sum = t.b.add(x, y);
  set32(t, i, sum);
  t.set_scc(overflows(t, x, y, sum));
}

void sub_i32(Translator& t, const Instruction& i) {
  const Value x = source(t, i, 0), y = source(t, i, 1), difference = t.b.sub(x, y);
  set32(t, i, difference);
  t.set_scc(t.b.slt(t.b.and_(t.b.xor_(x, y), t.b.xor_(x, difference)), t.b.i32(0)));
}

template <unsigned N>
void lshl_add(Translator& t, const Instruction& i) {
  const Value x = source(t, i, 0), y = source(t, i, 1);
  const Value wide = t.b.add(t.b.shl(t.b.zext(x, Type::i64), t.b.i64(N)), t.b.zext(y, Type::i64));
  set32(t, i, t.b.add(t.b.shl(x, t.b.i32(N)), y));
  t.set_scc(t.b.ne(t.b.hi32(wide), t.b.i32(0)));
}

// -- minimum, maximum: SCC says that the first operand was taken
// ------------------------------------------------------

template <Op Extreme, Op Less, bool Max>
void extreme(Translator& t, const Instruction& i) {
  const Value x = source(t, i, 0), y = source(t, i, 1);
  set32(t, i, t.b.emit(Extreme, {x, y}));
  t.set_scc(Max ? t.b.emit(Less, {y, x}) : t.b.emit(Less, {x, y}));
}

// -- bits
// ---------------------------------------------------------------------------------------------------------------

template <class F>
void bits32(Translator& t, const Instruction& i, F f) {
  set32_nonzero(t, i, f(source(t, i, 0), source(t, i, 1)));
}
template <class F>
void bits64(Translator& t, const Instruction& i, F f) {
  set64_nonzero(t, i, f(source64(t, i, 0), source64(t, i, 1)));
}

#define LANEWISE_BITS(name, expression)                                                                      \
  void name##_b32(Translator& t, const Instruction& i) {                                                     \
    bits32(t, i, [&]([[maybe_unused]] Value x, [[maybe_unused]] Value y) { return expression; });            \
  }                                                                                                          \
  void name##_b64(Translator& t, const Instruction& i) {                                                     \
    bits64(t, i, [&]([[maybe_unused]] Value x, [[maybe_unused]] Value y) { return expression; });            \
  }
LANEWISE_BITS(and, t.b.and_(x, y))
LANEWISE_BITS(or, t.b.or_(x, y))
LANEWISE_BITS(xor, t.b.xor_(x, y))
LANEWISE_BITS(andn2, t.b.andn(x, y))
LANEWISE_BITS(orn2, t.b.or_(x, t.b.not_(y)))
LANEWISE_BITS(nand, t.b.not_(t.b.and_(x, y)))
LANEWISE_BITS(nor, t.b.not_(t.b.or_(x, y)))
LANEWISE_BITS(xnor, t.b.not_(t.b.xor_(x, y)))
#undef LANEWISE_BITS

template <Op Shift>
void shift32(Translator& t, const Instruction& i) {
  set32_nonzero(t, i, t.b.emit(Shift, {source(t, i, 0), count32(t, source(t, i, 1))}));
}
template <Op Shift>
void scalar_shift64(Translator& t, const Instruction& i) {
  set64_nonzero(t, i, t.b.emit(Shift, {source64(t, i, 0), count64(t, source(t, i, 1))}));
}

/// ((1 << width) - 1) << offset
void bfm_b32(Translator& t, const Instruction& i) {
  const Value ones = t.b.sub(t.b.shl(t.b.i32(1), count32(t, source(t, i, 0))), t.b.i32(1));
  set32(t, i, t.b.shl(ones, count32(t, source(t, i, 1))));
}
void bfm_b64(Translator& t, const Instruction& i) {
  const Value ones = t.b.sub(t.b.shl(t.b.i64(1), count64(t, source(t, i, 0))), t.b.i64(1));
  set64(t, i, t.b.shl(ones, count64(t, source(t, i, 1))));
}

/// S1 holds the offset in bits 4:0 (5:0) and the width in bits 22:16. A width that reaches past the top of
/// the value takes what is there.
template <bool Signed>
void bfe32(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value v = source(t, i, 0), field = source(t, i, 1);
  const Value offset = count32(t, field),
              width = b.umin(b.and_(b.lshr(field, b.i32(16)), b.i32(127)), b.i32(32));
  const Value shifted = Signed ? b.ashr(v, offset) : b.lshr(v, offset);
  // Shift left and back by 32 - width; a width of 0 would shift by 32.
  const Value drop = b.and_(b.sub(b.i32(32), width), b.i32(31));
  const Value cut = Signed ? b.ashr(b.shl(shifted, drop), drop) : b.lshr(b.shl(shifted, drop), drop);
  set32_nonzero(t, i, b.select(b.eq(width, b.i32(0)), b.i32(0), cut));
}
template <bool Signed>
void bfe64(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value v = source64(t, i, 0), field = source(t, i, 1);
  const Value offset = count64(t, field),
              width = b.umin(b.and_(b.lshr(field, b.i32(16)), b.i32(127)), b.i32(64));
  const Value shifted = Signed ? b.ashr(v, offset) : b.lshr(v, offset);
  const Value drop = b.zext(b.and_(b.sub(b.i32(64), width), b.i32(63)), Type::i64);
  const Value cut = Signed ? b.ashr(b.shl(shifted, drop), drop) : b.lshr(b.shl(shifted, drop), drop);
  set64_nonzero(t, i, b.select(b.eq(width, b.i32(0)), b.i64(0), cut));
}

void absdiff_i32(Translator& t, const Instruction& i) {
  const Value d = t.b.sub(source(t, i, 0), source(t, i, 1));
  set32_nonzero(t, i, t.b.select(t.b.slt(d, t.b.i32(0)), t.b.neg(d), d));
}
void abs_i32(Translator& t, const Instruction& i) {
  const Value x = source(t, i, 0);
  set32_nonzero(t, i, t.b.select(t.b.slt(x, t.b.i32(0)), t.b.neg(x), x));
}

template <bool LowHigh, bool HighHigh>
void pack(Translator& t, const Instruction& i) {
  const Value x = source(t, i, 0), y = source(t, i, 1);
  set32(t, i, t.pack16(HighHigh ? t.high16(x) : t.low16(x), LowHigh || HighHigh ? t.high16(y) : t.low16(y)));
}

/// -1 where nothing is found, else `width` - 1 - position: counted from the top.
Value from_top(Translator& t, Value position, unsigned width) {
  const Value none = t.b.eq(position, t.b.i32(~0u));
  return t.b.select(none, t.b.i32(~0u), t.b.sub(t.b.i32(width - 1), position));
}

/// Sign bits less one: the first bit from the top that differs from the sign is the highest one of x ^ (x >>
/// 1) one place up.
template <Type T>
Value sign_bits(Translator& t, Value x) {
  const unsigned width = ir::bit_width(T);
  const Value different = t.b.xor_(x, t.b.ashr(x, t.b.constant(T, width - 1)));
  return from_top(t, t.b.find_msb(different), width);
}

template <unsigned Bit, bool Wide>
void bit_compare(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value index = source(t, i, 1);
  if (Wide) {
    const Value bit = b.and_(b.lshr(source64(t, i, 0), count64(t, index)), b.i64(1));
    t.set_scc(b.eq(bit, b.i64(Bit)));
  } else {
    const Value bit = b.and_(b.lshr(source(t, i, 0), count32(t, index)), b.i32(1));
    t.set_scc(b.eq(bit, b.i32(Bit)));
  }
}

template <bool Set>
void bitset32(Translator& t, const Instruction& i) {
  const Value bit = t.b.shl(t.b.i32(1), count32(t, source(t, i, 0))), old = source(t, i, 1);
  set32(t, i, Set ? t.b.or_(old, bit) : t.b.andn(old, bit));
}
template <bool Set>
void bitset64(Translator& t, const Instruction& i) {
  const Value bit = t.b.shl(t.b.i64(1), count64(t, source(t, i, 0))), old = source64(t, i, 1);
  set64(t, i, Set ? t.b.or_(old, bit) : t.b.andn(old, bit));
}

/// Every bit twice: spread 32 bits to the even places of 64 (S. Anderson, "Interleave bits"), then double.
void bitreplicate(Translator& t, const Instruction& i) {
  auto& b = t.b;
  Value v = b.zext(source(t, i, 0), Type::i64);
  constexpr std::array<std::pair<unsigned, uint64_t>, 5> steps{{{16, 0x0000ffff0000ffff},
                                                                {8, 0x00ff00ff00ff00ff},
                                                                {4, 0x0f0f0f0f0f0f0f0f},
                                                                {2, 0x3333333333333333},
                                                                {1, 0x5555555555555555}}};
  for (const auto& [distance, mask] : steps) v = b.and_(b.or_(v, b.shl(v, b.i64(distance))), b.i64(mask));
  set64(t, i, b.or_(v, b.shl(v, b.i64(1))));
}

// -- compares
// -------------------------------------------------------------------------------------------------------------

template <Op Compare, bool Swap = false>
void compare(Translator& t, const Instruction& i) {
  const Value x = source(t, i, 0), y = source(t, i, 1);
  t.set_scc(Swap ? t.b.emit(Compare, {y, x}) : t.b.emit(Compare, {x, y}));
}
template <Op Compare>
void compare64(Translator& t, const Instruction& i) {
  t.set_scc(t.b.emit(Compare, {source64(t, i, 0), source64(t, i, 1)}));
}

// -- moves
// ----------------------------------------------------------------------------------------------------------------

void mov32(Translator& t, const Instruction& i) { set32(t, i, source(t, i, 0)); }
void mov64(Translator& t, const Instruction& i) { set64(t, i, source64(t, i, 0)); }
void select32(Translator& t, const Instruction& i) { // also s_cmov_b32: its src1 is the old destination
  set32(t, i, t.b.select(t.scc(), source(t, i, 0), source(t, i, 1)));
}
void select64(Translator& t, const Instruction& i) {
  set64(t, i, t.b.select(t.scc(), source64(t, i, 0), source64(t, i, 1)));
}

/// What a relative access of s[first] may mean ends before this register, s106 at the latest.
unsigned end_of_sgprs(Translator& t, const Instruction& i, unsigned first) {
  return std::min(reg::vcc_lo, first + t.relative_reach(i));
}

/// One of s[first], s[first + 1] .. by M0.
Value relative_sgpr(Translator& t, const Instruction& i, unsigned half, Value index) {
  const unsigned first = i.src[0].reg + half, end = end_of_sgprs(t, i, first);
  Value v = t.b.i32(0);
  for (unsigned r = first; r < end; ++r) v = t.b.select(t.b.eq(index, t.b.i32(r - first)), t.sgpr(r), v);
  return v;
}
void movrels32(Translator& t, const Instruction& i) { set32(t, i, relative_sgpr(t, i, 0, t.sgpr(reg::m0))); }
void movrels64(Translator& t, const Instruction& i) {
  const Value m0 = t.sgpr(reg::m0);
  const Value lo = relative_sgpr(t, i, 0, m0), hi = relative_sgpr(t, i, 1, m0);
  set64(t, i, t.b.pack64(lo, hi));
}
void write_relative(Translator& t, const Instruction& i, unsigned half, Value index, Value v) {
  const unsigned first = i.dst[0].reg + half, end = end_of_sgprs(t, i, first);
  for (unsigned r = first; r < end; ++r)
    t.set_sgpr(r, t.b.select(t.b.eq(index, t.b.i32(r - first)), v, t.sgpr(r)));
}
void movreld32(Translator& t, const Instruction& i) {
  write_relative(t, i, 0, t.sgpr(reg::m0), source(t, i, 0));
}
void movreld64(Translator& t, const Instruction& i) {
  const Value v = source64(t, i, 0), m0 = t.sgpr(reg::m0);
  write_relative(t, i, 0, m0, t.b.lo32(v));
  write_relative(t, i, 1, m0, t.b.hi32(v));
}

using enum Opcode;
constexpr Meaning scalar_alu_meanings[] = {
    {s_add_u32, add_u32},
    {s_sub_u32, sub_u32},
    {s_add_i32, add_i32},
    {s_sub_i32, sub_i32},
    {s_addc_u32, addc_u32},
    {s_subb_u32, subb_u32},
    {s_addk_i32, add_i32},
    {s_lshl1_add_u32, lshl_add<1>},
    {s_lshl2_add_u32, lshl_add<2>},
    {s_lshl3_add_u32, lshl_add<3>},
    {s_lshl4_add_u32, lshl_add<4>},
    {s_mul_i32,
     [](Translator& t, const Instruction& i) { set32(t, i, t.b.mul(source(t, i, 0), source(t, i, 1))); }},
    {s_mulk_i32,
     [](Translator& t, const Instruction& i) { set32(t, i, t.b.mul(source(t, i, 0), source(t, i, 1))); }},
    {s_mul_hi_u32, [](Translator& t,
                      const Instruction& i) { set32(t, i, t.b.mul_hi_u(source(t, i, 0), source(t, i, 1))); }},
    {s_mul_hi_i32, [](Translator& t,
                      const Instruction& i) { set32(t, i, t.b.mul_hi_s(source(t, i, 0), source(t, i, 1))); }},
    {s_min_i32, extreme<Op::smin, Op::slt, false>},
    {s_min_u32, extreme<Op::umin, Op::ult, false>},
    {s_max_i32, extreme<Op::smax, Op::slt, true>},
    {s_max_u32, extreme<Op::umax, Op::ult, true>},
    {s_absdiff_i32, absdiff_i32},
    {s_abs_i32, abs_i32},

    {s_and_b32, and_b32},
    {s_and_b64, and_b64},
    {s_or_b32, or_b32},
    {s_or_b64, or_b64},
    {s_xor_b32, xor_b32},
    {s_xor_b64, xor_b64},
    {s_andn2_b32, andn2_b32},
    {s_andn2_b64, andn2_b64},
    {s_orn2_b32, orn2_b32},
    {s_orn2_b64, orn2_b64},
    {s_nand_b32, nand_b32},
    {s_nand_b64, nand_b64},
    {s_nor_b32, nor_b32},
    {s_nor_b64, nor_b64},
    {s_xnor_b32, xnor_b32},
    {s_xnor_b64, xnor_b64},
    {s_not_b32, [](Translator& t, const Instruction& i) { set32_nonzero(t, i, t.b.not_(source(t, i, 0))); }},
    {s_not_b64,
     [](Translator& t, const Instruction& i) { set64_nonzero(t, i, t.b.not_(source64(t, i, 0))); }},

    {s_lshl_b32, shift32<Op::shl>},
    {s_lshl_b64, scalar_shift64<Op::shl>},
    {s_lshr_b32, shift32<Op::lshr>},
    {s_lshr_b64, scalar_shift64<Op::lshr>},
    {s_ashr_i32, shift32<Op::ashr>},
    {s_ashr_i64, scalar_shift64<Op::ashr>},
    {s_bfm_b32, bfm_b32},
    {s_bfm_b64, bfm_b64},
    {s_bfe_u32, bfe32<false>},
    {s_bfe_i32, bfe32<true>},
    {s_bfe_u64, bfe64<false>},
    {s_bfe_i64, bfe64<true>},
    {s_pack_ll_b32_b16, pack<false, false>},
    {s_pack_lh_b32_b16, pack<true, false>},
    {s_pack_hh_b32_b16, pack<false, true>},
    {s_brev_b32, [](Translator& t, const Instruction& i) { set32(t, i, t.b.bit_reverse(source(t, i, 0))); }},
    {s_brev_b64,
     [](Translator& t, const Instruction& i) { set64(t, i, t.b.bit_reverse(source64(t, i, 0))); }},
    {s_bcnt0_i32_b32,
     [](Translator& t, const Instruction& i) {
       set32_nonzero(t, i, t.b.popcount(t.b.not_(source(t, i, 0))));
     }},
    {s_bcnt0_i32_b64,
     [](Translator& t, const Instruction& i) {
       set32_nonzero(t, i, t.b.popcount(t.b.not_(source64(t, i, 0))));
     }},
    {s_bcnt1_i32_b32,
     [](Translator& t, const Instruction& i) { set32_nonzero(t, i, t.b.popcount(source(t, i, 0))); }},
    {s_bcnt1_i32_b64,
     [](Translator& t, const Instruction& i) { set32_nonzero(t, i, t.b.popcount(source64(t, i, 0))); }},
    {s_ff0_i32_b32,
     [](Translator& t, const Instruction& i) { set32(t, i, t.b.find_lsb(t.b.not_(source(t, i, 0)))); }},
    {s_ff0_i32_b64,
     [](Translator& t, const Instruction& i) { set32(t, i, t.b.find_lsb(t.b.not_(source64(t, i, 0)))); }},
    {s_ff1_i32_b32, [](Translator& t, const Instruction& i) { set32(t, i, t.b.find_lsb(source(t, i, 0))); }},
    {s_ff1_i32_b64,
     [](Translator& t, const Instruction& i) { set32(t, i, t.b.find_lsb(source64(t, i, 0))); }},
    {s_flbit_i32_b32,
     [](Translator& t, const Instruction& i) {
       set32(t, i, from_top(t, t.b.find_msb(source(t, i, 0)), 32));
     }},
    {s_flbit_i32_b64,
     [](Translator& t, const Instruction& i) {
       set32(t, i, from_top(t, t.b.find_msb(source64(t, i, 0)), 64));
     }},
    {s_flbit_i32,
     [](Translator& t, const Instruction& i) { set32(t, i, sign_bits<Type::i32>(t, source(t, i, 0))); }},
    {s_flbit_i32_i64,
     [](Translator& t, const Instruction& i) { set32(t, i, sign_bits<Type::i64>(t, source64(t, i, 0))); }},
    {s_sext_i32_i8,
     [](Translator& t, const Instruction& i) {
       set32(t, i, t.b.sext(t.b.trunc(source(t, i, 0), Type::i8), Type::i32));
     }},
    {s_sext_i32_i16,
     [](Translator& t, const Instruction& i) {
       set32(t, i, t.b.sext(t.b.trunc(source(t, i, 0), Type::i16), Type::i32));
     }},
    {s_bitset0_b32, bitset32<false>},
    {s_bitset0_b64, bitset64<false>},
    {s_bitset1_b32, bitset32<true>},
    {s_bitset1_b64, bitset64<true>},
    {s_bitreplicate_b64_b32, bitreplicate},

    {s_mov_b32, mov32},
    {s_movk_i32, mov32},
    {s_mov_b64, mov64},
    {s_cmov_b32, select32},
    {s_cmovk_i32, select32},
    {s_cmov_b64, select64},
    {s_cselect_b32, select32},
    {s_cselect_b64, select64},
    {s_movrels_b32, movrels32},
    {s_movrels_b64, movrels64},
    {s_movreld_b32, movreld32},
    {s_movreld_b64, movreld64},

    {s_cmp_eq_i32, compare<Op::eq>},
    {s_cmp_lg_i32, compare<Op::ne>},
    {s_cmp_gt_i32, compare<Op::slt, true>},
    {s_cmp_ge_i32, compare<Op::sle, true>},
    {s_cmp_lt_i32, compare<Op::slt>},
    {s_cmp_le_i32, compare<Op::sle>},
    {s_cmp_eq_u32, compare<Op::eq>},
    {s_cmp_lg_u32, compare<Op::ne>},
    {s_cmp_gt_u32, compare<Op::ult, true>},
    {s_cmp_ge_u32, compare<Op::ule, true>},
    {s_cmp_lt_u32, compare<Op::ult>},
    {s_cmp_le_u32, compare<Op::ule>},
    {s_cmp_eq_u64, compare64<Op::eq>},
    {s_cmp_lg_u64, compare64<Op::ne>},
    {s_cmpk_eq_i32, compare<Op::eq>},
    {s_cmpk_lg_i32, compare<Op::ne>},
    {s_cmpk_gt_i32, compare<Op::slt, true>},
    {s_cmpk_ge_i32, compare<Op::sle, true>},
    {s_cmpk_lt_i32, compare<Op::slt>},
    {s_cmpk_le_i32, compare<Op::sle>},
    {s_cmpk_eq_u32, compare<Op::eq>},
    {s_cmpk_lg_u32, compare<Op::ne>},
    {s_cmpk_gt_u32, compare<Op::ult, true>},
    {s_cmpk_ge_u32, compare<Op::ule, true>},
    {s_cmpk_lt_u32, compare<Op::ult>},
    {s_cmpk_le_u32, compare<Op::ule>},
    {s_bitcmp0_b32, bit_compare<0, false>},
    {s_bitcmp1_b32, bit_compare<1, false>},
    {s_bitcmp0_b64, bit_compare<0, true>},
    {s_bitcmp1_b64, bit_compare<1, true>},
};

} // namespace

std::span<const Meaning> scalar_alu() { return scalar_alu_meanings; }

} // namespace lanewise::translate
