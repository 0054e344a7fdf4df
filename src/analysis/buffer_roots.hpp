// Which argument of a kernel an address comes from.
#pragma once

#include "ir/ir.hpp"

#include <optional>
#include <span>
#include <vector>

namespace lanewise::analysis {

/// For each value the argument whose pointer it was made of, together with nothing but numbers: its offset in
/// the kernarg segment. `kNoRoot` for numbers, and for what was made of several pointers or of pointers that
/// came out of memory.
inline constexpr uint32_t kNoRoot = ~0u;

/// `pointers`: offsets of the arguments that are 64-bit pointers to global memory, ascending. Near linear:
/// passes over the program until nothing changes, few in practice.
///
///     %1 = load.global (kernarg_ptr + 8) : 2 dwords      pointer at 8
///     pack64(%1.0, %1.1) + zext(%2 << 2)                 root 8
///     phi(that, phi + 4)                                 root 8, around the loop too
[[nodiscard]] std::vector<uint32_t> buffer_roots(const ir::Function& f, std::span<const uint32_t> pointers);

/// Where in the kernarg segment a load starts, if that is known.
[[nodiscard]] std::optional<uint32_t> kernarg_offset(const ir::Function& f, ir::Value load);

} // namespace lanewise::analysis
