// The way of one kernel from machine code to SPIR-V, stage by stage.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "container/shader_binary.hpp"
#include "ir/program.hpp"
#include "lanewise/lanewise.hpp"
#include "passes/diverge.hpp"
#include "passes/pipeline.hpp"
#include "spirv/emit.hpp"
#include "support/error.hpp"

namespace lanewise::runtime {

class VulkanDevice;

/// What the code generator may rely on.
struct HostTraits {
  unsigned subgroup_size = 1;       ///< invocations of a subgroup in compute
  bool subgroup_operations = false; ///< vote, ballot and shuffle in compute
  spirv::DeviceTraits device;
};
/// Those of a device; runs a few tiny dispatches. The subgroup size is the
/// widest that compute can ask for, up to 64.
[[nodiscard]] HostTraits host_traits(VulkanDevice& device);

/// Sees the program after translation, after every pass and after wave lowering
/// (there `host_lanes` is the number of invocations that carry a wave, before
/// it 0). An error of its stops the compilation.
/// Callees stand in the place of their calls for it, whatever the module has.
using Observer =
    std::function<Expected<void>(std::string_view point, const ir::Function&, unsigned host_lanes)>;

/// Sees the program with its callees apart: after translation, after the passes, and as it is emitted.
enum class Stage : uint8_t { translated, optimised, lowered };
using ProgramObserver = std::function<void(Stage, const ir::Program&)>;

/// What becomes of the calls of a program.
enum class Calls : uint8_t {
  by_cost,   ///< callees are functions where that costs less (link/call_cost.hpp)
  inlined,   ///< none is
  functions, ///< all are that can be
};

struct CompileOptions {
  std::array<uint32_t, 3> block{0, 0, 0}; ///< work-items; zeros: the required workgroup, else 64 x 1 x 1
  WaveSeating seating = WaveSeating::automatic;
  HostTraits host;
  uint32_t dynamic_lds_bytes = 0;
  /// For x, y, z: the grid need not be a multiple of the block, the last workgroup may be smaller.
  std::array<bool, 3> partial_workgroups{true, true, true};
  /// No two pointer arguments lead to the same memory, and none is used to reach another's.
  bool separate_buffers = false;
  bool aligned_buffers = false; ///< pointer arguments are multiples of 8
  bool verify = false;          ///< the IR verifier after every stage and pass
  bool validate = false;        ///< the SPIR-V validator on the result
  bool debug_names = false;
  bool explain = false;             ///< fill passes.exec_select.kept
  bool trace = false;               ///< fill module.origins
  std::vector<std::string> without; ///< passes left out (passes/pipeline.hpp)
  Calls calls = Calls::by_cost;
  Observer observe;
  ProgramObserver look;
};

/// The workgroup that zeros of CompileOptions::block stand for, else what is wanted.
[[nodiscard]] std::array<uint32_t, 3> workgroup_of(const container::Kernel& kernel,
                                                   const std::array<uint32_t, 3>& wanted);

struct StageTimes {
  double translate_us = 0, passes_us = 0, lower_us = 0, emit_us = 0, validate_us = 0;
  double diverge_us = 0; ///< of lower_us
  /// Validation is no part of recompiling.
  [[nodiscard]] double total_us() const { return translate_us + passes_us + lower_us + emit_us; }
};

struct CompiledKernel {
  spirv::EmittedModule module;
  spirv::Seating seating;
  uint32_t guest_bytes = 0; ///< machine code of the kernel itself, callees apart
  uint32_t guest_instructions = 0;
  uint32_t reached_instructions = 0; ///< that the module was made of, callees included, each counted once
  uint32_t translated_values = 0, optimised_values = 0,
           lowered_values = 0; ///< values in blocks
  StageTimes times;
  passes::PipelineReport passes;                     ///< of the kernel itself
  std::vector<passes::PipelineReport> callee_passes; ///< of callees that are functions, in their order
  passes::DivergeResult diverged;
};

/// Decodes and translates, runs the passes, lowers waves to host invocations,
/// simplifies again, emits. Errors name the instruction; `check` if verify or
/// validate find something.
[[nodiscard]] Expected<CompiledKernel> compile(const container::ShaderBinary& binary,
                                               const container::Kernel& kernel,
                                               const CompileOptions& options);

/// The same from a program that stands for the kernel already; passes have not run on it yet, or not all.
/// `guest_*` of the result stay 0.
[[nodiscard]] Expected<CompiledKernel> compile_program(ir::Program program, const container::Kernel& kernel,
                                                       const CompileOptions& options);

/// Whether lanes that are off keep what a register held. For measuring, they may not: what comes out is
/// another program, the least that dropping selects could leave.
enum class InactiveLanes : uint8_t { kept, overwritten };

/// Translation and passes, nothing else. `callees` of the result are those that would become functions.
[[nodiscard]] Expected<ir::Program> optimised_program(const container::ShaderBinary& binary,
                                                      const container::Kernel& kernel,
                                                      const CompileOptions& options,
                                                      InactiveLanes inactive = InactiveLanes::kept);

/// The same, and what the host's invocations do: wave lowering, and diverge unless it is left out.
[[nodiscard]] Expected<ir::Program> lowered_program(const container::ShaderBinary& binary,
                                                    const container::Kernel& kernel,
                                                    const CompileOptions& options);

/// The SPIR-V validator for Vulkan 1.3, scalar block layout allowed. Error:
/// check, with its message.
[[nodiscard]] Expected<void> validate_spirv(std::span<const uint32_t> words);

} // namespace lanewise::runtime
