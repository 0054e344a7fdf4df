// Loops that count.
#pragma once

#include <optional>

#include "ir/ir.hpp"

namespace lanewise::analysis {

/// The values of a phi: start, start + step, ..., last. An execution of the loop may end before the last one.
struct Count {
  uint64_t start = 0, step = 0, last = 0;
  [[nodiscard]] uint64_t rounds() const { return (last - start) / step + 1; }
};

/// `phi` of `header` if it starts at a constant, grows by a constant, and comes around again only while it,
/// or the sum, is below a constant, or is not a constant that it meets.
[[nodiscard]] std::optional<Count> count_of(const ir::Function& f, ir::Block header, ir::Value phi);

} // namespace lanewise::analysis
