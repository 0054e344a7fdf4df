// The floating-point part of evaluate.hpp.
#pragma once

#include "ir/evaluate.hpp"

namespace lanewise::ir {

/// Fills in the rows of the floating-point operations.
void add_float_evaluators(std::array<Evaluator, kOpCount>& table);

} // namespace lanewise::ir
