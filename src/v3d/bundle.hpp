// A block cut into bundles: instructions that stay together when the block is put in another order.
//
// Condition flags, the product register, an ldvary's coefficient and the TMU are each one resource that a few
// instructions use in turn. If those few keep together, the turns themselves may come in any order; without
// that, the order in which a listing happens to interleave them would be the only one.
#pragma once

#include "v3d/groups.hpp"
#include "v3d/liveness.hpp"
#include "v3d/spill.hpp"

#include <optional>
#include <vector>

namespace lanewise::v3d {

struct Bundles {
  Groups<std::uint32_t> members; ///< instructions in the block's order; every one but dropped switches
  Groups<std::uint32_t> succs;   ///< which bundles must come behind
  bool own_switches = false;     ///< TMU lookups bring their own thread switches; the block's are left out
};

/// `last` is the program's last thread switch, which stays. Growth: n log n in the instructions.
[[nodiscard]] Bundles make_bundles(const Program& p, std::uint32_t block, const Liveness& l,
                                   const Place& last);

/// Every instruction a bundle of its own, with all dependences.
[[nodiscard]] Bundles single_bundles(const Program& p, const std::vector<Inst>& insts);

/// The instructions in an order of the bundles; nothing if a switch would have to stand where it may not.
[[nodiscard]] std::optional<std::vector<Inst>> unbundle(const Program& p, const std::vector<Inst>& insts,
                                                        const Bundles& b,
                                                        const std::vector<std::uint32_t>& order);

} // namespace lanewise::v3d
