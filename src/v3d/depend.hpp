// Which instructions of a block must keep their order: the one graph that both the reordering before
// allocation and the scheduling into words after it obey.
#pragma once

#include "v3d/groups.hpp"
#include "v3d/liveness.hpp"

#include <vector>

namespace lanewise::v3d {

enum class Dependence : std::uint8_t {
  result, ///< the second reads what the first wrote: at least one word later
  output, ///< both write it: at least one word later
  reuse,  ///< the second overwrites what the first reads: the same word will do
};

struct Edge {
  std::uint32_t to;
  Dependence kind;
  std::uint8_t latency;  ///< words that the second should come later, if it is to run without waiting
  std::uint8_t at_least; ///< words that it must come later
};

struct DependenceGraph {
  Groups<Edge> succs; ///< by instruction, in the order of what they lead to
  std::vector<std::uint32_t> pred_count;
};

/// Resources whose users keep their places by other means (see bundle.hpp): no edges for them.
struct Relaxed {
  bool flags = false, rtop = false, tmu = false, coefficient = false;
  bool vpm_stores = false; ///< stores keep behind loads, but not behind each other
};

/// Growth: linear in instructions times operands. The last instruction, if a branch, depends on all others.
[[nodiscard]] DependenceGraph build_dependences(Gpu gpu, const std::vector<Inst>& insts,
                                                std::uint32_t temp_count, const Relaxed& relaxed = {});

} // namespace lanewise::v3d
