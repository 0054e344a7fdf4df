// Lanewise's public C++ API: load an RDNA2 program, look at it, recompile it to SPIR-V.
//
//   auto program = lanewise::Program::load_file("saxpy.co");
//   if (!program) return report(program.error());
//   auto module = program->compile("saxpy", {.workgroup = {256, 1, 1}});
//
// Needs C++23. Nothing here throws; every failure is an Error that says what, where and what can be done.
// A Program is immutable: all const members may be called from several threads at once.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lanewise/error.hpp"

namespace lanewise {

/// One entry of a kernel's argument block.
struct ArgumentInfo {
  std::string name;      ///< empty where the file does not say
  std::string type_name; ///< source spelling, as "float*"; empty where the file does not say
  std::string kind;    ///< "global_buffer", "by_value", "dynamic_shared_pointer", "hidden_block_count_x", ...
  uint32_t offset = 0; ///< bytes into the argument block
  uint32_t size = 0;   ///< bytes
};

struct KernelInfo {
  std::string name;
  unsigned wave_size = 32;                                   ///< 32 or 64 lanes
  uint32_t argument_bytes = 0;                               ///< of the whole argument block
  uint32_t lds_bytes = 0;                                    ///< static workgroup memory
  uint32_t scratch_bytes = 0;                                ///< private memory of a work-item
  std::optional<std::array<uint32_t, 3>> required_workgroup; ///< the only one it was compiled for
  uint32_t max_workgroup = 1024;                             ///< work-items
  std::vector<ArgumentInfo> arguments;
};

/// How a wave of the guest sits on invocations of the host (docs/lane-contract.md).
enum class WaveSeating : uint8_t {
  automatic,   ///< the first of the others that is possible: native, independent, folded
  native,      ///< one lane an invocation, a wave a subgroup; an error if the widths differ
  folded,      ///< each invocation carries several lanes
  independent, ///< one lane an invocation on subgroups of any width; an error if lanes have to do with each
               ///< other
};

struct SpirvOptions {
  std::array<uint32_t, 3> workgroup{0, 0, 0}; ///< work-items; zeros: the required one, else 64 x 1 x 1
  WaveSeating seating = WaveSeating::automatic;
  unsigned subgroup_size = 32;    ///< invocations of a subgroup on the device; 1 suits every device
  uint32_t dynamic_lds_bytes = 0; ///< workgroup memory behind the static one
  bool full_workgroups = false;   ///< promised: every dispatch is a multiple of the workgroup
  bool validate = false;          ///< run the SPIR-V validator on the result
};

/// A Vulkan 1.3 compute module, entry point "main", no descriptors. docs/abi.md has its push constants.
struct SpirvModule {
  std::vector<uint32_t> words;
  std::array<uint32_t, 3> local_size{1, 1, 1}; ///< host invocations of a workgroup
  uint32_t required_subgroup_size = 0;         ///< in full subgroups; 0: any
  uint32_t lds_bytes = 0;                      ///< Workgroup memory it declares
  /// Not 0: a workgroup that the grid cuts to n work-items must be dispatched with a local size of
  /// ceil(n / wave_items) * wave_invocations, by specialization constant 0 (docs/abi.md, "Cut workgroups").
  uint32_t wave_items = 0, wave_invocations = 0;
};

class Program {
 public:
  /// Reads code objects, clang offload bundles and raw descriptions (docs/containers.md). `target` picks an
  /// entry of a bundle, as "gfx1031".
  [[nodiscard]] static Expected<Program> load(std::span<const uint8_t> bytes, std::string_view target = {});
  [[nodiscard]] static Expected<Program> load_file(const std::string& path, std::string_view target = {});

  /// Machine code with a description in JSON: "lanewise-raw-1" without "words" (docs/containers.md).
  [[nodiscard]] static Expected<Program> load_raw(std::string_view description,
                                                  std::span<const uint8_t> code);

  [[nodiscard]] std::vector<KernelInfo> kernels() const;
  /// The kernel's instructions, one a line, as llvm-mc assembles them back to the same bytes.
  [[nodiscard]] Expected<std::string> disassemble(std::string_view kernel) const;
  /// Recompiles one kernel. Errors: call (no such kernel, sizes that cannot be), unsupported (naming pc and
  /// instruction), input, limit, and check if `validate` finds the module invalid.
  [[nodiscard]] Expected<SpirvModule> compile(std::string_view kernel,
                                              const SpirvOptions& options = {}) const;

 private:
  friend class ShaderLibrary;
  struct Contents;
  explicit Program(std::shared_ptr<const Contents> contents) : contents_(std::move(contents)) {}
  std::shared_ptr<const Contents> contents_;
};

/// "0.1.0"
[[nodiscard]] std::string_view version();

} // namespace lanewise
