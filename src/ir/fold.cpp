#include "ir/fold_rules.hpp"

#include <algorithm>

namespace lanewise::ir {
namespace {

/// op(c1, c2, ...) -> c
Value fold_constants(Builder& b, const Request& r) {
  const Function& f = b.function;
  if (r.operands.empty() || r.operands.size() > 4 || r.components != 1 || !f.is_constant(r.operands[0]) ||
      !is_exact(r.op))
    return {};
  LaneOperation lane{.type = r.type, .operand_type = f[r.operands[0]].type, .imm = r.imm};
  for (size_t i = 0; i < r.operands.size(); ++i) {
    if (!f.is_constant(r.operands[i])) return {};
    lane.v[i] = f[r.operands[i]].imm;
  }
  return b.constant(r.type, evaluator(r.op)(lane));
}

rules::RuleTable make_rules() {
  rules::RuleTable table{};
  rules::add_integer_rules(table);
  rules::add_bit_rules(table);
  rules::add_byte_rules(table);
  rules::add_representation_rules(table);
  rules::add_lane_rules(table);
  rules::add_float_rules(table);
  return table;
}

} // namespace

Value fold(Builder& b, const Request& request) {
  static const rules::RuleTable rules = make_rules();
  if (const Value v = fold_constants(b, request)) return v;
  const rules::Rule rule = rules[static_cast<unsigned>(request.op)];
  return rule ? rule(b, request) : Value{};
}

} // namespace lanewise::ir
