#include "cfg/structurize.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "graphs.hpp"

namespace lanewise::cfg {
namespace {

using Kind = StructuredNode::Kind;

/// Which way a walk goes at a node: the same for the graph and its structured form.
struct Walk {
  uint32_t seed;
  bool operator()(uint32_t step, uint32_t block) const {
    uint32_t x = seed * 0x9e3779b9u + step * 0x85ebca6bu + block * 0xc2b2ae35u;
    x ^= x >> 15;
    x *= 0x2c1b3c6du;
    return (x ^ x >> 12) & 1;
  }
};

constexpr uint32_t max_steps = 60;

std::vector<uint32_t> walk_graph(const Graph& g, Walk walk) {
  std::vector<uint32_t> trace;
  for (uint32_t n = 0; trace.size() < max_steps;) {
    trace.push_back(n);
    const auto s = g.successors(n);
    if (s.empty()) break;
    n = s.size() == 2 && walk(static_cast<uint32_t>(trace.size()), n) ? s[1] : s[0];
  }
  return trace;
}

std::vector<uint32_t> walk_structured(const Graph& g, const Structured& s, Walk walk) {
  std::vector<uint32_t> trace;
  uint32_t target = 0, n = 0;
  while (true) {
    const StructuredNode& node = s.nodes[n];
    uint32_t slot = 0;
    if (node.kind == Kind::block) {
      if (trace.size() >= max_steps) break;
      trace.push_back(node.block);
      if (node.successor_count == 0) break;
      const auto to = g.successors(node.block);
      const bool second = to.size() == 2 && walk(static_cast<uint32_t>(trace.size()), node.block);
      target = to[second ? 1 : 0];
      slot = second && node.successor_count == 2 ? 1 : 0;
    } else if (node.kind == Kind::guard) {
      slot = target == node.block ? 0 : 1;
    } else if (node.kind == Kind::unreachable) {
      ADD_FAILURE() << "reached an unreachable node";
      break;
    }
    const StructuredEdge& e = node.successors[slot];
    if (e.node == none || node.successor_count <= slot) {
      ADD_FAILURE() << "edge without an end";
      break;
    }
    EXPECT_TRUE(std::ranges::binary_search(s.targets_of(e), target)) << "target not announced on the edge";
    n = e.node;
  }
  return trace;
}

/// The rules of SPIR-V's structured control flow (2.11), as far as they speak of merges and branches.
void check_form(const Structured& s, const std::string& name) {
  std::vector<Edge> edges;
  std::vector<uint32_t> merge_of(s.nodes.size(), none);
  for (uint32_t n = 0; n < s.nodes.size(); ++n) {
    const StructuredNode& node = s.nodes[n];
    for (unsigned i = 0; i < node.successor_count; ++i) {
      ASSERT_NE(node.successors[i].node, none) << name;
      edges.emplace_back(n, node.successors[i].node);
    }
    if (node.successor_count == 2)
      ASSERT_NE(node.successors[0].node, node.successors[1].node) << name << ": two ways to one node";
    // Structural dominance counts the declared merge and continue targets as successors.
    if (node.continue_target != none) edges.emplace_back(n, node.continue_target);
    if (node.merge == none) continue;
    edges.emplace_back(n, node.merge);
    ASSERT_EQ(merge_of[node.merge], none) << name << ": two constructs share a merge block";
    merge_of[node.merge] = n;
  }
  const Graph g(static_cast<uint32_t>(s.nodes.size()), edges);
  const Dominators d = dominators(g);
  const auto in_construct = [&](uint32_t header, uint32_t n) {
    return d.dominates(header, n) && !d.dominates(s.nodes[header].merge, n);
  };
  for (uint32_t n = 0; n < s.nodes.size(); ++n) {
    const StructuredNode& node = s.nodes[n];
    if (node.successor_count == 2 && node.merge == none) {
      // Without a merge one way must leave: to the merge or the continue target of the innermost loop.
      unsigned leaving = 0;
      for (unsigned i = 0; i < 2; ++i) {
        const uint32_t to = node.successors[i].node;
        leaving += s.nodes[to].kind == Kind::continue_ ||
                   (merge_of[to] != none && s.nodes[merge_of[to]].kind == Kind::loop_header);
      }
      EXPECT_GE(leaving, 1u) << name << ": branch without a merge";
    }
    if (node.merge == none || node.kind == Kind::loop_header) continue;
    for (uint32_t inner = 0; inner < s.nodes.size(); ++inner) {
      if (!in_construct(n, inner)) continue;
      for (const uint32_t to : g.successors(inner)) {
        if (to == node.merge || in_construct(n, to)) continue;
        const bool jump = s.nodes[to].kind == Kind::continue_ ||
                          (merge_of[to] != none && s.nodes[merge_of[to]].kind == Kind::loop_header);
        EXPECT_TRUE(jump) << name << ": a selection is left other than through its merge";
      }
    }
  }
}

void check(const Graph& g, const std::string& name, unsigned walks = 12) {
  const auto s = structurize(g);
  ASSERT_TRUE(s) << name << ": " << s.error().to_string();
  check_form(*s, name);
  for (uint32_t w = 0; w < walks; ++w)
    ASSERT_EQ(walk_structured(g, *s, {w}), walk_graph(g, {w})) << name << ", walk " << w;
}

unsigned count(const Structured& s, Kind kind) {
  return static_cast<unsigned>(std::ranges::count(s.nodes, kind, &StructuredNode::kind));
}

TEST(Structurize, CommonShapesNeedNoGuards) {
  struct Case {
    const char* name;
    uint32_t nodes;
    std::vector<Edge> edges;
    unsigned extra; // guards and joins
  };
  const std::vector<Case> cases{
      {"line", 3, {{0, 1}, {1, 2}}, 0},
      {"if", 3, {{0, 1}, {0, 2}, {1, 2}}, 0},
      {"if else", 4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, 0},
      {"while", 4, {{0, 1}, {1, 2}, {1, 3}, {2, 1}}, 0},
      {"do while", 3, {{0, 1}, {1, 1}, {1, 2}}, 0},
      {"loop with break to the same place", 5, {{0, 1}, {1, 2}, {1, 4}, {2, 3}, {2, 4}, {3, 1}}, 0},
      {"loop with continue", 5, {{0, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 3}, {3, 1}}, 0},
      {"early return", 3, {{0, 1}, {0, 2}}, 0},
      {"nested if", 5, {{0, 1}, {0, 4}, {1, 2}, {1, 3}, {2, 3}, {3, 4}}, 0},
      {"loop in loop", 6, {{0, 1}, {1, 2}, {2, 2}, {2, 3}, {3, 1}, {3, 4}, {4, 5}}, 0},
      {"return out of a loop", 5, {{0, 1}, {1, 2}, {1, 4}, {2, 3}, {2, 1}}, 0},
      {"if (a && b)", 5, {{0, 1}, {0, 3}, {1, 2}, {1, 3}, {2, 4}, {3, 4}}, 2},
      {"loop with exits to two places", 6, {{0, 1}, {1, 2}, {1, 3}, {2, 1}, {2, 4}, {3, 5}, {4, 5}}, 2},
  };
  for (const auto& c : cases) {
    const Graph g(c.nodes, c.edges);
    check(g, c.name);
    const auto s = structurize(g);
    EXPECT_EQ(count(*s, Kind::guard) + count(*s, Kind::join), c.extra) << c.name;
  }
}

TEST(Structurize, AllGraphsOfFourNodes) {
  // Each node: no successor, one of 4, or an ordered pair of 4. The entry has no predecessor.
  std::vector<std::vector<uint32_t>> choices{{}};
  for (uint32_t a = 1; a < 4; ++a) choices.push_back({a});
  for (uint32_t a = 1; a < 4; ++a)
    for (uint32_t b = 1; b < 4; ++b) choices.push_back({a, b});
  const auto c = static_cast<uint32_t>(choices.size());
  unsigned structured = 0;
  for (uint32_t code = 0; code < c * c * c * c; ++code) {
    std::vector<Edge> edges;
    for (uint32_t n = 0, rest = code; n < 4; ++n, rest /= c)
      for (const uint32_t s : choices[rest % c]) edges.emplace_back(n, s);
    const Graph g(4, edges);
    if (!find_loops(g, reverse_post_order(g), dominators(g)).reducible()) {
      EXPECT_FALSE(structurize(g));
      continue;
    }
    ++structured;
    check(g, std::to_string(code), 4);
  }
  EXPECT_GT(structured, 20000u);
}

TEST(Structurize, RandomReducibleGraphs) {
  for (uint32_t seed = 0; seed < 6000; ++seed)
    check(test::random_reducible(seed, 2 + seed % 24), "seed " + std::to_string(seed));
}

TEST(Structurize, RefusesIrreducibleGraphsByName) {
  const auto s = structurize(Graph(4, std::vector<Edge>{{0, 1}, {0, 2}, {1, 2}, {2, 1}, {2, 3}}));
  ASSERT_FALSE(s);
  EXPECT_EQ(s.error().kind, ErrorKind::unsupported);
  EXPECT_NE(s.error().what.find("irreducible at block"), std::string::npos);
}

/// n ifs inside each other, then n loops inside each other: no recursion may run out of stack.
TEST(Structurize, DeepNests) {
  constexpr uint32_t depth = 20000;
  std::vector<Edge> ifs, loops;
  for (uint32_t i = 0; i < depth; ++i) { // i: if header, depth + i + 1: its merge
    ifs.emplace_back(i, i + 1);
    ifs.emplace_back(i, 2 * depth - i);
    if (i > 0) ifs.emplace_back(2 * depth - i, 2 * depth - i + 1);
  }
  ASSERT_TRUE(structurize(Graph(2 * depth + 1, ifs)));
  for (uint32_t i = 0; i < depth; ++i) loops.emplace_back(i, i + 1);
  for (uint32_t i = 0; i < depth; ++i) { // latch depth + i leads to header depth - i and on
    loops.emplace_back(depth + i, depth - i);
    loops.emplace_back(depth + i, depth + i + 1);
  }
  const auto nest = structurize(Graph(2 * depth + 1, loops));
  ASSERT_TRUE(nest);
  EXPECT_EQ(count(*nest, Kind::loop_header), depth);
}

/// Counted, not timed: what is built is what costs.
TEST(Structurize, GrowthIsNearLinear) {
  for (const uint32_t nodes : {1000u, 10000u, 100000u}) {
    const auto s = structurize(test::random_reducible(7, nodes));
    ASSERT_TRUE(s);
    EXPECT_LT(s->nodes.size(), 3 * nodes);
    EXPECT_LT(s->targets.size(), 20 * nodes);
  }
}

} // namespace
} // namespace lanewise::cfg
