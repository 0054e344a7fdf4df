// Global value numbering: finds the value that already computes an operation and dominates the place where it
// is wanted.
#pragma once

#include "ir/dominators.hpp"
#include "ir/fold.hpp"

namespace lanewise::ir {

/// Blocks must be visited in reverse postorder. Cost: expected constant time per request.
class ValueTable {
 public:
  ValueTable(const Function& f, const Dominators& dominators);

  Block current; ///< where the next operations are wanted

  /// Operations whose result depends on nothing but operands and immediate: everything without side effects
  /// but loads, of which only invariant ones are taken.
  [[nodiscard]] static bool takes(const Request& r);

  [[nodiscard]] Value find(const Request& r);
  /// Enters a value for the request that `find` just failed on.
  void insert(Value v);

 private:
  [[nodiscard]] bool equal(Value v, const Request& r) const;
  [[nodiscard]] size_t free_slot(uint32_t hash) const;
  void grow();

  struct Slot {
    Value value;
    uint32_t hash = 0;
    Block home;
  };

  const Function& f_;
  const Dominators& dominators_;
  std::vector<Slot> slots_;
  size_t used_ = 0, slot_ = 0;
  uint32_t hash_ = 0;
};

} // namespace lanewise::ir
