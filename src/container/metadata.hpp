// The msgpack metadata of an HSA code object (LLVM AMDGPU usage, "Code Object V3..V5 Metadata").
#pragma once

#include "container/shader_binary.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lanewise::container {

/// What the metadata says of one kernel.
struct KernelMetadata {
  std::string name, symbol;              ///< symbol: of the descriptor, "NAME.kd"
  std::vector<KernelArgument> arguments; ///< in the file's order
  std::optional<std::array<uint32_t, 3>> required_workgroup_size;
  std::optional<uint32_t> wavefront_size, max_flat_workgroup_size, kernarg_align, kernarg_size;
  bool uniform_workgroup_size = false;
  bool uses_dynamic_stack = false;
};

struct CodeObjectMetadata {
  uint32_t major = 1, minor = 0; ///< amdhsa.version
  std::string target;            ///< amdhsa.target; empty before version 4
  std::vector<KernelMetadata> kernels;
  std::vector<std::string> printf_formats;
};

/// Parses the note's contents. Keys that are not known are skipped. Errors (input): not msgpack, a value of
/// the wrong type, an argument without kind, offset or size.
[[nodiscard]] Expected<CodeObjectMetadata> parse_metadata(std::span<const uint8_t> note);

} // namespace lanewise::container
