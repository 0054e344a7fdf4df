// The floating-point part of evaluate.hpp.
#pragma once

#include "ir/evaluate.hpp"

namespace lanewise::ir {

/// Fill in the rows of arithmetic, comparison, rounding and conversion (evaluate_float.cpp), and of the
/// transcendental functions and the division helpers (evaluate_transcendental.cpp).
void add_float_evaluators(std::array<Evaluator, kOpCount>& table);
void add_transcendental_evaluators(std::array<Evaluator, kOpCount>& table);

} // namespace lanewise::ir
