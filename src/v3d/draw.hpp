// Pictures of allocations.
#pragma once

#include "v3d/allocate.hpp"

#include <string>

namespace lanewise::v3d {

/// One SVG document: the live ranges of the temporaries before allocation above, the registers after it
/// below, positions from left to right, stores and fills marked.
[[nodiscard]] std::string draw_allocation(const Program& listing, const Allocation& a);

} // namespace lanewise::v3d
