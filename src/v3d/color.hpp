// Registers for temporaries whose pressure already fits.
#pragma once

#include "v3d/liveness.hpp"

#include <string>
#include <vector>

namespace lanewise::v3d {

struct ColorOptions {
  unsigned registers = 64; ///< of the register file: 64 at 2 threads, 32 at 4
  bool coalesce = true;
  bool accumulators = true; ///< 4.2: r0..r4 for short ranges, r5 for uniforms
  bool longest_free = true; ///< the register that has been free for longest; else one after the other
  bool longest_free_accumulator = false; ///< the same for r0..r4
  unsigned short_range = 20; ///< 4.2: ranges up to this many instructions take an accumulator first
};

struct ColorResult {
  bool ok = false;
  std::vector<Reg> registers; ///< per temporary
  unsigned copies_removed = 0;
  std::uint32_t failed = no_index; ///< the temporary that found no register
};

/// Assigns registers in the order of the ranges' starts, long ranges of several pieces first if that fails.
/// Growth: the sum of the lengths of all live ranges.
[[nodiscard]] ColorResult color(const Program& p, const ColorOptions& options);

/// Puts the registers in the operands and drops copies of a register to itself.
void apply_colors(Program& p, const ColorResult& c);

} // namespace lanewise::v3d
