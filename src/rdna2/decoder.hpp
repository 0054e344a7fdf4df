// Machine code -> Instruction, for every gfx1030 encoding. Table-driven: one table look-up for the opcode,
// then fields by the word format.
//
// What is an error: an opcode number, source code or register tuple that gfx1030 does not define, and an
// instruction that its program cuts short. What is not: bits that the instruction does not use. The hardware
// ignores them and compilers leave junk there, so they are ignored here too (`has_ignored_bits` tells), and
// `Instruction` never shows them. docs/isa-notes.md lists where this differs from LLVM.
#pragma once

#include "rdna2/instruction.hpp"
#include "support/error.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lanewise::rdna2 {

/// Decodes the instruction at byte offset `pc` of `code` (a program's whole code, any alignment).
/// Errors (ErrorKind::input): "pc 0x40: word 0x........ is no gfx1030 instruction (why)", "pc 0x40:
/// instruction is truncated". Never reads outside `code`.
[[nodiscard]] Expected<Instruction> decode(std::span<const uint8_t> code, uint32_t pc, WaveSize wave);

/// Decodes all of `code` front to back, linear in its size; stops at the first word that is no instruction.
[[nodiscard]] Expected<std::vector<Instruction>> decode_program(std::span<const uint8_t> code, WaveSize wave);

/// Decodes front to back, appending to `out`, until `code` ends or a word is no instruction, and returns
/// the byte offset reached. For callers that keep what precedes data at the end of a program.
size_t decode_append(std::span<const uint8_t> code, WaveSize wave, std::vector<Instruction>& out);

/// Whether bits that gfx1030 ignores are set in the instruction's words; its text then assembles to other
/// bytes than these.
[[nodiscard]] bool has_ignored_bits(const Instruction& instruction);

} // namespace lanewise::rdna2
