#include "spirv/address_facts.hpp"

#include "spirv/alignment.hpp"
#include "spirv/bounds.hpp"

#include <algorithm>

namespace lanewise::spirv {

using ir::MemoryAccess;
using ir::Op;
using ir::Value;

unsigned AddressFacts::low_zeros(Value v) const {
  if (low_zeros_.empty()) low_zeros_ = known_low_zeros(f_, options_.aligned_pointers);
  return low_zeros_[v.index];
}

uint64_t AddressFacts::bound(Value v) const {
  if (bounds_.empty()) bounds_ = known_bounds(f_, options_.seating);
  return bounds_[v.index];
}

bool AddressFacts::inside_lds(Value access) const {
  if (MemoryAccess::unpack(f_[access].imm).space != ir::Space::lds) return false;
  const Value address = f_.operand(access, 0);
  const unsigned size = access_size(f_, access);
  if (bound(address) + size <= lds_bytes_) return true;
  const auto each_lane = tables_.of(address);
  return !each_lane.empty() && std::ranges::max(each_lane) + size <= lds_bytes_;
}

AddressFacts::Split AddressFacts::split_lds(Value access) const {
  const Op op = f_[access].op;
  if (!lds_in_words_ || (op != Op::load && op != Op::store)) return {};
  const MemoryAccess m = MemoryAccess::unpack(f_[access].imm);
  const Value address = f_.operand(access, 0);
  if (m.space != ir::Space::lds || m.bytes < 4 || f_[address].op != Op::add) return {};
  const Value base = f_.operand(address, 0), plus = f_.operand(address, 1);
  // What is inside does not wrap around.
  if (!f_.is_constant(plus) || f_[plus].imm % 4 != 0 || low_zeros(base) < 2 || !inside_lds(access)) return {};
  return {base, static_cast<uint32_t>(f_[plus].imm / 4)};
}

unsigned access_size(const ir::Function& f, Value access) {
  const ir::Inst& inst = f[access];
  const unsigned bytes = MemoryAccess::unpack(inst.imm).bytes;
  if (inst.op == Op::load) return bytes * inst.components;
  return inst.op == Op::store ? bytes * (inst.operand_count - 2u) : bytes;
}

} // namespace lanewise::spirv
