// Masks that some lane is in, because the way to where they are read says so.
#pragma once

#include "cfg/dominators.hpp"
#include "ir/ir.hpp"

#include <optional>
#include <vector>

namespace lanewise::analysis {

/// A wave branches on "any lane of m": where that was true, m is not empty. m keeps the value that the branch
/// saw as long as the place is not left: what dominates a block ran after m was made last.
class EnteredMasks {
 public:
  /// Both must outlive it.
  EnteredMasks(const ir::Function& f, const cfg::Dominators& dominators) : f_(f), dominators_(dominators) {}

  /// The mask that is not empty when edge e into a block is taken, by the branch in front of it.
  [[nodiscard]] std::optional<ir::Value> on_edge(ir::Block block, unsigned e) const;
  /// Those that are not empty in a block. One step for each block that dominates it.
  [[nodiscard]] std::vector<ir::Value> around(ir::Block block) const;

 private:
  const ir::Function& f_;
  const cfg::Dominators& dominators_;
};

} // namespace lanewise::analysis
