// Lists of lists in two arrays: what is built once and read often.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace lanewise::v3d {

template <class T>
class Groups {
 public:
  Groups() = default;
  /// `entries` belong to the group `of(entry)`; within a group they keep their order. Growth: linear.
  template <class E, class Of, class What>
  Groups(std::size_t count, const std::vector<E>& entries, Of&& of, What&& what) : starts_(count + 1) {
    for (const E& e : entries) {
      ++starts_[of(e) + 1];
    }
    for (std::size_t k = 0; k < count; ++k) {
      starts_[k + 1] += starts_[k];
    }
    std::vector<std::uint32_t> at(starts_.begin(), starts_.end() - 1);
    items_.resize(entries.size());
    for (const E& e : entries) {
      items_[at[of(e)]++] = what(e);
    }
  }

  [[nodiscard]] std::size_t size() const { return starts_.empty() ? 0 : starts_.size() - 1; }
  [[nodiscard]] std::span<const T> operator[](std::size_t k) const {
    return {items_.data() + starts_[k], starts_[k + 1] - starts_[k]};
  }

  /// Sorts each group and drops what stands in it twice.
  void make_sets() {
    std::uint32_t kept = 0;
    for (std::size_t k = 0; k + 1 < starts_.size(); ++k) {
      const auto first = items_.begin() + starts_[k], last = items_.begin() + starts_[k + 1];
      starts_[k] = kept;
      if (!std::ranges::is_sorted(first, last)) {
        std::ranges::sort(first, last);
      }
      for (auto it = first; it != last; ++it) {
        if (it == first || *it != items_[kept - 1] || kept == starts_[k]) {
          items_[kept++] = *it;
        }
      }
    }
    if (!starts_.empty()) {
      starts_.back() = kept;
    }
    items_.resize(kept);
  }

 private:
  std::vector<std::uint32_t> starts_;
  std::vector<T> items_;
};

} // namespace lanewise::v3d
