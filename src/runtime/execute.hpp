// The executors of a launch. Each overwrites the contents of Launch::buffers
// with what the kernel left there.
#pragma once

#include <chrono>
#include <functional>

#include "ir/interpreter.hpp"
#include "ir/ir.hpp"
#include "runtime/launch.hpp"
#include "runtime/pipeline_statistics.hpp"

namespace lanewise::rdna2 {
struct SeenCompare;
}

namespace lanewise::runtime {

class LaunchMemory;
class VulkanDevice;
struct CompiledKernel;
struct CompileOptions;

struct ExecuteOptions {
  /// Guest addresses of the buffers, where results must not depend on where
  /// memory lies; empty: the executor's own choice. Vulkan cannot place
  /// buffers, so it is asked first and the others follow.
  std::vector<uint64_t> addresses;
  unsigned threads = 0;          ///< host threads of the emulator and the interpreter; 0: all cores
  unsigned host_invocations = 0; ///< interpreter: of a wave, for a program
                                 ///< after wave lowering; 0: before it
  ir::LaneOrder lane_order = ir::LaneOrder::together; ///< interpreter
  /// Then it is an error: of all waves in the interpreter, of one in the emulator.
  uint64_t max_instructions = uint64_t{1} << 32;
  /// Emulator: what a program may not rely on is chosen otherwise, addresses included (rdna2::Dispatch).
  unsigned other_turns = 0;
  std::vector<rdna2::SeenCompare>* compares = nullptr; ///< emulator: as in rdna2::Dispatch
  unsigned repeat = 1; ///< Vulkan: dispatches in a row, for timing
  std::chrono::milliseconds timeout{60000};
  bool driver_statistics = false; ///< Vulkan: fill RunReport::driver
  /// Of a linked program: makes its callee table once it is known where everything lies (runtime/linked.hpp).
  std::function<Expected<std::vector<uint8_t>>(const LaunchMemory&)> callee_table;
  size_t callee_table_bytes = 0;
};

struct RunReport {
  double prepare_ms = 0;                   ///< Vulkan: making the pipeline
  double run_ms = 0;                       ///< one dispatch: by timestamps where there are some, else
                                           ///< by the host's clock
  uint64_t instructions = 0;               ///< emulator: executed, once for a wave
  std::vector<uint64_t> addresses;         ///< where the buffers were
  std::vector<PipelineStatistic> driver{}; ///< what the Vulkan driver says of its code, if asked for
};

/// The built-in emulator, on the machine code itself.
[[nodiscard]] Expected<RunReport> run_on_emulator(Launch& launch, const ExecuteOptions& options = {});

/// The IR interpreter, on a translation of the launch's kernel.
[[nodiscard]] Expected<RunReport> run_on_interpreter(Launch& launch, const ir::Function& function,
                                                     const ExecuteOptions& options = {});

/// The same on the program that all passes leave.
[[nodiscard]] Expected<RunReport> run_on_interpreter(Launch& launch, const ExecuteOptions& options = {});

/// The recompiled kernel on a Vulkan device. A trap of the guest is an Error
/// that names it.
[[nodiscard]] Expected<RunReport> run_on_vulkan(Launch& launch, VulkanDevice& device,
                                                const CompiledKernel& kernel,
                                                const ExecuteOptions& options = {});

/// Puts ExecuteOptions::callee_table behind the dispatch packet of placed memory.
[[nodiscard]] Expected<void> fill_callee_table(LaunchMemory& memory, const ExecuteOptions& options);

/// Options of `compile` that fit this launch on this device.
[[nodiscard]] CompileOptions compile_options(const Launch& launch, VulkanDevice& device);

} // namespace lanewise::runtime
