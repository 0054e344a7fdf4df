#include "passes/read_inside.hpp"

namespace lanewise::passes {

using namespace ir;
using analysis::Formula;
using analysis::FormulaPool;

namespace {

/// Uses that one question may look at.
constexpr unsigned kMaxUses = 64;

} // namespace

bool ReadInside::operator()(Value phi, Block join, unsigned edge, Formula mask,
                            const analysis::Users& users) {
  join_ = join;
  edge_ = edge;
  mask_ = mask;
  seen_.clear();
  work_.assign(1, {phi, analysis::kTrue});
  unsigned uses = 0;
  while (!work_.empty()) {
    const Read read = work_.back();
    work_.pop_back();
    for (const Value user : users.of(read.value))
      if (++uses > kMaxUses || !use_inside(read, user)) return false;
  }
  return true;
}

/// The use ends a way inside the mask, or is followed.
bool ReadInside::use_inside(const Read& read, Value user) {
  const auto operands = f_.operands(user);
  // Lanes that read it if it is chosen, or the access made, where the formula holds.
  const auto where = [&](Formula f) { return masks_.bounded().and_above(read.lanes, f); };
  switch (f_[user].op) {
  case Op::load:
  case Op::store:
  case Op::atomic: // the active operand itself is read in all lanes
    return operands[1] != read.value && ends_inside(where(masks_.formula_of(operands[1])), {});
  case Op::select: {
    const Formula first = masks_.formula_of(operands[0]);
    if (operands[0] == read.value) return ends_inside(read.lanes, user);
    return (operands[1] != read.value || ends_inside(where(first), user)) &&
           (operands[2] != read.value || ends_inside(where(FormulaPool::not_(first)), user));
  }
  case Op::phi: {
    const Block block{masks_.block_of(user)};
    if (masks_.is_loop_header(block)) return false;
    for (unsigned e = 0; e < operands.size(); ++e) {
      if (operands[e] != read.value) continue;
      const Value empty = masks_.empty_on_edge(block, e);
      const Formula lanes = empty ? where(FormulaPool::not_(masks_.formula_of(empty))) : read.lanes;
      if (!ends_inside(lanes, user)) return false;
    }
    return true;
  }
  default: return info(f_[user].op).kind == OpKind::pure && ends_inside(read.lanes, user);
  }
}

/// The lanes are inside the mask, or `further` is looked at, if there is that.
///
/// Atoms newer than the join are none of the mask's, so whatever they are said of (an inner loop's last turn,
/// the way into a later join), the lanes are inside for all of their values or it does not count.
bool ReadInside::ends_inside(Formula lanes, Value further) {
  const auto inside = [&] {
    return masks_.bounded().implies(masks_.across_edge(lanes, join_, edge_), mask_);
  };
  if (lanes != analysis::kTrue && inside()) return true;
  if (!further) return false;
  if (seen_.insert(uint64_t{further.index} << 32 | lanes.bits).second) work_.push_back({further, lanes});
  return true;
}

} // namespace lanewise::passes
