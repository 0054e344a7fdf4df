// How a workgroup of guest waves sits on host invocations (docs/seating.md).
#pragma once

#include <array>
#include <cstdint>

#include "support/error.hpp"

namespace lanewise::spirv {

/// One wave of W lanes takes `host_lanes` = S' invocations; invocation h holds lanes h, S' + h, 2 S' + h, ...
/// (its *copies*). S' == W is the `native` seating, S' == 1 needs no subgroup operations. `independent`: S'
/// == W, and where the invocations' subgroups begin and end does not matter, because no lane has to do with
/// another of its wave.
struct Seating {
  unsigned wave_size = 32;                    ///< W: 32 or 64
  unsigned host_lanes = 1;                    ///< S': a power of two, at most W
  std::array<uint32_t, 3> workgroup{1, 1, 1}; ///< guest work-items
  bool independent = false;

  [[nodiscard]] unsigned copies() const { return wave_size / host_lanes; }
  [[nodiscard]] uint32_t items() const { return workgroup[0] * workgroup[1] * workgroup[2]; }
  [[nodiscard]] uint32_t waves() const { return (items() + wave_size - 1) / wave_size; }
  /// Host invocations of one workgroup; they stand along x.
  [[nodiscard]] uint32_t invocations() const { return waves() * host_lanes; }
};

/// Errors of kind `call` for sizes that cannot be: W, S', or a workgroup of 0 or more than 1024 items.
[[nodiscard]] Expected<void> check(const Seating& s);

/// The seating that `auto` takes on a device whose subgroups have `subgroup_size` invocations in compute and
/// the operations (vote, ballot, shuffle) that a wave needs: native if the sizes agree, folded onto a whole
/// subgroup if it is narrower than the wave, and one invocation for a wave otherwise.
[[nodiscard]] unsigned choose_host_lanes(unsigned wave_size, unsigned subgroup_size,
                                         bool has_subgroup_operations);

} // namespace lanewise::spirv
