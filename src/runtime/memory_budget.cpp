#include "runtime/memory_budget.hpp"

#include <algorithm>

namespace lanewise::runtime {

MemoryBudget::Use MemoryBudget::keep(std::shared_ptr<const void> object, uint64_t bytes) {
  const Use use = std::make_shared<std::atomic<uint64_t>>(now_.fetch_add(1, std::memory_order_relaxed) + 1);
  std::vector<Entry> gone; // ends when the lock is free again
  const std::lock_guard guard(lock_);
  entries_.push_back({std::move(object), bytes, use});
  bytes_ += bytes;
  if (bytes_ <= max_bytes_ || entries_.size() == 1) return use;
  // Down to seven eighths, so that the next ones have room; the newest stays in any case.
  const auto when = [](const Entry& e) { return e.use->load(std::memory_order_relaxed); };
  std::vector<std::pair<uint64_t, size_t>> order;
  for (size_t i = 0; i + 1 < entries_.size(); ++i) order.emplace_back(when(entries_[i]), i);
  std::ranges::sort(order);
  for (const auto& [time, i] : order) {
    if (bytes_ <= max_bytes_ / 8 * 7) break;
    bytes_ -= entries_[i].bytes;
    gone.push_back(std::move(entries_[i]));
  }
  std::erase_if(entries_, [](const Entry& e) { return !e.object; });
  dropped_.fetch_add(gone.size(), std::memory_order_relaxed);
  return use;
}

uint64_t MemoryBudget::bytes() const {
  const std::lock_guard guard(lock_);
  return bytes_;
}

} // namespace lanewise::runtime
