// RDNA2 machine code -> IR (docs/translate.md).
#pragma once

#include "container/shader_binary.hpp"
#include "ir/ir.hpp"
#include "support/error.hpp"

#include <span>

namespace lanewise::translate {

struct TranslateOptions {
  /// Every workgroup fills its waves, so EXEC starts as all ones (a constant instead of an input).
  bool full_waves = false;
  /// Entries of functions that are called, not inlined; sorted.
  std::span<const uint32_t> functions{};
};

/// The kernel as one function: calls inlined, registers in SSA form, EXEC as a mask. Guest addresses in the
/// result (`pc`) are virtual addresses of the image.
/// Errors: malformed code (input); instructions, indirect calls and recursion that cannot be translated
/// (unsupported, naming pc and instruction); max_inlined_instructions and max_call_depth (limit).
/// Growth: near linear in instructions after inlining.
[[nodiscard]] Expected<ir::Function> translate(const container::ShaderBinary& binary,
                                               const container::Kernel& kernel,
                                               const TranslateOptions& options = {});

} // namespace lanewise::translate
