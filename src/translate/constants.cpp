#include "translate/constants.hpp"

#include "rdna2/opcode_info.hpp"
#include "translate/registers.hpp"

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
    if (!std::ranges::binary_search(image.pointers, aligned))
      return {.kind = Kind::number, .assumed = s.writable, .payload = word};
    uint64_t pointer = 0;
    if (aligned - s.address + 8 > s.bytes.size()) return {};
    std::memcpy(&pointer, s.bytes.data() + (aligned - s.address), 8);
    if (pointer >> 32) return {};
    return {.kind = address == aligned ? Kind::address_lo : Kind::address_hi,
            .assumed = s.writable,
            .payload = static_cast<uint32_t>(pointer)};
  }
  return {};
}

/// Joins a value from another path into one of this path.
bool KnownState::meet_value(Known& mine, const Known& theirs, uint32_t pc) {
  if (mine.is_unknown() || mine == theirs) return false;
  const bool wider = is_index_of(theirs, mine);
  if (!wider && !mine.same_value(theirs) && !is_index_of(mine, theirs)) {
    mine = theirs.is_unknown() ? theirs : Known{.why = Known::Why::paths, .payload = pc};
    return true;
  }
  const Known before = mine;
  if (wider) {
    mine.kind = theirs.kind;
    mine.payload = theirs.payload;
  }
  mine.assumed |= theirs.assumed;
  mine.preserved = origins_->join(mine.preserved, theirs.preserved);
  return mine != before;
}

bool KnownState::meet(const KnownState& other, uint32_t pc) {
  bool changed = false;
  for (unsigned r = 0; r < register_count; ++r)
    if (!registers_[r].is_unknown()) changed |= meet_value(registers_[r], other.registers_[r], pc);
  if (carry_.known && carry_ != other.carry_) {
    carry_ = {};
    changed = true;
  }
  if (test_.pc != 0 && test_ != other.test_) {
    test_ = {};
    changed = true;
  }
  if (scc_writer_ != 0 && scc_writer_ != other.scc_writer_) {
    scc_writer_ = 0;
    changed = true;
  }
  // Both lists are sorted: keep what stands in both.
  auto theirs = other.lanes_.begin();
  const auto gone = std::erase_if(lanes_, [&](Lane& mine) {
    while (theirs != other.lanes_.end() && theirs->place < mine.place) ++theirs;
    if (theirs == other.lanes_.end() || theirs->place != mine.place || !theirs->value.same_value(mine.value))
      return true;
    changed |= meet_value(mine.value, theirs->value, pc);
    return false;
  });
  return changed || gone != 0;
}

void KnownState::cross(uint32_t slot) {
  for (unsigned r = 0; r < register_count; ++r)
    if (Known& k = registers_[r]; !k.is_unknown()) k.preserved = origins_->with(k.preserved, {slot, r});
  for (Lane& l : lanes_)
    if (l.place.dword < scratch_base)
      l.value.preserved = origins_->with(l.value.preserved, {slot, reg::vgpr0 + l.place.dword});
  carry_ = {};
  test_ = {};
  scc_writer_ = 0;
}

Known KnownState::read(const Operand& o, unsigned dword) const {
  if (o.is_constant())
    return {.kind = Kind::number, .payload = static_cast<uint32_t>(o.value >> (32 * dword))};
  if (o.is_sgpr() && o.reg + dword < register_count) return registers_[o.reg + dword];
  return {};
}

std::optional<KnownAddress> KnownState::address(const Operand& pair) const {
  if (!pair.is_sgpr()) return {};
  return address(pair.reg);
}

std::optional<KnownAddress> KnownState::address(unsigned reg) const {
  if (reg + 1 >= register_count) return {};
  const Known &lo = registers_[reg], &hi = registers_[reg + 1];
  if (lo.kind != Kind::address_lo || hi.kind != Kind::address_hi || lo.payload != hi.payload) return {};
  return KnownAddress{lo.payload, lo.assumed || hi.assumed, origins_->join(lo.preserved, hi.preserved)};
}

