// Spelling of types and of the immediate operands of each operation, shared by printer and parser
// (docs/ir.md, "Text form").
#pragma once

#include "ir/ir.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace lanewise::ir {

[[nodiscard]] std::string_view name(Type);
[[nodiscard]] std::optional<Type> type_named(std::string_view);

/// The operation's name in text: the enumerator without a trailing '_'.
[[nodiscard]] std::string_view name(Op);
[[nodiscard]] std::optional<Op> op_named(std::string_view);

[[nodiscard]] std::string_view name(Input);
[[nodiscard]] std::string_view name(TrapReason);
[[nodiscard]] std::string_view name(AtomicOp);

/// Appends what stands behind the operation's name: "", ".row_shr.3", ".global.4.align16". Immediates that
/// the operation's own spelling cannot express are written ".imm0x1f".
void spell_immediate(std::string& out, Op op, uint64_t imm);

/// Reads it back. `suffix` is empty or starts with '.'. None if a part is not known.
[[nodiscard]] std::optional<uint64_t> read_immediate(Op op, std::string_view suffix);

/// Bits of a constant as text: "true", "-3", "0x80000000", "1.5", and back. Floats that are no short decimal
/// number are written in hexadecimal bits.
void spell_constant(std::string& out, Type type, uint64_t bits);
[[nodiscard]] std::optional<uint64_t> read_constant(Type type, std::string_view text);

} // namespace lanewise::ir
