#include <gtest/gtest.h>

#include <algorithm>

#include "graphs.hpp"

namespace lanewise::cfg {
namespace {

Graph random_graph(uint32_t seed, uint32_t nodes) {
  std::mt19937 rng(seed);
  std::vector<Edge> edges;
  for (uint32_t n = 0; n < nodes; ++n)
    for (auto s = rng() % 3; s > 0; --s) edges.emplace_back(n, static_cast<uint32_t>(rng() % nodes));
  return Graph(nodes, edges);
}

/// Which nodes the entry reaches without `removed`.
std::vector<bool> reach_without(const Graph& g, uint32_t removed) {
  std::vector<bool> seen(g.size());
  std::vector<uint32_t> work;
  if (removed != 0) work.push_back(0), seen[0] = true;
  while (!work.empty()) {
    const uint32_t n = work.back();
    work.pop_back();
    for (const uint32_t s : g.successors(n))
      if (s != removed && !seen[s]) seen[s] = true, work.push_back(s);
  }
  return seen;
}

TEST(Dominators, AreWhatRemovingANodeCutsOff) {
  for (uint32_t seed = 0; seed < 400; ++seed) {
    const Graph g = random_graph(seed, 2 + seed % 14);
    const Dominators d = dominators(g);
    const Order order = reverse_post_order(g);
    for (uint32_t a = 0; a < g.size(); ++a) {
      const auto reached = reach_without(g, a);
      for (uint32_t b = 0; b < g.size(); ++b) {
        const bool expected = order.reachable(a) && order.reachable(b) && (a == b || !reached[b]);
        ASSERT_EQ(d.dominates(a, b), expected) << "seed " << seed << ": " << a << " over " << b;
      }
    }
  }
}

struct LoopCase {
  const char* name;
  uint32_t nodes;
  std::vector<Edge> edges;
  std::vector<uint32_t> header_of; // innermost loop's header of each node
  bool reducible;
};

TEST(Loops, AreFoundWithTheirNest) {
  const std::vector<LoopCase> cases{
      {"none", 3, {{0, 1}, {0, 2}, {1, 2}}, {none, none, none}, true},
      {"self", 3, {{0, 1}, {1, 1}, {1, 2}}, {none, 1, none}, true},
      {"two latches", 5, {{0, 1}, {1, 2}, {1, 3}, {2, 1}, {3, 1}, {3, 4}}, {none, 1, 1, 1, none}, true},
      {"nested", 6, {{0, 1}, {1, 2}, {2, 3}, {3, 2}, {3, 4}, {4, 1}, {4, 5}}, {none, 1, 2, 2, 1, none}, true},
      {"irreducible", 4, {{0, 1}, {0, 2}, {1, 2}, {2, 1}, {2, 3}}, {none, none, none, none}, false},
      {"unreachable", 4, {{0, 1}, {2, 1}, {2, 2}, {1, 3}}, {none, none, none, none}, true},
  };
  for (const auto& c : cases) {
    const Graph g(c.nodes, c.edges);
    const LoopForest f = find_loops(g, reverse_post_order(g), dominators(g));
    EXPECT_EQ(f.reducible(), c.reducible) << c.name;
    for (uint32_t n = 0; n < c.nodes; ++n)
      EXPECT_EQ(f.innermost[n] == none ? none : f.loops[f.innermost[n]].header, c.header_of[n])
          << c.name << n;
  }
}

TEST(Loops, HoldExactlyTheirNodes) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    const Graph g = test::random_reducible(seed, 3 + seed % 20);
    const Dominators d = dominators(g);
    const LoopForest f = find_loops(g, reverse_post_order(g), d);
    ASSERT_TRUE(f.reducible());
    for (uint32_t l = 0; l < f.loops.size(); ++l) {
      // By definition: nodes that reach a latch without passing the header.
      const uint32_t header = f.loops[l].header;
      std::vector<bool> inside(g.size());
      inside[header] = true;
      std::vector<uint32_t> work;
      for (const uint32_t p : g.predecessors(header))
        if (d.dominates(header, p) && !inside[p]) inside[p] = true, work.push_back(p);
      while (!work.empty()) {
        const uint32_t n = work.back();
        work.pop_back();
        for (const uint32_t p : g.predecessors(n))
          if (!inside[p]) inside[p] = true, work.push_back(p);
      }
      for (uint32_t n = 0; n < g.size(); ++n) EXPECT_EQ(f.contains(l, n), inside[n]) << "seed " << seed;
    }
  }
}

} // namespace
} // namespace lanewise::cfg
