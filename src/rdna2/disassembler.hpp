// Instruction -> assembler text, the same as llvm-mc 19 prints for -mcpu=gfx1030.
#pragma once

#include "rdna2/instruction.hpp"

#include <string>

namespace lanewise::rdna2 {

/// "v_add_f32_e32 v0, v1, v2": one line without indentation or newline.
[[nodiscard]] std::string disassemble(const Instruction& instruction, WaveSize wave);

/// Appends that line to `out`.
void disassemble_append(std::string& out, const Instruction& instruction, WaveSize wave);

/// ".long 0x7e000281": the words, for code that is no instruction or whose text would not assemble back.
[[nodiscard]] std::string words_as_data(const Instruction& instruction);

/// Whether llvm-mc makes the same bytes from the text. It does not where bits are set that gfx1030 ignores,
/// where a literal has a value that an inline constant has too, and for inline floats as 16-bit integers.
[[nodiscard]] bool assembles_back(const Instruction& instruction);

} // namespace lanewise::rdna2
