// Makes the control flow of any function reducible.
#pragma once

#include "ir/ir.hpp"
#include "support/error.hpp"

namespace lanewise::spirv {

/// Every cycle with several entries gets a dispatch block in front of them:
///
///   a -> x, b -> y, x -> y, y -> x    becomes    a, b, x, y -> d;  d: which = phi(...); which == 0 ? x : y
///
/// Only the irreducible part pays. Values that no longer stand above all their uses get phis. Does nothing to
/// reducible functions. Errors: `limit` after limits::max_dispatch_blocks, `unsupported` for a tuple that
/// would need a phi.
[[nodiscard]] Expected<void> make_reducible(ir::Function& f);

} // namespace lanewise::spirv
