// Local folding: what an operation on known operands already is. The builder asks before it makes an
// instruction and passes/simplify asks again for every instruction, so that each rewrite is written once.
//
// Every rule is drawn above the function that does it (fold_*.cpp) and is exact: same bits in every lane,
// NaN payloads included.
#pragma once

#include "ir/ir.hpp"

namespace lanewise::ir {

class Builder;

/// An operation that is asked for but not made yet. Operands of commutative operations are in the order of
/// goes_first.
struct Request {
  Op op{};
  std::span<const Value> operands;
  Type type = Type::none; ///< of the result
  uint64_t imm = 0;
  uint8_t components = 1;
};

/// The value that the request's result equals, or none. Simpler instructions that a rule needs are made
/// through `b`. Cost: constant time per rule, but for chains of lane writes (see fold_lanes.cpp).
[[nodiscard]] Value fold(Builder& b, const Request& request);

/// In its first two operands.
[[nodiscard]] constexpr bool is_commutative(Op op) {
  switch (op) {
  case Op::add:
  case Op::mul:
  case Op::mul_hi_u:
  case Op::mul_hi_s:
  case Op::and_:
  case Op::or_:
  case Op::xor_:
  case Op::umin:
  case Op::umax:
  case Op::smin:
  case Op::smax:
  case Op::add_c:
  case Op::carry:
  case Op::eq:
  case Op::ne: return true;
  default: return false;
  }
}
/// Order of the operands of commutative operations: constants last, else older values first.
[[nodiscard]] inline bool goes_first(const Function& f, Value a, Value b) {
  const bool constant_a = f.is_constant(a), constant_b = f.is_constant(b);
  return constant_a != constant_b ? constant_b : a < b;
}

} // namespace lanewise::ir
