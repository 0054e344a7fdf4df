// diverge: wave-level branches become branches of single lanes where the lane contract cannot tell.
//
//   a = host_any m                         region: run by the lanes of m only; inside, m is true, so
//   cond_br a, region, rest         ->     cond_br m, region, rest
//                                          stores lose their guard and selects on m become their new value
//
//   loop: ... c = host_any m               a lane leaves the loop when it is done, instead of going
//         cond_br c, loop, exit     ->     around with all its writes masked until the last one is done
//
// When: at invocation level (after spirv::lower_waves), because a wave's own branch is one for all its lanes.
// What must hold is listed at the functions in diverge.cpp; docs/passes.md draws it.
#pragma once

#include "analysis/proof_report.hpp"
#include "ir/ir.hpp"

namespace lanewise::passes {

/// Rules that a test may break on purpose, to show that the prover and execution notice (tests/mutations).
enum class BrokenDivergeRule : uint8_t {
  none,
  votes_unchecked,         ///< a vote or ballot inside a region may ask for lanes outside
  stores_unchecked,        ///< so may a store
  live_out_unchecked,      ///< what a region leaves in lanes outside is not compared
  loop_may_widen,          ///< lanes that left a loop may come back
  loop_live_out_unchecked, ///< values read behind a loop need not stand still
};

struct DivergeResult {
  unsigned regions = 0; ///< branches around regions that lanes now take by themselves
  unsigned loops = 0;   ///< loops that lanes now leave by themselves
  unsigned known = 0;   ///< uses of masks that are true or false where they stand
  analysis::ProofReport proof;
  [[nodiscard]] bool changed() const { return regions + loops + known != 0; }
};

struct DivergeOptions {
  /// The host brings lanes together where their ways meet, as structured control flow says, so that
  /// operations among lanes may follow. Without that, nothing diverges in front of one.
  bool reconverges = false;
  bool prove = false; ///< fill `proof`: every region, loop and known mask becomes an obligation for Z3
  BrokenDivergeRule broken = BrokenDivergeRule::none; ///< for tests
};

/// Cost: near-linear; values of a region are looked at once for each region around it, up to a depth limit
/// that only costs conversions.
DivergeResult diverge(ir::Function& f, const DivergeOptions& options = {});

} // namespace lanewise::passes
