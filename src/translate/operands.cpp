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
  set_sgpr(o.reg, b.lo32(v));
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

namespace {

struct Parts {
  Value low, high, carry_in;
};

/// low = add(a, b), high = add_c(c, d, carry(a, b, 0)): the operands' halves, in order.
bool is_two_step_add(const ir::Function& f, Value low, Value high, std::array<Value, 4>& halves) {
  if (f[low].op != Op::add || f[high].op != Op::add_c) return false;
  const auto lows = f.operands(low), highs = f.operands(high);
  if (f[highs[2]].op != Op::carry) return false;
  const auto carry = f.operands(highs[2]);
  if (!f.is_constant(carry[2], 0)) return false;
  const bool same = carry[0] == lows[0] && carry[1] == lows[1];
  const bool swapped = carry[0] == lows[1] && carry[1] == lows[0];
  if (!same && !swapped) return false;
  halves = {lows[0], highs[0], lows[1], highs[1]};
  return true;
}

} // namespace

/// pack64(add(a, b), add_c(c, d, carry(a, b, 0)))   ->   add(pack64(a, c), pack64(b, d))
Value Translator::pair(Value lo, Value hi) {
  std::array<Value, 4> halves;
  if (!is_two_step_add(*function_, lo, hi, halves)) return b.pack64(lo, hi);
  auto [a_lo, a_hi, b_lo, b_hi] = halves;
  // The two additions may name their operands in different orders: take the pairing in which halves belong
  // together, if either does.
  const auto half_of = [&](Value l, Value h) {
    const auto& f = *function_;
    return f[l].op == Op::lo32 && f[h].op == Op::hi32 && f.operand(l, 0) == f.operand(h, 0);
  };
  const auto constants = [&](Value l, Value h) {
    return function_->is_constant(l) && function_->is_constant(h);
  };
  if (half_of(a_lo, b_hi) || half_of(b_lo, a_hi) || constants(a_lo, b_hi) || constants(b_lo, a_hi))
    std::swap(a_hi, b_hi);
  return b.add(pair(a_lo, a_hi), pair(b_lo, b_hi));
}

} // namespace lanewise::translate
