#include "passes/passes.hpp"

namespace lanewise::passes {

using namespace ir;

namespace {

bool is_visible(const Function& f, Value v) {
  switch (info(f[v].op).kind) {
  case OpKind::store:
  case OpKind::atomic:
  case OpKind::end: return true;
  case OpKind::effect: return f[v].op != Op::clock;
  default: return false;
  }
}

} // namespace

bool dead_code(Function& f) {
  std::vector<bool> live(f.value_count());
  std::vector<Value> work;
  const auto mark = [&](Value v) {
    if (live[v.index]) return;
    live[v.index] = true;
    work.push_back(v);
  };
  for (const BasicBlock& b : f.blocks) {
    for (const Value v : b.instructions) {
      if (is_visible(f, v)) mark(v);
    }
  }
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    for (const Value o : f.operands(v)) mark(o);
  }
  bool changed = false;
  for (BasicBlock& b : f.blocks) {
    changed |= std::erase_if(b.instructions, [&](Value v) { return !live[v.index]; }) != 0;
  }
  return changed;
}

} // namespace lanewise::passes
