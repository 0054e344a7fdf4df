// Orders the bundles of a block from its beginning: one computation after the other, depth first from what
// the block is for, and whatever can be finished on the way without more live values is finished at once.
#pragma once

#include "v3d/bundle.hpp"

namespace lanewise::v3d {

/// `free` marks temporaries that do not count. Growth: linear in the block's operands, times a few steps of
/// lookahead.
[[nodiscard]] std::vector<std::uint32_t>
forward_order(const Program& p, const Names& names, const std::vector<char>& free,
              const std::vector<Inst>& insts, const std::vector<std::uint32_t>& live_in,
              const std::vector<std::uint32_t>& live_out, const Bundles& bundles);

} // namespace lanewise::v3d
