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
  const size_t size = std::bit_ceil(size_t{f.value_count()} * 2 + 16);
  slots_.resize(size);
  hashes_.resize(size);
  homes_.resize(size);
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
  for (slot_ = hash_ & mask; slots_[slot_]; slot_ = (slot_ + 1) & mask) {
    if (hashes_[slot_] != hash_ || !equal(slots_[slot_], r)) continue;
    // The newest of equal values stays: in reverse postorder it is the likeliest to dominate what follows.
    return dominators_.dominates(homes_[slot_], current) ? slots_[slot_] : Value{};
  }
  return {};
}

void ValueTable::insert(Value v) {
  if (!slots_[slot_] && 2 * ++used_ > slots_.size()) {
    grow();
    const size_t mask = slots_.size() - 1;
    for (slot_ = hash_ & mask; slots_[slot_]; slot_ = (slot_ + 1) & mask) {
    }
  }
  slots_[slot_] = v;
  hashes_[slot_] = hash_;
  homes_[slot_] = current;
}

void ValueTable::grow() {
  std::vector<Value> slots(slots_.size() * 2);
  std::vector<uint32_t> hashes(slots.size());
  std::vector<Block> homes(slots.size());
  for (size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i]) continue;
    size_t to = hashes_[i] & (slots.size() - 1);
    while (slots[to]) to = (to + 1) & (slots.size() - 1);
    slots[to] = slots_[i];
    hashes[to] = hashes_[i];
    homes[to] = homes_[i];
  }
  slots_ = std::move(slots);
  hashes_ = std::move(hashes);
  homes_ = std::move(homes);
}

} // namespace lanewise::ir
