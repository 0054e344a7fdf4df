// Makes a failing capsule smaller while it keeps failing (Zeller and Hildebrandt, "Simplifying and isolating
// failure-inducing input", 2002).
#pragma once

#include "runtime/capsule.hpp"

#include <functional>

namespace lanewise::runtime {

/// Whether a capsule still shows the failure. Called for one capsule at a time.
using Fails = std::function<bool(const Capsule&)>;

struct ReduceReport {
  unsigned tried = 0, kept = 0;
  size_t instructions_before = 0, instructions_after = 0; ///< without s_nop
};

/// Tries, from coarse to fine and until nothing helps any more: callees that return at once, blocks and
/// instructions that do nothing (s_nop), memory that nothing needs, work-items that are not needed. `capsule`
/// becomes the smallest that fails. Error: call if it does not fail to begin with.
[[nodiscard]] Expected<ReduceReport> reduce(Capsule& capsule, const Fails& fails);

} // namespace lanewise::runtime
