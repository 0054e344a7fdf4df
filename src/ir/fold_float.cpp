// Folding of floating point: only what keeps every bit, NaN payloads and signs of zero included.
#include "ir/float_facts.hpp"
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

// fsqrt.flush_in.flush_out(x) -> fsqrt(x)    where neither x nor its root can be denormal; so with the others
Value fold_flushing(Builder& b, const Request& r) {
  const FloatControl before = FloatControl::unpack(r.imm);
  FloatControl after = before;
  after.flush_in = before.flush_in && !never_denormal(b.function, r.operands[0]);
  after.flush_out = before.flush_out && !gives_no_denormal(b.function, r.op, r.operands);
  if (after.pack() == before.pack()) return {};
  return b.emit(r.op, {r.operands[0]}, r.type, after.pack());
}

} // namespace

void add_float_rules(RuleTable& t) {
  const auto at = [&](Op op) -> Rule& { return t[static_cast<unsigned>(op)]; };
  at(Op::fneg) = fold_fneg;
  at(Op::fabs) = fold_fabs;
  at(Op::fcanonicalize) = fold_canonicalize;
  at(Op::fclamp) = fold_clamp;
  for (const Op op : {Op::fsqrt, Op::frcp, Op::frsq, Op::flog2, Op::fexp2, Op::fsin, Op::fcos})
    at(op) = fold_flushing;
}

} // namespace lanewise::ir::rules
