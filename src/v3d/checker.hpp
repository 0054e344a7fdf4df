// The symbolic checker: every operand reads the value that it read in the listing, on every path, in every
// lane that matters. It knows nothing of how the allocation was found, only the two programs.
#pragma once

#include "v3d/qpu.hpp"

namespace lanewise::v3d {

/// Holds an allocated program (registers, spill code, any legal order inside the blocks) against its listing.
/// The blocks must correspond one to one. The error, of kind `check`, names block and difference.
/// Growth: a few passes over both programs; each pass costs live values times registers at block ends.
[[nodiscard]] Expected<void> check_allocation(const Program& listing, const Program& allocated);

/// The same for words, with delay slots and the coefficient's delay.
[[nodiscard]] Expected<void> check_words(const Program& listing, const QpuProgram& words);

/// The validator: every rule of the machine that words can break. Errors name the word.
[[nodiscard]] Expected<void> validate(const QpuProgram& q);

} // namespace lanewise::v3d
