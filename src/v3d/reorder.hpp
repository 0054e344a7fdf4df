// Other orders of a program's blocks, in which fewer values are live at once.
#pragma once

#include "v3d/bundle.hpp"
#include "v3d/pressure_order.hpp"

namespace lanewise::v3d {

enum class Order : std::uint8_t {
  given,         ///< as the listing has it
  late,          ///< from the end: what frees most; among equals what stood last
  depth,         ///< from the end: what frees most; among equals the operand wanted last (depth first)
  bundles_late,  ///< late, with TMU lookups, flags and products in any order (bundle.hpp)
  bundles_depth, ///< depth, likewise
  forward,       ///< from the beginning, one computation after the other (forward_order.hpp)
  late_loads,    ///< as given, but loads and what only follows them move down
  mixed,         ///< in each block the best of the orders that were made before
  count
};

[[nodiscard]] std::string_view text(Order o);

/// A program in some order, and how far it is from fitting.
struct Reordered {
  Program program;
  unsigned peak = 0;        ///< most values live at once, without those that can be made again
  std::uint64_t excess = 0; ///< what does not fit, summed over the program, ten times for each loop around it
};

/// Makes the orders of one program. What they share is worked out once.
class Reorderer {
 public:
  /// `free` marks temporaries that do not count, since they can be made again where they are used. Blocks
  /// that fit into `registers` stay as they are. Both references must outlive this.
  Reorderer(const Program& p, unsigned registers, const std::vector<char>& free);

  /// Growth: n log n in the instructions of a block.
  [[nodiscard]] Reordered run(Order order);

 private:
  struct Excess {
    std::uint64_t sum = 0;
    unsigned peak = 0;
  };
  struct BlockState {
    Excess given, best;
    std::vector<Inst> best_insts; ///< empty: as given
    std::optional<Bundles> bundles, singles;
  };

  [[nodiscard]] Excess measure(std::size_t block, const std::vector<Inst>& insts);
  [[nodiscard]] std::optional<std::vector<Inst>> ordered(std::size_t block, Order order);

  const Program& p_;
  unsigned registers_;
  const std::vector<char>& free_;
  Liveness l_;
  Place last_;
  PressureOrder pressure_order_;
  std::vector<BlockState> blocks_;
  std::vector<char> live_;
};

} // namespace lanewise::v3d
