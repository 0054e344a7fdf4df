// KnownState through scalar instructions: numbers, addresses of the image, and expressions over what the host
// knows.
#include "rdna2/opcode_info.hpp"
#include "translate/constants.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::translate {

using rdna2::Instruction;
using rdna2::Opcode;
using rdna2::Operand;
using Kind = Known::Kind;

uint32_t KnownState::origin(const Known& k) const {
  switch (k.kind) {
  case Kind::number: return origins_->make({.kind = Origin::Kind::number, .value = k.payload});
  case Kind::address_lo: return origins_->make({.kind = Origin::Kind::image_lo, .value = k.payload});
  case Kind::address_hi: return origins_->make({.kind = Origin::Kind::image_hi, .value = k.payload});
  case Kind::origin: return k.payload;
  case Kind::unknown: break;
  }
  return 0;
}

Known KnownState::derived(const Known& a, const Known& b, Kind kind, uint32_t payload) const {
  return {.kind = kind,
          .assumed = a.assumed || b.assumed,
          .payload = payload,
          .preserved = origins_->join(a.preserved, b.preserved)};
}

/// None of the operands may be unknown.
Known KnownState::expression(Origin::Kind kind, std::initializer_list<Known> of, uint64_t value) const {
  Origin o{.kind = kind, .value = value};
  Known result{.kind = Kind::origin};
  unsigned n = 0;
  for (const Known& k : of) {
    o.of[n++] = origin(k);
    result = derived(result, k, Kind::origin, 0);
  }
  result.payload = origins_->make(o);
  return result;
}

void KnownState::copy64(const Instruction& i) {
  const Known lo = read(i.src[0], 0), hi = read(i.src[0], 1);
  write(i.dst[0].reg, lo);
  write(i.dst[0].reg + 1u, hi);
}

void KnownState::add(const Instruction& i) {
  Known a = read(i.src[0]), b = read(i.src[1]);
  if (b.kind == Kind::address_lo) std::swap(a, b);
  forget_results(i);
  if (a.is_unknown() || b.is_unknown()) return;
  if (b.kind == Kind::number && (a.kind == Kind::number || a.kind == Kind::address_lo))
    write(i.dst[0].reg, derived(a, b, a.kind, a.payload + b.payload));
  else if (a.kind == Kind::origin || b.kind == Kind::origin)
    write(i.dst[0].reg, expression(Origin::Kind::sum_lo, {a, b}));
  if (i.opcode == Opcode::s_add_u32) carry_ = {true, false, a, b};
}

void KnownState::subtract(const Instruction& i) {
  const Known a = read(i.src[0]), b = read(i.src[1]);
  forget_results(i);
  if (a.is_unknown() || b.is_unknown()) return;
  if (b.kind == Kind::number && (a.kind == Kind::number || a.kind == Kind::address_lo))
    write(i.dst[0].reg, derived(a, b, a.kind, a.payload - b.payload));
  else if (a.kind == Kind::origin || b.kind == Kind::origin)
    write(i.dst[0].reg, expression(Origin::Kind::difference_lo, {a, b}));
  if (i.opcode == Opcode::s_sub_u32) carry_ = {true, true, a, b};
}

/// The high half of `a + b` or `a - b`: s_addc_u32 or s_subb_u32 behind the instruction that made `carry_`.
void KnownState::add_carry(const Instruction& i) {
  const bool borrow = i.opcode == Opcode::s_subb_u32;
  Known x = read(i.src[0]), y = read(i.src[1]);
  const Carry carry = carry_;
  forget_results(i);
  if (!carry.known || carry.borrow != borrow || x.is_unknown() || y.is_unknown()) return;
  const Known &a = carry.a, &b = carry.b;
  if (y.kind == Kind::address_hi && !borrow) std::swap(x, y);
  if (a.kind == Kind::address_lo && b.kind == Kind::number && x.kind == Kind::address_hi &&
      y.kind == Kind::number && x.payload == a.payload) {
    const uint64_t operand = uint64_t{y.payload} << 32 | b.payload;
    const uint64_t sum = borrow ? x.payload - operand : x.payload + operand;
    if (sum >> 32 == 0) write(i.dst[0].reg, derived(x, y, Kind::address_hi, static_cast<uint32_t>(sum)));
    return;
  }
  const auto list = {a, b, x, y};
  if (std::ranges::none_of(list, [](const Known& k) { return k.kind == Kind::origin; })) return;
  write(i.dst[0].reg, expression(borrow ? Origin::Kind::difference_hi : Origin::Kind::sum_hi, {a, b, x, y}));
}

