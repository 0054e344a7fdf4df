#include "cfg/dominators.hpp"

#include <algorithm>

namespace lanewise::cfg {
namespace {

/// All arrays but `number` are indexed by depth-first number, so that "earlier" is "smaller".
struct SemiNca {
  const Graph& graph;
  std::vector<uint32_t> number, vertex, parent, semi, label, idom, path;

  explicit SemiNca(const Graph& g) : graph(g), number(g.size(), none) {
    depth_first();
    const auto count = static_cast<uint32_t>(vertex.size());
    semi.resize(count);
    for (uint32_t i = 0; i < count; ++i) semi[i] = i;
    label = semi;
    idom = parent;
    ancestor = parent;
    for (uint32_t w = count; w-- > 1;) semidominator(w);
    // The immediate dominator is the nearest tree ancestor that is not later than the semidominator.
    for (uint32_t w = 1; w < count; ++w)
      while (idom[w] > semi[w]) idom[w] = idom[idom[w]];
  }

 private:
  std::vector<uint32_t> ancestor;

  void depth_first() {
    struct Frame {
      uint32_t node, from;
    };
    std::vector<Frame> stack;
    if (graph.size() != 0) stack.push_back({0, 0});
    while (!stack.empty()) {
      const Frame f = stack.back();
      stack.pop_back();
      if (number[f.node] != none) continue;
      const auto self = static_cast<uint32_t>(vertex.size());
      number[f.node] = self;
      vertex.push_back(f.node);
      parent.push_back(f.from);
      const auto successors = graph.successors(f.node);
      for (size_t i = successors.size(); i-- > 0;)
        if (number[successors[i]] == none) stack.push_back({successors[i], self});
    }
  }

  void semidominator(uint32_t w) {
    for (const uint32_t p : graph.predecessors(vertex[w])) {
      if (number[p] == none) continue;
      semi[w] = std::min(semi[w], semi[evaluate(number[p], w)]);
    }
    label[w] = w;
  }

  /// The node of least semidominator on the linked path above v; nodes later than `last` are linked.
  uint32_t evaluate(uint32_t v, uint32_t last) {
    if (v <= last) return v;
    path.clear();
    uint32_t u = v;
    for (; ancestor[u] > last; u = ancestor[u]) path.push_back(u);
    while (!path.empty()) {
      const uint32_t below = path.back();
      path.pop_back();
      const uint32_t above = ancestor[below];
      if (semi[label[above]] < semi[label[below]]) label[below] = label[above];
      ancestor[below] = ancestor[above];
    }
    return label[v];
  }
};

/// Pre-order intervals of the tree.
void number_tree(Dominators& d, std::span<const uint32_t> preorder) {
  const size_t count = d.parent.size();
  std::vector<uint32_t> subtree(count);
  for (size_t i = preorder.size(); i-- > 0;) {
    const uint32_t n = preorder[i];
    ++subtree[n];
    if (d.parent[n] != none) subtree[d.parent[n]] += subtree[n];
  }
  d.enter.assign(count, 0);
  d.exit.assign(count, 0);
  // A node's dominator comes earlier in depth-first order, so its interval is already open.
  std::vector<uint32_t> next(count);
  for (const uint32_t n : preorder) {
    d.enter[n] = d.parent[n] == none ? 0 : next[d.parent[n]];
    d.exit[n] = d.enter[n] + subtree[n];
    next[n] = d.enter[n] + 1;
    if (d.parent[n] != none) next[d.parent[n]] = d.exit[n];
  }
}

} // namespace

Dominators dominators(const Graph& graph) {
  const SemiNca nca(graph);
  Dominators d{std::vector<uint32_t>(graph.size(), none), {}, {}};
  for (uint32_t w = 1; w < nca.vertex.size(); ++w) d.parent[nca.vertex[w]] = nca.vertex[nca.idom[w]];
  number_tree(d, nca.vertex);
  return d;
}

} // namespace lanewise::cfg
