// A hash table from numbers to small values in one array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace lanewise {

/// Open addressing, never shrinks. References hold until the next insertion. Any key but ~0.
template <class V>
class FlatMap {
 public:
  /// The value of the key, made if there is none yet; and whether it was made.
  std::pair<V&, bool> insert(uint64_t key) {
    if (2 * (used_ + 1) > slots_.size()) grow();
    Slot& s = slots_[slot_of(key)];
    const bool is_new = s.key == kFree;
    if (is_new) {
      s.key = key;
      ++used_;
    }
    return {s.value, is_new};
  }

 private:
  static constexpr uint64_t kFree = ~uint64_t{0};
  struct Slot {
    uint64_t key = kFree;
    V value{};
  };
  [[nodiscard]] size_t slot_of(uint64_t key) const {
    const size_t mask = slots_.size() - 1;
    const uint64_t h = key * 0x9e3779b97f4a7c15ull;
    size_t slot = (h ^ h >> 32) & mask;
    while (slots_[slot].key != kFree && slots_[slot].key != key) slot = (slot + 1) & mask;
    return slot;
  }
  void grow() {
    std::vector<Slot> old(slots_.empty() ? 16 : 2 * slots_.size());
    old.swap(slots_);
    for (Slot& s : old)
      if (s.key != kFree) slots_[slot_of(s.key)] = std::move(s);
  }

  std::vector<Slot> slots_;
  size_t used_ = 0;
};

} // namespace lanewise
