// A value that came to be defined in several blocks, and what it is elsewhere.
#pragma once

#include "ir/ir.hpp"

#include <functional>
#include <span>
#include <unordered_map>
#include <utility>

namespace lanewise::passes {

class Definitions {
 public:
  /// `at_end`: blocks and what the value is at their ends. New phis are shown to `made`, once they have
  /// operands.
  Definitions(ir::Function& f, ir::Value like, std::span<const std::pair<ir::Block, ir::Value>> at_end,
              std::function<void(ir::Value, ir::Block)> made)
      : f_(f), like_(like), made_(std::move(made)) {
    for (const auto& [block, value] : at_end) at_end_[block.index] = value;
  }

  /// The value at the end of a block; phis are made where ways meet.
  [[nodiscard]] ir::Value at_end(ir::Block b);

 private:
  void join(ir::Block b);

  ir::Function& f_;
  ir::Value like_; ///< type, uniformity and origin of the phis
  std::function<void(ir::Value, ir::Block)> made_;
  std::unordered_map<uint32_t, ir::Value> at_end_; ///< by block
};

} // namespace lanewise::passes
