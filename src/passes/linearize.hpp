// linearize: branches that single lanes take become masks; the way back from diverge.
//
//   cond_br m, then, else            (m differs between lanes)        em = mask & m;  ee = mask & !m
//   then: store a, k, x; br join                                ->    store a, k & em, x
//   else: store a, k, y; br join                                      store a, k & ee, y
//   join: r = phi u, v                                                r = select em, u, v
//
//   loop: v = phi x, w; ...                                           in = phi mask, stay;  v = phi x, w;  k
//   = phi _, s
//         cond_br m, loop, exit                                 ->    ...; s = select in, w, k;  stay = in &
//         m
//   exit: w is read                                                   cond_br any stay, loop, exit;  s is
//   read
//
// Regions become straight lines, both sides under their masks; loops go around until no lane is left in them,
// and what is read behind them is kept for the lanes that have left. Branches that all lanes take together
// stay, unless they stand inside such a region.
//
// When: a program whose lanes branch by themselves is to be seated where lanes share an invocation, or on a
// host that brings lanes together nowhere (docs/passes.md).
#pragma once

#include "ir/ir.hpp"
#include "support/error.hpp"

namespace lanewise::passes {

/// `any`: Op::any for a program of waves, Op::host_any for one of invocations. The result says whether
/// anything changed; the function is not divergent afterwards. Errors (unsupported): irreducible control
/// flow, and in code that only some lanes come to: barriers, traps, calls, operations that read another
/// lane's value, a tuple that leaves a loop. After an error the function is of no use. Cost: near-linear in
/// values for each region.
[[nodiscard]] Expected<bool> linearize(ir::Function& f, ir::Op any = ir::Op::host_any);

} // namespace lanewise::passes
