// Where in memory stored values lie: slots that never meet are one, and what moves together lies together.
//
// Two layouts of a thread's spill memory:
//   words: slot s of lane l at s*64 + l*4: sixteen lanes in one cache line
//   rows:  four slots a row, slot s of lane l at (s/4)*256 + l*16 + (s%4)*4: neighbours of a row are one
//          access of two to four words
#pragma once

#include "v3d/spill.hpp"

namespace lanewise::v3d::spilling {

/// Values that are stored or read back at one place, by number; weight ten for each loop around it.
struct Together {
  std::vector<std::uint32_t> values;
  unsigned weight = 1;
  bool is_store = false;
};

struct SlotPlan {
  std::vector<std::uint32_t> slot; ///< per value
  unsigned count = 0;
  bool rows = false;
};

/// One access: `values[first, first + width)` of a list that by_access() has ordered.
struct Access {
  std::uint32_t first, width;
};

/// Byte offset of a slot.
[[nodiscard]] inline std::uint32_t slot_offset(std::uint32_t slot, bool rows) {
  return rows ? slot / 4 * 256 + slot % 4 * 4 : slot * 64;
}

/// Orders the values by slot and cuts them into accesses of neighbours, `widest` words at most.
[[nodiscard]] std::vector<Access> by_access(std::vector<std::uint32_t>& values, const SlotPlan& plan,
                                            unsigned widest);

/// Words in one access: the TMU takes 16 writes of an operation for all threads together, address included.
[[nodiscard]] unsigned widest_access(unsigned threads, bool is_store);

/// `meets[a][b]`: both are needed at once. Rows are taken where at least half of the words move in vectors,
/// since the rest then touches four cache lines instead of one. Growth: values squared.
[[nodiscard]] SlotPlan assign_slots(const std::vector<std::vector<char>>& meets,
                                    const std::vector<Together>& together, unsigned threads,
                                    const SpillOptions& options);

} // namespace lanewise::v3d::spilling
