// Boolean formulas over numbered atoms, hash-consed as reduced ordered binary decision diagrams with
// complement edges (Bryant 1986; Brace, Rudell, Bryant 1990). Two handles are equal exactly when the formulas
// are.
//
// The atom with the highest level stands on top. Masks are built by narrowing (`inner = outer & newest
// compare`), and with the newest atom on top each such step makes one node on top of what is there: a chain
// of n masks costs n nodes. That `x = atom ? y & z : y` is inside y is remembered, with jump pointers
// along such chains (Myers 1983), so `implies(inner, outer)` takes log n looks along them. Nothing here
// recurses, so depth costs no stack.
#pragma once

#include "support/function_ref.hpp"

#include <cstdint>
#include <vector>

namespace lanewise::analysis {

/// Handle of a formula; bit 0 says "negated".
struct Formula {
  uint32_t bits = 1;
  friend bool operator==(Formula, Formula) = default;
};
inline constexpr Formula kTrue{0}, kFalse{1};

/// A formula or none. (std::optional is written in two parts and read as one, which stalls the processor
/// where it goes through memory; this cost a third of all conjunctions.)
class MaybeFormula {
 public:
  constexpr MaybeFormula() = default;
  constexpr MaybeFormula(Formula f) : f_(f) {} // NOLINT(google-explicit-constructor): as std::optional
  constexpr explicit operator bool() const { return f_.bits != kNone; }
  constexpr Formula operator*() const { return f_; }
  [[nodiscard]] constexpr Formula value_or(Formula other) const { return *this ? f_ : other; }
  friend bool operator==(MaybeFormula, MaybeFormula) = default;

 private:
  static constexpr uint32_t kNone = ~0u;
  Formula f_{kNone};
};

class FormulaPool {
 public:
  FormulaPool();
  /// Room for this many nodes in all, so that tables need not grow on the way.
  void reserve(size_t nodes);

  /// The atom of this level.
  Formula atom(uint32_t level) {
    if (level >= atoms_.size()) atoms_.resize(level + 1);
    if (atoms_[level] == kFalse) atoms_[level] = node(level + 1, kTrue, kFalse);
    return atoms_[level];
  }
  [[nodiscard]] static Formula not_(Formula a) { return {a.bits ^ 1}; }
  Formula and_(Formula a, Formula b);
  /// None if it takes more than `steps`, from which the steps taken are subtracted.
  MaybeFormula and_within(Formula a, Formula b, uint32_t& steps);
  /// The conjunction where it is one of the two or a constant.
  [[nodiscard]] static MaybeFormula trivial_and(Formula a, Formula b) {
    if (a == b || b == kTrue) return a;
    if (a == kTrue) return b;
    if (a == kFalse || b == kFalse || a == not_(b)) return kFalse;
    return {};
  }
  Formula or_(Formula a, Formula b) { return not_(and_(not_(a), not_(b))); }
  Formula xor_(Formula a, Formula b) { return or_(and_(a, not_(b)), and_(not_(a), b)); }
  Formula ite(Formula c, Formula a, Formula b);
  /// The choice where that is one step: c is an atom newer than all of a and b.
  MaybeFormula ite_by_newest(Formula c, Formula a, Formula b);
  /// Every assignment that satisfies a satisfies b.
  bool implies(Formula a, Formula b) { return and_(a, not_(b)) == kFalse; }

  /// Rebuilds `f` from below, atom by atom: `step(level, high, low)` gets the rebuilt branches. Parts in
  /// which every level is below `floor` stay as they are. One step for each node of f; `memo` keeps results
  /// between calls that use the same step.
  class Memo {
   public:
    /// Null if there is none.
    [[nodiscard]] const Formula* find(Formula f) const {
      if (slots_.empty()) return nullptr;
      const Slot& s = slots_[slot_of(f.bits)];
      return s.key == 0 ? nullptr : &s.result;
    }
    void set(Formula f, Formula result);

