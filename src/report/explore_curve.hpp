// Live words along the machine code, as a picture.
#pragma once

#include "report/explore.hpp"

namespace lanewise::report {

/// Inline SVG: words per lane before and after the passes and the bound, and uniform words before and after,
/// over the instructions in their order; ticks below mark the selects that stay. At most a thousand steps
/// wide, each showing the most of the instructions it stands for.
[[nodiscard]] std::string pressure_svg(const ExploreData& data);

} // namespace lanewise::report
