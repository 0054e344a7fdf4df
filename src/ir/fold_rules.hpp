// Internal to ir/fold: the rule tables and what all rules use.
#pragma once

#include "ir/builder.hpp"
#include "ir/evaluate.hpp"
#include "ir/fold.hpp"

namespace lanewise::ir::rules {

/// Null when the rule does not apply.
using Rule = Value (*)(Builder&, const Request&);
using RuleTable = std::array<Rule, kOpCount>;

void add_integer_rules(RuleTable&);        // fold_integer.cpp
void add_bit_rules(RuleTable&);            // fold_bits.cpp
void add_byte_rules(RuleTable&);           // fold_bytes.cpp
void add_representation_rules(RuleTable&); // fold_representation.cpp
void add_lane_rules(RuleTable&);           // fold_lanes.cpp
void add_float_rules(RuleTable&);          // fold_float.cpp

/// Reading access to the operands of a request.
struct View {
  View(Builder& builder, const Request& r) : b(builder), f(builder.function), request(r) {}
  Builder& b;
  const Function& f;
  const Request& request;

  [[nodiscard]] Value operator[](unsigned i) const { return request.operands[i]; }
  [[nodiscard]] bool is(Value v, Op op) const { return f[v].op == op; }
  [[nodiscard]] Value arg(Value v, unsigned i) const { return f.operand(v, i); }
  [[nodiscard]] bool is_constant(Value v) const { return f.is_constant(v); }
  [[nodiscard]] bool is_zero(Value v) const { return f.is_constant(v, 0); }
  [[nodiscard]] bool is_ones(Value v) const { return f.is_constant(v, low_bits(bit_width(f[v].type))); }
  [[nodiscard]] uint64_t bits(Value v) const { return f[v].imm; }
  [[nodiscard]] Type type(Value v) const { return f[v].type; }
  [[nodiscard]] unsigned width(Value v) const { return bit_width(f[v].type); }
  /// One is the `not_` of the other.
  [[nodiscard]] bool opposite(Value x, Value y) const {
    return (is(x, Op::not_) && arg(x, 0) == y) || (is(y, Op::not_) && arg(y, 0) == x);
  }
  [[nodiscard]] Value zero() const { return b.constant(request.type, 0); }
  [[nodiscard]] Value ones() const { return b.constant(request.type, ~uint64_t{0}); }
};

} // namespace lanewise::ir::rules
