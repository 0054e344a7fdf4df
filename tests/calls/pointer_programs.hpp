// Programs that call through pointers which the host passes.
#pragma once

#include "program_table.hpp"

namespace lanewise::calls {

/// A value that the host passes: the address of a label, or a number.
struct Word64 {
  std::string label;
  uint64_t number = 0; ///< added to the label's address
  Word64(const char* text) : label(text) {}
  Word64(const char* text, uint64_t plus) : label(text), number(plus) {}
  Word64(uint64_t value) : number(value) {}
};

/// Code from the label "callees%" on lies in a buffer of its own. s[2:3] holds `a`, s[4:5] `b`, and s[6:7]
/// the address of a buffer with the words of `table` (label "table" is its start).
struct PointerProgram {
  const char* name;
  std::string source;
  Word64 a = uint64_t{0}, b = uint64_t{0};
  std::vector<Word64> table{};
  uint32_t (*plus)(uint32_t i) = nullptr; ///< out[i] = i + plus(i)
  const char* refused = nullptr;          ///< without `plus`: part of the error of preparing
  const char* unlinked = nullptr;         ///< or of resolving and linking
};

/// All of them: the parts below, one file each.
[[nodiscard]] const std::vector<PointerProgram>& pointer_programs();
[[nodiscard]] std::vector<PointerProgram> copied_pointers();
[[nodiscard]] std::vector<PointerProgram> loaded_pointers();
[[nodiscard]] std::vector<PointerProgram> pointer_callees();
[[nodiscard]] std::vector<PointerProgram> unproven_pointers();
[[nodiscard]] std::vector<PointerProgram> refused_callees();

/// Callees f and g, which add 2 and 4 and return through s[30:31].
inline const std::string f_and_g = R"(
callees%:
f%:
  plus 2
  s_setpc_b64 s[30:31]
g%:
  plus 4
  s_setpc_b64 s[30:31]
)";

} // namespace lanewise::calls
