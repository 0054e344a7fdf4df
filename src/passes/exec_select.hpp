// exec_select: a select whose result is read only in lanes of its mask is its new value.
//
//   %3 = select %m, %1, %2        read only where %m          ->  %1
//                                 read only where not %m      ->  %2
//   %3 = and %a, %b               read only where %a            ->  %b     (u1; %a the older mask)
//                                 %a inside %b where it is read ->  %a
//   %3 = or %a, %b                read only where not %a        ->  %b
//                                 %b inside %a where it is read ->  %a
//
// Values that nobody can tell in any lane, masks among them, are removed.
//
// When: after the masks are in their simplest form (simplify, mask_phis), before dce. All rewrites rest on
// one solution of lane demand, so chains of writes to one register collapse in one run.
#pragma once

#include "analysis/broken_rule.hpp"
#include "analysis/proof_report.hpp"
#include "ir/ir.hpp"

#include <vector>

namespace lanewise::passes {

struct ExecSelectOptions {
  bool explain = false; ///< fill `kept`
  bool prove = false;   ///< fill `proof`: every decision becomes an obligation for Z3
  analysis::BrokenRule broken = analysis::BrokenRule::none; ///< for tests
};

struct ExecSelectResult {
  unsigned selects = 0; ///< per-lane selects found
  unsigned dropped = 0; ///< of these, replaced by one of their values
  unsigned masks = 0;   ///< mask operations dropped
  unsigned dead = 0;    ///< values that nobody could tell in any lane, gone
  bool changed = false;
  struct Kept {
    ir::Value select, observer; ///< the use that can see lanes outside the mask
    ir::Op observer_op{};
    uint32_t pc = 0, observer_pc = 0; ///< guest instructions that they come from
  };
  std::vector<Kept> kept;
  analysis::ProofReport proof;
};

ExecSelectResult exec_select(ir::Function& function, const ExecSelectOptions& options = {});

} // namespace lanewise::passes
