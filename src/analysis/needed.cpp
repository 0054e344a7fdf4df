#include "analysis/needed.hpp"

namespace lanewise::analysis {

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

std::vector<bool> needed_values(const Function& f) {
  std::vector<bool> needed(f.value_count());
  std::vector<Value> work;
  const auto mark = [&](Value v) {
    if (needed[v.index]) return;
    needed[v.index] = true;
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
  return needed;
}

} // namespace lanewise::analysis
