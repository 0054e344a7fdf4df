#include "spirv/bounds.hpp"

#include "analysis/counted_loop.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace lanewise::spirv {
namespace {

using ir::Op;
using ir::Value;

constexpr uint64_t ones(unsigned bits) { return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1; }

class BoundRules {
 public:
  BoundRules(const ir::Function& f, const Seating& s, const std::vector<uint64_t>& known)
      : f_(f), seating_(s), known_(known), home_(f.value_count()) {
    for (uint32_t b = 0; b < f.blocks.size(); ++b)
      for (const Value v : f.blocks[b].instructions) home_[v.index] = {b};
  }

  [[nodiscard]] uint64_t operator()(Value v) const {
    const ir::Inst& inst = f_[v];
    const uint64_t most = ones(ir::bit_width(inst.type));
    switch (inst.op) {
    case Op::constant: return inst.imm & most;
    case Op::host_lane: return seating_.host_lanes - 1;
    case Op::host_wave: return seating_.waves() - 1;
    case Op::phi: return std::min(largest_of(v, 0), counted(v).value_or(most));
    case Op::select: return largest_of(v, 1);
    case Op::umax: return largest_of(v, 0);
    case Op::umin:
    case Op::and_: return std::min(operand(v, 0), operand(v, 1));
    case Op::or_:
    case Op::xor_:
      return std::min(sum(operand(v, 0), operand(v, 1), most),
                      ones(static_cast<unsigned>(std::bit_width(operand(v, 0) | operand(v, 1)))) &
                          ~ones(low_zeros(v)));
    case Op::add: return sum(operand(v, 0), operand(v, 1), most);
    case Op::mul: return product(operand(v, 0), operand(v, 1), most);
    case Op::shl: return product(operand(v, 0), uint64_t{1} << shift_of(v, 63), most);
    case Op::lshr: return operand(v, 0) >> shift_of(v, 0);
    case Op::zext:
    case Op::trunc:
    case Op::lo32: return std::min(operand(v, 0), most);
    case Op::ubfe: return std::min(most, field(v));
    default: return most;
    }
  }

 private:
  [[nodiscard]] uint64_t operand(Value v, unsigned i) const { return known_[f_.operand(v, i).index]; }
  /// How many of the lowest bits are surely 0.
  [[nodiscard]] unsigned low_zeros(Value v, unsigned depth = 0) const {
    const unsigned bits = ir::bit_width(f_[v].type);
    if (f_.is_constant(v)) return f_[v].imm == 0 ? bits : static_cast<unsigned>(std::countr_zero(f_[v].imm));
    if (depth == 4) return 0;
    const auto of = [&](unsigned i) { return low_zeros(f_.operand(v, i), depth + 1); };
    switch (f_[v].op) {
    case Op::shl: return std::min(bits, of(0) + shift_of(v, 0));
    case Op::or_:
    case Op::xor_:
    case Op::add: return std::min(of(0), of(1));
    case Op::and_: return std::max(of(0), of(1));
    case Op::zext: return of(0);
    default: return 0;
    }
  }
  [[nodiscard]] uint64_t largest_of(Value v, unsigned first) const {
    uint64_t largest = 0;
    for (unsigned i = first; i < f_[v].operand_count; ++i) largest = std::max(largest, operand(v, i));
    return largest;
  }
  [[nodiscard]] std::optional<uint64_t> counted(Value phi) const {
    const auto count = analysis::count_of(f_, home_[phi.index], phi);
    return count ? std::optional(count->last) : std::nullopt;
  }
  static uint64_t sum(uint64_t a, uint64_t b, uint64_t most) { return a <= most - b ? a + b : most; }
  static uint64_t product(uint64_t a, uint64_t b, uint64_t most) {
    return a == 0 || b <= most / a ? a * b : most;
  }
  /// A constant count of a shift; `unknown` for others.
  [[nodiscard]] unsigned shift_of(Value v, unsigned unknown) const {
    const Value count = f_.operand(v, 1);
    return f_.is_constant(count) ? static_cast<unsigned>(f_[count].imm % ir::bit_width(f_[v].type)) : unknown;
  }
  /// ubfe(x, from, width)
  [[nodiscard]] uint64_t field(Value v) const {
    const Value width = f_.operand(v, 2);
    return f_.is_constant(width) && f_[width].imm < 64 ? ones(static_cast<unsigned>(f_[width].imm))
                                                       : operand(v, 0);
  }

  const ir::Function& f_;
  const Seating& seating_;
  const std::vector<uint64_t>& known_;
  std::vector<ir::Block> home_; ///< of each value
};

} // namespace

std::vector<uint64_t> known_bounds(const ir::Function& f, const Seating& seating) {
  std::vector<uint64_t> known(f.value_count());
  // Anything at all, until it was looked at: so what comes back around a loop is not bounded.
  for (uint32_t i = 0; i < known.size(); ++i)
    known[i] = f[Value{i}].op == Op::constant ? f[Value{i}].imm & ones(ir::bit_width(f[Value{i}].type))
                                              : ones(ir::bit_width(f[Value{i}].type));
  const BoundRules rules(f, seating, known);
  for (const ir::BasicBlock& b : f.blocks)
    for (const Value v : b.instructions) known[v.index] = rules(v);
  return known;
}

std::vector<uint64_t> known_least(const ir::Function& f, const std::vector<uint64_t>& most) {
  std::vector<uint64_t> known(f.value_count());
  for (uint32_t i = 0; i < known.size(); ++i)
    if (f[Value{i}].op == Op::constant) known[i] = f[Value{i}].imm & ones(ir::bit_width(f[Value{i}].type));
  for (const ir::BasicBlock& b : f.blocks)
    for (const Value v : b.instructions) {
      const auto of = [&](unsigned i) { return known[f.operand(v, i).index]; };
      const uint64_t limit = ones(ir::bit_width(f[v].type));
      switch (f[v].op) {
      case Op::or_:
      case Op::umax: known[v.index] = std::max(of(0), of(1)); break;
      case Op::umin: known[v.index] = std::min(of(0), of(1)); break;
      case Op::zext: known[v.index] = of(0); break;
      case Op::add: { // unless it wraps around
        const uint64_t a = most[f.operand(v, 0).index], b_most = most[f.operand(v, 1).index];
        if (a <= limit && b_most <= limit - a) known[v.index] = of(0) + of(1);
        break;
      }
      default: break;
      }
    }
  return known;
}

} // namespace lanewise::spirv