   private:
    struct Slot {
      uint32_t key = 0; ///< Formula::bits; 0 = free: constants are not rebuilt
      Formula result;
    };
    [[nodiscard]] size_t slot_of(uint32_t key) const {
      const size_t mask = slots_.size() - 1;
      size_t slot = key * 0x9e3779b1u >> 7 & mask;
      while (slots_[slot].key != 0 && slots_[slot].key != key) slot = (slot + 1) & mask;
      return slot;
    }
    std::vector<Slot> slots_; ///< open addressing
    size_t used_ = 0;
  };
  using Step = FunctionRef<Formula(uint32_t level, Formula high, Formula low)>;
  Formula rebuild(Formula f, uint32_t floor, Step step, Memo& memo);
  /// None if f has more nodes, not counting those in the memo, than `steps`.
  MaybeFormula rebuild_within(Formula f, uint32_t floor, Step step, Memo& memo, uint32_t& steps);

  /// Value under an assignment.
  [[nodiscard]] bool evaluate(Formula f, FunctionRef<bool(uint32_t level)> value) const;

  [[nodiscard]] static bool is_constant(Formula f) { return f.bits < 2; }
  /// Level of the top atom of a formula that is not constant, and the branches below it.
  [[nodiscard]] uint32_t top(Formula f) const { return rank(f) - 1; }
  [[nodiscard]] Formula high(Formula f) const { return {nodes_[f.bits >> 1].high.bits ^ (f.bits & 1)}; }
  [[nodiscard]] Formula low(Formula f) const { return {nodes_[f.bits >> 1].low.bits ^ (f.bits & 1)}; }

  /// A formula that f implies, made of older atoms; kTrue if none is known. `far`: not the next one.
  [[nodiscard]] Formula outer(Formula f, bool far = false) const {
    const Narrowing& n = narrowings_[f.bits];
    return n.depth == 0 ? kTrue : Formula{far ? n.jump : n.parent};
  }
  /// One that both imply, and one that f implies with all atoms below `level`.
  [[nodiscard]] Formula common_outer(Formula a, Formula b) const;
  [[nodiscard]] Formula outer_below(Formula f, uint32_t level) const;
  [[nodiscard]] size_t node_count() const { return nodes_.size(); }

 private:
  struct Node {
    uint32_t rank;     ///< level + 1; 0 for the constant
    Formula high, low; ///< high is never negated, which makes the form unique
  };
  struct Narrowing { ///< of a formula with its sign; one that is no narrowing is its own parent
    uint32_t parent, jump, depth, root; ///< root: where the chain of parents ends
  };
  struct Frame { ///< a conjunction under way
    Formula a, b;
    uint32_t rank;
    Formula high; ///< of the result, where `low_next`
    bool low_next;
  };
  struct AndEntry {
    uint64_t key = 0; ///< 0 = free: no trivial pair is stored
    Formula result;
  };
  Formula node(uint32_t rank, Formula high, Formula low);
  [[nodiscard]] size_t unique_slot(uint32_t rank, Formula high, Formula low) const;
  void resize_tables(size_t slots);
  void note_narrowing(Formula f);
  [[nodiscard]] Formula outer_at(Formula f, uint32_t depth) const;
  [[nodiscard]] MaybeFormula along_narrowings(Formula inner, Formula outer) const;
  MaybeFormula known_and(Formula& a, Formula& b) const;
  [[nodiscard]] uint32_t rank(Formula f) const { return nodes_[f.bits >> 1].rank; }

  std::vector<Node> nodes_;           ///< [0] is "true"
  std::vector<Formula> atoms_;        ///< by level; kFalse: not made yet
  std::vector<Narrowing> narrowings_; ///< by Formula::bits
  std::vector<uint32_t> unique_;      ///< open addressing: node indices, 0 = free
  std::vector<AndEntry> and_cache_;   ///< direct-mapped, grows with the nodes at first
  std::vector<Frame> stack_;
  std::vector<Formula> work_; ///< of rebuild_within, while it runs
};

} // namespace lanewise::analysis
