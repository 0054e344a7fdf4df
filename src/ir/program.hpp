// A program in several functions: a kernel, and the callees that are called instead of inlined.
#pragma once

#include "ir/ir.hpp"

#include <vector>

namespace lanewise::ir {

/// A value that a call passes or takes back. `number` is the immediate of Op::param_scalar and
/// Op::call_scalar, or where it differs between lanes, of Op::param_vector and Op::call_vector.
struct InterfaceRegister {
  uint16_t number = 0;
  Type type = Type::i32;
  bool per_lane = false;
  friend bool operator==(const InterfaceRegister&, const InterfaceRegister&) = default;
};

struct CalleeFunction {
  Function function;                      ///< starts with Op::param_*, ends with Op::call_return
  std::vector<InterfaceRegister> params;  ///< operands of every Op::call of it, behind the target
  std::vector<InterfaceRegister> results; ///< operands of every Op::call_return
};

/// The immediate of Op::call is the index of a callee. Callees call only those before them, so nothing is
/// recursive. The call's target is not looked at.
struct Program {
  Function main;
  std::vector<CalleeFunction> callees;
};

} // namespace lanewise::ir
