#include "passes/passes.hpp"

#include "analysis/needed.hpp"

namespace lanewise::passes {

bool dead_code(ir::Function& f) {
  const std::vector<bool> needed = analysis::needed_values(f);
  bool changed = false;
  for (ir::BasicBlock& b : f.blocks) {
    changed |= std::erase_if(b.instructions, [&](ir::Value v) { return !needed[v.index]; }) != 0;
  }
  return changed;
}

} // namespace lanewise::passes
