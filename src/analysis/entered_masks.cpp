#include "analysis/entered_masks.hpp"

namespace lanewise::analysis {

using namespace ir;

std::optional<Value> EnteredMasks::on_edge(Block block, unsigned e) const {
  const Block from = f_[block].predecessors[e];
  const BasicBlock& b = f_[from];
  const Value end = b.instructions.back();
  if (f_[end].op != Op::cond_br || b.successors[0] == b.successors[1]) return {};
  bool holds = b.successors[0] == block;
  Value condition = f_.operand(end, 0);
  for (; f_[condition].op == Op::not_; condition = f_.operand(condition, 0)) holds = !holds;
  if (f_[condition].op != Op::any || !holds) return {};
  return f_.operand(condition, 0);
}

std::vector<Value> EnteredMasks::around(Block block) const {
  std::vector<Value> masks;
  for (uint32_t b = block.index; b != cfg::none; b = dominators_.parent[b])
    if (f_.blocks[b].predecessors.size() == 1)
      if (const auto m = on_edge(Block{b}, 0)) masks.push_back(*m);
  return masks;
}

} // namespace lanewise::analysis
