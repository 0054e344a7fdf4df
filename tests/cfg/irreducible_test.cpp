#include "cfg/irreducible.hpp"

#include <gtest/gtest.h>

#include "graphs.hpp"

namespace lanewise::cfg {
namespace {

TEST(Irreducible, EntriesOfCyclesWithSeveral) {
  struct Case {
    const char* name;
    uint32_t nodes;
    std::vector<Edge> edges;
    std::vector<uint32_t> entries;
  };
  const std::vector<Case> cases{
      {"none", 4, {{0, 1}, {1, 2}, {2, 1}, {2, 3}}, {}},
      {"two entries", 4, {{0, 1}, {0, 2}, {1, 2}, {2, 1}, {2, 3}}, {1, 2}},
      {"inside a loop", 5, {{0, 1}, {1, 2}, {1, 3}, {2, 3}, {3, 2}, {3, 1}, {2, 4}}, {2, 3}},
      {"three entries", 5, {{0, 1}, {0, 4}, {4, 2}, {4, 3}, {1, 2}, {2, 3}, {3, 1}}, {1, 2, 3}},
      {"behind what nobody reaches", 4, {{0, 1}, {1, 2}, {2, 1}, {3, 2}}, {}},
  };
  for (const auto& c : cases) EXPECT_EQ(irreducible_entries(Graph(c.nodes, c.edges)), c.entries) << c.name;
}

/// None found exactly when the loop finder sees no irreducible edge.
TEST(Irreducible, AgreesWithTheLoopFinder) {
  std::mt19937 rng(5);
  unsigned irreducible = 0;
  for (unsigned i = 0; i < 3000; ++i) {
    const auto nodes = static_cast<uint32_t>(2 + rng() % 12);
    std::vector<Edge> edges;
    for (uint32_t n = 0; n < nodes; ++n)
      for (auto s = rng() % 3; s > 0; --s)
        edges.emplace_back(n, static_cast<uint32_t>(1 + rng() % (nodes - 1)));
    const Graph g(nodes, edges);
    const bool reducible = find_loops(g, reverse_post_order(g), dominators(g)).reducible();
    EXPECT_EQ(irreducible_entries(g).empty(), reducible);
    irreducible += !reducible;
  }
  EXPECT_GT(irreducible, 100u);
}

} // namespace
} // namespace lanewise::cfg
