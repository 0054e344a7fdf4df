// Invocation-level IR -> SPIR-V 1.6 for Vulkan 1.3 (docs/abi.md describes the module's interface).
#pragma once

#include <vector>

#include "ir/program.hpp"
#include "spirv/abi.hpp"
#include "spirv/cut_waves.hpp"
#include "spirv/seating.hpp"

namespace lanewise::spirv {

/// What a device does with floating point, by width: index 0: 16 bits, 1: 32, 2: 64.
struct FloatTraits {
  std::array<bool, 3> denorm_preserve{}, round_nearest_even{}, signed_zero_inf_nan_preserve{};
};

/// What the module may rely on. The defaults suit every Vulkan 1.3 device with the features that the module
/// declares; what is missing is computed with integers.
struct DeviceTraits {
  FloatTraits floats;
  std::array<bool, 3> fused_fma{}; ///< Fma with NoContraction rounds once; else it is computed in integers
  /// Trunc, RoundEven, Floor and Ceil give every bit, by width; else they are made of integers.
  std::array<bool, 3> exact_rounding{true, true, true};
  bool int64_lds_atomics = true; ///< shaderSharedInt64Atomics
  bool int64_atomics = true;     ///< shaderBufferInt64Atomics
  bool shader_clock = false;     ///< VK_KHR_shader_clock
  /// Invocations of a subgroup that take different ways are together again where these meet:
  /// VK_KHR_shader_subgroup_uniform_control_flow, or a device that runs them in lockstep.
  bool reconverges = false;
  bool uniform_control_flow = false; ///< that extension
  /// Global memory may be accessed at any byte through pointers of any type, as the guest may. Otherwise
  /// accesses whose alignment is not known ask for it and are made of aligned words where they must.
  bool unaligned_global = false;
  bool coroutines = false; ///< compute shaders are LLVM's coroutines (lavapipe): scratch_in_frame.hpp
};

struct EmitOptions {
  Seating seating;
  DeviceTraits device;
  uint32_t dynamic_lds_bytes = 0; ///< on top of the function's own
  /// Offsets in the kernarg segment of pointers that are multiples of 8, ascending.
  std::vector<uint32_t> aligned_pointers;
  bool debug_names = false;
  /// LDS and scratch start as zeros (shaderZeroInitializeWorkgroupMemory), as in the emulator; costs time.
  /// The guest's own hardware promises nothing.
  bool zero_memory = false;
  bool trace = false; ///< fill EmittedModule::origins
  /// A workgroup that the grid cuts may be dispatched with the waves that it has: EmittedModule::cut.
  bool cut_waves = false;
};

/// Where an instruction of the module comes from.
struct Origin {
  uint32_t function = 0; ///< 0: the kernel, else one more than the index of a callee
  ir::Value value;       ///< none: types, constants, helper functions, control flow of no block's own
};

struct EmittedModule {
  std::vector<uint32_t> words;
  std::array<uint32_t, 3> host_workgroup{1, 1, 1}; ///< LocalSize of the entry point
  uint32_t subgroup_size = 0;                      ///< required, in full subgroups; 0: any
  uint32_t lds_bytes = 0;
  CutWaves cut;
  uint32_t functions = 0;      ///< callees that are functions of the module
  std::vector<Origin> origins; ///< of every instruction, in their order; empty unless asked for
};

/// `f` is what lower_waves() made for the same seating, with phis for all values that cross blocks (any IR
/// that the verifier takes). Errors: `unsupported` naming pc and operation.
[[nodiscard]] Expected<EmittedModule> emit(const ir::Function& f, const EmitOptions& options);
/// Callees that are called become functions of the module.
[[nodiscard]] Expected<EmittedModule> emit(const ir::Program& program, const EmitOptions& options);

} // namespace lanewise::spirv
