#include "v3d/reorder.hpp"

#include "v3d/forward_order.hpp"

#include <algorithm>

namespace lanewise::v3d {

std::string_view text(Order o) {
  constexpr std::array<std::string_view, static_cast<std::size_t>(Order::count)> names{
      "given", "late", "depth", "bundles late", "bundles depth", "forward", "late loads", "mixed"};
  return names[static_cast<std::size_t>(o)];
}

Reorderer::Reorderer(const Program& p, unsigned registers, const std::vector<char>& free)
    : p_(p), registers_(registers), free_(free), l_(analyse_liveness(p)), last_(last_switch(p)),
      pressure_order_(p, l_.names, free), blocks_(p.blocks.size()), live_(l_.names.count()) {
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    blocks_[b].given = blocks_[b].best = measure(b, p.blocks[b].insts);
  }
}

// Walks the block backwards with the values that are live.
Reorderer::Excess Reorderer::measure(std::size_t block, const std::vector<Inst>& insts) {
  Excess e;
  unsigned now = 0;
  // Accumulators hold values beside the register file.
  const auto counts = [&](std::uint32_t n) {
    return l_.names.is_temp(n) ? free_[n] == 0 : n < l_.names.temps + 64;
  };
  std::vector<std::uint32_t> touched;
  const auto on = [&](std::uint32_t n) {
    if (live_[n] == 0) {
      live_[n] = 1;
      touched.push_back(n);
      now += counts(n);
    }
  };
  for (const std::uint32_t n : l_.live_out[block]) {
    on(n);
  }
  for (std::size_t k = insts.size(); k-- > 0;) {
    e.peak = std::max(e.peak, now);
    e.sum += now > registers_ ? now - registers_ : 0;
    for (const Definition& d : definitions(p_.gpu, l_.names, insts[k])) {
      if (!d.partial && live_[d.name] != 0) {
        live_[d.name] = 0;
        now -= counts(d.name);
      }
    }
    for_uses(l_.names, insts[k], on);
  }
  e.peak = std::max(e.peak, now);
  for (const std::uint32_t n : touched) {
    live_[n] = 0;
  }
  return e;
}

std::optional<std::vector<Inst>> Reorderer::ordered(std::size_t block, Order order) {
  BlockState& s = blocks_[block];
  const auto& insts = p_.blocks[block].insts;
  const bool apart = order == Order::late || order == Order::depth || order == Order::late_loads;
  auto& bundles = apart ? s.singles : s.bundles;
  if (!bundles) {
    bundles =
        apart ? single_bundles(p_, insts) : make_bundles(p_, static_cast<std::uint32_t>(block), l_, last_);
  }
  if (order == Order::forward) {
    return unbundle(
        p_, insts, *bundles,
        forward_order(p_, l_.names, free_, insts, l_.live_in[block], l_.live_out[block], *bundles));
  }
  const Preference preference = order == Order::late_loads                             ? Preference::keep
                                : order == Order::late || order == Order::bundles_late ? Preference::late
                                                                                       : Preference::depth;
  return unbundle(p_, insts, *bundles, pressure_order_.run(insts, l_.live_out[block], *bundles, preference));
}

Reordered Reorderer::run(Order order) {
  Reordered r{p_, 0, 0};
  for (std::size_t b = 0; b < blocks_.size(); ++b) {
    BlockState& s = blocks_[b];
    auto& insts = r.program.blocks[b].insts;
    Excess e = s.given;
    if (s.given.sum != 0 && insts.size() >= 4 && order != Order::given) {
      if (order == Order::mixed) {
        e = s.best;
        if (!s.best_insts.empty()) {
          insts = s.best_insts;
        }
      } else if (auto other = ordered(b, order)) {
        const Excess moved = measure(b, *other);
        if (moved.sum < s.given.sum) {
          e = moved;
          insts = std::move(*other);
          if (e.sum < s.best.sum) {
            s.best = e;
            s.best_insts = insts;
          }
        }
      }
    }
    r.peak = std::max(r.peak, e.peak);
    std::uint64_t weight = 1;
    for (unsigned d = 0; d < std::min(p_.blocks[b].loop_depth, 4u); ++d) {
      weight *= 10;
    }
    r.excess += e.sum * weight;
  }
  return r;
}

} // namespace lanewise::v3d
