#include "passes/equal_outside.hpp"

namespace lanewise::passes {

using namespace ir;
using analysis::Formula;
using analysis::FormulaPool;

namespace {

/// Steps that one question may take.
constexpr unsigned kMaxComparisons = 400;

} // namespace

bool EqualOutside::operator()(Value x, Value y, Formula mask) {
  steps_ = 0;
  asked_.clear();
  return equal(x, y, mask);
}

bool EqualOutside::around_loops(Value x, Value y, Formula mask, Block behind, std::vector<Kept>& kept) {
  behind_ = behind;
  kept_.clear();
  const bool answer = (*this)(x, y, mask);
  behind_.reset();
  if (answer) kept.insert(kept.end(), kept_.begin(), kept_.end());
  return answer;
}

bool EqualOutside::equal(Value x, Value y, Formula mask) {
  if (x == y) return true;
  if (f_[x].type != f_[y].type || f_[x].components != 1) return false;
  if (f_.is_constant(x) && f_.is_constant(y)) return f_[x].imm == f_[y].imm;
  if (++steps_ > kMaxComparisons) return false;
  if (!asked_.insert(uint64_t{x.index} << 32 | y.index).second) return true;
  if (f_[x].type == Type::u1 && masks_equal(x, y, mask)) return true;
  const Formula outside = FormulaPool::not_(mask);
  if (f_[x].op == Op::select) {
    const Formula m = formula(f_.operand(x, 0));
    if (implies(m, mask)) return equal(f_.operand(x, 2), y, mask);
    if (implies(outside, m)) return equal(f_.operand(x, 1), y, mask);
  }
  // A load reads 0 where it is off.
  if (f_[x].op == Op::load && f_.is_constant(y, 0)) return implies(formula(f_.operand(x, 1)), mask);
  if (f_[x].op == Op::phi && masks_.is_loop_header(Block{masks_.block_of(x)}) && !keeps(x, y)) return false;
  if (f_[x].op == Op::phi) {
    for (const Value o : f_.operands(x))
      if (!equal(o, y, mask)) return false;
    return true;
  }
  return same_operation(x, y, mask);
}

/// The phi of a loop may be equal to y in every turn: neither y nor the mask that is asked about changes in
/// the loop.
bool EqualOutside::keeps(Value phi, Value y) {
  const Block header{masks_.block_of(phi)};
  if (!behind_ || header == *behind_ || !masks_.dominates(*behind_, header)) return false;
  const Block home{masks_.block_of(y)};
  if (!f_.is_constant(y) && (home == header || !masks_.dominates(home, header))) return false;
  kept_.push_back({phi, y});
  return true;
}

bool EqualOutside::masks_equal(Value x, Value y, Formula mask) {
  const auto differ = masks_.bounded().xor_(formula(x), formula(y));
  return differ && implies(*differ, mask);
}

bool EqualOutside::same_operation(Value x, Value y, Formula mask) {
  if (f_[x].op != f_[y].op || f_[x].imm != f_[y].imm || info(f_[x].op).kind != OpKind::pure) return false;
  if (f_[x].operand_count != f_[y].operand_count) return false;
  for (unsigned i = 0; i < f_[x].operand_count; ++i)
    if (!equal(f_.operand(x, i), f_.operand(y, i), mask)) return false;
  return true;
}

} // namespace lanewise::passes
