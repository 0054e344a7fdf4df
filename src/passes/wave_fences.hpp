// Fences among the lanes of a wave, and which of them order something.
#pragma once

#include "ir/ir.hpp"

#include <cstdint>
#include <vector>

namespace lanewise::passes {

/// What is known of addresses. All may be empty.
struct FenceFacts {
  /// For each value numbers that it never goes below and never exceeds (spirv::known_bounds).
  std::vector<uint64_t> least, most;
  /// On invocations, those of a wave and the waves of a workgroup: the ranges of host_lane and host_wave. 0: unknown.
  unsigned lanes = 0, waves = 0;
  /// Offsets in the kernarg segment of pointers whose buffers do not overlap, ascending; nothing reaches into
  /// one of the buffers by another's pointer.
  std::vector<uint32_t> separate_pointers;
};

/// Removes fences that keep no two accesses apart whose order anybody could tell (docs/passes.md, "Fences").
/// Runs on waves, and again on invocations, where the lanes' addresses are known better. At most linear in
/// blocks times a small constant set of what is pending.
bool wave_fences(ir::Function& f, const FenceFacts& facts);
bool wave_fences(ir::Function& f);
/// Whether there is anything for it to do.
[[nodiscard]] bool has_fences(const ir::Function& f);

} // namespace lanewise::passes
