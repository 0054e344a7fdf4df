#include "ir/evaluate_float.hpp"

namespace lanewise::ir {

void add_float_evaluators(std::array<Evaluator, kOpCount>&) {}

} // namespace lanewise::ir
