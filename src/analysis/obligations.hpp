// What all proofs share: a solver, the model of the function, and the facts about loop masks.
#pragma once

#include "analysis/mask_algebra.hpp"
#include "analysis/proof_report.hpp"
#include "analysis/proof_world.hpp"

#include <map>
#include <memory>
#include <tuple>
#include <vector>

namespace lanewise::analysis {

/// An obligation is proved when its negation is unsatisfiable.
class Obligations {
 protected:
  /// `depth`: how much the model says of operations.
  Obligations(const ir::Function& function, MaskAlgebra& masks, World::Model model)
      : f_(function), masks_(masks), solver_(z3_), now_(z3_, function, masks, "", model), model_(model) {
    solver_.add(z3::ult(now_.lane(), z3_.bv_val(function.wave_size, 64)));
  }

  /// claim ==> conclusion, or a failure. The result says which.
  bool prove(unsigned& count, const z3::expr& claim, const z3::expr& conclusion, ir::Value about,
             const char* what);
  /// An obligation about the graph: no solver is needed.
  bool require(unsigned& count, bool holds, ir::Value about, const char* what);

  /// What was assumed of loop masks: first the induction steps under all assumptions, then they are facts.
  void prove_facts();
  /// The facts, in a world whose values differ in `loop` (all of them by default).
  void assume_facts(World& world, uint32_t loop = cfg::none);

  /// The world in which the phis of a loop header are read when it is entered by edge e from world `from`:
  /// they are what comes in, everything else in the loop is made anew.
  World& after_edge(World& from, ir::Block header, unsigned e);
  /// Where `if (any(m)) goto other; goto block` comes to the block, no lane is in m.
  [[nodiscard]] ir::Value empty_on_edge(ir::Block block, unsigned e) const;
  [[nodiscard]] z3::expr truth(bool b) { return z3_.bool_val(b); }
  [[nodiscard]] z3::expr same(World& a, ir::Value x, World& b, ir::Value y) {
    return f_[x].type == ir::Type::u1 ? a.mask(x) == b.mask(y) : a.bits(x) == b.bits(y);
  }

  const ir::Function& f_;
  MaskAlgebra& masks_;
  z3::context z3_;
  z3::solver solver_;
  World now_;
  World::Model model_;
  ProofReport report_;

 private:
  z3::expr entry(World& world, ir::Value phi);

  std::map<std::tuple<World*, uint32_t, unsigned>, std::unique_ptr<World>> edges_;
  std::vector<ir::Value> facts_;
};

} // namespace lanewise::analysis
