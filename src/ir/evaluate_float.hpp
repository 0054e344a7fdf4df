// The floating-point part of evaluate.hpp.
#pragma once

#include "ir/evaluate.hpp"
#include "ir/soft_float.hpp"

namespace lanewise::ir {

/// Fill in the rows of arithmetic, comparison, rounding and conversion (evaluate_float.cpp), and of the
/// transcendental functions and the division helpers (evaluate_transcendental.cpp).
void add_float_evaluators(std::array<Evaluator, kOpCount>& table);
void add_transcendental_evaluators(std::array<Evaluator, kOpCount>& table);

/// The operand's format, how it computes, operand i and a result, flushed as the control says.
inline soft::Format format(const LaneOperation& x) { return soft::format(x.operand_type); }
inline FloatControl control(const LaneOperation& x) { return FloatControl::unpack(x.imm); }
inline uint64_t input(const LaneOperation& x, unsigned i) {
  return soft::flush(format(x), x.v[i], control(x).flush_in);
}
inline uint64_t output(const LaneOperation& x, uint64_t bits) {
  return soft::flush(format(x), bits, control(x).flush_out);
}

} // namespace lanewise::ir
