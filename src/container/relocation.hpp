// Applies the dynamic relocations of an AMDGPU image (LLVM AMDGPU usage, "Relocation Records").
#pragma once

#include "container/elf.hpp"

namespace lanewise::container {

/// Applies all relocations of the image to its segments, for the image at its own addresses, and returns the
/// addresses of the 8-byte words that now hold an image address, sorted. Errors: input (a place outside the
/// image, an unknown type), unsupported (a symbol that another code object would have to define).
[[nodiscard]] Expected<std::vector<uint64_t>> apply_relocations(ElfImage& image);

} // namespace lanewise::container
