// Folding of floating point: only what keeps every bit, NaN payloads and signs of zero included.
#include "ir/fold_rules.hpp"

namespace lanewise::ir::rules {
namespace {

// fneg(fneg(x)) -> x
Value fold_fneg(Builder& b, const Request& r) {
  const View v(b, r);
  return v.is(v[0], Op::fneg) ? v.arg(v[0], 0) : Value{};
}

// fabs(fabs(x)) -> fabs(x)    fabs(fneg(x)) -> fabs(x)
Value fold_fabs(Builder& b, const Request& r) {
  const View v(b, r);
  if (v.is(v[0], Op::fabs)) return v[0];
  return v.is(v[0], Op::fneg) ? b.fabs(v.arg(v[0], 0)) : Value{};
}

// fcanonicalize(x) -> x where x is canonical under the same control already
Value fold_canonicalize(Builder& b, const Request& r) {
  const View v(b, r);
  const Inst& x = v.f[v[0]];
  const FloatControl mine = FloatControl::unpack(r.imm), its = FloatControl::unpack(x.imm);
  switch (x.op) {
  case Op::fcanonicalize:
  case Op::fadd:
  case Op::fmul:
  case Op::ffma: break;
  default: return {};
  }
  return (!mine.flush_in && !mine.flush_out) || its.flush_out ? v[0] : Value{};
}

// fclamp(fclamp(x)) -> fclamp(x)
Value fold_clamp(Builder& b, const Request& r) {
  const View v(b, r);
  return v.is(v[0], Op::fclamp) && v.f[v[0]].imm == r.imm ? v[0] : Value{};
}

} // namespace

void add_float_rules(RuleTable& t) {
  const auto at = [&](Op op) -> Rule& { return t[static_cast<unsigned>(op)]; };
  at(Op::fneg) = fold_fneg;
  at(Op::fabs) = fold_fabs;
  at(Op::fcanonicalize) = fold_canonicalize;
  at(Op::fclamp) = fold_clamp;
}

} // namespace lanewise::ir::rules
