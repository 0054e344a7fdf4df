// The one way in: any container that Lanewise knows, recognised by its content, becomes a ShaderBinary.
#pragma once

#include "container/shader_binary.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace lanewise::container {

struct LoadOptions {
  /// Of an offload bundle, the entry to take: "gfx1031" or a whole entry ID. Empty: gfx1030, else any RDNA2.
  std::string target;
  /// Folder in which a raw description's "code_file" is looked up. Empty: files are not opened.
  std::filesystem::path folder;
};

/// Loads HSA code objects (versions 3 to 5), clang offload bundles and raw descriptions (docs/containers.md).
/// Errors: input (not a container, or malformed), unsupported (a kind that is known but not read: compressed
/// bundles, PAL, Mesa, other processors, LLVM bitcode, SPIR-V), limit, call (the target is not in the
/// bundle), system (the description's code file cannot be read).
[[nodiscard]] Expected<ShaderBinary> load(std::span<const uint8_t> bytes, const LoadOptions& options = {});

/// Reads and loads a file; a raw description may name a code file beside it. Errors as `load`, with the path
/// in `where`; system when the file cannot be read.
[[nodiscard]] Expected<ShaderBinary> load_file(const std::filesystem::path& path, LoadOptions options = {});

/// The contents of a file. Errors: system, limit (max_file_bytes).
[[nodiscard]] Expected<std::vector<uint8_t>> read_file(const std::filesystem::path& path);

} // namespace lanewise::container
