// Callees by address and by content.
#pragma once

#include "runtime/keys.hpp"
#include "runtime/linked.hpp"
#include "runtime/memory_budget.hpp"

#include <atomic>
#include <map>
#include <shared_mutex>

namespace lanewise::runtime {

/// Equal callees are one object, wherever they lie. Safe for all threads.
class CalleeCache {
 public:
  /// `budget` outlives the cache.
  explicit CalleeCache(MemoryBudget& budget) : budget_(budget) {}

  /// What stands at an address now. Known addresses cost a look-up as long as the memory's write version
  /// stays; after a write the code is compared, and prepared anew if it differs.
  [[nodiscard]] Expected<CalleePtr> find(const GuestMemory& memory, uint64_t address,
                                         const translate::CalleeAbi& abi);
  /// compose(), once for the same callees.
  [[nodiscard]] CalleePtr composed(const CalleePtr& callee, const std::vector<CalleePtr>& nested);
  /// Whether the code of a callee at an address is unchanged.
  [[nodiscard]] bool is_current(const GuestMemory& memory, uint64_t address, const PreparedCallee& callee);

  /// Before a GuestMemory goes away.
  void forget(const GuestMemory& memory);

  [[nodiscard]] uint64_t prepared() const { return prepared_; }
  [[nodiscard]] uint64_t compared() const { return compared_; }

 private:
  struct Where {
    const GuestMemory* memory;
    uint64_t address;
    translate::CalleeAbi abi;
    friend auto operator<=>(const Where&, const Where&) = default;
  };
  using KeptCallee = Kept<PreparedCallee>;
  struct Known {
    KeptCallee callee;
    uint64_t version = 0;
  };
  [[nodiscard]] KeptCallee unique(CalleePtr& callee);
  void remember(const Where& where, Known known);
  void forget_dropped();

  MemoryBudget& budget_;
  std::shared_mutex lock_;
  std::map<Where, Known> addresses_;
  std::multimap<Hash128, KeptCallee> contents_;
  /// By callee, then those of its slots. What was composed refers to them, so an address is theirs as long as
  /// the entry has not expired.
  std::map<std::vector<const PreparedCallee*>, KeptCallee> composed_;
  uint64_t dropped_ = 0; ///< of the budget, when expired entries were removed last
  std::atomic<uint64_t> prepared_{0}, compared_{0};
};

} // namespace lanewise::runtime
