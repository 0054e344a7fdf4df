// HSA code objects: ELF, metadata, kernel descriptors and relocations put together.
#pragma once

#include "container/shader_binary.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <span>
#include <string_view>

namespace lanewise::container {

/// True for the processors whose ISA is RDNA2: "gfx1030" to "gfx1036".
[[nodiscard]] bool is_rdna2(std::string_view processor);

/// Reads a code object of version 3, 4 or 5 for gfx1030 to gfx1036. Errors: input, unsupported (another
/// version, processor or operating system; an external symbol), limit.
[[nodiscard]] Expected<ShaderBinary> load_code_object(std::span<const uint8_t> file);

} // namespace lanewise::container
