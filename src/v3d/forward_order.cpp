#include "v3d/forward_order.hpp"

#include <algorithm>

namespace lanewise::v3d {

namespace {

constexpr unsigned lookahead = 6;
constexpr std::size_t most_users = 24; // further users of one value are not looked at again and again

class Forward {
 public:
  Forward(const Program& p, const Names& names, const std::vector<char>& free, const std::vector<Inst>& insts,
          const std::vector<std::uint32_t>& live_in, const std::vector<std::uint32_t>& live_out,
          const Bundles& bundles)
      : p_(p), names_(names), free_(free), insts_(insts), b_(bundles), count_(bundles.members.size()),
        nodes_(count_), remaining_(names.count()), live_(names.count()), users_(names.count()),
        producer_(names.count(), no_index), marked_(bundles.members.size()) {
    for (const std::uint32_t n : live_in) {
      live_[n] = 1;
    }
    for (const std::uint32_t n : live_out) {
      remaining_[n] = 1; // a use that never comes
    }
  }

  std::vector<std::uint32_t> run() {
    collect();
    depth_first();
    for (std::uint32_t k = 0; k < count_; ++k) {
      if (nodes_[k].waiting == 0) {
        candidates_.push_back(k);
      }
    }
    std::size_t next = 0;
    while (order_.size() < count_) {
      if (const std::uint32_t k = cheap(); k != no_index) {
        emit(k);
        continue;
      }
      while (!wanted_.empty() && nodes_[wanted_.back()].done) {
        wanted_.pop_back();
      }
      if (wanted_.empty() && !want_near()) {
        while (nodes_[base_[next]].done) {
          ++next;
        }
        wanted_.push_back(base_[next]); // its predecessors stand in front of it in the base order
      }
      emit(wanted_.back());
    }
    return std::move(order_);
  }

 private:
  struct Node {
    std::vector<std::uint32_t> uses, defs; ///< names that count, from outside and for outside
    std::vector<std::uint32_t> preds;
    std::uint32_t waiting = 0;
    bool done = false, queued = false;
  };

  [[nodiscard]] bool counts(std::uint32_t name) const { return !names_.is_temp(name) || free_[name] == 0; }

  void collect() {
    for (std::uint32_t k = 0; k < count_; ++k) {
      Node& n = nodes_[k];
      for (const std::uint32_t s : b_.succs[k]) {
        nodes_[s].preds.push_back(k);
        ++nodes_[s].waiting;
      }
      for (const std::uint32_t m : b_.members[k]) {
        for_uses(names_, insts_[m], [&](std::uint32_t u) {
          if (counts(u)) {
            n.uses.push_back(u);
          }
        });
        for (const Definition& d : definitions(p_.gpu, names_, insts_[m])) {
          if (counts(d.name)) {
            n.defs.push_back(d.name);
            producer_[d.name] = k;
          }
        }
      }
      for (auto* list : {&n.uses, &n.defs}) {
        std::ranges::sort(*list);
        list->erase(std::unique(list->begin(), list->end()), list->end());
      }
      for (const std::uint32_t u : n.uses) {
        ++remaining_[u];
        if (users_[u].size() < most_users) {
          users_[u].push_back(k);
        }
      }
    }
  }

  // Post-order from the last bundle that nothing waits for to the first; of a bundle's operands the deepest
  // first.
  void depth_first() {
    std::vector<std::uint32_t> depth(count_);
    std::vector<std::uint32_t> topological, waiting(count_);
    for (std::uint32_t k = 0; k < count_; ++k) {
      waiting[k] = nodes_[k].waiting;
      if (waiting[k] == 0) {
        topological.push_back(k);
      }
    }
    for (std::size_t at = 0; at < topological.size(); ++at) {
      const std::uint32_t k = topological[at];
      for (const std::uint32_t s : b_.succs[k]) {
        depth[s] = std::max(depth[s], depth[k] + 1);
        if (--waiting[s] == 0) {
          topological.push_back(s);
        }
      }
    }
    std::vector<char> seen(count_);
    std::vector<std::pair<std::uint32_t, std::size_t>> path;
    for (std::uint32_t root = 0; root < count_; ++root) {
      if (!b_.succs[root].empty()) {
        continue;
      }
      path.emplace_back(root, 0);
      seen[root] = 1;
      while (!path.empty()) {
        auto& [k, at] = path.back();
        auto& preds = nodes_[k].preds;
        if (at == 0) {
          std::ranges::stable_sort(preds,
                                   [&](std::uint32_t x, std::uint32_t y) { return depth[x] > depth[y]; });
        }
        if (at < preds.size()) {
          const std::uint32_t q = preds[at++];
          if (seen[q] == 0) {
            seen[q] = 1;
            path.emplace_back(q, 0);
          }
          continue;
        }
        base_.push_back(k);
        path.pop_back();
      }
    }
  }

  // What more is live behind the bundle, given what the steps tried so far have used up.
  int growth(std::uint32_t k) const {
    int g = 0;
    for (const std::uint32_t d : nodes_[k].defs) {
      g += live_[d] == 0 && remaining_[d] > (uses(k, d) ? 1u : 0u);
    }
    for (const std::uint32_t u : nodes_[k].uses) {
      g -= live_[u] != 0 && remaining_[u] == 1;
    }
    return g;
  }

  [[nodiscard]] bool uses(std::uint32_t k, std::uint32_t name) const {
    return std::ranges::binary_search(nodes_[k].uses, name);
  }

