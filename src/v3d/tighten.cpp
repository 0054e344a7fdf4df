#include "v3d/tighten.hpp"

#include "v3d/depend.hpp"

#include <algorithm>

namespace lanewise::v3d {

void tighten_flags(Program& p) {
  for (Block& b : p.blocks) {
    auto& insts = b.insts;
    if (insts.empty() || !insts.back().is_branch || insts.back().branch.cond == BranchCond::always) {
      continue;
    }
    // From the last operation that sets the flags for the branch.
    std::size_t setter = insts.size();
    for (std::size_t n = insts.size() - 1; n-- > 0 && setter == insts.size();) {
      if (insts[n].alu.push != Push::none) {
        setter = n;
      }
    }
    if (setter + 2 >= insts.size()) {
      continue;
    }
    const std::vector<Inst> tail(insts.begin() + static_cast<std::ptrdiff_t>(setter), insts.end() - 1);
    const DependenceGraph graph = build_dependences(p.gpu, tail, p.temp_count);
    std::vector<char> stays(tail.size());
    stays[0] = 1;
    for (std::size_t n = 0; n < tail.size(); ++n) {
      stays[n] = stays[n] != 0 || writes_flags(tail[n].alu) || reads_flags_of(tail[n].alu);
      for (const Edge& e : graph.succs[n]) {
        stays[e.to] = stays[e.to] != 0 || stays[n] != 0;
      }
    }
    auto out = insts.begin() + static_cast<std::ptrdiff_t>(setter);
    for (const bool wanted : {false, true}) {
      for (std::size_t n = 0; n < tail.size(); ++n) {
        if ((stays[n] != 0) == wanted) {
          *out++ = tail[n];
        }
      }
    }
  }
}

} // namespace lanewise::v3d
