#include "analysis/bounded_formulas.hpp"

#include <algorithm>

namespace lanewise::analysis {
namespace {

/// Steps that every question adds to the account, which part of it one question may use, what it may use in
/// any case, and how many times over steps without an answer count: a program whose formulas do not fit stops
/// trying soon, one whose formulas are large but fit keeps its account. One that owes twice what it ever had
/// asks for little more than what masks made by narrowing take.
constexpr uint64_t kEarned = 8, kPart = 8, kAlways = 16, kWasted = 8, kInDebt = 4;

/// Steps that a union of demands may take: those of masks are short. What takes longer gathers choices on
/// data, and hardly a mask is wider than what is left of them.
constexpr uint32_t kUnion = 100;

} // namespace

void BoundedFormulas::open_account(size_t values) { initial_ = 256 + values / 8; }

uint32_t BoundedFormulas::allowance() {
  account_.questions += !rebuilding_;
  const uint64_t account = initial_ + kEarned * account_.questions;
  if (account_.spent > 3 * account) return kInDebt;
  return static_cast<uint32_t>(kAlways + (account > account_.spent ? (account - account_.spent) / kPart : 0));
}

MaybeFormula BoundedFormulas::and_(Formula a, Formula b, uint32_t most) {
  if (const auto known = FormulaPool::trivial_and(a, b)) return known;
  uint32_t steps = std::min(allowance(), most);
  const uint32_t before = steps;
  const auto result = pool_->and_within(a, b, steps);
  account_.spent += (result ? 1 : kWasted) * (before - steps);
  return result;
}

MaybeFormula BoundedFormulas::or_(Formula a, Formula b) {
  const auto result = and_(FormulaPool::not_(a), FormulaPool::not_(b));
  return result ? MaybeFormula(FormulaPool::not_(*result)) : MaybeFormula();
}

MaybeFormula BoundedFormulas::ite_by_newest(Formula c, Formula a, Formula b) {
  const auto result = pool_->ite_by_newest(c, a, b);
  if (result) account_.questions += !rebuilding_, ++account_.spent;
  return result;
}

MaybeFormula BoundedFormulas::ite(Formula c, Formula a, Formula b) {
  if (a == b) return a;
  if (const auto known = ite_by_newest(c, a, b)) return known;
  const auto first = and_(c, a);
  const auto second = first ? and_(FormulaPool::not_(c), b) : MaybeFormula();
  return second ? or_(*first, *second) : MaybeFormula();
}

MaybeFormula BoundedFormulas::xor_(Formula a, Formula b) { return ite(a, FormulaPool::not_(b), b); }

Formula BoundedFormulas::and_above(Formula demand, Formula mask) {
  const auto exact = and_(demand, mask);
  return exact ? *exact : and_without(demand, mask);
}

BoundedFormulas::Parts BoundedFormulas::split_above(Formula demand, Formula mask) {
  const Formula not_mask = FormulaPool::not_(mask);
  const auto inside = and_(demand, mask);
  if (!inside) return {and_without(demand, mask), and_above(demand, not_mask)};
  // Mostly one part is all of it, and the other needs no question.
  if (*inside == demand) return {demand, kFalse, true};
  if (*inside == kFalse) return {kFalse, demand, true};
  const auto outside = and_(demand, not_mask);
  return {*inside, outside ? *outside : and_without(demand, not_mask), true};
}

/// Above a conjunction that costs too much.
Formula BoundedFormulas::and_without(Formula demand, Formula mask) {
  // What is left of the demand when it forgets everything newer than the mask is usually around the mask, or
  // one step below it.
  const Formula older = pool_->outer_below(demand, pool_->top(mask));
  const auto both = and_(older, mask);
  return both ? *both : older == kTrue ? mask : older;
}

Formula BoundedFormulas::or_above(Formula a, Formula b) {
  const auto neither = and_(FormulaPool::not_(a), FormulaPool::not_(b), kUnion);
  return neither ? FormulaPool::not_(*neither) : pool_->common_outer(a, b);
}

Formula BoundedFormulas::ite_above(Formula c, Formula a, Formula b) {
  if (a == b) return a;
  if (const auto exact = ite(c, a, b)) return *exact;
  return or_above(a, b);
}

Formula BoundedFormulas::rebuild_above(Formula f, uint32_t floor, FormulaPool::Step step,
                                       FormulaPool::Memo& memo) {
  if (FormulaPool::is_constant(f) || pool_->top(f) < floor) return f;
  uint32_t steps = 4 * allowance();
  const uint32_t before = steps;
  rebuilding_ = true;
  const auto result = pool_->rebuild_within(f, floor, step, memo, steps);
  rebuilding_ = false;
  account_.spent += (result ? 1 : kWasted) * (before - steps);
  if (result) return *result;
  const Formula above = pool_->outer_below(f, floor);
  memo.set(f, above);
  return above;
}

} // namespace lanewise::analysis
