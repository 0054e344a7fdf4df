// Reads and writes of other lanes' registers, but for DPP, which is a modifier of sources
// (vector_operands.cpp).
#include "translate/translator.hpp"

#include "rdna2/opcode_info.hpp"

namespace lanewise::translate {
namespace {

using ir::LanePattern;

/// A source as all lanes hold it.
Value whole(Translator& t, const Operand& o) { return o.is_vgpr() ? t.vgpr(o.reg) : t.scalar32(o); }

Value wave_mask(Translator& t, Value lane) { return t.b.and_(lane, t.b.i32(t.wave64() ? 63 : 31)); }

void readfirstlane(Translator& t, const Instruction& i) {
  t.set_scalar32(i.dst[0], t.b.read_first(whole(t, i.src[0]), t.exec()));
}
void readlane(Translator& t, const Instruction& i) {
  const Value lane = wave_mask(t, t.scalar32(i.src[1]));
  t.set_scalar32(i.dst[0], t.b.read_lane(whole(t, i.src[0]), lane));
}
void writelane(Translator& t, const Instruction& i) {
  const Value lane = wave_mask(t, t.scalar32(i.src[1]));
  const Value here = t.b.eq(t.b.lane_id(), lane);
  t.set_vgpr(i.dst[0].reg, t.scalar32(i.src[0]), here); // EXEC does not count
}

/// Ones of the source among the lanes below this one, plus src1.
template <bool Upper>
void mbcnt(Translator& t, const Instruction& i) {
  t.set_b32(i, t.b.add(t.b.mbcnt(t.b32(i, 0), Upper), t.b32(i, 1)));
}

/// Lane n of a row of 16 reads the lane that 4-bit field n of {src2, src1} names: of the same row, or of the
/// other row of 32 lanes (permlanex16). op_sel 0 is fetch-inactive, op_sel 1 is bound control.
template <bool OtherRow>
void permlane16(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value lane = b.lane_id(), in_row = b.and_(lane, b.i32(15));
  const Value selectors = b.pack64(t.scalar32(i.src[1]), t.scalar32(i.src[2]));
  const Value field = b.lo32(b.lshr(selectors, b.zext(b.shl(in_row, b.i32(2)), Type::i64)));
  Value row = b.and_(lane, b.i32(~15u));
  if (OtherRow) row = b.xor_(row, b.i32(16));
  const Value source = b.or_(row, b.and_(field, b.i32(15)));
  const Value v = b.permute(whole(t, i.src[0]), source);
  const bool fetch_inactive = (i.op_sel & 1) != 0, bound_control = (i.op_sel & 2) != 0;
  if (fetch_inactive || b.function.is_constant(t.exec(), 1)) return t.set_vgpr(i.dst[0].reg, v);
  const Value on = b.permute(t.exec(), source);
  if (bound_control) return t.set_vgpr(i.dst[0].reg, b.select(on, v, b.i32(0)));
  t.set_vgpr(i.dst[0].reg, v, b.and_(t.exec(), on));
}

/// RDNA2 ISA, 10.4.1 "DS_SWIZZLE": three of its modes by the offset's top bits.
LanePattern swizzle_pattern(uint32_t offset) {
  using Kind = LanePattern::Kind;
  if (offset >= 0xe000) return {Kind::fft, offset & 31};
  if (offset >= 0xc000) return {Kind::rotate32, offset & 0x7ff};
  if (offset & 0x8000) return {Kind::quad_perm, offset & 0xff};
  return {Kind::swizzle_xor, offset & 0x7fff};
}
/// Lanes that are off give 0.
void swizzle(Translator& t, const Instruction& i) {
  const auto pattern = swizzle_pattern(static_cast<uint32_t>(i.imm));
  const Value v = t.b.dpp(t.vgpr(i.src[0].reg), pattern);
  t.set_vgpr(i.dst[0].reg, t.b.select(t.b.dpp(t.exec(), pattern), v, t.b.i32(0)));
}

Value lane_of_address(Translator& t, const Instruction& i) {
  auto& b = t.b;
  return b.lshr(b.add(t.raw32(i.src[0]), b.i32(static_cast<uint32_t>(i.imm))), b.i32(2));
}
void permute(Translator& t, const Instruction& i) {
  t.set_vgpr(i.dst[0].reg, t.b.push(t.raw32(i.src[1]), lane_of_address(t, i), t.exec()));
}
void bpermute(Translator& t, const Instruction& i) {
  // What a lane that is off holds is not seen, so its 0 replaces it before the lanes are read.
  const Value on = t.b.select(t.exec(), t.raw32(i.src[1]), t.b.i32(0));
  t.set_vgpr(i.dst[0].reg, t.b.permute(on, lane_of_address(t, i)));
}

using enum Opcode;
constexpr Meaning cross_lane_meanings[] = {
    {v_readfirstlane_b32, readfirstlane},
    {v_readlane_b32, readlane},
    {v_writelane_b32, writelane},
    {v_mbcnt_lo_u32_b32, mbcnt<false>},
    {v_mbcnt_hi_u32_b32, mbcnt<true>},
    {v_permlane16_b32, permlane16<false>},
    {v_permlanex16_b32, permlane16<true>},
    {ds_swizzle_b32, swizzle},
    {ds_permute_b32, permute},
    {ds_bpermute_b32, bpermute},
};

} // namespace

std::span<const Meaning> cross_lane() { return cross_lane_meanings; }

} // namespace lanewise::translate
