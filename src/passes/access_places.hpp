// Places in memory that a program accesses, as wave_fences tells them apart.
#pragma once

#include "analysis/buffer_roots.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace lanewise::passes {

constexpr uint8_t kLds = 1, kGlobal = 2;
constexpr int64_t kAnywhere = INT64_MAX;

/// Accesses of one kind of place: `base` + [from, to), or anywhere in the memories if there is no base.
struct Place {
  ir::Value base{};
  uint32_t root = analysis::kNoRoot;
  int64_t from = 0, to = kAnywhere;
  uint8_t memories = 0;
  bool reads = false, writes = false, coherent = false;

  /// Two places that can be kept as one, with what lies between them.
  [[nodiscard]] bool is_beside(const Place& o) const {
    return base == o.base && root == o.root && memories == o.memories && coherent == o.coherent;
  }
  /// Nothing lies between them.
  [[nodiscard]] bool touches(const Place& o) const { return is_beside(o) && from <= o.to && o.from <= to; }
  /// Takes in what `o`, beside it, adds. Says whether that is anything.
  bool join(const Place& o) {
    if (from <= o.from && to >= o.to && reads >= o.reads && writes >= o.writes) return false;
    from = std::min(from, o.from);
    to = std::max(to, o.to);
    reads = reads || o.reads;
    writes = writes || o.writes;
    return true;
  }
  friend bool operator==(const Place&, const Place&) = default;
};

/// A set of places that stays small: when it is full, it no longer tells places with the same base apart, and
/// when that is not enough, it knows only which memories from then on.
class Places {
 public:
  /// Says whether the set grew.
  bool add(const Place& given) {
    if (full_) {
      Place wide = given;
      widen(wide);
      return add_as_is(wide);
    }
    return add_as_is(given);
  }
  bool add(const Places& o) {
    bool grew = (o.full_ && !full_) || (o.joined_ && !joined_);
    if (o.joined_ && !joined_) join_bases();
    if (o.full_ && !full_) fill();
    for (const Place& p : o.list_) grew = add(p) || grew;
    return grew;
  }
  void clear() { *this = {}; }
  [[nodiscard]] bool empty() const { return list_.empty(); }
  [[nodiscard]] std::span<const Place> all() const { return list_; }

 private:
  static constexpr size_t kMost = 16;

  bool add_as_is(const Place& p) {
    for (Place& have : list_)
      if (joined_ ? have.is_beside(p) : have.touches(p)) return have.join(p);
    list_.push_back(p);
    if (list_.size() > kMost && !joined_) join_bases();
    if (list_.size() > kMost) fill();
    return true;
  }

  static void widen(Place& p) {
    p.base = {};
    p.root = analysis::kNoRoot;
    p.from = 0, p.to = kAnywhere;
  }
  void join_bases() {
    joined_ = true;
    for (const Place& p : std::exchange(list_, {})) add(p);
  }
  void fill() {
    joined_ = full_ = true;
    for (const Place& p : std::exchange(list_, {})) add(p);
  }

  std::vector<Place> list_;
  bool joined_ = false, full_ = false;
};

/// Who accesses the words of LDS.
class Owners {
 public:
  /// Whether no k and no other n have a word in common of a[k] + [a_from, a_to) and b[n] + [b_from, b_to).
  [[nodiscard]] bool apart(std::span<const uint64_t> a, int64_t a_from, int64_t a_to,
                           std::span<const uint64_t> b, int64_t b_from, int64_t b_to) {
    owner_.clear();
    for (size_t k = 0; k < a.size(); ++k)
      if (!each_word(a[k], a_from, a_to, [&](uint32_t& o) {
            o = o == kNobody ? static_cast<uint32_t>(k) : kSeveral;
            return true;
          }))
        return false;
    for (size_t n = 0; n < b.size(); ++n)
      if (!each_word(b[n], b_from, b_to, [&](uint32_t& o) { return o == kNobody || o == n; })) return false;
    return true;
  }

 private:
  static constexpr uint64_t kWords = 65536 / 4;
  static constexpr uint32_t kNobody = UINT32_MAX, kSeveral = UINT32_MAX - 1;

  /// False if one says so, or is outside.
  template <class F>
  bool each_word(uint64_t base, int64_t from, int64_t to, F visit) {
    const int64_t first = static_cast<int64_t>(base) + from, last = static_cast<int64_t>(base) + to - 1;
    if (first < 0 || last >= static_cast<int64_t>(kWords) * 4) return false;
    if (static_cast<size_t>(last) / 4 >= owner_.size())
      owner_.resize(static_cast<size_t>(last) / 4 + 64, kNobody);
    for (auto w = static_cast<size_t>(first) / 4; w <= static_cast<size_t>(last) / 4; ++w)
      if (!visit(owner_[w])) return false;
    return true;
  }

  std::vector<uint32_t> owner_;
};

} // namespace lanewise::passes
