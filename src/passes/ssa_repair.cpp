#include "passes/ssa_repair.hpp"

namespace lanewise::passes {

using namespace ir;

Value Definitions::at_end(Block b) {
  // Straight up first: chains of blocks may be long.
  std::vector<Block> way;
  for (;; b = f_[b].predecessors[0]) {
    if (at_end_.contains(b.index)) break;
    if (f_[b].predecessors.empty()) {
      at_end_[b.index] = f_.constant(f_[like_].type, 0); // not defined on this way, and not read
      break;
    }
    if (f_[b].predecessors.size() > 1) {
      join(b);
      break;
    }
    way.push_back(b);
  }
  const Value v = at_end_.at(b.index);
  for (const Block passed : way) at_end_[passed.index] = v;
  return v;
}

void Definitions::join(Block b) {
  const Value phi = f_.create(Op::phi, {}, f_[like_].type, 0, 1, f_[like_].pc);
  f_[phi].uniform = f_[like_].uniform && !f_.divergent;
  f_[b].instructions.insert(f_[b].instructions.begin(), phi);
  at_end_[b.index] = phi; // before its operands: around loops it is its own
  std::vector<Value> operands;
  for (const Block p : std::vector(f_[b].predecessors)) operands.push_back(at_end(p));
  f_.set_operands(phi, operands);
  made_(phi, b);
}

} // namespace lanewise::passes
