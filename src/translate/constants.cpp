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
  const auto forget = [&](auto& mine, const auto& theirs) {
    if (mine == theirs || mine == std::decay_t<decltype(mine)>{}) return;
    mine = {};
    changed = true;
  };
  for (unsigned i = 0; i < register_count; ++i) forget(registers_[i], other.registers_[i]);
  forget(carry_, other.carry_);
  const size_t before = lanes_.size();
  std::erase_if(lanes_,
                [&](const Lane& l) { return std::ranges::find(other.lanes_, l) == other.lanes_.end(); });
  return changed || lanes_.size() != before;
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
    } else if (d.is_vgpr() && !lanes_.empty()) {
      if (row.has(rdna2::OpcodeFlag::relative_dst)) lanes_.clear();
      std::erase_if(lanes_, [&](const Lane& l) { return l.vgpr >= d.reg && l.vgpr < d.reg + d.dwords; });
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
  carry_ = {true, a.payload, b.payload};
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

void KnownState::write_lane(const Instruction& i) {
  const Known value = read(i.src[0]), lane = read(i.src[1]);
  const uint16_t vgpr = i.dst[0].reg;
  if (lane.kind != Kind::number) return forget_results(i);
  std::erase_if(lanes_, [&](const Lane& l) { return l.vgpr == vgpr && l.lane == (lane.payload & 63); });
  if (value.kind != Kind::unknown) lanes_.push_back({vgpr, static_cast<uint8_t>(lane.payload & 63), value});
}

void KnownState::read_lane(const Instruction& i) {
  const Known lane = read(i.src[1]);
  forget_results(i);
  if (lane.kind != Kind::number || !i.src[0].is_vgpr()) return;
  for (const Lane& l : lanes_)
    if (l.vgpr == i.src[0].reg && l.lane == (lane.payload & 63)) write(i.dst[0].reg, l.value);
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
  case Opcode::s_add_u32: return add(i);
  case Opcode::s_addc_u32: return add_carry(i);
  case Opcode::s_load_dword:
  case Opcode::s_load_dwordx2:
  case Opcode::s_load_dwordx4:
  case Opcode::s_load_dwordx8:
  case Opcode::s_load_dwordx16: return load(i, image);
  case Opcode::v_writelane_b32: return write_lane(i);
  case Opcode::v_readlane_b32: return read_lane(i);
  default: return forget_results(i);
  }
}

} // namespace lanewise::translate
