// Inside of the spill planner: what it decided, before it is written into the program.
#pragma once

#include "v3d/spill.hpp"

#include <vector>

namespace lanewise::v3d::spilling {

inline constexpr std::uint32_t never = ~0u;
inline constexpr std::uint32_t loop_exit_distance = 100000;

/// Distances, in instructions, to the next use of a value.
struct NextUses {
  /// Per block and instruction: behind it, of source 0, source 1, the ALU's and the signal's destination.
  std::vector<std::vector<std::array<std::uint32_t, 4>>> after;
  std::vector<std::vector<std::uint32_t>> at_entry; ///< aligned with Liveness::live_in
};

[[nodiscard]] NextUses find_next_uses(const Program& p, const Liveness& l);

struct Insertion {
  enum Kind : std::uint8_t { store, fill, remat } kind;
  std::uint32_t index; ///< in front of this instruction of the block
  std::uint32_t temp;
  /// How far it may move within the block: a fill up to where its value left, a store down to there.
  std::uint32_t bound;
};

/// Operations that may wait behind one thread switch: 8 queue, and the TMU's output FIFO holds 16 words for
/// all threads.
[[nodiscard]] inline std::size_t most_together(unsigned threads) { return threads == 4 ? 4 : 8; }

/// What to put where. Stores are candidates until the written values are known.
struct Plan {
  std::vector<std::vector<Insertion>> insertions; ///< per block, in order of index
  std::vector<char> is_stored;                    ///< per temporary: it has a slot
};

/// Writes the plan into the program: addresses, thread switches, slots, base. Fills in the counts.
void write_plan(Program& p, Plan plan, const std::vector<Remat>& remat, const SpillOptions& options,
                SpillResult& result);

} // namespace lanewise::v3d::spilling
