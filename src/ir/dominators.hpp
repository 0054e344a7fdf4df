// Block order and dominators of a function, for the verifier and the passes.
#pragma once

#include "ir/ir.hpp"

namespace lanewise::ir {

inline constexpr uint32_t kNoBlock = ~0u;

/// Reachable blocks in reverse postorder and their dominator tree. Invalid once edges change.
/// Cost: near linear in blocks and edges (semi-dominators with path compression).
class Dominators {
 public:
  explicit Dominators(const Function& f);

  [[nodiscard]] std::span<const Block> reverse_postorder() const { return order_; }
  [[nodiscard]] bool reachable(Block b) const { return position_[b.index] != kNoBlock; }
  /// Index in reverse_postorder(), kNoBlock if unreachable.
  [[nodiscard]] uint32_t position(Block b) const { return position_[b.index]; }
  /// Numbers that a block's subtree has without gaps, the block's own first.
  [[nodiscard]] uint32_t preorder(Block b) const { return enter_[position_[b.index]]; }
  /// Immediate dominator; the entry block's is itself. Only for reachable blocks.
  [[nodiscard]] Block idom(Block b) const { return order_[idom_[position_[b.index]]]; }
  /// Does every way to `b` pass `a`? (Also when a == b.) Both reachable. Constant time.
  [[nodiscard]] bool dominates(Block a, Block b) const {
    const uint32_t i = position_[a.index], j = position_[b.index];
    return enter_[i] <= enter_[j] && leave_[j] <= leave_[i];
  }

 private:
  void find_idoms(const Function& f);
  void number_tree();

  std::vector<Block> order_;
  std::vector<uint32_t> position_;      ///< by block
  std::vector<uint32_t> idom_;          ///< by position, as position
  std::vector<uint32_t> enter_, leave_; ///< by position: nested intervals of the dominator tree
};

} // namespace lanewise::ir
