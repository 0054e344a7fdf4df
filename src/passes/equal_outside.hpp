// Values that lanes outside a mask cannot tell apart.
#pragma once

#include "analysis/diverge_proof.hpp"
#include "analysis/mask_algebra.hpp"

#include <optional>
#include <unordered_set>
#include <vector>

namespace lanewise::passes {

/// Asks of a function that does not change meanwhile. Each question takes a bounded number of steps; beyond
/// it the answer is "not known to be equal".
class EqualOutside {
 public:
  using Kept = analysis::DivergeClaims::Kept;

  EqualOutside(const ir::Function& f, analysis::MaskAlgebra& masks) : f_(f), masks_(masks) {}

  /// x and y are equal in every lane outside `mask`. Around loops this is an induction: what was asked
  /// already counts as true.
  bool operator()(ir::Value x, ir::Value y, analysis::Formula mask);

  /// The same, where the mask stands still in loops behind the block `behind`: phis of such loops may be what
  /// they start with in all turns, and are added to `kept` if the answer leans on that.
  bool around_loops(ir::Value x, ir::Value y, analysis::Formula mask, ir::Block behind,
                    std::vector<Kept>& kept);

 private:
  bool equal(ir::Value x, ir::Value y, analysis::Formula mask);
  bool keeps(ir::Value phi, ir::Value y);
  bool masks_equal(ir::Value x, ir::Value y, analysis::Formula mask);
  bool same_operation(ir::Value x, ir::Value y, analysis::Formula mask);
  [[nodiscard]] analysis::Formula formula(ir::Value mask) const { return masks_.formula_of(mask); }
  bool implies(analysis::Formula a, analysis::Formula b) { return masks_.bounded().implies(a, b); }

  const ir::Function& f_;
  analysis::MaskAlgebra& masks_;
  std::optional<ir::Block> behind_;
  std::vector<Kept> kept_;
  std::unordered_set<uint64_t> asked_;
  unsigned steps_ = 0;
};

} // namespace lanewise::passes
