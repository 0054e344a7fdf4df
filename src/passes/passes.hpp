// The passes, each a function of the program; passes/pipeline.cpp has the order, docs/passes.md the rewrites.
// The result says whether the program changed. All grow near linearly with the program.
#pragma once

#include "ir/ir.hpp"
#include "passes/wave_fences.hpp"
#include "support/error.hpp"

namespace lanewise::passes {

/// Finds out anew which values are one for the whole wave. Runs first, because loop phis are made before
/// their operands are known: starts from "everything is uniform" and takes back what depends on the lane. Where
/// single lanes branch (Function::divergent) it only takes back.
bool uniformity(ir::Function& f);

/// Folds every instruction (ir/fold.hpp) and makes equal ones one, block by block in dominance order.
bool simplify(ir::Function& f);

/// Turns wave masks that go through phis as numbers into per-lane phis.
bool mask_phis(ir::Function& f);

/// Buffer operations become accesses of scratch or global memory. Runs when descriptors have been folded to
/// constants where they are. Errors: unsupported (typed formats).
[[nodiscard]] Expected<bool> lower_buffers(ir::Function& f);

/// Flat accesses of addresses in a known aperture become LDS, scratch or global ones; the rest stays flat.
bool resolve_flat(ir::Function& f);

/// Scratch words that only known addresses reach become values. Runs when buffer and flat accesses of scratch
/// have been found out.
bool scratch_values(ir::Function& f);

/// SGPRs spilled to lanes of a VGPR come back as values, through phis too. Runs behind scratch_values,
/// because such VGPRs are spilled themselves.
bool lane_spills(ir::Function& f);

/// Ways whose next branch is decided already go on to where it leads. Runs on invocations, behind `diverge`.
bool jump_threading(ir::Function& f);

/// Lays out loops of few rounds, known from constants, that choose registers by their count.
bool unroll(ir::Function& f);

/// Removes what nothing visible depends on.
bool dead_code(ir::Function& f);

/// Takes branches whose condition is a constant, or known because a branch on the way asked for it, or that lead
/// around nothing; removes unreachable blocks, joins blocks in a straight line. What a branch asks for is a
/// constant behind it, for masks too.
bool cfg_cleanup(ir::Function& f);

} // namespace lanewise::passes
