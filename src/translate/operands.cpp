// Registers and scalar operands of the Translator.
#include "container/guest_abi.hpp"
#include "translate/translator.hpp"

namespace lanewise::translate {

using ir::Op;

Value Translator::sgpr(unsigned r) {
  if (r == reg::null) return b.i32(0);
  if (r == reg::exec_lo) return wave64() ? b.lo32(b.ballot(exec())) : b.ballot(exec());
  if (r == reg::exec_hi && wave64()) return b.hi32(b.ballot(exec()));
  return ssa_.read(r);
}

void Translator::set_sgpr(unsigned r, Value v) {
  if (r == reg::null) return;
  if (r == reg::exec_lo) return set_exec(b.lane_bit(wave64() ? b.pack64(v, sgpr(reg::exec_hi)) : v));
  if (r == reg::exec_hi && wave64()) return set_exec(b.lane_bit(b.pack64(sgpr(reg::exec_lo), v)));
  ssa_.write(r, v);
}

/// Apertures and state bits (RDNA2 ISA, "Scalar and vector source operands"). The 64-bit value of an aperture
/// has its base in the high half.
Value Translator::special32(const Operand& o, unsigned dword) {
  enum : unsigned {
    shared_base = 235,
    shared_limit,
    private_base,
    private_limit,
    pops_id,
    vccz = 251,
    execz,
    scc_bit
  };
  if (dword > 0 && o.reg >= vccz) return b.i32(0);
  switch (o.reg) {
  case shared_base: return b.i32(dword ? guest_abi::shared_aperture_hi : 0);
  case private_base: return b.i32(dword ? guest_abi::private_aperture_hi : 0);
  case shared_limit: return b.i32(dword ? guest_abi::shared_aperture_hi : ~0u);
  case private_limit: return b.i32(dword ? guest_abi::private_aperture_hi : ~0u);
  case pops_id: return b.i32(0);
  case vccz: {
    const Operand vcc{.kind = OperandKind::sgpr, .dwords = 2, .reg = reg::vcc_lo};
    return b.zext(b.eq(word(vcc), b.word(0)), Type::i32);
  }
  case execz: return b.zext(b.not_(b.any(exec())), Type::i32);
  case scc_bit: return b.zext(scc(), Type::i32);
  default: break;
  }
  unsupported(*current_, "LDS direct read");
  return b.i32(0);
}

Value Translator::scalar32(const Operand& o, unsigned dword) {
  switch (o.kind) {
  case OperandKind::constant: return b.i32(static_cast<uint32_t>(o.value >> (32 * dword)));
  case OperandKind::sgpr: return sgpr(o.reg == reg::null ? o.reg : o.reg + dword);
  case OperandKind::special: return special32(o, dword);
  default: break;
  }
  unsupported(*current_, "scalar operand is a vector register");
  return b.i32(0);
}

Value Translator::scalar64(const Operand& o) {
  if (o.is_constant()) return b.i64(o.value);
  if (o.is_sgpr() && o.reg == reg::exec_lo && wave64()) return b.ballot(exec());
  return pair(scalar32(o, 0), scalar32(o, 1));
}

void Translator::set_scalar64(const Operand& o, Value v) {
  if (o.reg == reg::exec_lo && wave64()) return set_exec(b.lane_bit(v));
  set_sgpr(o.reg, low_half(v));
  if (o.reg != reg::null) set_sgpr(o.reg + 1u, b.hi32(v));
}

Value Translator::mask(const Operand& o) {
  if (o.is_sgpr() && o.reg == reg::exec_lo) return exec();
  return b.lane_bit(word(o));
}

void Translator::set_mask(const Operand& o, Value m) {
  if (o.reg == reg::exec_lo) return set_exec(m);
  if (!wave64()) return set_sgpr(o.reg, b.ballot(m));
  set_scalar64(o, b.ballot(m));
}

/// Whether every lane of `mask` is a lane of `other`: the same value, or an AND that has it as a part.
bool Translator::implies(Value mask, Value other, unsigned depth) const {
  if (mask == other) return true;
  const ir::Inst& inst = (*function_)[mask];
  if (inst.op != Op::and_ || depth == 4) return false;
  const auto parts = function_->operands(mask);
  return implies(parts[0], other, depth + 1) || implies(parts[1], other, depth + 1);
}

/// select(m, a, b) where EXEC implies m   ->   a
Value Translator::strip(Value v) {
  const Value e = exec();
  while ((*function_)[v].op == Op::select && implies(e, function_->operand(v, 0)))
    v = function_->operand(v, 1);
  return v;
}

/// and_(m, x) where EXEC implies m   ->   x
Value Translator::strip_mask(Value m) {
  const Value e = exec();
  while ((*function_)[m].op == Op::and_) {
    const Value x = function_->operand(m, 0), y = function_->operand(m, 1);
    if (implies(e, x))
      m = y;
    else if (implies(e, y))
      m = x;
    else
      break;
  }
  return m;
}

// -- 64-bit sums
// ----------------------------------------------------------------------------------------------------
//
// Code adds 64 bits as add(a, b) and add_c(c, d, carry(a, b, 0)). The sum is made as one i64, and both halves
// become halves of it, so that a pair of registers is again one value.

namespace {

bool is_half_pair(const ir::Function& f, Value lo, Value hi) {
  if (f.is_constant(lo) && f.is_constant(hi)) return true;
  return f[lo].op == Op::lo32 && f[hi].op == Op::hi32 && f.operand(lo, 0) == f.operand(hi, 0);
}

} // namespace

/// `a` and `b` were added in the low half, `c` and `d` are added in the high half. Either pairing gives the
/// same sum; take the one whose halves belong together, if there is one.
Value Translator::sum_of_halves(Value a, Value b_, Value c, Value d) {
  const auto& f = *function_;
  if (is_half_pair(f, a, d) || is_half_pair(f, b_, c)) std::swap(c, d);
  const Value second = b.pack64(b_, d), first = b.pack64(a, c); // in an order that all compilers keep
  return b.add(first, second);
}

Value Translator::wide_sum(Value x, Value y, Value carry_in) {
  const auto& f = *function_;
  if (f[carry_in].op != Op::carry || f[x].type != Type::i32) return {};
  const Value p = f.operand(carry_in, 0), q = f.operand(carry_in, 1);
  if (!f.is_constant(f.operand(carry_in, 2), 0)) return {};
  return sum_of_halves(p, q, x, y);
}

Value Translator::wide_difference(Value x, Value y, Value borrow_in) {
  const auto& f = *function_;
  if (f[borrow_in].op != Op::ult || f[f.operand(borrow_in, 0)].type != Type::i32) return {};
  const Value p = f.operand(borrow_in, 0), q = f.operand(borrow_in, 1);
  const Value second = b.pack64(q, y), first = b.pack64(p, x);
  return b.sub(first, second);
}

bool Translator::is_low_of(Value low, Value carry, Op op) const {
  const auto& f = *function_;
  if (f[low].op != op) return false;
  const Value p = f.operand(low, 0), q = f.operand(low, 1), r = f.operand(carry, 0), s = f.operand(carry, 1);
  return (p == r && q == s) || (op == Op::add && p == s && q == r);
}

Value Translator::low_half(Value v) {
  const Op op = (*function_)[v].op;
  const bool arithmetic = op == Op::add || op == Op::sub || op == Op::mul;
  return arithmetic ? b.append(Op::lo32, std::array{v}) : b.lo32(v);
}

/// pack64(add(a, b), add_c(c, d, carry(a, b, 0)))   ->   add(pack64(a, c), pack64(b, d))
Value Translator::pair(Value lo, Value hi) {
  const auto& f = *function_;
  if (f[lo].op == Op::add && f[hi].op == Op::add_c) {
    const Value carry = f.operand(hi, 2), c = f.operand(hi, 0), d = f.operand(hi, 1);
    if (f[carry].op == Op::carry && f.is_constant(f.operand(carry, 2), 0) && is_low_of(lo, carry, Op::add))
      return sum_of_halves(f.operand(lo, 0), f.operand(lo, 1), c, d);
  }
  return b.pack64(lo, hi);
}

} // namespace lanewise::translate
