// Loads and stores at any byte, made of accesses of whole words: what SPIR-V's arrays of words need for LDS
// and scratch, and its pointers for global memory on devices that do not access that at any byte.
#pragma once

#include "spirv/memory_access.hpp"

namespace lanewise::spirv {

/// `bytes` (2, or a multiple of 4) at the site's address, as dwords; the upper half of 2 bytes is undefined.
/// Reads the words that hold them and no other.
[[nodiscard]] std::vector<Expr> load_anywhere(const AccessSite& s, unsigned bytes);

/// The low `bytes` bytes (2, or 4 for each dword) of `data`. What lies around them in their words keeps its
/// value, also when other lanes write it at the same time.
void store_anywhere(const AccessSite& s, std::span<const Expr> data, unsigned bytes);

} // namespace lanewise::spirv
