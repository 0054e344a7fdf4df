#include "v3d/liveness.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::v3d {

namespace {

class Bits {
 public:
  explicit Bits(std::size_t n = 0) : words_((n + 63) / 64) {}
  [[nodiscard]] bool test(std::size_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  void set(std::size_t i) { words_[i / 64] |= 1ull << (i % 64); }
  bool merge(const Bits& o) {
    bool changed = false;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::uint64_t w = words_[i] | o.words_[i];
      changed = changed || w != words_[i];
      words_[i] = w;
    }
    return changed;
  }
  // this |= (o & ~without) & within
  bool merge(const Bits& o, const Bits& without, const Bits& within) {
    bool changed = false;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::uint64_t w = words_[i] | (o.words_[i] & ~without.words_[i] & within.words_[i]);
      changed = changed || w != words_[i];
      words_[i] = w;
    }
    return changed;
  }
  template <class F>
  void each(F&& f) const {
    for (std::size_t i = 0; i < words_.size(); ++i) {
      for (std::uint64_t w = words_[i]; w != 0; w &= w - 1) {
        f(i * 64 + static_cast<std::size_t>(std::countr_zero(w)));
      }
    }
  }

 private:
  std::vector<std::uint64_t> words_;
};

// Which lanes of a name a block has defined so far, in terms of the A flags as they are now: bit 0 the lanes
// where A is set, bit 1 the others. A change of flags forgets everything but full definitions.
struct LaneState {
  std::uint32_t version = 0;
  std::uint8_t lanes = 0;
};

std::uint8_t lanes_of(Cond c) {
  switch (c) {
  case Cond::none: return 3;
  case Cond::ifa: return 1;
  case Cond::ifna: return 2;
  default: return 0;
  }
}

struct BlockSummary {
  std::vector<std::uint32_t> exposed, killed, defined;
};

class Analysis {
 public:
  explicit Analysis(const Program& p) : p_(p) {
    l_.names.temps = p.temp_count;
    const std::size_t n = l_.names.count();
    last_block_.assign(n, no_index);
    is_global_.assign(n, false);
    lanes_.resize(n);
    full_.assign(n, no_index);
  }

  Liveness run() {
    summaries_.resize(p_.blocks.size());
    l_.facts.resize(p_.blocks.size());
    std::uint32_t position = 0;
    for (std::uint32_t b = 0; b < p_.blocks.size(); ++b) {
      l_.first_position.push_back(position + 1);
      position += 1 + static_cast<std::uint32_t>(p_.blocks[b].insts.size());
      summarise(b);
    }
    l_.gap_count = position;
    solve();
    return std::move(l_);
  }

 private:
  void touch(std::uint32_t name, std::uint32_t b) {
    is_global_[name] = is_global_[name] || (last_block_[name] != no_index && last_block_[name] != b);
    last_block_[name] = b;
  }

  // Forward over one block: exposed uses, full definitions, and the facts about lanes.
  void summarise(std::uint32_t b) {
    const Block& block = p_.blocks[b];
    auto& facts = l_.facts[b];
    facts.resize(block.insts.size());
    BlockSummary& s = summaries_[b];
    for (std::size_t n = 0; n < block.insts.size(); ++n) {
      const Inst& i = block.insts[n];
      // A conditional operation without flags of its own and without neighbours needs its condition's lanes
      // only.
      const bool lane_local = !writes_flags(i.alu) && !has(i.alu.op, cross_lane) && !has(i.alu.op, sfu);
      const std::uint8_t needed = lane_local && lanes_of(i.alu.cond) != 0 ? lanes_of(i.alu.cond) : 3;
      for (unsigned k = 0; k < source_count(i.alu); ++k) {
        const std::uint32_t u = l_.names.of(i.alu.src[k].reg);
        if (u == no_index) {
          continue;
        }
        touch(u, b);
        const bool covered = full_[u] != b && needed != 3 && lanes_[u].version == version_ &&
                             (lanes_[u].lanes & needed) == needed;
        facts[n].covered |= static_cast<std::uint8_t>(covered << k);
        if (full_[u] != b && !covered) {
          s.exposed.push_back(u);
          is_exposed(u);
        }
      }
      for (const Definition& d : definitions(p_.gpu, l_.names, i)) {
        touch(d.name, b);
        s.defined.push_back(d.name);
        const bool kills = !d.partial;
        if (d.partial && i.alu.pack == Pack::none && lanes_of(i.alu.cond) != 0) {
          LaneState& state = lanes_[d.name];
          if (state.version != version_) {
            state = {version_, 0};
          }
          state.lanes |= lanes_of(i.alu.cond);
          // The second of a pair on the same flags completes the value, but does not end what the first
          // wrote.
          if (state.lanes == 3 && full_[d.name] != b) {
            full_[d.name] = b;
            s.killed.push_back(d.name);
          }
        }
        if (kills && full_[d.name] != b) {
          full_[d.name] = b;
          s.killed.push_back(d.name);
        }
        if (d.name == l_.names.of(i.alu.dst)) {
          facts[n].kills = kills;
        }
      }
      if (writes_flags(i.alu)) {
        ++version_;
      }
    }
    ++version_;
  }

