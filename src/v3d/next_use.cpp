#include "v3d/spill_plan.hpp"

#include <algorithm>

namespace lanewise::v3d::spilling {

namespace {

constexpr std::uint32_t far = 1u << 30;

std::uint32_t further(std::uint32_t distance, std::uint32_t by) {
  return distance == never ? never : std::min(distance + by, far);
}

} // namespace

NextUses find_next_uses(const Program& p, const Liveness& l) {
  NextUses r;
  const std::size_t count = p.blocks.size();
  r.after.resize(count);
  r.at_entry.resize(count);
  // First use in each block of what is live into it, never if it is only passed on.
  std::vector<std::vector<std::uint32_t>> local(count);
  std::vector<std::uint32_t> first(p.temp_count, never);
  for (std::size_t b = 0; b < count; ++b) {
    const auto& insts = p.blocks[b].insts;
    for (std::uint32_t n = static_cast<std::uint32_t>(insts.size()); n-- > 0;) {
      const Inst& i = insts[n];
      for (const Reg* d : {&i.alu.dst, &i.sig_dst}) {
        if (d->kind == Reg::temp) {
          first[d->index] = d == &i.alu.dst && is_partial(i.alu) ? n : never;
        }
      }
      for (unsigned s = 0; s < source_count(i.alu); ++s) {
        if (i.alu.src[s].reg.kind == Reg::temp) {
          first[i.alu.src[s].reg.index] = n;
        }
      }
    }
    for (const std::uint32_t n : l.live_in[b]) {
      local[b].push_back(l.names.is_temp(n) ? first[n] : never);
    }
    for (const Inst& i : insts) {
      for_uses(l.names, i, [&](std::uint32_t u) {
        if (l.names.is_temp(u)) {
          first[u] = never;
        }
      });
      for (const Reg* d : {&i.alu.dst, &i.sig_dst}) {
        if (d->kind == Reg::temp) {
          first[d->index] = never;
        }
      }
    }
  }
  r.at_entry = local;
  const auto from_successors = [&](std::size_t b, std::uint32_t name) {
    std::uint32_t best = never;
    for (const std::uint32_t s : p.blocks[b].succs) {
      const auto it = std::ranges::lower_bound(l.live_in[s], name);
      if (it == l.live_in[s].end() || *it != name) {
        continue;
      }
      std::uint32_t d = r.at_entry[s][static_cast<std::size_t>(it - l.live_in[s].begin())];
      if (p.blocks[s].loop_depth < p.blocks[b].loop_depth) {
        d = further(d, loop_exit_distance * (p.blocks[b].loop_depth - p.blocks[s].loop_depth));
      }
      best = std::min(best, d);
    }
    return best;
  };
  bool changed = true;
  for (unsigned round = 0; changed && round < 12; ++round) {
    changed = false;
    for (std::size_t b = count; b-- > 0;) {
      const auto length = static_cast<std::uint32_t>(p.blocks[b].insts.size());
      for (std::size_t k = 0; k < l.live_in[b].size(); ++k) {
        if (local[b][k] != never || !l.names.is_temp(l.live_in[b][k])) {
          continue;
        }
        const std::uint32_t d = further(from_successors(b, l.live_in[b][k]), length);
        changed = changed || d < r.at_entry[b][k];
        r.at_entry[b][k] = std::min(r.at_entry[b][k], d);
      }
    }
  }
  std::vector<std::uint32_t> now(p.temp_count, never);
  for (std::size_t b = 0; b < count; ++b) {
    const auto& insts = p.blocks[b].insts;
    const auto length = static_cast<std::uint32_t>(insts.size());
    for (const std::uint32_t n : l.live_out[b]) {
      if (l.names.is_temp(n)) {
        // Live, but perhaps too deep for the rounds above: then simply far.
        now[n] = std::min(further(from_successors(b, n), length), far);
      }
    }
    r.after[b].assign(length, {never, never, never, never});
    for (std::uint32_t n = length; n-- > 0;) {
      const Inst& i = insts[n];
      auto& slot = r.after[b][n];
      const auto define = [&](const Reg& d, unsigned at, bool partial) {
        if (d.kind == Reg::temp) {
          slot[at] = now[d.index];
          now[d.index] = partial ? n : never;
        }
      };
      // Sources first see what comes behind the instruction.
      for (unsigned s = 0; s < source_count(i.alu); ++s) {
        if (i.alu.src[s].reg.kind == Reg::temp) {
          slot[s] = now[i.alu.src[s].reg.index];
        }
      }
      for (unsigned s = 0; s < source_count(i.alu); ++s) {
        const Reg& q = i.alu.src[s].reg;
        if (q.kind == Reg::temp && q == i.alu.dst && !is_partial(i.alu)) {
          slot[s] = never; // the old value ends here
        }
      }
      define(i.alu.dst, 2, is_partial(i.alu));
      define(i.sig_dst, 3, false);
      for (unsigned s = 0; s < source_count(i.alu); ++s) {
        if (i.alu.src[s].reg.kind == Reg::temp) {
          now[i.alu.src[s].reg.index] = n;
        }
      }
    }
    for (const Inst& i : insts) {
      for_uses(l.names, i, [&](std::uint32_t u) {
        if (l.names.is_temp(u)) {
          now[u] = never;
        }
      });
      for (const Reg* d : {&i.alu.dst, &i.sig_dst}) {
        if (d->kind == Reg::temp) {
          now[d->index] = never;
        }
      }
    }
    for (const std::uint32_t n : l.live_out[b]) {
      if (l.names.is_temp(n)) {
        now[n] = never;
      }
    }
  }
  return r;
}

} // namespace lanewise::v3d::spilling
