#include "v3d/spill_slots.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace lanewise::v3d::spilling {

namespace {

constexpr unsigned row_words = 4;

class Rows {
 public:
  explicit Rows(const std::vector<std::vector<char>>& meets) : meets_(meets) {}

  // The chain's values into neighbouring words of a row, the first that has room.
  void place(const std::vector<std::uint32_t>& chain, std::vector<std::uint32_t>& slot) {
    for (std::size_t row = 0;; ++row) {
      if (row == rows_.size()) {
        rows_.emplace_back();
      }
      for (unsigned start = 0; start + chain.size() <= row_words; ++start) {
        if (!fits(row, start, chain)) {
          continue;
        }
        for (std::size_t k = 0; k < chain.size(); ++k) {
          rows_[row][start + k].push_back(chain[k]);
          slot[chain[k]] = static_cast<std::uint32_t>(row * row_words + start + k);
        }
        return;
      }
    }
  }

 private:
  [[nodiscard]] bool fits(std::size_t row, unsigned start, const std::vector<std::uint32_t>& chain) const {
    for (std::size_t k = 0; k < chain.size(); ++k) {
      for (const std::uint32_t other : rows_[row][start + k]) {
        if (meets_[chain[k]][other] != 0) {
          return false;
        }
      }
    }
    return true;
  }

  const std::vector<std::vector<char>>& meets_;
  std::vector<std::array<std::vector<std::uint32_t>, row_words>> rows_;
};

// Values that often move together, in chains of up to a row: the heaviest pairs first.
std::vector<std::vector<std::uint32_t>> chains(std::size_t count, const std::vector<Together>& together,
                                               unsigned longest) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, unsigned> weight;
  for (const Together& t : together) {
    for (std::size_t a = 0; a < t.values.size(); ++a) {
      for (std::size_t b = a + 1; b < t.values.size(); ++b) {
        weight[std::minmax(t.values[a], t.values[b])] += t.weight;
      }
    }
  }
  std::vector<std::pair<std::pair<std::uint32_t, std::uint32_t>, unsigned>> pairs(weight.begin(),
                                                                                  weight.end());
  std::ranges::stable_sort(pairs, [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::vector<std::uint32_t>> lists(count);
  std::vector<std::uint32_t> list_of(count);
  for (std::uint32_t k = 0; k < count; ++k) {
    lists[k] = {k};
    list_of[k] = k;
  }
  for (const auto& [pair, w] : pairs) {
    auto &a = lists[list_of[pair.first]], &b = lists[list_of[pair.second]];
    if (&a == &b || a.size() + b.size() > longest) {
      continue;
    }
    for (const std::uint32_t k : b) {
      list_of[k] = list_of[pair.first];
      a.push_back(k);
    }
    b.clear();
  }
  std::erase_if(lists, [](const auto& l) { return l.empty(); });
  std::ranges::stable_sort(lists, [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return lists;
}

void count_slots(SlotPlan& plan) {
  for (const std::uint32_t s : plan.slot) {
    plan.count = std::max(plan.count, s + 1);
  }
}

SlotPlan in_rows(const std::vector<std::vector<char>>& meets, const std::vector<Together>& together,
                 unsigned threads) {
  SlotPlan plan;
  plan.rows = true;
  plan.slot.assign(meets.size(), no_index);
  Rows rows(meets);
  for (const auto& chain : chains(meets.size(), together, widest_access(threads, true))) {
    rows.place(chain, plan.slot);
  }
  count_slots(plan);
  plan.count = (plan.count + row_words - 1) / row_words * row_words;
  return plan;
}

SlotPlan in_words(const std::vector<std::vector<char>>& meets, bool share) {
  SlotPlan plan;
  plan.slot.assign(meets.size(), no_index);
  for (std::size_t k = 0; k < meets.size(); ++k) {
    std::vector<char> taken(meets.size() + 1);
    for (std::size_t m = 0; m < k; ++m) {
      if (meets[k][m] != 0 || !share) {
        taken[plan.slot[m]] = 1;
      }
    }
    plan.slot[k] = static_cast<std::uint32_t>(std::ranges::find(taken, 0) - taken.begin());
  }
  count_slots(plan);
  return plan;
}

} // namespace

unsigned widest_access(unsigned threads, bool is_store) {
  return std::min(row_words, 16 / threads - (is_store ? 1 : 0));
}

std::vector<Access> by_access(std::vector<std::uint32_t>& values, const SlotPlan& plan, unsigned widest) {
  std::vector<Access> r;
  if (plan.rows) {
    std::ranges::stable_sort(values, {}, [&](std::uint32_t v) { return plan.slot[v]; });
  }
  for (std::uint32_t k = 0; k < values.size(); ++k) {
    const bool joins = plan.rows && !r.empty() && r.back().width < widest &&
                       plan.slot[values[k]] == plan.slot[values[k - 1]] + 1 &&
                       plan.slot[values[k]] % row_words != 0;
    if (joins) {
      ++r.back().width;
    } else {
      r.push_back({k, 1});
    }
  }
  return r;
}

SlotPlan assign_slots(const std::vector<std::vector<char>>& meets, const std::vector<Together>& together,
                      unsigned threads, const SpillOptions& options) {
  if (options.vectors && options.batch && options.share_slots) {
    SlotPlan rows = in_rows(meets, together, threads);
    std::uint64_t words = 0, in_vectors = 0;
    for (const Together& t : together) {
      auto values = t.values;
      for (const Access& a : by_access(values, rows, widest_access(threads, t.is_store))) {
        words += std::uint64_t{a.width} * t.weight;
        in_vectors += a.width > 1 ? std::uint64_t{a.width} * t.weight : 0;
      }
    }
    if (in_vectors != 0 &&
        static_cast<double>(in_vectors) >= options.vector_share * static_cast<double>(words)) {
      return rows;
    }
  }
  return in_words(meets, options.share_slots);
}

} // namespace lanewise::v3d::spilling
