// Instruction -> words: the inverse of the decoder.
#pragma once

#include "rdna2/instruction.hpp"

#include <array>
#include <cstdint>

namespace lanewise::rdna2 {

struct EncodedWords {
  std::array<uint32_t, 5> words{};
  unsigned count = 0;
};

/// The words of an instruction that `decode` made, with every bit that the instruction does not use as
/// llvm-mc sets it.
[[nodiscard]] EncodedWords encode(const Instruction& instruction);

} // namespace lanewise::rdna2
