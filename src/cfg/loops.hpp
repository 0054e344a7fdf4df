// Natural loops and reducibility.
#pragma once

#include "cfg/dominators.hpp"

namespace lanewise::cfg {

struct Loop {
  uint32_t header = none;
  uint32_t parent = none;       ///< enclosing loop
  uint32_t depth = 1;           ///< 1 = outermost
  uint32_t enter = 0, exit = 0; ///< pre-order interval in the loop forest
};

struct LoopForest {
  std::vector<Loop> loops;         ///< inner loops after the loops around them
  std::vector<uint32_t> innermost; ///< of each node: index into loops or `none`; a header is in its own loop
  /// Edges that go backwards in reverse post-order to a node that does not dominate their source. A graph is
  /// reducible exactly when there are none.
  std::vector<Edge> irreducible;

  [[nodiscard]] bool reducible() const { return irreducible.empty(); }
  [[nodiscard]] bool contains(uint32_t loop, uint32_t node) const {
    const uint32_t inner = innermost[node];
    return inner != none && loops[loop].enter <= loops[inner].enter && loops[inner].exit <= loops[loop].exit;
  }
};

/// Back edges that share a header are one loop. Near-linear (inner loops are collapsed by union-find).
[[nodiscard]] LoopForest find_loops(const Graph& graph, const Order& order, const Dominators& dominators);

} // namespace lanewise::cfg
