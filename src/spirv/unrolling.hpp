// Loops that a driver should unroll.
#pragma once

#include <vector>

#include "ir/ir.hpp"

namespace lanewise::spirv {

/// For each block whether it is the header of a loop that chooses values by its count: registers that
/// v_movrels and v_movreld address are trees of selects, and each tree is one value where the count is known.
/// Only loops of few rounds, known from constants, and not too large.
[[nodiscard]] std::vector<bool> chooses_by_count(const ir::Function& f);

} // namespace lanewise::spirv
