#include "spirv/cut_waves.hpp"

#include <algorithm>

namespace lanewise::spirv {

bool may_lack_waves(const Seating& seating, const std::array<bool, 3>& partial) {
  if (seating.waves() == 1 || seating.independent) return false;
  for (unsigned d = 0; d < 3; ++d)
    if (partial[d] && seating.workgroup[d] > 1) return true;
  return false;
}

bool has_barrier(const ir::Function& f) {
  return std::ranges::any_of(f.blocks, [&](const ir::BasicBlock& b) {
    return std::ranges::any_of(b.instructions, [&](ir::Value v) { return f[v].op == ir::Op::barrier; });
  });
}

bool has_barrier(const ir::Function& main, std::span<const ir::CalleeFunction> callees) {
  return has_barrier(main) ||
         std::ranges::any_of(callees, [](const ir::CalleeFunction& c) { return has_barrier(c.function); });
}

} // namespace lanewise::spirv
