#include "translate/constants.hpp"

#include "rdna2/opcode_info.hpp"

#include <algorithm>
#include <cstring>

namespace lanewise::translate {

using rdna2::Instruction;
using rdna2::Opcode;
using rdna2::Operand;
using rdna2::OperandKind;
using Kind = Known::Kind;

Known image_dword(const container::ShaderBinary& image, uint64_t address) {
  for (const auto& s : image.segments) {
    if (address < s.address || address - s.address + 4 > s.bytes.size()) continue;
    uint32_t word;
    std::memcpy(&word, s.bytes.data() + (address - s.address), 4);
    const uint64_t aligned = address & ~uint64_t{7};
    if (!std::ranges::binary_search(image.pointers, aligned)) return {Kind::number, s.writable, word};
    uint64_t pointer = 0;
    if (aligned - s.address + 8 > s.bytes.size()) return {};
    std::memcpy(&pointer, s.bytes.data() + (aligned - s.address), 8);
    if (pointer >> 32) return {};
    return {address == aligned ? Kind::address_lo : Kind::address_hi, s.writable,
            static_cast<uint32_t>(pointer)};
  }
  return {};
}

bool KnownState::meet(const KnownState& other) {
  bool changed = false;
  const auto meet_value = [&](Known& mine, const Known& theirs) {
    if (mine.kind == Kind::unknown || mine == theirs) return;
    mine = mine.same_value(theirs) ? Known{mine.kind, true, mine.payload} : Known{};
    changed = true;
  };
  for (unsigned i = 0; i < register_count; ++i) {
    if (registers_[i].assumed && registers_[i].same_value(other.registers_[i])) continue;
    meet_value(registers_[i], other.registers_[i]);
  }
  if (carry_.known && carry_ != other.carry_) {
    carry_ = {};
    changed = true;
  }
  // Both lists are sorted: keep what stands in both.
  auto theirs = other.lanes_.begin();
  const auto gone = std::erase_if(lanes_, [&](Lane& mine) {
    while (theirs != other.lanes_.end() && theirs->place < mine.place) ++theirs;
    if (theirs == other.lanes_.end() || theirs->place != mine.place || !theirs->value.same_value(mine.value))
      return true;
    changed |= theirs->value.assumed && !mine.value.assumed;
    mine.value.assumed |= theirs->value.assumed;
    return false;
  });
  return changed || gone != 0;
}

Known KnownState::read(const Operand& o, unsigned dword) const {
  if (o.is_constant()) return {Kind::number, false, static_cast<uint32_t>(o.value >> (32 * dword))};
  if (o.is_sgpr() && o.reg + dword < register_count) return registers_[o.reg + dword];
  return {};
}

std::optional<KnownAddress> KnownState::address(const Operand& pair) const {
  const Known lo = read(pair, 0), hi = read(pair, 1);
  if (lo.kind != Kind::address_lo || hi.kind != Kind::address_hi || lo.payload != hi.payload) return {};
  return KnownAddress{lo.payload, lo.assumed || hi.assumed};
}

void KnownState::set_address(unsigned reg, uint32_t offset) {
  write(reg, {Kind::address_lo, false, offset});
  write(reg + 1, {Kind::address_hi, false, offset});
}

void KnownState::forget_results(const Instruction& i) {
  const auto& row = rdna2::info(i.opcode);
  if (row.writes_state(rdna2::State::scc)) carry_ = {};
  for (const Operand& d : i.dst) {
    if (d.is_sgpr()) {
      if (row.has(rdna2::OpcodeFlag::relative_dst)) registers_ = {};
      for (unsigned k = 0; k < d.dwords; ++k) write(d.reg + k, {});
    } else if (d.is_vgpr()) {
      forget_dwords(d.reg, row.has(rdna2::OpcodeFlag::relative_dst) ? scratch_base : d.reg + d.dwords);
    }
  }
}

void KnownState::add(const Instruction& i) {
  Known a = read(i.src[0]), b = read(i.src[1]);
  if (b.kind == Kind::address_lo) std::swap(a, b);
  forget_results(i);
  const bool assumed = a.assumed || b.assumed;
  if (b.kind != Kind::number) return;
  if (a.kind == Kind::number) write(i.dst[0].reg, {Kind::number, assumed, a.payload + b.payload});
  if (a.kind != Kind::address_lo) return;
  write(i.dst[0].reg, {Kind::address_lo, assumed, a.payload + b.payload});
  if (i.opcode == Opcode::s_add_u32) carry_ = {true, a.payload, b.payload};
}

/// The high half of `base + addend`: s_addc_u32 behind the s_add_u32 that made `carry_`.
void KnownState::add_carry(const Instruction& i) {
  Known a = read(i.src[0]), b = read(i.src[1]);
  if (b.kind == Kind::address_hi) std::swap(a, b);
  const Carry carry = carry_;
  forget_results(i);
  if (!carry.known || a.kind != Kind::address_hi || b.kind != Kind::number || a.payload != carry.base) return;
  const uint64_t sum = a.payload + (uint64_t{b.payload} << 32 | carry.addend);
  if (sum >> 32) return;
  write(i.dst[0].reg, {Kind::address_hi, a.assumed || b.assumed, static_cast<uint32_t>(sum)});
}

void KnownState::load(const Instruction& i, const container::ShaderBinary& image) {
  const auto base = address(i.src[0]);
  const Known offset = i.src[1].is_none() ? Known{Kind::number} : read(i.src[1]);
  forget_results(i);
  if (!base || offset.kind != Kind::number) return;
  const uint64_t from =
      (base->offset + uint64_t{offset.payload} + static_cast<uint64_t>(int64_t{i.imm})) & ~uint64_t{3};
  for (unsigned k = 0; k < i.dst[0].dwords; ++k) {
    Known word = image_dword(image, from + 4 * k);
    word.assumed |= base->assumed;
    write(i.dst[0].reg + k, word);
  }
}

void KnownState::and_(const Instruction& i) {
  const Known a = read(i.src[0]), b = read(i.src[1]);
  forget_results(i);
  if (a.kind != Kind::number || b.kind != Kind::number) return;
  write(i.dst[0].reg, {Kind::number, a.assumed || b.assumed, a.payload & b.payload});
}

// -- lanes and scratch
// ----------------------------------------------------------------------------------------------

void KnownState::forget_dwords(uint32_t first, uint32_t end) {
  if (!lanes_.empty())
    std::erase_if(lanes_, [&](const Lane& l) { return l.place.dword >= first && l.place.dword < end; });
}

void KnownState::copy_lanes(uint32_t from, uint32_t to) {
  forget_dwords(to, to + 1);
  std::vector<Lane> copies;
  for (const Lane& l : lanes_)
    if (l.place.dword == from) copies.push_back({{to, l.place.lane}, {l.value.kind, true, l.value.payload}});
  const auto at = std::ranges::lower_bound(lanes_, Place{to, 0}, {}, &Lane::place);
  lanes_.insert(at, copies.begin(), copies.end());
}

void KnownState::write_lane(const Instruction& i) {
  const Known value = read(i.src[0]), lane = read(i.src[1]);
  if (lane.kind != Kind::number) return forget_results(i);
  const Place place{i.dst[0].reg, lane.payload & (wave_ - 1)};
  const auto at = std::ranges::lower_bound(lanes_, place, {}, &Lane::place);
  const bool there = at != lanes_.end() && at->place == place;
  if (there && value.kind == Kind::unknown)
    lanes_.erase(at);
  else if (there)
    at->value = value;
  else if (value.kind != Kind::unknown)
    lanes_.insert(at, {place, value});
}

void KnownState::read_lane(const Instruction& i) {
  const Known lane = read(i.src[1]);
  forget_results(i);
  if (lane.kind != Kind::number || !i.src[0].is_vgpr()) return;
  const Place place{i.src[0].reg, lane.payload & (wave_ - 1)};
  const auto at = std::ranges::lower_bound(lanes_, place, {}, &Lane::place);
  if (at != lanes_.end() && at->place == place) write(i.dst[0].reg, at->value);
}

/// `buffer_store_dword v1, off, s[0:3], s33 offset:16`. The scalar offset counts bytes of the wave, the
/// immediate bytes of the lane.
std::optional<uint32_t> KnownState::scratch_slot(const Instruction& i) const {
  const Known base = read(i.src[2]);
  if (i.offen || i.idxen || base.kind != Kind::number) return {};
  const uint32_t slot = base.payload / wave_ + static_cast<uint32_t>(i.imm);
  if (slot >= 1u << 30) return {};
  return scratch_base + slot;
}

/// Stores that may go anywhere are taken to leave such slots alone: that is what `assumed` is for.
void KnownState::store_scratch(const Instruction& i) {
  const auto slot = scratch_slot(i);
  if (!slot) return;
  const unsigned dwords = i.src[3].dwords;
  forget_dwords(*slot, *slot + 4 * dwords);
  if (i.opcode == Opcode::buffer_store_dword) copy_lanes(i.src[3].reg, *slot);
}

void KnownState::load_scratch(const Instruction& i) {
  forget_results(i);
  const auto slot = scratch_slot(i);
  if (slot && i.opcode == Opcode::buffer_load_dword) copy_lanes(*slot, i.dst[0].reg);
}

void KnownState::execute(const Instruction& i, const container::ShaderBinary& image) {
  switch (i.opcode) {
  case Opcode::s_mov_b32:
  case Opcode::s_movk_i32: {
    const Known value = read(i.src[0]);
    write(i.dst[0].reg, value);
    return;
  }
  case Opcode::s_mov_b64: {
    const Known lo = read(i.src[0], 0), hi = read(i.src[0], 1);
    write(i.dst[0].reg, lo);
    write(i.dst[0].reg + 1u, hi);
    return;
  }
  case Opcode::s_getpc_b64:
  case Opcode::s_swappc_b64:
  case Opcode::s_call_b64: return set_address(i.dst[0].reg, i.pc + i.size);
  case Opcode::s_add_u32:
  case Opcode::s_add_i32:
  case Opcode::s_addk_i32: return add(i);
  case Opcode::s_and_b32: return and_(i);
  case Opcode::s_addc_u32: return add_carry(i);
  case Opcode::s_load_dword:
  case Opcode::s_load_dwordx2:
  case Opcode::s_load_dwordx4:
  case Opcode::s_load_dwordx8:
  case Opcode::s_load_dwordx16: return load(i, image);
  case Opcode::v_writelane_b32: return write_lane(i);
  case Opcode::v_readlane_b32: return read_lane(i);
  case Opcode::buffer_store_dword:
  case Opcode::buffer_store_dwordx2:
  case Opcode::buffer_store_dwordx3:
  case Opcode::buffer_store_dwordx4:
  case Opcode::buffer_store_short:
  case Opcode::buffer_store_byte: return store_scratch(i);
  case Opcode::buffer_load_dword: return load_scratch(i);
  default: return forget_results(i);
  }
}

} // namespace lanewise::translate
