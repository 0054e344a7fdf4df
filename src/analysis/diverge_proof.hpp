// Proof of passes/diverge: branches that lanes now take by themselves, each an obligation for Z3 in one
// symbolic lane, stated from the function as it was and from what the pass claims, not from how it found
// that.
//
// A region (run if any lane is in m, now by the lanes of m only):
//
//   effects      stores and atomics inside are active only in m; ballots and votes inside ask only for lanes
//   of m;
//                nothing else inside reads another lane or orders memory, and nothing leaves but to the join
//   kept         outside m, what each way into a loop gives the phi equals the value, if all phis kept so far
//   live out     what each phi of the join gets from inside equals, in a lane outside m that is demanded
//   there,
//                what it gets around the region
//
// A loop (left by all lanes when none is left in `stay`, now by each lane when it is not in `stay`), with the
// mask `in` that a phi of its header carries and pairs (p, v) that are claimed to stand still:
//
//   graph        the branch is the only way out, and every turn passes it
//   induction    stay ==> in; what `in` becomes ==> stay: a lane that left does not come back
//   effects      as above, inside `in` before the branch and inside `stay` behind it
//   still        outside `in`, v = p; outside `stay`, what p becomes = v: so in a lane that left, v no longer
//   changes live out     every value that is read behind the loop stands still, or is read by masks only that
//   are the same
//                at the moment when a lane leaves and at the end, when it is out
//
// Demand that the join's claims lean on is proved by analysis/demand_proof, lane by lane for scalars too.
#pragma once

#include "analysis/proof_report.hpp"

namespace lanewise::analysis {

class LaneDemand;
class MaskAlgebra;

/// What diverge says. Blocks `from` end in a branch on "any lane in `mask`".
struct DivergeClaims {
  /// In a lane outside the region's mask the phi of a loop inside is always what `value`, from in front of
  /// the loop, is.
  struct Kept {
    ir::Value phi, value;
  };
  struct Region {
    ir::Block from;
    ir::Value mask;
    std::vector<Kept> kept;
  };
  struct Still {
    ir::Value phi, value; ///< of the loop's header; of the loop
  };
  struct Loop {
    ir::Block from;
    ir::Value mask, in;
    std::vector<Still> still;
  };
  /// Where lanes come to `at` (by `edge` of a phi), the mask is known.
  struct Known {
    ir::Value mask{}, phi{}; ///< phi: none if the user is no phi
    ir::Block at{};
    unsigned edge = 0;
    bool is = false;
  };
  std::vector<Region> regions;
  std::vector<Loop> loops;
  std::vector<Known> known;
};

/// Proves the claims over `function` as it was. `demand`: what regions leaned on, lane by lane; null if on
/// none.
[[nodiscard]] ProofReport prove_diverge(const ir::Function& function, MaskAlgebra& masks,
                                        const LaneDemand* demand, const DivergeClaims& claims);

} // namespace lanewise::analysis
