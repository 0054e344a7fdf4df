// Turns a reducible graph into nested single-entry constructs, as SPIR-V's structured control flow wants
// them.
//
// The nesting is that of the dominator tree (Ramsey, "Beyond Relooper", ICFP 2022): a node is followed by the
// nodes it immediately dominates, those with one predecessor inside its branch, the others after it in
// reverse post-order. Where all ways that leave a construct lead to the node that comes next, that node is
// the merge block and nothing is added. Where they lead to several nodes, they meet in a *guard*, which asks
// where the way was to lead (`target`) and enters one of them. Leaving the innermost loop and going on with
// its next iteration are direct branches from any depth; nodes behind a loop stand after its merge.
#pragma once

#include <array>

#include "cfg/loops.hpp"
#include "support/error.hpp"

namespace lanewise::cfg {

/// A way to another structured node. Its targets are the graph nodes it may be on the way to: one for a way
/// out of a graph node, several where ways share a join.
struct StructuredEdge {
  uint32_t node = none;
  uint32_t first_target = 0, target_count = 0; ///< in Structured::targets, ascending
};

struct StructuredNode {
  enum class Kind : uint8_t {
    block,       ///< graph node `block`; successors in its order
    loop_header, ///< of graph node `block`; leads to its `block` node
    guard,       ///< successor 0 if the target is `block`, else successor 1
    join,        ///< leads on
    continue_,   ///< leads back to the loop header
    unreachable, ///< merge of a loop that is never left
  } kind = Kind::block;
  uint8_t successor_count = 0;
  uint32_t block = none;
  uint32_t merge = none;           ///< of the selection or loop that this node opens
  uint32_t continue_target = none; ///< loop_header only
  std::array<StructuredEdge, 2> successors;
};

struct Structured {
  std::vector<StructuredNode> nodes; ///< entry first, dominators before what they dominate
  std::vector<uint32_t> targets;     ///< pool of StructuredEdge
  std::vector<uint32_t> node_of;     ///< the `block` node of each graph node, `none` if unreachable
  [[nodiscard]] std::span<const uint32_t> targets_of(const StructuredEdge& e) const {
    return {targets.data() + e.first_target, e.target_count};
  }
};

/// Nodes may have up to two successors; two equal ones count as one. Near-linear in nodes where constructs
/// leave to few nodes (as compiled programs do). No recursion.
/// Errors: `unsupported` for an irreducible graph (`what` names the node) or more than two successors.
[[nodiscard]] Expected<Structured> structurize(const Graph& graph);

} // namespace lanewise::cfg
