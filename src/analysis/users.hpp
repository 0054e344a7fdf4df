// Who uses each value.
#pragma once

#include "ir/ir.hpp"

namespace lanewise::analysis {

/// For each value the instructions that have it as an operand, once for each such operand. A snapshot:
/// rewriting the function makes it stale. Cost: linear.
class Users {
 public:
  explicit Users(const ir::Function& f);
  [[nodiscard]] std::span<const ir::Value> of(ir::Value v) const {
    return std::span(users_).subspan(begin_[v.index], begin_[v.index + 1] - begin_[v.index]);
  }

 private:
  std::vector<uint32_t> begin_; ///< by value, one more at the end
  std::vector<ir::Value> users_;
};

} // namespace lanewise::analysis
