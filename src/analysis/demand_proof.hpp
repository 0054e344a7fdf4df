// Proof of lane demand: each decision that rests on it becomes an obligation for Z3, for one symbolic lane.
//
// The prover trusts nothing of the analysis but its *claims*: D(v) for each value (as a formula over atoms),
// and the loop masks assumed to stay inside the mask that entered. It builds its own model of the function
// from the IR, states the propagation rules a second time, and asks for
//
//   facts        a loop mask that was assumed to stay inside its entering mask does so, by induction
//   flow         what a user asks of an operand is inside the operand's claim; across a back edge the loop's
//                values of the next iteration are different unknowns
//   rewrites     where the replaced value is demanded, the replacement has the same value and is right itself
//
// An obligation is proved when its negation is unsatisfiable. Together they give, by induction over
// execution: no observer sees a difference.
#pragma once

#include "analysis/proof_report.hpp"

namespace lanewise::analysis {

class LaneDemand;
class MaskAlgebra;

/// One rewrite: `value` is replaced by `by` (an operand of it) wherever it is used.
struct ClaimedRewrite {
  ir::Value value, by;
};

/// Proves the claims of `demand` over `function` (as it was before the rewrites) and the rewrites.
[[nodiscard]] ProofReport prove_demand(const ir::Function& function, MaskAlgebra& masks,
                                       const LaneDemand& demand, const std::vector<ClaimedRewrite>& rewrites);

} // namespace lanewise::analysis
