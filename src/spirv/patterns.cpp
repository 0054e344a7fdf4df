#include "spirv/patterns.hpp"

namespace lanewise::spirv {

using ir::Op;
using ir::OpKind;
using ir::Type;
using ir::Value;

namespace {

bool is_memory(const ir::Function& f, Value v) {
  const OpKind kind = ir::info(f[v].op).kind;
  return kind == OpKind::load || kind == OpKind::store || kind == OpKind::atomic;
}

} // namespace

Patterns::Patterns(const ir::Function& f, const AddressFacts& addresses)
    : f_(f), home_(f.value_count(), UINT32_MAX), uses_(f.value_count()), absorbed_(f.value_count()) {
  std::vector<uint32_t> absorbing(f.value_count());
  for (uint32_t b = 0; b < f.blocks.size(); ++b)
    for (const Value v : f.blocks[b].instructions) home_[v.index] = b;
  const auto absorb = [&](Value user, Value v) { absorbing[v.index] += in_one_block(user, v); };
  for (const auto& block : f.blocks)
    for (const Value v : block.instructions)
      for (const Value o : f.operands(v)) ++uses_[o.index];
  for (const auto& block : f.blocks)
    for (const Value v : block.instructions) {
      if (const auto k = negated_operand(v)) absorb(v, f.operand(v, *k));
      if (loaded_pair(v))
        for (const Value half : f.operands(v)) absorb(v, half);
      if (funnel(v).from != 0) {
        const Value shift = f.operand(v, 0);
        absorb(v, shift);
        if (uses_[shift.index] == 1) absorb(shift, f.operand(shift, 0));
      }
      if (quotient(v).denominator)
        for (const Value o : f.operands(v)) { // the product and the difference, and what they are made of
          absorb(v, o);
          for (const Value part : f.operands(o)) {
            absorb(o, part);
            if (f_[part].op == Op::frcp) absorb(part, f.operand(part, 0));
          }
        }
      if (is_memory(f, v) && (address_in_halves(v) || addresses.split_lds(v).base))
        absorb(v, f.operand(v, 0));
    }
  for (uint32_t v = 1; v < f.value_count(); ++v) absorbed_[v] = uses_[v] != 0 && uses_[v] == absorbing[v];
}

std::optional<unsigned> Patterns::negated_operand(Value fadd) const {
  const ir::Inst& inst = f_[fadd];
  const auto control = ir::FloatControl::unpack(inst.imm);
  if (inst.op != Op::fadd || control.round != 0 || control.flush_in || control.flush_out) return {};
  for (const unsigned k : {1u, 0u}) {
    const Value o = f_.operand(fadd, k);
    if (f_[o].op == Op::fneg && in_one_block(fadd, o)) return k;
  }
  return {};
}

Value Patterns::loaded_pair(Value pack64) const {
  if (f_[pack64].op != Op::pack64) return {};
  const Value lo = f_.operand(pack64, 0), hi = f_.operand(pack64, 1);
  if (f_[lo].op != Op::extract || f_[hi].op != Op::extract || f_[lo].imm != 0 || f_[hi].imm != 1) return {};
  const Value tuple = f_.operand(lo, 0);
  const bool pair = f_[tuple].components == 2 && f_[tuple].type == Type::i32;
  return pair && tuple == f_.operand(hi, 0) && in_one_block(pack64, lo) && in_one_block(pack64, hi) ? tuple
                                                                                                    : Value{};
}

Patterns::Funnel Patterns::funnel(Value lo32) const {
  if (f_[lo32].op != Op::lo32) return {};
  const Value shift = f_.operand(lo32, 0);
  if (f_[shift].op != Op::lshr || !f_.is_constant(f_.operand(shift, 1)) || !in_one_block(lo32, shift))
    return {};
  const Value pack = f_.operand(shift, 0);
  const uint64_t from = f_[f_.operand(shift, 1)].imm & 63;
  if (f_[pack].op != Op::pack64 || from == 0 || from > 31 || !in_one_block(shift, pack)) return {};
  if (loaded_pair(pack)) return {};
  return {f_.operand(pack, 0), f_.operand(pack, 1), static_cast<unsigned>(from)};
}

Patterns::Quotient Patterns::quotient(Value fldexp) const {
  if (f_[fldexp].op != Op::fldexp || f_[fldexp].type != Type::f32) return {};
  const auto plain_op = [&](Value v, Op op) {
    const auto c = ir::FloatControl::unpack(f_[v].imm);
    return f_[v].op == op && c.round == 0 && !c.flush_in && !c.flush_out;
  };
  const Value product = f_.operand(fldexp, 0), difference = f_.operand(fldexp, 1);
  if (!plain_op(fldexp, Op::fldexp) || !plain_op(product, Op::fmul) || f_[difference].op != Op::sub)
    return {};
  if (!is_only(fldexp, product) || !is_only(fldexp, difference)) return {};
  const Value en = f_.operand(difference, 0), ed = f_.operand(difference, 1);
  for (const unsigned k : {0u, 1u}) {
    const Value mantissa = f_.operand(product, k), reciprocal = f_.operand(product, 1 - k);
    if (!plain_op(mantissa, Op::ffrexp_mant) || !plain_op(reciprocal, Op::frcp) ||
        !is_only(product, reciprocal))
      continue;
    const Value below = f_.operand(reciprocal, 0);
    if (!plain_op(below, Op::ffrexp_mant) || !plain_op(en, Op::ffrexp_exp) || !plain_op(ed, Op::ffrexp_exp))
      continue;
    const Quotient q{f_.operand(mantissa, 0), f_.operand(below, 0)};
    if (f_.operand(en, 0) == q.numerator && f_.operand(ed, 0) == q.denominator) return q;
  }
  return {};
}

bool Patterns::address_in_halves(Value memory_operation) const {
  const Value address = f_.operand(memory_operation, 0);
  return f_[address].op == Op::pack64 && !loaded_pair(address);
}

} // namespace lanewise::spirv
