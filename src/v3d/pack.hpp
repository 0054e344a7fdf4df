// QPU words as 64 bits, as text, and back.
#pragma once

#include "support/error.hpp"
#include "v3d/isa.hpp"

#include <string>
#include <string_view>

namespace lanewise::v3d {

/// Decodes one instruction word. A word that the table does not cover is an Error that shows it.
[[nodiscard]] Expected<Word> unpack(Gpu gpu, std::uint64_t bits);

/// Encodes one word. fadd, faddnf, fmin and fmax may swap their operands, since their order is the opcode.
/// On 4.2 the ports must be assigned (assign_ports). Errors name what the word cannot hold.
[[nodiscard]] Expected<std::uint64_t> pack(Gpu gpu, Word word);

/// 4.2: gives every register-file and immediate operand a read port; false if the word needs more than it
/// has. 7.1: true if the word has at most one small immediate.
[[nodiscard]] bool assign_ports(Gpu gpu, Word& word);

/// The text of a word as the V3D tools print it ("fadd rf21, rf13, rf44 ; fmul rf62, rf48, rf4").
[[nodiscard]] std::string to_text(Gpu gpu, const Word& word);

/// Reads that text; what stands in parentheses at the end (the uniform's value) is ignored.
[[nodiscard]] Expected<Word> parse_word(Gpu gpu, std::string_view line);

} // namespace lanewise::v3d
