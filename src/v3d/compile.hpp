// The whole way of a shader: listings in, words out, checked.
#pragma once

#include "v3d/allocate.hpp"
#include "v3d/qpu.hpp"

namespace lanewise::v3d {

struct Compiled {
  Allocation allocation;
  QpuProgram code;
  Figures figures;
  double milliseconds = 0; ///< of one processor, from text to words
};

/// Reads, allocates and schedules. Errors name the shader.
[[nodiscard]] Expected<Compiled> compile(const Shader& shader, const AllocateOptions& options);

/// The three checks: the symbolic checker, the rule validator, and runs of listing, allocation and words on
/// `seeds` made-up inputs. The error is of kind `check` and says which failed and where.
[[nodiscard]] Expected<void> verify(const Shader& shader, const Compiled& c, unsigned seeds = 2);

} // namespace lanewise::v3d
