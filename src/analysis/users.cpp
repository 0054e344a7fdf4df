#include "analysis/users.hpp"

namespace lanewise::analysis {

Users::Users(const ir::Function& f) : begin_(f.value_count() + 1) {
  const auto for_each = [&](auto visit) {
    for (const ir::BasicBlock& b : f.blocks) {
      for (const ir::Value v : b.instructions) {
        for (const ir::Value o : f.operands(v)) visit(o, v);
      }
    }
  };
  for_each([&](ir::Value o, ir::Value) { ++begin_[o.index + 1]; });
  for (size_t i = 1; i < begin_.size(); ++i) begin_[i] += begin_[i - 1];
  users_.resize(begin_.back());
  std::vector<uint32_t> next(begin_.begin(), begin_.end() - 1);
  for_each([&](ir::Value o, ir::Value user) { users_[next[o.index]++] = user; });
}

} // namespace lanewise::analysis
