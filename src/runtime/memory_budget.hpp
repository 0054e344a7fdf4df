// What a library keeps in memory: objects that were used lately, up to a number of bytes.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace lanewise::runtime {

/// Holds references to objects that caches know by weak references. Where all together are too large, those
/// that were used longest ago go; who still has one keeps it. Safe for all threads.
class MemoryBudget {
 public:
  explicit MemoryBudget(uint64_t max_bytes) : max_bytes_(max_bytes) {}

  /// When an object was used last.
  using Use = std::shared_ptr<std::atomic<uint64_t>>;
  [[nodiscard]] Use keep(std::shared_ptr<const void> object, uint64_t bytes);
  /// Costs two atomic accesses. Time passes when objects are added.
  void touch(const Use& use) const {
    if (use) use->store(now_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }

  [[nodiscard]] uint64_t bytes() const;
  [[nodiscard]] uint64_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    std::shared_ptr<const void> object;
    uint64_t bytes;
    Use use;
  };

  uint64_t max_bytes_;
  std::atomic<uint64_t> now_{1}, dropped_{0};
  mutable std::mutex lock_;
  std::vector<Entry> entries_;
  uint64_t bytes_ = 0;
};

/// A reference that a cache has of an object in the budget.
template <class T>
struct Kept {
  std::weak_ptr<const T> object;
  MemoryBudget::Use use;

  Kept() = default;
  Kept(MemoryBudget& budget, const std::shared_ptr<const T>& o, uint64_t bytes)
      : object(o), use(budget.keep(o, bytes)) {}
  /// The object, used now; null if it was dropped.
  [[nodiscard]] std::shared_ptr<const T> get(const MemoryBudget& budget) const {
    auto o = object.lock();
    if (o) budget.touch(use);
    return o;
  }
  [[nodiscard]] bool expired() const { return object.expired(); }
};

} // namespace lanewise::runtime
