// How much is live at once: what a register allocator would have to keep, whatever the target.
//
// Counted are words of 32 bits (an f16 or i8 takes one, an i64 two). Constants are free, and so are values
// that only name parts of others (extract, lo32, hi32, pack64, bitcast): half of a pair dies when nobody
// reads it any more. Dead code counts for nothing.
#pragma once

#include "ir/program.hpp"

#include <vector>

namespace lanewise::analysis {

struct LiveWords {
  uint32_t per_lane = 0; ///< masks apart
  uint32_t masks = 0;    ///< per-lane u1
  uint32_t uniform = 0;
  friend bool operator==(const LiveWords&, const LiveWords&) = default;
};
/// Each of the three by itself.
[[nodiscard]] LiveWords at_most(const LiveWords& a, const LiveWords& b);

/// What is live at each point of a function. A block of n instructions has n + 1 points: point i in front of
/// instruction i, where the results of all its phis count from point 0 on, and point n at its end. Points of
/// unreachable blocks are 0.
struct PressureCurve {
  std::vector<LiveWords> points; ///< block by block
  std::vector<size_t> begin;     ///< of each block's points, one more at the end

  [[nodiscard]] const LiveWords& at(ir::Block b, size_t point) const {
    return points[begin[b.index] + point];
  }
  [[nodiscard]] LiveWords most() const;
};

/// Exact around loops, for any control flow: live ranges are followed from each use up to the definition.
/// Cost: values and uses, and for each value the blocks through which it lives.
[[nodiscard]] PressureCurve pressure_curve(const ir::Function& f);

/// The most that is live in any function of the program; what is live across a call counts on top of what the
/// callee has.
[[nodiscard]] LiveWords most_live(const ir::Program& program);

} // namespace lanewise::analysis