/// A number below `limit`, times 2^shift, that only the program knows.
Known KnownState::bounded(const Instruction& i, uint64_t limit, unsigned shift) const {
  if (limit << shift > UINT32_MAX) return lost(i);
  const Known index{.kind = Kind::origin,
                    .payload = origins_->make(
                        {.kind = Origin::Kind::index, .limit = static_cast<uint32_t>(limit), .value = i.pc})};
  return shift == 0 ? index : expression(Origin::Kind::shift_left, {index}, shift);
}

void KnownState::and_(const Instruction& i) {
  Known a = read(i.src[0]), b = read(i.src[1]);
  if (a.kind == Kind::number) std::swap(a, b);
  const Known nothing = lost(i);
  forget_results(i);
  if (b.kind != Kind::number) return;
  if (a.kind == Kind::number) return write(i.dst[0].reg, derived(a, b, Kind::number, a.payload & b.payload));
  if (a.kind == Kind::origin) return write(i.dst[0].reg, expression(Origin::Kind::and_, {a, b}));
  const auto shift = static_cast<unsigned>(std::countr_zero(b.payload));
  if (!a.is_unknown() || shift == 32 || !std::has_single_bit((uint64_t{b.payload} >> shift) + 1)) return;
  Known k = bounded(i, (uint64_t{b.payload} >> shift) + 1, shift);
  write(i.dst[0].reg, k.is_unknown() ? nothing : k);
}

void KnownState::minimum(const Instruction& i) {
  Known a = read(i.src[0]), b = read(i.src[1]);
  if (a.kind == Kind::number) std::swap(a, b);
  forget_results(i);
  if (b.kind != Kind::number) return;
  if (a.kind == Kind::number)
    return write(i.dst[0].reg, derived(a, b, Kind::number, std::min(a.payload, b.payload)));
  write(i.dst[0].reg, bounded(i, uint64_t{b.payload} + 1, 0));
}

void KnownState::extract_field(const Instruction& i) {
  const Known field = read(i.src[1]);
  forget_results(i);
  if (field.kind != Kind::number) return;
  const unsigned width = field.payload >> 16 & 0x7f;
  if (width != 0 && width < 32) write(i.dst[0].reg, bounded(i, uint64_t{1} << width, 0));
}

void KnownState::shift(const Instruction& i) {
  const Known a = read(i.src[0]), by = read(i.src[1]);
  forget_results(i);
  if (by.kind != Kind::number) return;
  const unsigned n = by.payload & 31;
  if (a.kind == Kind::number) write(i.dst[0].reg, derived(a, by, Kind::number, a.payload << n));
  if (a.kind == Kind::origin) write(i.dst[0].reg, expression(Origin::Kind::shift_left, {a}, n));
}

/// `s_ashr_i32 n, 31`, the sign of a bounded number, is 0.
void KnownState::shift_right(const Instruction& i) {
  const Known a = read(i.src[0]), by = read(i.src[1]);
  forget_results(i);
  if (a.kind != Kind::origin || by.kind != Kind::number || (by.payload & 31) != 31) return;
  const Origin& o = (*origins_)[a.payload];
  if (o.kind == Origin::Kind::index && o.limit <= 1u << 31)
    write(i.dst[0].reg, derived(a, by, Kind::number, 0));
}

/// A bounded number whose high half is 0, as compilers scale an index.
void KnownState::shift64(const Instruction& i) {
  const Known lo = read(i.src[0], 0), hi = read(i.src[0], 1), by = read(i.src[1]);
  forget_results(i);
  if (by.kind != Kind::number || hi.kind != Kind::number || hi.payload != 0 || lo.kind != Kind::origin)
    return;
  const Origin& o = (*origins_)[lo.payload];
  const unsigned n = by.payload & 63;
  if (o.kind != Origin::Kind::index || n >= 32 || uint64_t{o.limit} << n > UINT32_MAX) return;
  write(i.dst[0].reg, expression(Origin::Kind::shift_left, {lo}, n));
  write(i.dst[0].reg + 1u, hi);
}

/// Halves of a pair that are chosen on one SCC belong to one choice.
Known KnownState::choice(const Instruction& i, const Known& a, const Known& b) const {
  if (a.same_value(b) && !a.is_unknown()) return derived(a, b, a.kind, a.payload);
  if (a.is_unknown()) return a;
  if (b.is_unknown()) return b;
  return expression(Origin::Kind::either, {a, b}, scc_writer_ != 0 ? scc_writer_ : i.pc);
}

