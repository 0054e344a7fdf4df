// Which functions a kernel calls, how large they are, and from where they are called.
#pragma once

#include "container/shader_binary.hpp"
#include "support/error.hpp"
#include "translate/code.hpp"

#include <optional>
#include <vector>

namespace lanewise::translate {

struct SurveyedFunction {
  uint32_t entry = 0;
  uint32_t instructions = 0;   ///< its own, callees apart
  std::vector<uint32_t> calls; ///< for each call site, the index of the function called
  /// It returns wherever it ends, and all its calls lead to proven places: it can be called as it is.
  bool returns = false;
  bool pointers = false; ///< it has calls that wait for a dispatch
  uint32_t scratch = 0;  ///< accesses of private memory, apart from what its callees do
};

/// Functions in the order in which they were found; 0 is the kernel. Empty if the kernel has no calls. Calls
/// whose target only a caller's registers tell are not followed. Errors: what the kernel's own code cannot be
/// translated for. Growth: linear in the code, each function looked at once.
/// `explored`: gets the kernel's code as it was decoded.
[[nodiscard]] Expected<std::vector<SurveyedFunction>> survey_calls(const container::ShaderBinary& binary,
                                                                   const container::Kernel& kernel,
                                                                   std::optional<Code>* explored = nullptr);

} // namespace lanewise::translate
