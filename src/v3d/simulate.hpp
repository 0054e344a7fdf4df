// Runs QPU words for 16 lanes, with delay slots, the uniform stream and what a thread switch destroys.
#pragma once

#include "v3d/machine.hpp"
#include "v3d/qpu.hpp"

namespace lanewise::v3d {

/// Decodes the bits (not the scheduler's words) and runs them. `cycles` counts words and SFU stalls.
[[nodiscard]] Expected<Trace> simulate(const QpuProgram& q, const RunOptions& options);

} // namespace lanewise::v3d