  void is_exposed(std::uint32_t name) { is_global_[name] = true; }

  void solve() {
    std::vector<std::uint32_t> index(l_.names.count(), no_index);
    std::vector<std::uint32_t> globals;
    for (std::uint32_t n = 0; n < index.size(); ++n) {
      if (is_global_[n]) {
        index[n] = static_cast<std::uint32_t>(globals.size());
        globals.push_back(n);
      }
    }
    const std::size_t count = p_.blocks.size(), g = globals.size();
    const auto make = [&](std::vector<std::uint32_t> BlockSummary::* list) {
      std::vector<Bits> sets(count, Bits(g));
      for (std::size_t b = 0; b < count; ++b) {
        for (const std::uint32_t n : summaries_[b].*list) {
          if (index[n] != no_index) {
            sets[b].set(index[n]);
          }
        }
      }
      return sets;
    };
    std::vector<Bits> in = make(&BlockSummary::exposed);
    const std::vector<Bits> killed = make(&BlockSummary::killed);
    const std::vector<Bits> defined = make(&BlockSummary::defined);
    // Forward: names that some definition may have reached.
    std::vector<Bits> reach_in(count, Bits(g)), reach_out = defined;
    for (std::uint32_t f = l_.names.temps; f < l_.names.count(); ++f) {
      if (index[f] != no_index) {
        reach_in[0].set(index[f]); // payload
      }
    }
    reach_out[0].merge(reach_in[0]);
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t b = 0; b < count; ++b) {
        bool grew = false;
        for (const std::uint32_t q : p_.blocks[b].preds) {
          grew = reach_in[b].merge(reach_out[q]) || grew;
        }
        if (grew) {
          changed = reach_out[b].merge(reach_in[b]) || changed;
        }
      }
    }
    // Backward: live names, only where something may have been defined.
    std::vector<Bits> out(count, Bits(g));
    const Bits none(g);
    for (std::size_t b = 0; b < count; ++b) {
      Bits masked(g);
      masked.merge(in[b], none, reach_in[b]);
      in[b] = masked;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t b = count; b-- > 0;) {
        bool grew = false;
        for (const std::uint32_t s : p_.blocks[b].succs) {
          grew = out[b].merge(in[s], none, reach_out[b]) || grew;
        }
        if (grew) {
          changed = in[b].merge(out[b], killed[b], reach_in[b]) || changed;
        }
      }
    }
    l_.live_in.resize(count);
    l_.live_out.resize(count);
    for (std::size_t b = 0; b < count; ++b) {
      in[b].each([&](std::size_t k) { l_.live_in[b].push_back(globals[k]); });
      out[b].each([&](std::size_t k) { l_.live_out[b].push_back(globals[k]); });
    }
  }

  const Program& p_;
  Liveness l_;
  std::vector<std::uint32_t> last_block_, full_;
  std::vector<bool> is_global_;
  std::vector<LaneState> lanes_;
  std::vector<BlockSummary> summaries_;
  std::uint32_t version_ = 1;
};

} // namespace

