#include "runtime/dispatch_parts.hpp"

#include <algorithm>

namespace lanewise::runtime {

namespace {

/// Workgroups along one dimension that have the same number of work-items in it.
struct Run {
  uint32_t base, groups, items;
};

std::vector<Run> runs(uint32_t grid, uint32_t block) {
  const uint32_t whole = grid / block, rest = grid % block;
  std::vector<Run> list;
  if (whole > 0) list.push_back({0, whole, block});
  if (rest > 0) list.push_back({whole, 1, rest});
  return list;
}

} // namespace

std::vector<DispatchPart> dispatch_parts(const std::array<uint32_t, 3>& grid,
                                         const std::array<uint32_t, 3>& block, const spirv::CutWaves& cut) {
  std::vector<DispatchPart> parts;
  for (const Run& z : runs(grid[2], block[2]))
    for (const Run& y : runs(grid[1], block[1]))
      for (const Run& x : runs(grid[0], block[0]))
        parts.push_back({{x.base, y.base, z.base},
                         {x.groups, y.groups, z.groups},
                         cut.invocations(x.items * y.items * z.items)});
  const bool alike = std::ranges::all_of(
      parts, [&](const DispatchPart& p) { return p.invocations == parts.front().invocations; });
  if (!alike) return parts;
  DispatchPart all{{}, {}, parts.front().invocations};
  for (unsigned d = 0; d < 3; ++d) all.groups[d] = (grid[d] + block[d] - 1) / block[d];
  return {all};
}

} // namespace lanewise::runtime
