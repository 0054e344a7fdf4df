#include "analysis/formula.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace lanewise::analysis {
namespace {

uint64_t mix(uint64_t x) {
  x *= 0x9e3779b97f4a7c15ull;
  return x ^ x >> 32;
}

/// Entries of the cache of conjunctions: what is asked again is asked soon, and a larger one would not stay
/// in the processor's.
constexpr size_t kMostCached = 1 << 14;

uint64_t pair_key(Formula a, Formula b) { return uint64_t{a.bits} << 32 | b.bits; }

} // namespace

FormulaPool::FormulaPool() : unique_(1024), and_cache_(256) {
  nodes_.push_back({0, kTrue, kTrue});
  narrowings_ = {{0, 0, 0, 0}, {1, 1, 0, 1}};
}

size_t FormulaPool::unique_slot(uint32_t rank, Formula high, Formula low) const {
  const size_t mask = unique_.size() - 1;
  size_t slot = mix(pair_key(high, low) + rank * 0x9e3779b1ull) & mask;
  for (; unique_[slot] != 0; slot = (slot + 1) & mask) {
    const Node& n = nodes_[unique_[slot]];
    if (n.rank == rank && n.high == high && n.low == low) break;
  }
  return slot;
}

Formula FormulaPool::node(uint32_t rank, Formula high, Formula low) {
  if (high == low) return high;
  const uint32_t negate = high.bits & 1;
  high.bits ^= negate;
  low.bits ^= negate;
  const size_t slot = unique_slot(rank, high, low);
  if (unique_[slot] != 0) return {unique_[slot] << 1 | negate};
  const auto index = static_cast<uint32_t>(nodes_.size());
  nodes_.push_back({rank, high, low});
  unique_[slot] = index;
  note_narrowing({index << 1});
  note_narrowing({index << 1 | 1});
  if (nodes_.size() * 2 > unique_.size()) resize_tables(2 * unique_.size());
  return {index << 1 | negate};
}

void FormulaPool::reserve(size_t nodes) {
  if (const size_t slots = std::bit_ceil(2 * nodes); slots > unique_.size()) resize_tables(slots);
  nodes_.reserve(nodes);
  narrowings_.reserve(2 * nodes);
}

void FormulaPool::resize_tables(size_t slots) {
  unique_.assign(slots, 0);
  for (uint32_t i = 1; i < nodes_.size(); ++i)
    unique_[unique_slot(nodes_[i].rank, nodes_[i].high, nodes_[i].low)] = i;
  if (and_cache_.size() == kMostCached) return;
  std::vector<AndEntry> old(std::min(unique_.size() / 2, kMostCached));
  old.swap(and_cache_);
  for (const AndEntry& e : old)
    if (e.key != 0) and_cache_[mix(e.key) & (and_cache_.size() - 1)] = e;
}

/// f = atom ? h : l is inside whatever both h and l are inside.
void FormulaPool::note_narrowing(Formula f) {
  const Formula outer = common_outer(high(f), low(f));
  if (outer == kTrue) {
    narrowings_.push_back({f.bits, f.bits, 0, f.bits});
    return;
  }
  const Narrowing& p = narrowings_[outer.bits];
  const Narrowing& j = narrowings_[p.jump];
  const bool equal_jumps = p.depth - j.depth == j.depth - narrowings_[j.jump].depth;
  narrowings_.push_back({outer.bits, equal_jumps ? j.jump : outer.bits, p.depth + 1, p.root});
}

Formula FormulaPool::outer_at(Formula f, uint32_t depth) const {
  uint32_t at = f.bits;
  while (narrowings_[at].depth > depth) {
    const Narrowing& n = narrowings_[at];
    at = narrowings_[n.jump].depth >= depth ? n.jump : n.parent;
  }
  return {at};
}

Formula FormulaPool::common_outer(Formula a, Formula b) const {
  if (a == kFalse) return b;
  if (b == kFalse) return a;
  if (a == kTrue || b == kTrue || narrowings_[a.bits].root != narrowings_[b.bits].root) return kTrue;
  const uint32_t depth = std::min(narrowings_[a.bits].depth, narrowings_[b.bits].depth);
  a = outer_at(a, depth);
  b = outer_at(b, depth);
  // Formulas of one depth have jumps of one length.
  while (a != b) {
    const Narrowing &x = narrowings_[a.bits], &y = narrowings_[b.bits];
    const bool far = x.jump != y.jump;
    a = {far ? x.jump : x.parent};
    b = {far ? y.jump : y.parent};
  }
  return a;
}

Formula FormulaPool::outer_below(Formula f, uint32_t level) const {
  while (!is_constant(f) && top(f) >= level) {
    const Narrowing& n = narrowings_[f.bits];
    if (n.depth == 0) return kTrue;
    const bool far = rank({n.jump}) > level;
    f = {far ? n.jump : n.parent};
  }
  return f;
}

/// inner & outer, where inner is made from outer or from its negation by narrowing.
MaybeFormula FormulaPool::along_narrowings(Formula inner, Formula outer) const {
  const uint32_t root = narrowings_[inner.bits].root;
  const auto is_made_from = [&](Formula f) {
    const Narrowing& n = narrowings_[f.bits];
    return n.root == root && outer_at(inner, n.depth) == f;
  };
  if (is_made_from(outer)) return inner;
  return is_made_from(not_(outer)) ? MaybeFormula(kFalse) : MaybeFormula();
}

