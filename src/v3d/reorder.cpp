#include "v3d/reorder.hpp"

#include "v3d/depend.hpp"
#include "v3d/pressure_order.hpp"

#include <algorithm>
#include <queue>

namespace lanewise::v3d {

namespace {

// Schedules one block from its end. At each step the ready instructions are compared by how many values more
// would be live in front of them.
class BackwardScheduler {
 public:
  BackwardScheduler(const Program& p, const Names& names, const std::vector<char>& free, Order order)
      : p_(p), names_(names), free_(free), order_(order), live_(names.count()), wanted_at_(names.count()) {}

  std::vector<std::uint32_t> run(const std::vector<Inst>& insts, const std::vector<std::uint32_t>& live_out) {
    const auto n = static_cast<std::uint32_t>(insts.size());
    const DependenceGraph graph = build_dependences(p_.gpu, insts, names_.temps);
    std::vector<std::vector<std::uint32_t>> preds(n);
    std::vector<std::uint32_t> waiting(n);
    for (std::uint32_t i = 0; i < n; ++i) {
      for (const Edge& e : graph.succs[i]) {
        preds[e.to].push_back(i);
        ++waiting[i];
      }
    }
    for (const std::uint32_t name : live_out) {
      live_[name] = 1;
      wanted_at_[name] = 0;
    }
    std::vector<std::uint32_t> ready, result;
    for (std::uint32_t i = 0; i < n; ++i) {
      if (waiting[i] == 0) {
        ready.push_back(i);
      }
    }
    for (std::uint32_t step = 1; !ready.empty(); ++step) {
      const std::size_t best = choose(insts, ready);
      const std::uint32_t i = ready[best];
      ready[best] = ready.back();
      ready.pop_back();
      result.push_back(i);
      take(insts[i], step);
      for (const std::uint32_t q : preds[i]) {
        if (--waiting[q] == 0) {
          ready.push_back(q);
        }
      }
    }
    for (const Inst& i : insts) {
      for_uses(names_, i, [&](std::uint32_t u) { live_[u] = 0; });
      for (const Definition& d : definitions(p_.gpu, names_, i)) {
        live_[d.name] = 0;
      }
    }
    for (const std::uint32_t name : live_out) {
      live_[name] = 0;
    }
    std::ranges::reverse(result);
    return result;
  }

 private:
  [[nodiscard]] bool counts(std::uint32_t name) const { return !names_.is_temp(name) || free_[name] == 0; }

  [[nodiscard]] int growth(const Inst& i) const {
    int g = 0;
    for (const Definition& d : definitions(p_.gpu, names_, i)) {
      g -= !d.partial && live_[d.name] != 0 && counts(d.name);
    }
    std::uint32_t first = no_index;
    for_uses(names_, i, [&](std::uint32_t u) {
      g += live_[u] == 0 && u != first && counts(u);
      first = u;
    });
    return g;
  }

  // When, counted backwards, an operand was first wanted: the latest is the deepest.
  [[nodiscard]] std::uint32_t wanted(const Inst& i) const {
    std::uint32_t w = 0;
    for (const Definition& d : definitions(p_.gpu, names_, i)) {
      w = std::max(w, live_[d.name] != 0 ? wanted_at_[d.name] : 0);
    }
    return w;
  }

  std::size_t choose(const std::vector<Inst>& insts, const std::vector<std::uint32_t>& ready) const {
    std::size_t best = 0;
    int best_growth = 1000;
    std::uint64_t best_tie = 0;
    for (std::size_t k = 0; k < ready.size(); ++k) {
      const Inst& i = insts[ready[k]];
      int g = growth(i);
      if (order_ == Order::late_loads) {
        g = g < 0 ? g : 0;
      }
      const std::uint64_t tie =
          order_ == Order::depth ? static_cast<std::uint64_t>(wanted(i)) << 32 | ready[k] : ready[k];
      if (g < best_growth || (g == best_growth && tie >= best_tie)) {
        best = k;
        best_growth = g;
        best_tie = tie;
      }
    }
    return best;
  }

  void take(const Inst& i, std::uint32_t step) {
    for (const Definition& d : definitions(p_.gpu, names_, i)) {
      if (!d.partial) {
        live_[d.name] = 0;
      }
    }
    for_uses(names_, i, [&](std::uint32_t u) {
      if (live_[u] == 0) {
        live_[u] = 1;
        wanted_at_[u] = step;
      }
    });
  }

  const Program& p_;
  const Names& names_;
  const std::vector<char>& free_;
  Order order_;
  std::vector<char> live_;
  std::vector<std::uint32_t> wanted_at_;
};

// Sum over the block's gaps of what does not fit, and the highest point.
struct Excess {
  std::uint64_t sum = 0;
  unsigned peak = 0;
};

Excess excess(const Program& p, const Names& names, const std::vector<Inst>& insts,
              const std::vector<std::uint32_t>& live_out, const std::vector<char>& free, unsigned registers,
              std::vector<char>& live) {
  Excess e;
  unsigned now = 0;
  const auto counts = [&](std::uint32_t n) { return !names.is_temp(n) || free[n] == 0; };
  std::vector<std::uint32_t> touched;
  const auto on = [&](std::uint32_t n) {
    if (live[n] == 0) {
      live[n] = 1;
      touched.push_back(n);
      now += counts(n);
    }
  };
  for (const std::uint32_t n : live_out) {
    on(n);
  }
  for (std::size_t k = insts.size(); k-- > 0;) {
    e.peak = std::max(e.peak, now);
    e.sum += now > registers ? now - registers : 0;
    for (const Definition& d : definitions(p.gpu, names, insts[k])) {
      if (!d.partial && live[d.name] != 0) {
        live[d.name] = 0;
        now -= counts(d.name);
      }
    }
    for_uses(names, insts[k], on);
  }
  for (const std::uint32_t n : touched) {
    live[n] = 0;
  }
  return e;
}

} // namespace

void reorder(Program& p, Order order, unsigned registers, const std::vector<char>& free) {
  if (order == Order::given) {
    return;
  }
  const Liveness l = analyse_liveness(p);
  const Place last = last_switch(p);
  PressureOrder bundle_order(p, l.names, free);
  BackwardScheduler scheduler(p, l.names, free, order);
  std::vector<char> live(l.names.count());
  for (std::size_t b = 0; b < p.blocks.size(); ++b) {
    auto& insts = p.blocks[b].insts;
    const Excess before = excess(p, l.names, insts, l.live_out[b], free, registers, live);
    if (before.sum == 0 || insts.size() < 4) {
      continue;
    }
    std::vector<Inst> next;
    next.reserve(insts.size());
    if (order == Order::bundles_late || order == Order::bundles_depth) {
      const Bundles bundles = make_bundles(p, static_cast<std::uint32_t>(b), l, last);
      auto moved =
          unbundle(p, insts, bundles,
                   bundle_order.run(insts, l.live_out[b], bundles,
                                    order == Order::bundles_late ? Preference::late : Preference::depth));
      if (moved && excess(p, l.names, *moved, l.live_out[b], free, registers, live).sum < before.sum) {
        insts = std::move(*moved);
      }
      continue;
    }
    for (const std::uint32_t i : scheduler.run(insts, l.live_out[b])) {
      next.push_back(insts[i]);
    }
    if (excess(p, l.names, next, l.live_out[b], free, registers, live).sum < before.sum) {
      insts = std::move(next);
    }
  }
}

} // namespace lanewise::v3d
