#include "ir/float_facts.hpp"

#include "ir/soft_float.hpp"

namespace lanewise::ir {
namespace {

constexpr unsigned kMaxDepth = 4;

/// Scaled up by `yes` where it is below the least normal number, as before square roots: by enough to make
/// any denormal normal.
bool scales_denormals(const Function& f, Value fldexp) {
  const Value x = f.operand(fldexp, 0);
  const soft::Format format = soft::format(f[x].type);
  const auto choice = exponent_choice(f, f.operand(fldexp, 1));
  if (!choice || !choice->condition || choice->no != 0) return false;
  const auto enough = static_cast<int32_t>(format.fraction_bits);
  if (choice->yes < enough || choice->yes > format.bias() / 2) return false;
  const Value compare = choice->condition;
  if (f[compare].op != Op::fcmp || FloatControl::unpack(f[compare].imm).flush_in) return false;
  const unsigned predicate = fcmp_predicate(f[compare].imm);
  constexpr unsigned less = 1, greater = 4, unordered = 8;
  const uint64_t least_normal = uint64_t{1} << format.fraction_bits;
  const Value a = f.operand(compare, 0), b = f.operand(compare, 1);
  if (a == x && f.is_constant(b, least_normal)) return (predicate & ~unordered) == less;
  return b == x && f.is_constant(a, least_normal) && (predicate & ~unordered) == greater;
}

bool never_denormal(const Function& f, Value v, unsigned depth) {
  const Inst& inst = f[v];
  if (f.is_constant(v)) return !soft::is_denormal(soft::format(inst.type), inst.imm);
  if (depth == kMaxDepth) return false;
  const auto operand = [&](unsigned i) { return never_denormal(f, f.operand(v, i), depth + 1); };
  switch (inst.op) {
  case Op::fneg:
  case Op::fabs: return operand(0);
  case Op::select: return operand(1) && operand(2);
  case Op::fldexp: return FloatControl::unpack(inst.imm).flush_out || scales_denormals(f, v);
  case Op::fadd:
  case Op::fmul:
  case Op::ffma:
  case Op::frcp:
  case Op::fexp2: return FloatControl::unpack(inst.imm).flush_out;
  default: return gives_no_denormal(f, inst.op, f.operands(v));
  }
}

} // namespace

std::optional<ExponentChoice> exponent_choice(const Function& f, Value v) {
  const auto number = [&](Value c) { return static_cast<int32_t>(f[c].imm); };
  if (f.is_constant(v)) return ExponentChoice{{}, number(v), number(v)};
  if (f[v].op == Op::select && f.is_constant(f.operand(v, 1)) && f.is_constant(f.operand(v, 2)))
    return ExponentChoice{f.operand(v, 0), number(f.operand(v, 1)), number(f.operand(v, 2))};
  if (f[v].op != Op::shl || !f.is_constant(f.operand(v, 1))) return {};
  auto choice = exponent_choice(f, f.operand(v, 0));
  if (!choice) return {};
  for (int32_t* e : {&choice->yes, &choice->no})
    *e = static_cast<int32_t>(static_cast<uint32_t>(*e) << (f[f.operand(v, 1)].imm & 31));
  return choice;
}

bool never_denormal(const Function& f, Value v) { return never_denormal(f, v, 0); }

bool gives_no_denormal(const Function& f, Op op, std::span<const Value> operands) {
  switch (op) {
  case Op::fsqrt: // of a denormal it is far above the least normal number
  case Op::frsq:
  case Op::flog2: // next to 1 it is as far from 0 as neighbours of 1 are from 1
  case Op::s2f:
  case Op::u2f:
  case Op::ffrexp_mant: return true;
  case Op::frcp: { // 1/x is denormal for the greatest numbers only
    Value x = operands[0];
    if (f[x].op == Op::fneg || f[x].op == Op::fabs) x = f.operand(x, 0);
    return f[x].op == Op::ffrexp_mant || f[x].op == Op::fsqrt;
  }
  default: return false;
  }
}

} // namespace lanewise::ir
