// The interface between an emitted compute module and whoever dispatches it (docs/abi.md).
//
// One entry point "main", no descriptors: guest global memory is reached through buffer device addresses. The
// push constant block below holds all that changes between dispatches. Workgroup size, seating and LDS size
// are fixed when the module is made (see EmittedModule), but for the waves of workgroups that the grid cuts
// (see CutWaves).
#pragma once

#include <cstdint>

namespace lanewise::spirv {

/// Push constants, offset 0, std430-like, little endian.
struct DispatchBlock {
  uint64_t kernarg_ptr = 0;  ///< 0:  device address of the kernel arguments
  uint64_t dispatch_ptr = 0; ///< 8:  device address of a copy of the AQL packet (64 bytes)
  uint64_t queue_ptr = 0;    ///< 16: device address of an hsa_queue_t-like block, or 0
  uint64_t image_base = 0; ///< 24: device address where the code object's image is loaded (virtual address 0)
  uint64_t status_ptr = 0; ///< 32: device address of a StatusBlock
  uint64_t dispatch_id = 0; ///< 40
  uint32_t grid[3] = {};    ///< 48: work-items; partial workgroups at the border
  uint32_t reserved = 0;    ///< 60
};
static_assert(sizeof(DispatchBlock) == 64);

/// Specialization constant of modules with CutWaves: the local size in x, 32 bits.
inline constexpr uint32_t kLocalSizeConstant = 0;

/// What a trap leaves behind. The first trap wins (compare-exchange on `reason`).
struct StatusBlock {
  uint32_t reason = 0; ///< 0: none; else ir::TrapReason + 1
  uint32_t pc = 0;     ///< guest pc
  uint32_t workgroup[3] = {};
  uint32_t wave = 0;
  uint32_t reserved[2] = {};
};
static_assert(sizeof(StatusBlock) == 32);

} // namespace lanewise::spirv
