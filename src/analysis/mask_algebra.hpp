// Masks as formulas. Every u1 value of a function is a formula over *atoms*, for one lane at a time:
// compares, loaded bits, the bits of the lane's own index, which way a join was reached, and masks carried by
// loops.
//
// Time. An atom defined in a loop stands for its value in the current iteration. A formula that is carried
// out of the loop against the flow of values (a use inside, the definition outside), or to an earlier
// iteration, must hold for every iteration: the atoms of the loop are quantified away (`leave_loops`,
// `across_edge`).
//
// A mask carried by a loop is assumed to stay inside the mask that entered the loop (the usual `while (any
// lane left)`), the assumption is checked against the back edges by induction, and a phi that turns out wider
// loses it together with everything that leaned on it: all formulas are then made again. Its second chance is
// to stay inside what entered together with the masks that kept the assumption (the lanes that have left so
// far: empty at first, never more than the lanes that entered).
#pragma once

#include "analysis/bounded_formulas.hpp"
#include "analysis/broken_rule.hpp"
#include "cfg/dominators.hpp"
#include "cfg/loops.hpp"
#include "ir/ir.hpp"

#include <array>
#include <optional>
#include <utility>
#include <vector>

namespace lanewise::analysis {

class MaskAlgebra {
 public:
  /// What an atom stands for.
  struct Atom {
    enum class Kind : uint8_t {
      lane_bit, ///< bit `what` of the lane's index
      mask,     ///< the u1 value `what`
      way,      ///< block `what` was entered by edge `imm`
      equal,
      unsigned_less,
      signed_less, ///< of the values `what` and `other`
      float_low,
      float_high, ///< bits of the outcome of comparing `what` with `other` under control
                  ///< `imm`: 0 less, 1 equal, 2 greater, 3 unordered
    } kind{};
    uint32_t what = 0, other = 0;
    uint64_t imm = 0;
    std::array<uint32_t, 2> loops{cfg::none, cfg::none}; ///< innermost loops in which it changes
    bool shared = false;                                 ///< several compares are made of it
  };

  /// Near-linear in the size of the function. It must outlive the algebra and not change.
  explicit MaskAlgebra(const ir::Function& function, BrokenRule broken = BrokenRule::none);
  [[nodiscard]] bool breaks(BrokenRule rule) const { return broken_ == rule; }

  /// False for irreducible control flow: nothing is known then.
  [[nodiscard]] bool usable() const { return usable_; }

  /// The formula of a u1 value.
  [[nodiscard]] Formula formula(ir::Value mask) const { return formulas_[mask.index]; }

  /// It is a compare that has no atom in common with any other.
  [[nodiscard]] bool stands_alone(ir::Value mask) const;

  /// `f`, said in `use`, as said at a definition in `definition`.
  Formula leave_loops(Formula f, ir::Block use, ir::Block definition);
  /// `f`, said of a phi of `block`, as said of the incoming value at the end of predecessor `edge`.
  Formula across_edge(Formula f, ir::Block block, unsigned edge);

  /// The mask of which no lane is on when `edge` into `block` is taken: the predecessor branched on `any` of
  /// it, and this is the other way. None if there is no such mask.
  [[nodiscard]] ir::Value empty_on_edge(ir::Block block, unsigned edge) const;

  /// The formula that holds in exactly these lanes, and the lanes in which f can hold for some value of the
  /// other atoms.
  Formula lanes(uint64_t set);
  uint64_t possible_lanes(Formula f);

  /// a's newest atom is older than b's.
  [[nodiscard]] bool older(Formula a, Formula b) const {
    return FormulaPool::is_constant(a) || (!FormulaPool::is_constant(b) && pool_.top(a) < pool_.top(b));
  }

  FormulaPool& pool() { return pool_; }
  BoundedFormulas& bounded() { return bounded_; }
  [[nodiscard]] const cfg::LoopForest& loops() const { return loops_; }
  /// Blocks in reverse post-order.
  [[nodiscard]] const std::vector<uint32_t>& order() const { return order_.reverse_post; }
  [[nodiscard]] uint32_t place_of(ir::Block b) const { return order_.position[b.index]; }
  [[nodiscard]] bool reachable(ir::Block b) const { return order_.reachable(b.index); }
  [[nodiscard]] const cfg::Dominators& dominators() const { return dominators_; }
  [[nodiscard]] bool dominates(ir::Block a, ir::Block b) const {
    return dominators_.dominates(a.index, b.index);
  }
  [[nodiscard]] const FormulaPool& pool() const { return pool_; }
  [[nodiscard]] const Atom& atom(uint32_t level) const { return atoms_[level]; }
  /// Like formula(), for constants too.
  [[nodiscard]] Formula formula_of(ir::Value mask) const {
    if (function_.is_constant(mask)) return function_[mask].imm ? kTrue : kFalse;
    return formulas_[mask.index];
  }
  /// Block in which a value is defined; `cfg::none` for constants.
  [[nodiscard]] uint32_t block_of(ir::Value v) const { return block_of_[v.index]; }
  [[nodiscard]] bool is_loop_header(ir::Block block) const;
  [[nodiscard]] bool is_back_edge(ir::Block header, unsigned edge) const;
  /// Loop phis whose assumption held: they stay inside the masks with which the phis of bound_of() entered.
  [[nodiscard]] std::vector<ir::Value> assumed_loop_phis() const;
  [[nodiscard]] std::vector<ir::Value> bound_of(ir::Value phi) const;

