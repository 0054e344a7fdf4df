#include "analysis/users.hpp"
#include "passes/passes.hpp"

namespace lanewise::passes {

using namespace ir;

bool uniformity(Function& f) {
  const analysis::Users users(f);
  std::vector<bool> uniform(f.value_count(), true);
  std::vector<Value> work;
  // Depends on the lane whatever its operands are.
  const auto varies = [&](Value v) { return !f.derive_uniform(f[v].op, {}, f[v].imm); };
  // Differs between lanes when an operand does.
  const auto passes_on = [&](Value v) {
    const OpKind kind = info(f[v].op).kind;
    return kind == OpKind::pure || kind == OpKind::load || kind == OpKind::phi;
  };
  const auto vary = [&](Value v) {
    if (!uniform[v.index] || f[v].type == Type::none) return;
    uniform[v.index] = false;
    work.push_back(v);
  };
  for (const BasicBlock& b : f.blocks) {
    for (const Value v : b.instructions) {
      if (varies(v)) vary(v);
    }
  }
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    for (const Value user : users.of(v)) {
      if (passes_on(user)) vary(user);
    }
  }
  bool changed = false;
  for (const BasicBlock& b : f.blocks) {
    for (const Value v : b.instructions) {
      if (f[v].type == Type::none || f[v].uniform == uniform[v.index]) continue;
      f[v].uniform = uniform[v.index];
      changed = true;
    }
  }
  return changed;
}

} // namespace lanewise::passes
