// A table "value -> what stands for it now", in place of rewriting all users at once.
#pragma once

#include "ir/ir.hpp"

namespace lanewise::passes {

/// Growth: near constant per request (path halving).
class Replacements {
 public:
  explicit Replacements(const ir::Function& f) : to_(f.value_count()) {}

  void set(ir::Value from, ir::Value to) {
    if (from.index >= to_.size()) to_.resize(from.index + 1);
    to_[from.index] = to;
  }
  [[nodiscard]] ir::Value operator()(ir::Value v) {
    while (v.index < to_.size() && to_[v.index]) {
      const ir::Value next = to_[v.index];
      if (next.index < to_.size() && to_[next.index]) to_[v.index] = to_[next.index];
      v = next;
    }
    return v;
  }
  /// Operands of one instruction.
  void apply(ir::Function& f, ir::Value v) {
    for (ir::Value& o : f.operands(v)) o = (*this)(o);
  }
  /// Operands of all instructions.
  void apply(ir::Function& f) {
    for (const ir::BasicBlock& b : f.blocks) {
      for (const ir::Value v : b.instructions) apply(f, v);
    }
  }

 private:
  std::vector<ir::Value> to_;
};

} // namespace lanewise::passes
