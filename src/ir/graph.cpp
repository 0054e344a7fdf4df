#include "ir/graph.hpp"

namespace lanewise::ir {

cfg::Graph graph_of(const Function& f) {
  std::vector<cfg::Edge> edges;
  for (uint32_t b = 0; b < f.blocks.size(); ++b)
    for (unsigned s = 0; s < f.blocks[b].successor_count; ++s)
      edges.emplace_back(b, f.blocks[b].successors[s].index);
  return cfg::Graph(static_cast<uint32_t>(f.blocks.size()), edges);
}

} // namespace lanewise::ir
