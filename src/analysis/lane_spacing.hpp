// How far apart a value's lanes lie: whether two lanes of a wave may name the same byte with it.
#pragma once

#include "ir/ir.hpp"

#include <span>
#include <vector>

namespace lanewise::analysis {

/// Any two lanes of a wave hold numbers that differ by at least `apart` and at most `within`, modulo the
/// type's width. apart == 0: nothing is known. A value that is one for the wave has apart == 0 too.
struct LaneSpacing {
  uint64_t apart = 0, within = 0;
  friend bool operator==(const LaneSpacing&, const LaneSpacing&) = default;
};

/// The spacing of each value, by its index. One pass over the program: what comes around a loop is not known.
/// `most`, if not empty, are numbers that the values never exceed.
///
///     lane_id                    1 apart
///     lane_id + uniform          1 apart
///     (lane_id + uniform) << 2   4 apart
///     zext, pack64 with a uniform upper half, bitcast     as before
[[nodiscard]] std::vector<LaneSpacing> lane_spacing(const ir::Function& f,
                                                    std::span<const uint64_t> most = {});

} // namespace lanewise::analysis
