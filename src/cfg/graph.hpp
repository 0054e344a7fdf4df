// A directed graph of basic blocks, named by integers; node 0 is the entry. It knows no ISA and no IR.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lanewise::cfg {

inline constexpr uint32_t none = ~0u;

using Edge = std::pair<uint32_t, uint32_t>; ///< (from, to)

/// Adjacency in compressed rows. Successors keep the order in which the edges were given; parallel edges
/// stay.
class Graph {
 public:
  Graph(uint32_t node_count, std::span<const Edge> edges);

  [[nodiscard]] uint32_t size() const { return static_cast<uint32_t>(successor_begin_.size() - 1); }
  [[nodiscard]] std::span<const uint32_t> successors(uint32_t n) const {
    return {successors_.data() + successor_begin_[n], successor_begin_[n + 1] - successor_begin_[n]};
  }
  [[nodiscard]] std::span<const uint32_t> predecessors(uint32_t n) const {
    return {predecessors_.data() + predecessor_begin_[n], predecessor_begin_[n + 1] - predecessor_begin_[n]};
  }

 private:
  std::vector<uint32_t> successor_begin_, successors_, predecessor_begin_, predecessors_;
};

/// Depth-first orders of the nodes that the entry reaches.
struct Order {
  std::vector<uint32_t> reverse_post; ///< nodes; the entry first
  std::vector<uint32_t> position;     ///< of each node in reverse_post, `none` if unreachable
  [[nodiscard]] bool reachable(uint32_t n) const { return position[n] != none; }
};

/// Reverse post-order by an explicit stack: linear in nodes and edges, no recursion.
[[nodiscard]] Order reverse_post_order(const Graph& graph);

} // namespace lanewise::cfg
