// Where the lanes of a wave may be at different places: the blocks between a branch that they take by
// themselves and the block where they have all met again.
#pragma once

#include "ir/ir.hpp"

#include <vector>

namespace lanewise::passes {

/// One way in (`first`, which all its blocks are dominated by) and one way out (to `join`).
struct LaneRegion {
  ir::Block first, join;
  std::vector<bool> blocks; ///< by block; `first` is one, `join` is not
};

struct LaneRegions {
  std::vector<LaneRegion> regions; ///< that have no block in common
  bool meet = true;                ///< false: lanes of some branch meet nowhere but at the end of the program
};

/// The function must be reducible and have one block at most that ends it. A branch is taken by lanes
/// themselves if its condition differs between them, also because it was made where only some of them came,
/// or at different times.
[[nodiscard]] LaneRegions find_lane_regions(const ir::Function& f);

} // namespace lanewise::passes
