// How far addresses are known to be aligned.
#pragma once

#include "ir/ir.hpp"

#include <span>
#include <vector>

namespace lanewise::spirv {

/// For each value, how many of its low bits are known to be 0, up to 3 (alignment to 8 bytes).
///
/// The largest solution of the rules: phis start from their best and fall until nothing changes, so that a
/// pointer that a loop moves in steps of 4 stays aligned. Linear in the function for each of at most 3 rounds
/// that a value can fall.
/// `aligned`: offsets in the kernarg segment of pointers that are multiples of 8, ascending.
[[nodiscard]] std::vector<uint8_t> known_low_zeros(const ir::Function& f,
                                                   std::span<const uint32_t> aligned = {});

} // namespace lanewise::spirv
