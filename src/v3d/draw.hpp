// Pictures of allocations.
#pragma once

#include "v3d/allocate.hpp"

#include <string>

namespace lanewise::v3d {

/// One SVG document: the live ranges of the temporaries before allocation above, the registers after it
/// below, positions from left to right, stores and fills marked. At most 400 positions from `first` on are
/// drawn.
[[nodiscard]] std::string draw_allocation(const Program& listing, const Allocation& a,
                                          std::uint32_t first = 0);

} // namespace lanewise::v3d
