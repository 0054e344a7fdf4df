// Values that are read in the lanes of a mask only, found by looking at their uses.
#pragma once

#include "analysis/mask_algebra.hpp"
#include "analysis/users.hpp"

#include <unordered_set>
#include <vector>

namespace lanewise::passes {

/// The short way to what analysis::LaneDemand answers in full: most values that lanes outside a mask do not
/// tell are temporaries, with a few uses not far away. Asks of a function that does not change meanwhile.
class ReadInside {
 public:
  ReadInside(const ir::Function& f, analysis::MaskAlgebra& masks) : f_(f), masks_(masks) {}

  /// Lanes outside `mask` that came to `join` by its incoming `edge` do not tell its phi: each use that ends
  /// a way from it, through operations and other joins, is made by lanes of the mask. False also if that is
  /// not found out in a bounded number of steps, or beyond the next turn of a loop. The mask must be made
  /// before the join.
  bool operator()(ir::Value phi, ir::Block join, unsigned edge, analysis::Formula mask,
                  const analysis::Users& users);

 private:
  /// A value that is read by what was looked at in these lanes at most.
  struct Read {
    ir::Value value;
    analysis::Formula lanes;
  };

  bool use_inside(const Read& read, ir::Value user);
  bool ends_inside(analysis::Formula lanes, ir::Value further);

  const ir::Function& f_;
  analysis::MaskAlgebra& masks_;
  ir::Block join_{};
  unsigned edge_ = 0;
  analysis::Formula mask_;
  std::vector<Read> work_;
  std::unordered_set<uint64_t> seen_; ///< values with lanes
};

} // namespace lanewise::passes
