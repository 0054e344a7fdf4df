// Cycles with several entries, which make a graph irreducible.
#pragma once

#include "cfg/graph.hpp"

namespace lanewise::cfg {

/// Entries of one such cycle, ascending; empty if the graph is reducible. Cycles that contain others are
/// found first. Sending every edge to an entry through one new node, and trying again, makes any graph
/// reducible. Cost: linear for each depth of cycles inside each other.
[[nodiscard]] std::vector<uint32_t> irreducible_entries(const Graph& graph);

} // namespace lanewise::cfg