 private:
  /// What is assumed of a loop phi: to stay inside its own entry, inside the entries of those that do as
  /// well, nothing.
  enum class Bound : uint8_t { own, joint, none };
  static constexpr uint32_t kLaneBits = 6;    ///< levels 0..5: bits of the lane's index
  using LaneTable = std::array<uint64_t, 64>; ///< a value that depends on the lane's index only

  void build(size_t place);
  void forget_from(size_t place);
  std::optional<size_t> check_loop_phis();
  bool stays_inside(ir::Value phi);
  bool surely_grows(ir::Value phi, ir::Block header);
  Formula make(ir::Value v, ir::Block block);
  MaybeFormula entering(ir::Value phi, ir::Block header);
  MaybeFormula loop_entry(ir::Value phi, ir::Block header);
  void set_bound(ir::Value phi, Bound bound);
  [[nodiscard]] size_t edge_index(ir::Block block, unsigned edge) const {
    return edge_begin_[block.index] + edge;
  }
  Formula exact_or_atom(ir::Value v, MaybeFormula exact);
  Formula make_phi(ir::Value v, ir::Block block);
  Formula translate_across(Formula f, ir::Block block, unsigned edge);
  Formula make_compare(ir::Value v);
  Formula new_atom(Atom atom);
  Formula atom_for(ir::Value v);
  [[nodiscard]] size_t pair_slot(Atom::Kind kind, uint32_t a, uint32_t b, uint64_t imm) const;
  Formula pair_atom(Atom::Kind kind, ir::Value a, ir::Value b, uint64_t imm = 0);
  Formula path_atom(ir::Block block, unsigned edge);
  void note_lane_table(ir::Value v);
  [[nodiscard]] const LaneTable* lane_table(ir::Value v) const;
  [[nodiscard]] uint32_t loop_of(ir::Value v) const;
  [[nodiscard]] bool changes_in(const Atom& atom, uint32_t loop) const;
  [[nodiscard]] bool is_loop_phi(const Atom& atom) const;
  Formula incoming(uint32_t phi, unsigned edge) const;

  const ir::Function& function_;
  cfg::Order order_;
  cfg::Dominators dominators_;
  cfg::LoopForest loops_;
  std::vector<uint32_t> block_of_; ///< block index of each value, `none` for constants
  FormulaPool pool_;
  BoundedFormulas bounded_{pool_};
  std::vector<Atom> atoms_;
  std::vector<Formula> formulas_;
  std::vector<Bound> bound_; ///< by value
  /// What had been made when a block was begun, to go back there.
  struct Begun {
    size_t atoms = 0;
    BoundedFormulas::Account account;
  };
  std::vector<Begun> begun_; ///< by place in the order
  struct JointEntry {        ///< of the header that was last asked for
    uint32_t header = cfg::none;
    MaybeFormula formula;
  } joint_entry_;
  std::vector<uint32_t> first_level_;      ///< lowest level of an atom that changes in each loop
  std::vector<uint32_t> first_path_level_; ///< lowest level of a path atom of each block
  std::vector<uint32_t>
      pair_slots_; ///< open addressing: one more than the level of an atom of a pair; 0 = free
  size_t pair_count_ = 0;
  std::vector<size_t> edge_begin_;         ///< by block: its first edge in lists of all incoming edges
  std::vector<Formula> path_atoms_;        ///< by edge; kFalse: not made yet
  std::vector<uint32_t> lane_table_index_; ///< by value, one more than the place in lane_tables_; 0 = none
  std::vector<LaneTable> lane_tables_;
  std::vector<FormulaPool::Memo> loop_memo_, edge_memo_; ///< by loop, by edge
  FormulaPool::Memo lanes_memo_;
  bool usable_ = true;
  BrokenRule broken_;
};

} // namespace lanewise::analysis
