// EXEC in sight: a translation in which every instruction is marked with the mask that it runs under. For
// showing, not for running: marks are stores to an address that no program has, so that passes keep the masks
// and simplify them as they would any other.
#pragma once

#include "translate/translate.hpp"

namespace lanewise::translate {

/// Address of the stores that are marks.
inline constexpr uint64_t kMarkAddress = 0xffff'ffff'dead'0000;

/// The kernel with all calls inlined. Errors as translate().
[[nodiscard]] Expected<ir::Function> translate_with_marks(const container::ShaderBinary& binary,
                                                          const container::Kernel& kernel, bool full_waves);

[[nodiscard]] inline bool is_mark(const ir::Function& f, ir::Value v) {
  return f[v].op == ir::Op::store && f.is_constant(f.operand(v, 0), kMarkAddress);
}
/// EXEC in front of the instruction that the mark's pc names.
[[nodiscard]] inline ir::Value marked_mask(const ir::Function& f, ir::Value mark) {
  return f.operand(mark, 1);
}

} // namespace lanewise::translate
