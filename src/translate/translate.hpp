// RDNA2 machine code -> IR (docs/translate.md).
#pragma once

#include "container/shader_binary.hpp"
#include "ir/ir.hpp"
#include "support/error.hpp"

#include <span>
#include <utility>
#include <vector>

namespace lanewise::translate {

class Code;

/// A function that is called, not inlined: all that its callers have to know.
struct CalledFunction {
  uint32_t entry = 0;
  std::vector<uint16_t> params;  ///< registers (translate::reg) that it reads
  std::vector<uint16_t> results; ///< registers that it may change
};

struct TranslateOptions {
  /// Every workgroup fills its waves, so EXEC starts as all ones (a constant instead of an input).
  bool full_waves = false;
  /// Sorted by entry.
  std::span<const CalledFunction> functions{};
  /// For measuring only: VGPR writes under EXEC change every lane, so no old value is kept. The result is
  /// another program; it shows the least that dropping selects could leave (docs/statistics.md).
  bool overwrite_inactive = false;
  bool mark_exec = false; ///< translate/exec_marks.hpp
  /// The kernel's code, if it has been explored already; it is moved from.
  Code* explored = nullptr;
  /// Gets address and bytes of each stretch of code that the program was made of, behind what is there.
  std::vector<std::pair<uint32_t, uint32_t>>* decoded = nullptr;
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