void KnownState::set_address(unsigned reg, uint32_t offset) {
  write(reg, {.kind = Kind::address_lo, .payload = offset});
  write(reg + 1, {.kind = Kind::address_hi, .payload = offset});
}

/// What the results of an instruction that is not followed are.
Known KnownState::lost(const Instruction& i) const {
  using enum Known::Why;
  for (const Operand& o : i.src) {
    if (o.is_vgpr()) return {.why = lanes, .payload = i.pc};
    if (const Known k = read(o); o.is_sgpr() && k.is_unknown() && k.why == lanes) return k;
  }
  const bool vector = i.encoding == rdna2::Encoding::vopc || i.encoding == rdna2::Encoding::vop3;
  const bool scalar_load = i.encoding == rdna2::Encoding::smem;
  return {.why = vector ? lanes : scalar_load ? memory : not_followed, .payload = i.pc};
}

void KnownState::forget_results(const Instruction& i) {
  const auto& row = rdna2::info(i.opcode);
  if (row.writes_state(rdna2::State::scc)) carry_ = {};
  std::optional<Known> of_sources; // made before any result is written, and only if there is one
  for (const Operand& d : i.dst) {
    if (d.is_sgpr()) {
      if (!of_sources) of_sources = lost(i);
      const Known nothing = *of_sources;
      if (row.has(rdna2::OpcodeFlag::relative_dst)) {
        registers_.fill(nothing);
        test_ = {};
      }
      for (unsigned k = 0; k < d.dwords; ++k) write(d.reg + k, nothing);
    } else if (d.is_vgpr()) {
      forget_dwords(d.reg, row.has(rdna2::OpcodeFlag::relative_dst) ? scratch_base : d.reg + d.dwords);
    }
  }
}

// -- lanes and scratch
// ----------------------------------------------------------------------------------------------

void KnownState::forget_dwords(uint32_t first, uint32_t end) {
  if (lanes_.empty()) return;
  const auto from = std::ranges::lower_bound(lanes_, Place{first, 0}, {}, &Lane::place);
  auto to = from;
  while (to != lanes_.end() && to->place.dword < end) ++to;
  lanes_.erase(from, to);
}

void KnownState::copy_lanes(uint32_t from, uint32_t to) {
  forget_dwords(to, to + 1);
  std::vector<Lane> copies;
  for (auto l = std::ranges::lower_bound(lanes_, Place{from, 0}, {}, &Lane::place);
       l != lanes_.end() && l->place.dword == from; ++l) {
    copies.push_back({{to, l->place.lane}, l->value});
    copies.back().value.assumed = true;
  }
  if (copies.empty()) return;
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
  case Opcode::s_getpc_b64:
  case Opcode::s_swappc_b64:
  case Opcode::s_call_b64: set_address(i.dst[0].reg, i.pc + i.size); break;
  case Opcode::s_load_dword:
  case Opcode::s_load_dwordx2:
  case Opcode::s_load_dwordx4:
  case Opcode::s_load_dwordx8:
  case Opcode::s_load_dwordx16: load(i, image); break;
  case Opcode::s_buffer_load_dword:
  case Opcode::s_buffer_load_dwordx2:
  case Opcode::s_buffer_load_dwordx4:
  case Opcode::s_buffer_load_dwordx8:
  case Opcode::s_buffer_load_dwordx16: load_buffer(i); break;
  case Opcode::v_writelane_b32: write_lane(i); break;
  case Opcode::v_readlane_b32: read_lane(i); break;
  case Opcode::buffer_store_dword:
  case Opcode::buffer_store_dwordx2:
  case Opcode::buffer_store_dwordx3:
  case Opcode::buffer_store_dwordx4:
  case Opcode::buffer_store_short:
  case Opcode::buffer_store_byte: store_scratch(i); break;
  case Opcode::buffer_load_dword: load_scratch(i); break;
  default:
    if (!run_scalar(i)) forget_results(i);
  }
  if (rdna2::info(i.opcode).writes_state(rdna2::State::scc)) {
    scc_writer_ = i.pc;
    test_ = test_of(i);
  }
}

} // namespace lanewise::translate
