#include "v3d/pressure_order.hpp"

#include <algorithm>

namespace lanewise::v3d {

PressureOrder::PressureOrder(const Program& p, const Names& names, const std::vector<char>& free)
    : p_(p), names_(names), free_(free), live_(names.count()), wanted_at_(names.count()),
      overlay_(names.count()), stamp_(names.count()), number_(names.count(), no_index) {}

void PressureOrder::prepare(const std::vector<Inst>& insts, const Bundles& bundles) {
  for (const std::uint32_t name : touched_names_) {
    number_[name] = no_index;
  }
  touched_names_.clear();
  std::vector<std::pair<std::uint32_t, Touch>> touches;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> touching;
  std::vector<std::uint32_t> last;
  cached_.assign(bundles.members.size(), {});
  const auto touch = [&](std::uint32_t k, std::uint32_t name, std::uint8_t what) {
    touches.push_back({k, {name, what}});
    std::uint32_t& n = number_[name];
    if (n == no_index) {
      n = static_cast<std::uint32_t>(touched_names_.size());
      touched_names_.push_back(name);
      last.push_back(no_index);
    }
    if (last[n] != k) {
      last[n] = k;
      touching.emplace_back(n, k);
    }
  };
  for (std::uint32_t k = 0; k < bundles.members.size(); ++k) {
    const auto members = bundles.members[k];
    for (auto it = members.rbegin(); it != members.rend(); ++it) {
      const Inst& i = insts[*it];
      for (const Definition& d : definitions(p_.gpu, names_, i)) {
        touch(k, d.name, d.partial ? 1 : 0);
      }
      for_uses(names_, i, [&](std::uint32_t u) { touch(k, u, 1); });
    }
  }
  const auto first = [](const auto& e) { return e.first; };
  const auto second = [](const auto& e) { return e.second; };
  touches_ = Groups<Touch>(bundles.members.size(), touches, first, second);
  touching_ = Groups<std::uint32_t>(touched_names_.size(), touching, first, second);
}

// How many values more are live in front of the bundle than behind it, and at most inside.
void PressureOrder::measure(std::uint32_t bundle) {
  Cached& c = cached_[bundle];
  c = {0, 0, true};
  ++now_;
  for (const Touch& t : touches_[bundle]) {
    const bool live = stamp_[t.name] == now_ ? overlay_[t.name] != 0 : live_[t.name] != 0;
    const bool becomes = t.what == 1;
    if (live != becomes && counts(t.name)) {
      c.growth += becomes ? 1 : -1;
      c.peak = std::max(c.peak, c.growth);
    }
    stamp_[t.name] = now_;
    overlay_[t.name] = becomes ? 1 : 0;
  }
}

void PressureOrder::set_live(std::uint32_t name, bool live) {
  if ((live_[name] != 0) == live) {
    return;
  }
  live_[name] = live ? 1 : 0;
  for (const std::uint32_t k : touching_[number_[name]]) {
    cached_[k].is_valid = false;
  }
}

void PressureOrder::take(std::uint32_t bundle, std::uint32_t step) {
  for (const Touch& t : touches_[bundle]) {
    if (t.what == 1 && live_[t.name] == 0) {
      wanted_at_[t.name] = step;
    }
    set_live(t.name, t.what == 1);
  }
}

std::vector<std::uint32_t> PressureOrder::run(const std::vector<Inst>& insts,
                                              const std::vector<std::uint32_t>& live_out,
                                              const Bundles& bundles, Preference preference) {
  prepare(insts, bundles);
  const auto n = static_cast<std::uint32_t>(bundles.members.size());
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  std::vector<std::uint32_t> waiting(n), ready, order;
  for (std::uint32_t k = 0; k < n; ++k) {
    for (const std::uint32_t s : bundles.succs[k]) {
      edges.emplace_back(s, k);
      ++waiting[k];
    }
  }
  const Groups<std::uint32_t> preds(
      n, edges, [](const auto& e) { return e.first; }, [](const auto& e) { return e.second; });
  for (const std::uint32_t name : live_out) {
    live_[name] = 1;
    wanted_at_[name] = 0;
  }
  for (std::uint32_t k = 0; k < n; ++k) {
    if (waiting[k] == 0) {
      ready.push_back(k);
    }
  }
  const auto wanted = [&](std::uint32_t k) {
    std::uint32_t w = 0;
    for (const Touch& t : touches_[k]) {
      w = std::max(w, t.what == 0 && live_[t.name] != 0 ? wanted_at_[t.name] : 0);
    }
    return w;
  };
  for (std::uint32_t step = 1; !ready.empty(); ++step) {
    std::size_t best = 0;
    std::uint64_t best_tie = 0;
    int best_growth = 0;
    for (std::size_t r = 0; r < ready.size(); ++r) {
      const std::uint32_t k = ready[r];
      if (!cached_[k].is_valid) {
        measure(k);
      }
      const int growth = preference == Preference::keep ? std::min(cached_[k].growth, 0) : cached_[k].growth;
      if (r != 0 && growth > best_growth) {
        continue;
      }
      const std::uint64_t position = bundles.members[k].back();
      const std::uint64_t tie =
          preference == Preference::depth ? static_cast<std::uint64_t>(wanted(k)) << 32 | position : position;
      if (r == 0 || growth < best_growth || tie > best_tie) {
        best = r;
        best_growth = growth;
        best_tie = tie;
      }
    }
    const std::uint32_t k = ready[best];
    ready[best] = ready.back();
    ready.pop_back();
    order.push_back(k);
    take(k, step);
    for (const std::uint32_t q : preds[k]) {
      if (--waiting[q] == 0) {
        ready.push_back(q);
      }
    }
  }
  for (const std::uint32_t name : touched_names_) {
    live_[name] = 0;
  }
  for (const std::uint32_t name : live_out) {
    live_[name] = 0;
  }
  std::ranges::reverse(order);
  return order;
}

} // namespace lanewise::v3d
