// Reordering a block so that fewer values are live at once.
#pragma once

#include "v3d/liveness.hpp"

namespace lanewise::v3d {

enum class Order : std::uint8_t {
  given, ///< as the listing has it
  late,  ///< from the end: what frees most; among equals what stood last
  depth, ///< from the end: what frees most; among equals the operand wanted last (depth first)
  bundles_late,
  bundles_depth, ///< the same with TMU lookups, flags and products in any order
  late_loads,    ///< as given, but loads (uniform, varying, TMU results) and what only follows them move down
};

/// Reorders every block whose pressure exceeds `registers`; `free` marks temporaries that do not count, since
/// they can be made again where they are used. Keeps an order only if it lowers the block's excess.
/// Growth: n log n in the instructions of a block.
void reorder(Program& p, Order order, unsigned registers, const std::vector<char>& free);

} // namespace lanewise::v3d
