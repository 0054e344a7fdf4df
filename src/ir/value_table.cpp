#include "ir/value_table.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::ir {
namespace {

uint32_t hash(const Request& r) {
  uint64_t h =
      static_cast<uint64_t>(r.op) | static_cast<uint64_t>(r.type) << 8 | uint64_t{r.components} << 16;
  const auto mix = [&](uint64_t x) { h = std::rotl((h ^ x) * 0x9e3779b97f4a7c15ull, 29); };
  mix(r.imm);
  for (const Value v : r.operands) mix(v.index);
  return static_cast<uint32_t>(h ^ h >> 32);
}

} // namespace

ValueTable::ValueTable(const Function& f, const Dominators& dominators) : f_(f), dominators_(dominators) {
  slots_.resize(std::bit_ceil(size_t{f.value_count()} * 2 + 16));
}

bool ValueTable::takes(const Request& r) {
  switch (info(r.op).kind) {
  case OpKind::input:
  case OpKind::pure:
  case OpKind::gather:
  case OpKind::reduce: return true;
  case OpKind::load: return MemoryAccess::unpack(r.imm).invariant;
  default: return false;
  }
}

bool ValueTable::equal(Value v, const Request& r) const {
  const Inst& inst = f_[v];
  return inst.op == r.op && inst.type == r.type && inst.imm == r.imm && inst.components == r.components &&
         std::ranges::equal(f_.operands(v), r.operands);
}

Value ValueTable::find(const Request& r) {
  hash_ = hash(r);
  const size_t mask = slots_.size() - 1;
  for (slot_ = hash_ & mask; slots_[slot_].value; slot_ = (slot_ + 1) & mask) {
    const Slot& s = slots_[slot_];
    if (s.hash != hash_ || !equal(s.value, r)) continue;
    // The newest of equal values stays: in reverse postorder it is the likeliest to dominate what follows.
    return dominators_.dominates(s.home, current) ? s.value : Value{};
  }
  return {};
}

void ValueTable::insert(Value v) {
  if (!slots_[slot_].value && 2 * ++used_ > slots_.size()) {
    grow();
    slot_ = free_slot(hash_);
  }
  slots_[slot_] = {v, hash_, current};
}

size_t ValueTable::free_slot(uint32_t hash) const {
  size_t slot = hash & (slots_.size() - 1);
  while (slots_[slot].value) slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

void ValueTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& s : old) {
    if (s.value) slots_[free_slot(s.hash)] = s;
  }
}

} // namespace lanewise::ir
