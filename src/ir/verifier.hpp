// Checks that a function keeps the rules of docs/ir.md.
#pragma once

#include "ir/ir.hpp"
#include "support/error.hpp"

namespace lanewise::ir {

/// Arity, types, immediates, phi operands, dominance, uniformity, terminators and block links. The error's
/// `where` names block and instruction as the printer does. Cost: near linear.
[[nodiscard]] Expected<void> verify(const Function& f);

} // namespace lanewise::ir
