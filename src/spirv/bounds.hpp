// How large numbers can become.
#pragma once

#include "ir/ir.hpp"
#include "spirv/seating.hpp"

#include <vector>

namespace lanewise::spirv {

/// For each value, a number that it never exceeds, read as unsigned; the largest of its type where nothing is
/// known, as for what a loop counts up to what is no constant. One pass over the function.
[[nodiscard]] std::vector<uint64_t> known_bounds(const ir::Function& f, const Seating& seating);

/// For each value, a number that it is never below, read as unsigned. `most` are the function's known_bounds.
[[nodiscard]] std::vector<uint64_t> known_least(const ir::Function& f, const std::vector<uint64_t>& most);

} // namespace lanewise::spirv