/// The conjunction where it takes no step. Else a and b are in the order of the cache.
MaybeFormula FormulaPool::known_and(Formula& a, Formula& b) const {
  if (const auto trivial = trivial_and(a, b)) return trivial;
  if (a.bits > b.bits) std::swap(a, b);
  const AndEntry& known = and_cache_[mix(pair_key(a, b)) & (and_cache_.size() - 1)];
  if (known.key == pair_key(a, b)) return known.result;
  if (rank(a) == rank(b)) return {};
  const Formula newer = rank(a) > rank(b) ? a : b, older = rank(a) > rank(b) ? b : a;
  if (narrowings_[newer.bits].depth > 0)
    if (const auto along = along_narrowings(newer, older)) return along;
  if (narrowings_[newer.bits ^ 1].depth > 0 && along_narrowings(not_(newer), older) == kFalse) return older;
  return {};
}

Formula FormulaPool::and_(Formula a, Formula b) {
  for (;;) {
    uint32_t steps = ~0u;
    if (const auto result = and_within(a, b, steps)) return *result;
  }
}

MaybeFormula FormulaPool::and_within(Formula a, Formula b, uint32_t& steps) {
  MaybeFormula result = known_and(a, b);
  if (result) return result;
  // An atom newer than all of the other: the most frequent step, one node on top of what is there.
  constexpr uint32_t one_frame = 3;
  if (rank(a) != rank(b) && steps >= one_frame) {
    const Formula newer = rank(a) > rank(b) ? a : b, older = rank(a) > rank(b) ? b : a;
    if (is_constant(high(newer)) && is_constant(low(newer))) {
      steps -= one_frame;
      const auto part = [&](Formula branch) { return branch == kTrue ? older : kFalse; };
      return node(rank(newer), part(high(newer)), part(low(newer)));
    }
  }
  stack_.clear();
  // A frame asks for its high branches, then for its low branches, then joins the two: three steps.
  const auto step = [&] { return steps != 0 && steps-- != 0; };
  const auto branch = [&](Formula x, uint32_t at, bool take_high) {
    if (rank(x) != at) return x;
    return take_high ? high(x) : low(x);
  };
  for (;;) {
    if (!step()) return {};
    const uint32_t at = std::max(rank(a), rank(b));
    stack_.push_back({a, b, at, kFalse, false});
    a = branch(a, at, true);
    b = branch(b, at, true);
    result = known_and(a, b);
    if (!result) continue;
    for (;;) { // the branches asked for last are known
      Frame& f = stack_.back();
      if (!step()) return {};
      if (!f.low_next) {
        f.low_next = true;
        f.high = *result;
        a = branch(f.a, f.rank, false);
        b = branch(f.b, f.rank, false);
        result = known_and(a, b);
        if (!result) break;
        continue;
      }
      const uint64_t key = pair_key(f.a, f.b);
      result = node(f.rank, f.high, *result);
      and_cache_[mix(key) & (and_cache_.size() - 1)] = {key, *result};
      stack_.pop_back();
      if (stack_.empty()) return result;
    }
  }
}

Formula FormulaPool::ite(Formula c, Formula a, Formula b) {
  if (a == b) return a;
  if (const auto known = ite_by_newest(c, a, b)) return *known;
  return or_(and_(c, a), and_(not_(c), b));
}

MaybeFormula FormulaPool::ite_by_newest(Formula c, Formula a, Formula b) {
  const Node& n = nodes_[c.bits >> 1];
  if ((c.bits & 1) != 0 || n.high != kTrue || n.low != kFalse) return {};
  if (rank(a) >= n.rank || rank(b) >= n.rank) return {};
  return node(n.rank, a, b);
}

void FormulaPool::Memo::set(Formula f, Formula result) {
  if (2 * ++used_ > slots_.size()) {
    std::vector<Slot> old(slots_.empty() ? 8 : 2 * slots_.size());
    old.swap(slots_);
    for (const Slot& s : old)
      if (s.key != 0) slots_[slot_of(s.key)] = s;
  }
  slots_[slot_of(f.bits)] = {f.bits, result};
}

Formula FormulaPool::rebuild(Formula f, uint32_t floor, Step step, Memo& memo) {
  for (;;) {
    uint32_t steps = ~0u;
    if (const auto result = rebuild_within(f, floor, step, memo, steps)) return *result;
  }
}

MaybeFormula FormulaPool::rebuild_within(Formula f, uint32_t floor, Step step, Memo& memo, uint32_t& steps) {
  // Quantifying does not commute with negation, so the memo tells f from not f.
  const auto value = [&](Formula x, Formula& result) {
    if (is_constant(x) || top(x) < floor) return result = x, true;
    const Formula* known = memo.find(x);
    if (known) result = *known;
    return known != nullptr;
  };
  Formula result;
  if (value(f, result)) return result;
  // Steps do not come back here.
  work_.assign(1, f);
  while (!work_.empty()) {
    const Formula x = work_.back(), h = high(x), l = low(x);
    Formula of_high, of_low;
    const bool have_high = value(h, of_high), have_low = value(l, of_low);
    if (!have_high) work_.push_back(h);
    if (!have_low) work_.push_back(l);
    if (!have_high || !have_low) continue;
    work_.pop_back();
    if (steps == 0) return {};
    --steps;
    if (value(x, result)) continue;
    result = step(top(x), of_high, of_low);
    memo.set(x, result);
  }
  value(f, result);
  return result;
}

bool FormulaPool::evaluate(Formula f, FunctionRef<bool(uint32_t)> value) const {
  while (!is_constant(f)) f = value(top(f)) ? high(f) : low(f);
  return f == kTrue;
}

} // namespace lanewise::analysis
