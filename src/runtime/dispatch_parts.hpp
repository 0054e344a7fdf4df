// The parts of a grid whose workgroups have equally many waves.
#pragma once

#include "spirv/cut_waves.hpp"

#include <array>
#include <cstdint>
#include <vector>

namespace lanewise::runtime {

/// A box of workgroups, and the local size that they are dispatched with (0: the module's own).
struct DispatchPart {
  std::array<uint32_t, 3> base{}, groups{};
  uint32_t invocations = 0;
  friend bool operator==(const DispatchPart&, const DispatchPart&) = default;
};

/// Up to eight parts that together are all workgroups of `grid` work-items in workgroups of `block`, whole
/// ones first. One part where the waves of cut workgroups do not matter to the module, or are as many as
/// those of whole ones.
[[nodiscard]] std::vector<DispatchPart> dispatch_parts(const std::array<uint32_t, 3>& grid,
                                                       const std::array<uint32_t, 3>& block,
                                                       const spirv::CutWaves& cut);

} // namespace lanewise::runtime
