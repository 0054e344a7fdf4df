// Graphs for tests: made from numbers, so that every failure names a reproducible one.
#pragma once

#include <algorithm>
#include <random>

#include "cfg/dominators.hpp"
#include "cfg/loops.hpp"

namespace lanewise::cfg::test {

/// A random connected-ish graph whose backward edges lead to dominators only, so it is reducible.
inline Graph random_reducible(uint32_t seed, uint32_t nodes) {
  std::mt19937 rng(seed);
  const auto pick = [&](uint32_t n) { return static_cast<uint32_t>(rng() % n); };
  std::vector<Edge> edges;
  std::vector<uint32_t> room(nodes, 2);
  const uint32_t reach = 1 + pick(6);
  for (uint32_t n = 1; n < nodes; ++n) { // a way from an earlier node with room
    uint32_t from = n - 1 - pick(std::min(n, reach));
    while (room[from] == 0) from = from == 0 ? n - 1 : from - 1;
    edges.emplace_back(from, n);
    --room[from];
  }
  const uint32_t extra = pick(nodes + 1);
  for (uint32_t i = 0; i < extra; ++i) {
    const uint32_t from = pick(nodes);
    if (room[from] == 0 || from + 1 >= nodes) continue;
    edges.emplace_back(from, std::min(nodes - 1, from + 1 + pick(reach * 2)));
    --room[from];
  }
  const Dominators d = dominators(Graph(nodes, edges));
  const uint32_t backs = pick(nodes / 2 + 1);
  for (uint32_t i = 0; i < backs; ++i) {
    const uint32_t from = pick(nodes);
    if (room[from] == 0) continue;
    uint32_t to = from;
    for (uint32_t up = pick(5); up > 0 && d.parent[to] != none; --up) to = d.parent[to];
    if (to == 0) continue; // the entry of a program is no loop header
    edges.emplace_back(from, to);
    --room[from];
  }
  std::ranges::shuffle(edges, rng);
  return Graph(nodes, edges);
}

} // namespace lanewise::cfg::test
