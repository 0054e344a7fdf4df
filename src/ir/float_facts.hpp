// What is known of a float without computing it.
#pragma once

#include <optional>

#include "ir/ir.hpp"

namespace lanewise::ir {

/// Exponents that a condition chooses between, or one (no condition).
struct ExponentChoice {
  Value condition;
  int32_t yes = 0, no = 0;
};
/// c, select(m, c, d), and such a thing shifted left.
[[nodiscard]] std::optional<ExponentChoice> exponent_choice(const Function& f, Value v);

/// The value is surely no denormal. Looks through signs and choices, a few values deep.
[[nodiscard]] bool never_denormal(const Function& f, Value v);

/// `op` on operands of which none is denormal, or which it flushes, surely gives no denormal.
[[nodiscard]] bool gives_no_denormal(const Function& f, Op op, std::span<const Value> operands);

} // namespace lanewise::ir