/// s_cselect: SCC ? src0 : src1. s_cmov: SCC ? src0 : what was there.
void KnownState::choose(const Instruction& i) {
  const bool wide = i.opcode == Opcode::s_cselect_b64 || i.opcode == Opcode::s_cmov_b64;
  const bool moves = i.opcode == Opcode::s_cmov_b32 || i.opcode == Opcode::s_cmov_b64;
  const Operand& other = moves ? i.dst[0] : i.src[1];
  const Known lo = choice(i, read(i.src[0], 0), read(other, 0));
  const Known hi = wide ? choice(i, read(i.src[0], 1), read(other, 1)) : Known{};
  write(i.dst[0].reg, lo);
  if (wide) write(i.dst[0].reg + 1u, hi);
}

void KnownState::load(const Instruction& i, const container::ShaderBinary& image) {
  const auto base = address(i.src[0]);
  const Known lo = read(i.src[0], 0), hi = read(i.src[0], 1);
  const Known offset = i.src[1].is_none() ? Known{.kind = Kind::number} : read(i.src[1]);
  forget_results(i);
  if (base && offset.kind == Kind::number) {
    const uint64_t from =
        (base->offset + uint64_t{offset.payload} + static_cast<uint64_t>(int64_t{i.imm})) & ~uint64_t{3};
    for (unsigned k = 0; k < i.dst[0].dwords; ++k) {
      Known word = image_dword(image, from + 4 * k);
      if (!word.is_unknown())
        word =
            derived(word, {.assumed = base->assumed, .preserved = base->preserved}, word.kind, word.payload);
      write(i.dst[0].reg + k, word.is_unknown() ? registers_[i.dst[0].reg + k] : word);
    }
    return;
  }
  if (lo.is_unknown() || hi.is_unknown() || offset.is_unknown()) return;
  const bool plain = offset.kind == Kind::number;
  const auto at = static_cast<uint64_t>(int64_t{i.imm}) + (plain ? offset.payload : 0);
  for (unsigned k = 0; k < i.dst[0].dwords; ++k)
    write(i.dst[0].reg + k, plain ? expression(Origin::Kind::load, {lo, hi}, at + 4 * k)
                                  : expression(Origin::Kind::load, {lo, hi, offset}, at + 4 * k));
}

void KnownState::load_buffer(const Instruction& i) {
  std::array<Known, 4> d;
  for (unsigned k = 0; k < 4; ++k) d[k] = read(i.src[0], k);
  const Known offset = i.src[1].is_none() ? Known{.kind = Kind::number} : read(i.src[1]);
  forget_results(i);
  if (offset.is_unknown() || std::ranges::any_of(d, [](const Known& k) { return k.is_unknown(); })) return;
  const bool plain = offset.kind == Kind::number;
  const uint64_t at = static_cast<uint32_t>(i.imm) + (plain ? uint64_t{offset.payload} : 0);
  for (unsigned k = 0; k < i.dst[0].dwords; ++k)
    write(i.dst[0].reg + k,
          plain ? expression(Origin::Kind::buffer, {d[0], d[1], d[2], d[3]}, at + 4 * k)
                : expression(Origin::Kind::buffer, {d[0], d[1], d[2], d[3], offset}, at + 4 * k));
}

/// False for an instruction that is not followed.
bool KnownState::run_scalar(const Instruction& i) {
  switch (i.opcode) {
  case Opcode::s_mov_b32:
  case Opcode::s_movk_i32: write(i.dst[0].reg, read(i.src[0])); return true;
  case Opcode::s_mov_b64: copy64(i); return true;
  case Opcode::s_add_u32:
  case Opcode::s_add_i32:
  case Opcode::s_addk_i32: add(i); return true;
  case Opcode::s_sub_u32:
  case Opcode::s_sub_i32: subtract(i); return true;
  case Opcode::s_addc_u32:
  case Opcode::s_subb_u32: add_carry(i); return true;
  case Opcode::s_and_b32: and_(i); return true;
  case Opcode::s_min_u32: minimum(i); return true;
  case Opcode::s_bfe_u32: extract_field(i); return true;
  case Opcode::s_lshl_b32: shift(i); return true;
  case Opcode::s_lshl_b64: shift64(i); return true;
  case Opcode::s_ashr_i32: shift_right(i); return true;
  case Opcode::s_cselect_b32:
  case Opcode::s_cselect_b64:
  case Opcode::s_cmov_b32:
  case Opcode::s_cmov_b64: choose(i); return true;
  default: return false;
  }
}

} // namespace lanewise::translate
