// Control flow as a picture: blocks in rows, each below those that lead to it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lanewise::report {

struct GraphNode {
  std::string title, subtitle;
  uint32_t mark = ~0u; ///< becomes data-g, what the node stands for in the page; ~0: nothing
  uint32_t loop_depth = 0;
  std::vector<uint32_t> successors;
};

/// Inline SVG; node 0 is the entry. Rows come from longest ways without the edges that go back, the order in
/// them from a few sweeps of barycentres (Sugiyama, Tagawa, Toda 1981). Near linear in nodes and edges.
[[nodiscard]] std::string graph_svg(const std::vector<GraphNode>& nodes);

} // namespace lanewise::report
