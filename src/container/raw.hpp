// Raw machine code with a JSON description of what the hardware is set up for (docs/containers.md has the
// schema).
#pragma once

#include "container/shader_binary.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace lanewise::container {

/// Value of a description's "format".
inline constexpr std::string_view raw_format = "lanewise-raw-1";

/// Loads a description whose code is inside ("words") or in a file ("code_file": a plain file name) of
/// `folder`. Errors: input (not JSON, a wrong or unknown field), unsupported (another target), limit, system
/// (code file).
[[nodiscard]] Expected<ShaderBinary> load_raw(std::span<const uint8_t> json,
                                              const std::filesystem::path& folder);

/// Loads a description that goes with code already in memory; "words" and "code_file" must be absent.
[[nodiscard]] Expected<ShaderBinary> load_raw_code(std::span<const uint8_t> json,
                                                   std::span<const uint8_t> code);

} // namespace lanewise::container