  // Tries the bundle and what it alone makes ready, a few steps; undone afterwards.
  bool pays(std::uint32_t first) {
    std::vector<std::uint32_t> tried;
    int sum = 0;
    bool good = false;
    std::uint32_t k = first;
    for (unsigned step = 0; step < lookahead; ++step) {
      sum += growth(k);
      if (sum <= 0) {
        good = true;
        break;
      }
      apply(k);
      tried.push_back(k);
      std::uint32_t next = no_index;
      for (const std::uint32_t s : b_.succs[k]) {
        if (nodes_[s].waiting == 0 && !nodes_[s].done && (next == no_index || growth(s) < growth(next))) {
          next = s;
        }
      }
      if (next == no_index) {
        break;
      }
      k = next;
    }
    while (!tried.empty()) {
      undo(tried.back());
      tried.pop_back();
    }
    return good;
  }

  void apply(std::uint32_t k) {
    nodes_[k].done = true;
    for (const std::uint32_t s : b_.succs[k]) {
      --nodes_[s].waiting;
    }
    for (const std::uint32_t u : nodes_[k].uses) {
      --remaining_[u];
    }
    for (const std::uint32_t d : nodes_[k].defs) {
      ++live_[d];
    }
  }

  void undo(std::uint32_t k) {
    nodes_[k].done = false;
    for (const std::uint32_t s : b_.succs[k]) {
      ++nodes_[s].waiting;
    }
    for (const std::uint32_t u : nodes_[k].uses) {
      ++remaining_[u];
    }
    for (const std::uint32_t d : nodes_[k].defs) {
      --live_[d];
    }
  }

  // The nearest user of the value that became live last: what it waits for, and itself. Values are left to
  // their users before anything new is begun.
  bool want_near() {
    for (const std::size_t limit : {std::size_t{12}, std::size_t{60}}) {
      std::size_t looked = 0;
      for (std::size_t at = recent_.size(); at-- > 0 && looked < 40;) {
        const std::uint32_t name = recent_[at];
        if (remaining_[name] == 0 || live_[name] == 0) {
          recent_.erase(recent_.begin() + static_cast<std::ptrdiff_t>(at));
          continue;
        }
        ++looked;
        std::vector<std::uint32_t> best;
        for (const std::uint32_t q : users_[name]) {
          if (!nodes_[q].done) {
            std::vector<std::uint32_t> list;
            if (missing(q, best.empty() ? limit : best.size() - 1, list)) {
              best = std::move(list);
            }
          }
        }
        if (!best.empty()) {
          std::ranges::reverse(best);
          wanted_ = std::move(best);
          return true;
        }
      }
    }
    return false;
  }

  // What has to come before the bundle, in order, and the bundle; false if that is more than `limit`.
  bool missing(std::uint32_t k, std::size_t limit, std::vector<std::uint32_t>& list) {
    ++mark_;
    std::vector<std::pair<std::uint32_t, std::size_t>> path{{k, 0}};
    marked_[k] = mark_;
    std::size_t found = 1;
    while (!path.empty()) {
      auto& [n, at] = path.back();
      if (at < nodes_[n].preds.size()) {
        const std::uint32_t q = nodes_[n].preds[at++];
        if (!nodes_[q].done && marked_[q] != mark_) {
          if (++found > limit) {
            return false;
          }
          marked_[q] = mark_;
          path.emplace_back(q, 0);
        }
        continue;
      }
      list.push_back(n);
      path.pop_back();
    }
    return true;
  }

  // The latest candidate that pays.
  std::uint32_t cheap() {
    while (!candidates_.empty()) {
      const std::uint32_t k = candidates_.back();
      candidates_.pop_back();
      nodes_[k].queued = false;
      if (!nodes_[k].done && nodes_[k].waiting == 0 && pays(k)) {
        return k;
      }
    }
    return no_index;
  }

  void look_again(std::uint32_t k) {
    if (!nodes_[k].done && nodes_[k].waiting == 0 && !nodes_[k].queued) {
      nodes_[k].queued = true;
      candidates_.push_back(k);
    }
  }

  void emit(std::uint32_t k) {
    order_.push_back(k);
    apply(k);
    // What used the same values, what uses the results, and what the latter wait for.
    for (const std::uint32_t u : nodes_[k].uses) {
      for (const std::uint32_t q : users_[u]) {
        look_again(q);
      }
    }
    for (const std::uint32_t d : nodes_[k].defs) {
      if (live_[d] == 1 && remaining_[d] != 0) {
        recent_.push_back(d);
      }
      for (const std::uint32_t q : users_[d]) {
        look_again(q);
        for (const std::uint32_t u : nodes_[q].uses) {
          if (producer_[u] != no_index) {
            look_again(producer_[u]);
          }
        }
      }
    }
    for (const std::uint32_t s : b_.succs[k]) {
      look_again(s);
    }
  }

  const Program& p_;
  const Names& names_;
  const std::vector<char>& free_;
  const std::vector<Inst>& insts_;
  const Bundles& b_;
  std::size_t count_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> remaining_;
  std::vector<std::uint32_t> live_;
  std::vector<std::vector<std::uint32_t>> users_;
  std::vector<std::uint32_t> producer_, base_, candidates_, order_, wanted_, recent_, marked_;
  std::uint32_t mark_ = 0;
};

} // namespace

std::vector<std::uint32_t> forward_order(const Program& p, const Names& names, const std::vector<char>& free,
                                         const std::vector<Inst>& insts,
                                         const std::vector<std::uint32_t>& live_in,
                                         const std::vector<std::uint32_t>& live_out, const Bundles& bundles) {
  return Forward(p, names, free, insts, live_in, live_out, bundles).run();
}

} // namespace lanewise::v3d
