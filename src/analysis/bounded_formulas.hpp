// Operations on formulas at a price in proportion to the program.
//
// Decision diagrams can explode. Masks do not, since they are made by narrowing; but demand also runs through
// selects on data (`index == 3 ? a : b`), where a union of many unrelated conditions may double with each
// further one. So an operation may take a number of steps that grows with the number of operations asked for
// and shrinks with the steps spent so far: all of them together cost a constant each, and single ones may be
// large while the account is full.
//
// What does not fit is answered from above: demand may always be called larger than it is. Then it becomes
// the mask that both operands are narrowings of: the one the program was in when it began to compare data.
#pragma once

#include "analysis/formula.hpp"

namespace lanewise::analysis {

class BoundedFormulas {
 public:
  explicit BoundedFormulas(FormulaPool& pool) : pool_(&pool) {}

  /// What is on the account at the beginning grows with the program, told by its number of values.
  void open_account(size_t values);

  /// What is on the account, to go back to.
  struct Account {
    uint64_t questions = 0, spent = 0;
  };
  [[nodiscard]] const Account& account() const { return account_; }
  void restore(const Account& account) { account_ = account; }

  /// Exact, or none if it costs too much.
  MaybeFormula and_(Formula a, Formula b) { return and_(a, b, ~0u); }
  MaybeFormula or_(Formula a, Formula b);
  MaybeFormula xor_(Formula a, Formula b);
  MaybeFormula ite(Formula c, Formula a, Formula b);

  /// Every assignment that satisfies a satisfies b; false if that costs too much to find out.
  bool implies(Formula a, Formula b) { return and_(a, FormulaPool::not_(b)) == kFalse; }

  /// A formula and the parts of it inside and outside a mask: exact ones where `exact`, else from above.
  struct Parts {
    Formula inside, outside;
    bool exact = false;
  };
  Parts split_above(Formula demand, Formula mask);

  /// A formula that the exact one implies.
  Formula and_above(Formula demand, Formula mask);
  Formula or_above(Formula a, Formula b);
  Formula ite_above(Formula c, Formula a, Formula b);
  /// FormulaPool::rebuild, where `step` answers from above. If it costs too much, everything from `floor` on
  /// is forgotten, so `step` may do no more than quantify or replace atoms.
  Formula rebuild_above(Formula f, uint32_t floor, FormulaPool::Step step, FormulaPool::Memo& memo);

 private:
  uint32_t allowance();
  Formula and_without(Formula demand, Formula mask);
  MaybeFormula and_(Formula a, Formula b, uint32_t most); ///< at most this many steps
  MaybeFormula ite_by_newest(Formula c, Formula a, Formula b);

  FormulaPool* pool_;
  Account account_;
  uint64_t initial_ = 0;
  bool rebuilding_ = false; ///< what steps ask then adds nothing: it was not asked from outside
};

} // namespace lanewise::analysis
