// Workgroups that the grid cuts, and the waves that they lack (docs/abi.md, "Cut workgroups").
#pragma once

#include "ir/program.hpp"
#include "spirv/seating.hpp"

namespace lanewise::spirv {

/// What a dispatcher has to know of modules whose local size is made at pipeline creation, by specialization
/// constant 0 (x; y and z are 1; the default is the size of a whole workgroup). A workgroup that the grid
/// cuts to n work-items needs ceil(n / wave_items) * wave_invocations. Zeros: the local size is a constant.
struct CutWaves {
  uint32_t wave_items = 0, wave_invocations = 0;

  /// 0: the module's own size.
  [[nodiscard]] uint32_t invocations(uint32_t items) const {
    return wave_items == 0 ? 0 : (items + wave_items - 1) / wave_items * wave_invocations;
  }
};

/// Some workgroup may have fewer waves than the seating, which then run without a lane. `partial` as in
/// LoweringOptions. Independent lanes are cut one by one.
[[nodiscard]] bool may_lack_waves(const Seating& seating, const std::array<bool, 3>& partial);
/// Waves of a workgroup wait for each other in the function.
[[nodiscard]] bool has_barrier(const ir::Function& f);
/// In the program or one of its callees.
[[nodiscard]] bool has_barrier(const ir::Function& main, std::span<const ir::CalleeFunction> callees);

} // namespace lanewise::spirv
