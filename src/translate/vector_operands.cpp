// Vector sources and results of the Translator: SDWA, DPP, op_sel, abs and neg, output modifiers.
#include "translate/translator.hpp"

namespace lanewise::translate {

using ir::LanePattern;
using ir::Op;
using rdna2::Encoding;
using rdna2::SdwaSel;
using rdna2::Suffix;

namespace {

bool is_dpp(const Instruction& i) { return i.suffix == Suffix::dpp16 || i.suffix == Suffix::dpp8; }

/// Lanes without a source read 0 and are written; otherwise they are not written at all.
bool reads_zero(const Instruction& i) { return i.suffix == Suffix::dpp8 || i.bound_ctrl; }

/// RDNA2 ISA, 13.3.9 "DPP16": values of DPP_CTRL.
std::optional<LanePattern> dpp_pattern(const Instruction& i) {
  using Kind = LanePattern::Kind;
  if (i.suffix == Suffix::dpp8) return LanePattern{Kind::dpp8, i.dpp8_sel};
  const uint32_t ctrl = i.dpp_ctrl, amount = ctrl & 15;
  if (ctrl < 0x100) return LanePattern{Kind::quad_perm, ctrl};
  switch (ctrl >> 4) {
  case 0x10: return LanePattern{Kind::row_shl, amount};
  case 0x11: return LanePattern{Kind::row_shr, amount};
  case 0x12: return LanePattern{Kind::row_ror, amount};
  case 0x14:
    if (amount == 0) return LanePattern{Kind::row_mirror, 0};
    if (amount == 1) return LanePattern{Kind::row_half_mirror, 0};
    return {};
  case 0x15: return LanePattern{Kind::row_share, amount};
  case 0x16: return LanePattern{Kind::row_xmask, amount};
  default: return {};
  }
}

struct Field {
  unsigned offset, bits;
};
Field field_of(SdwaSel sel) {
  if (sel <= SdwaSel::byte3) return {8 * static_cast<unsigned>(sel), 8};
  if (sel == SdwaSel::word0) return {0, 16};
  if (sel == SdwaSel::word1) return {16, 16};
  return {0, 32};
}

} // namespace

/// Sets up what dpp_source and the result need. Lanes that the row and bank masks leave out, and lanes
/// without a source when they do not read 0, are not written.
Value Translator::dpp_active(const Instruction& i) {
  const auto pattern = dpp_pattern(i);
  if (!pattern) {
    unsupported(i, "DPP control is not one that gfx1030 has");
    return exec();
  }
  const bool all_on = function_->is_constant(exec(), 1);
  if (i.fetch_inactive || all_on)
    dpp_valid_ = lane_constant([&](unsigned lane) { return pattern->source(lane) >= 0; });
  else
    dpp_valid_ = b.dpp(exec(), *pattern);
  Value active = exec();
  if (!reads_zero(i)) active = b.and_(active, dpp_valid_);
  if (i.suffix == Suffix::dpp16)
    active = b.and_(active, lane_constant([&](unsigned lane) {
                      return (i.row_mask >> (lane / 16) & 1) != 0 && (i.bank_mask >> (lane / 4 % 4) & 1) != 0;
                    }));
  return active;
}

Value Translator::dpp_source(const Instruction& i, const Operand& o) {
  const auto pattern = dpp_pattern(i);
  if (!pattern) return b.i32(0);
  const Value v = b.dpp(o.is_vgpr() ? vgpr(o.reg) : scalar32(o), *pattern);
  return reads_zero(i) && !i.fetch_inactive ? b.select(dpp_valid_, v, b.i32(0)) : v;
}

Value Translator::raw32(const Operand& o, unsigned dword) {
  return o.is_vgpr() ? strip(vgpr(o.reg + dword)) : scalar32(o, dword);
}

Value Translator::raw64(const Operand& o, unsigned first) {
  if (first == 0 && !o.is_vgpr()) return scalar64(o);
  return pair(raw32(o, first), raw32(o, first + 1));
}

Value Translator::sub_dword(Value v, const Operand& o) {
  if (o.sel == SdwaSel::dword) return v;
  const Field f = field_of(o.sel);
  const Value offset = b.i32(f.offset), bits = b.i32(f.bits);
  return o.sext ? b.sbfe(v, offset, bits) : b.ubfe(v, offset, bits);
}

Value Translator::b32(const Instruction& i, unsigned n) {
  const Operand& o = i.src[n];
  if (n == 0 && is_dpp(i)) return dpp_source(i, o);
  const Value v = raw32(o);
  return i.suffix == Suffix::sdwa ? sub_dword(v, o) : v;
}

Value Translator::b16(const Instruction& i, unsigned n) {
  const Operand& o = i.src[n];
  if (i.suffix == Suffix::sdwa && o.sel == SdwaSel::word1) return high16(raw32(o));
  if (i.suffix == Suffix::sdwa && o.sel == SdwaSel::word0) return low16(raw32(o));
  const bool high = i.encoding == Encoding::vop3 && (i.op_sel >> n & 1) != 0;
  const Value v = b32(i, n);
  return high ? high16(v) : low16(v);
}

Value Translator::with_modifiers(Value x, const Operand& o) {
  if (o.abs) x = b.fabs(x);
  if (o.neg) x = b.fneg(x);
  return x;
}

Value Translator::f32(const Instruction& i, unsigned n) {
  return with_modifiers(b.bitcast(b32(i, n), Type::f32), i.src[n]);
}
Value Translator::f64(const Instruction& i, unsigned n) {
  return with_modifiers(b.bitcast(b64(i, n), Type::f64), i.src[n]);
}
Value Translator::f16(const Instruction& i, unsigned n) {
  return with_modifiers(b.bitcast(b16(i, n), Type::f16), i.src[n]);
}

void Translator::set_vgpr(unsigned r, Value v) { set_vgpr(r, v, active_); }

/// select(m, v, select(n, a, b)) where n implies m   ->   select(m, v, b)
void Translator::set_vgpr(unsigned r, Value v, Value lanes) {
  const bool all = function_->is_constant(lanes, 1) || (options_->overwrite_inactive && lanes == exec());
  if (all) return ssa_.write(reg::vgpr0 + r, v);
  Value old = vgpr(r);
  while ((*function_)[old].op == Op::select && implies(function_->operand(old, 0), lanes))
    old = function_->operand(old, 2);
  ssa_.write(reg::vgpr0 + r, b.select(lanes, v, old));
}

/// RDNA2 ISA, 13.3.8 "SDWA": DST_SEL and DST_U.
Value Translator::insert_sdwa(const Instruction& i, Value v) {
  if (i.dst_sel == SdwaSel::dword) return v;
  const Field f = field_of(i.dst_sel);
  const uint32_t mask = ((1u << f.bits) - 1) << f.offset;
  enum : uint8_t { pad, sign_extend, preserve };
  if (i.dst_unused == sign_extend) return b.shl(b.sbfe(v, b.i32(0), b.i32(f.bits)), b.i32(f.offset));
  const Value placed = b.and_(b.shl(v, b.i32(f.offset)), b.i32(mask));
  if (i.dst_unused != preserve) return placed;
  return b.or_(b.and_(strip(vgpr(i.dst[0].reg)), b.i32(~mask)), placed);
}

void Translator::set_b32(const Instruction& i, Value v) {
  if (i.suffix == Suffix::sdwa) v = insert_sdwa(i, v);
  set_vgpr(i.dst[0].reg, v);
}

void Translator::set_b64(const Instruction& i, Value v) {
  set_vgpr(i.dst[0].reg, low_half(v));
  set_vgpr(i.dst[0].reg + 1u, b.hi32(v));
}

/// A 16-bit result leaves the other half of its register alone.
void Translator::set_b16(const Instruction& i, Value v) {
  if (i.suffix == Suffix::sdwa) return set_b32(i, b.zext(v, Type::i32));
  set_half(i.dst[0].reg, v, i.encoding == Encoding::vop3 && (i.op_sel & 8) != 0);
}

void Translator::set_half(unsigned r, Value v, bool high) {
  const Value old = strip(vgpr(r)), wide = b.zext(v, Type::i32);
  set_vgpr(r, high ? b.or_(keep_half(old, 0xffff), b.shl(wide, b.i32(16)))
                   : b.or_(keep_half(old, 0xffff0000), wide));
}

/// The operation itself has flushed what MODE wants flushed.
Value Translator::clamp(Value v) {
  ir::FloatControl c = control((*function_)[v].type);
  c.flush_in = c.flush_out = false;
  return b.fclamp(v, c);
}

/// RDNA2 ISA, 6.2.3 "Output modifiers": they count only where output denormals are flushed and IEEE mode is
/// off, and turn -0 into +0.
Value Translator::output_modifier(const Instruction& i, Value v) {
  if (i.omod == 0 && !i.clamp) return v;
  const Type type = (*function_)[v].type;
  const ir::FloatControl c = control(type);
  if (i.omod != 0 && c.flush_out && !c.ieee) {
    constexpr std::array<std::array<uint64_t, 3>, 3> factors{{
        {0x4000, 0x4400, 0x3800},
        {0x40000000, 0x40800000, 0x3f000000},
        {0x4000000000000000, 0x4010000000000000, 0x3fe0000000000000},
    }};
    const unsigned width = type == Type::f16 ? 0 : type == Type::f32 ? 1 : 2;
    const Value scaled = b.fmul(v, b.constant(type, factors[width][i.omod - 1]), c);
    const Value zero = b.constant(type, 0);
    v = b.select(b.fcmp(scaled, zero, ir::kEqual, c), zero, scaled);
  }
  return i.clamp ? clamp(v) : v;
}

void Translator::set_f32(const Instruction& i, Value v) {
  set_b32(i, b.bitcast(output_modifier(i, v), Type::i32));
}
void Translator::set_f64(const Instruction& i, Value v) {
  set_b64(i, b.bitcast(output_modifier(i, v), Type::i64));
}
void Translator::set_f16(const Instruction& i, Value v) {
  set_b16(i, b.bitcast(output_modifier(i, v), Type::i16));
}

void Translator::set_compare(const Instruction& i, Value m) {
  m = b.and_(m, active_);
  if (rdna2::info(i.opcode).writes_state(rdna2::State::exec)) return set_exec(m);
  set_mask(i.dst[0], m);
}

// -- halves
// -----------------------------------------------------------------------------------------------------

/// pack16(lo, hi) is or_(zext lo, shl(zext hi, 16)); both ways back see through it.
Value Translator::pack16(Value lo, Value hi) {
  // lo = trunc(x), hi = trunc(lshr(x, 16))   ->   x
  const auto& f = *function_;
  if (f[lo].op == Op::trunc && f[hi].op == Op::trunc) {
    const Value x = f.operand(lo, 0), y = f.operand(hi, 0);
    if (f[y].op == Op::lshr && f.operand(y, 0) == x && f.is_constant(f.operand(y, 1), 16)) return x;
  }
  return b.or_(b.zext(lo, Type::i32), b.shl(b.zext(hi, Type::i32), b.i32(16)));
}

namespace {

bool is_masked(const ir::Function& f, Value v, uint32_t mask) {
  return f[v].op == Op::and_ && f.is_constant(f.operand(v, 1)) &&
         (f[f.operand(v, 1)].imm & ~uint64_t{mask}) == 0;
}

/// zext of an i16: that value.
Value low_part(const ir::Function& f, Value v) {
  if (f[v].op == Op::zext && f[f.operand(v, 0)].type == Type::i16) return f.operand(v, 0);
  return {};
}

/// shl(zext of an i16, 16): that value.
Value high_part(const ir::Function& f, Value v) {
  if (f[v].op == Op::shl && f.is_constant(f.operand(v, 1), 16)) return low_part(f, f.operand(v, 0));
  return {};
}

bool is_high_only(const ir::Function& f, Value v) {
  if (f[v].op == Op::shl) return f.is_constant(f.operand(v, 1), 16);
  return is_masked(f, v, 0xffff0000) || (f.is_constant(v) && (f[v].imm & 0xffff) == 0);
}
bool is_low_only(const ir::Function& f, Value v) {
  return low_part(f, v) || is_masked(f, v, 0xffff) || (f.is_constant(v) && f[v].imm >> 16 == 0);
}

/// The part of or_(x, y) that has one half's bits, where the other part has the other half's.
Value half(const ir::Function& f, Value v, bool high) {
  if (f[v].op != Op::or_) return v;
  const Value x = f.operand(v, 0), y = f.operand(v, 1);
  if (is_high_only(f, x) && is_low_only(f, y)) return high ? x : y;
  if (is_low_only(f, x) && is_high_only(f, y)) return high ? y : x;
  return v;
}

/// and_(x, mask that keeps `bits`)   ->   x
Value unmask(const ir::Function& f, Value v, uint32_t bits) {
  if (f[v].op != Op::and_ || !f.is_constant(f.operand(v, 1))) return v;
  return (f[f.operand(v, 1)].imm & bits) == bits ? f.operand(v, 0) : v;
}

} // namespace

Value Translator::low16(Value v) {
  v = unmask(*function_, half(*function_, v, false), 0xffff);
  if (const Value part = low_part(*function_, v)) return part;
  return b.trunc(v, Type::i16);
}

Value Translator::high16(Value v) {
  v = unmask(*function_, half(*function_, v, true), 0xffff0000);
  if (const Value part = high_part(*function_, v)) return part;
  return b.trunc(b.lshr(v, b.i32(16)), Type::i16);
}

/// and_(v, mask), where `mask` is one half.
Value Translator::keep_half(Value v, uint32_t mask) {
  const bool high = mask != 0xffff;
  v = half(*function_, v, high);
  if (high ? is_high_only(*function_, v) : is_low_only(*function_, v)) return v;
  return b.and_(v, b.i32(mask));
}

} // namespace lanewise::translate
