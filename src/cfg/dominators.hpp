// Dominator tree.
#pragma once

#include "cfg/graph.hpp"

namespace lanewise::cfg {

/// `parent` of the entry and of unreachable nodes is `none`.
struct Dominators {
  std::vector<uint32_t> parent;      ///< immediate dominator
  std::vector<uint32_t> enter, exit; ///< pre-order interval in the tree; empty interval if unreachable

  /// Reflexive. False when either node is unreachable. Constant time.
  [[nodiscard]] bool dominates(uint32_t a, uint32_t b) const {
    return enter[a] <= enter[b] && exit[b] <= exit[a] && enter[b] < exit[b];
  }
};

/// Semi-NCA (Georgiadis, "Linear-Time Algorithms for Dominators and Related Problems", 2005, chapter 2), with
/// iterative path compression: near-linear on graphs of programs, no recursion.
[[nodiscard]] Dominators dominators(const Graph& graph);

} // namespace lanewise::cfg
