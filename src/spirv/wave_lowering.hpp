// Wave-level IR -> invocation-level IR: what one host invocation does for its lanes (docs/seating.md).
#pragma once

#include "ir/program.hpp"
#include "spirv/seating.hpp"

namespace lanewise::spirv {

struct LoweringOptions {
  Seating seating;
  /// For x, y, z: workgroups at the border of the grid may be smaller in this dimension, as the dispatch
  /// packet's grid says. When false, whoever dispatches promises that the grid is a multiple of the workgroup
  /// there.
  std::array<bool, 3> partial{};
};

/// The result has host_* operations in place of lane_id, ballot, lane_bit, any, mbcnt, read_lane, read_first,
/// permute, push, dpp, wave_in_group, local_id_* and initial_exec. A per-lane value of `f` is L values (one
/// for each copy), a uniform one stays one. Folding happens on the way; run simplify and dead code removal
/// again. Scratch of all copies lies one behind the other. Errors: `call` for an impossible seating and for
/// a program whose lanes branch by themselves (passes/linearize.hpp), `limit`
/// for a program that would grow beyond limits::max_ir_values, `unsupported` for operations that have to be
/// lowered before (buffers).
[[nodiscard]] Expected<ir::Function> lower_waves(const ir::Function& f, const LoweringOptions& options);

/// The same for every function of a program. A per-lane register of an interface becomes one for each copy:
/// its number there is `number * 64 + copy`.
[[nodiscard]] Expected<ir::Program> lower_waves(const ir::Program& program, const LoweringOptions& options);

} // namespace lanewise::spirv
