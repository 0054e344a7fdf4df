// Callees by address and by content.
#pragma once

#include "runtime/keys.hpp"
#include "runtime/linked.hpp"

#include <atomic>
#include <map>
#include <shared_mutex>

namespace lanewise::runtime {

/// Equal callees are one object, wherever they lie. Safe for all threads.
class CalleeCache {
 public:
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
  struct Known {
    CalleePtr callee;
    uint64_t version = 0;
  };
  [[nodiscard]] CalleePtr unique(CalleePtr callee);
  void remember(const Where& where, Known known);

  std::shared_mutex lock_;
  std::map<Where, Known> addresses_;
  std::multimap<Hash128, CalleePtr> contents_;
  std::map<std::vector<CalleePtr>, CalleePtr> composed_; ///< callee, then those of its slots
  std::atomic<uint64_t> prepared_{0}, compared_{0};
};

} // namespace lanewise::runtime