Definitions definitions(Gpu gpu, const Names& names, const Inst& i) {
  Definitions r;
  r.add(names.of(i.alu.dst), is_partial(i.alu));
  r.add(names.of(i.sig_dst), false);
  if ((i.sigs & sig::ldvary) != 0) {
    r.add(names.of(implicit_reg(gpu)), false);
  }
  return r;
}

Liveness analyse_liveness(const Program& p) { return Analysis(p).run(); }

std::vector<std::vector<Segment>> live_segments(const Program& p, const Liveness& l) {
  std::vector<std::vector<Segment>> segments(l.names.count());
  std::vector<std::uint32_t> end(l.names.count(), 0); // open segment's end, or 0
  for (std::uint32_t b = static_cast<std::uint32_t>(p.blocks.size()); b-- > 0;) {
    const Block& block = p.blocks[b];
    const std::uint32_t first = l.first_position[b];
    const auto behind = first + static_cast<std::uint32_t>(block.insts.size());
    std::vector<std::uint32_t> open;
    for (const std::uint32_t n : l.live_out[b]) {
      end[n] = behind;
      open.push_back(n);
    }
    const auto close = [&](std::uint32_t name, std::uint32_t begin) {
      if (end[name] > begin) {
        auto& list = segments[name];
        if (!list.empty() && list.back().begin == end[name]) {
          list.back().begin = begin; // contiguous with what follows
        } else {
          list.push_back({begin, end[name]});
        }
      }
      end[name] = 0;
    };
    // The first definition of a name in the block begins its range if nothing reaches the block.
    for (std::size_t n = block.insts.size(); n-- > 0;) {
      const Inst& i = block.insts[n];
      const std::uint32_t position = first + static_cast<std::uint32_t>(n);
      for (const Definition& d : definitions(p.gpu, l.names, i)) {
        if (end[d.name] == 0) {
          end[d.name] = position + 1; // dead, or the value dies at once
          open.push_back(d.name);
        }
        if (!d.partial) {
          close(d.name, position);
        }
      }
      for (unsigned k = 0; k < source_count(i.alu); ++k) {
        const std::uint32_t u = l.names.of(i.alu.src[k].reg);
        if (u != no_index && end[u] == 0) {
          end[u] = position;
          open.push_back(u);
        }
      }
    }
    // What is still open reaches the block's entry or begins at its first partial definition.
    std::vector<std::uint32_t> pending;
    for (const std::uint32_t n : open) {
      if (end[n] == 0) {
        continue;
      }
      if (std::ranges::binary_search(l.live_in[b], n)) {
        close(n, first - 1);
      } else {
        pending.push_back(n);
      }
    }
    if (pending.empty()) {
      continue;
    }
    std::ranges::sort(pending);
    for (std::size_t n = 0; n < block.insts.size(); ++n) {
      for (const Definition& d : definitions(p.gpu, l.names, block.insts[n])) {
        if (end[d.name] != 0 && std::ranges::binary_search(pending, d.name)) {
          close(d.name, first + static_cast<std::uint32_t>(n));
        }
      }
    }
    for (const std::uint32_t n : pending) {
      if (end[n] != 0) { // read but never defined: any register will do at the read
        end[n] = 0;
      }
    }
  }
  for (auto& list : segments) {
    std::ranges::reverse(list);
  }
  return segments;
}

std::vector<std::uint32_t> pressure(const Liveness& l, const std::vector<std::vector<Segment>>& segments) {
  std::vector<std::int32_t> change(l.gap_count + 1);
  for (const auto& list : segments) {
    for (const Segment& s : list) {
      ++change[s.begin];
      --change[s.end];
    }
  }
  std::vector<std::uint32_t> r(l.gap_count);
  std::int32_t now = 0;
  for (std::uint32_t g = 0; g < l.gap_count; ++g) {
    now += change[g];
    r[g] = static_cast<std::uint32_t>(now);
  }
  return r;
}

} // namespace lanewise::v3d
