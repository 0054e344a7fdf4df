// Programs whose calls lead to fixed places in the same code.
#pragma once

#include "program_table.hpp"

namespace lanewise::calls {

struct StaticProgram {
  const char* name;
  std::string source;
  /// out[i] = i + plus(i)
  uint32_t (*plus)(uint32_t i) = nullptr;
  /// Without `plus`: part of the translation's error, or of the error that running it ends with.
  const char* refused = nullptr;
  const char* trapped = nullptr;
};

[[nodiscard]] const std::vector<StaticProgram>& static_programs();
/// The part of them that is refused, or traps.
[[nodiscard]] std::vector<StaticProgram> refused_static_programs();

} // namespace lanewise::calls
