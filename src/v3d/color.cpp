#include "v3d/color.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <span>

namespace lanewise::v3d {

namespace {

// One bit for each register: rf0..rf63, and r0..r5 apart.
struct RegSet {
  std::uint64_t rf = 0;
  std::uint8_t acc = 0;
};

std::uint64_t first_bits(unsigned n) { return n >= 64 ? ~0ull : (1ull << n) - 1; }

bool overlap(const std::vector<Segment>& a, const std::vector<Segment>& b) {
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (a[i].end <= b[j].begin) {
      ++i;
    } else if (b[j].end <= a[i].begin) {
      ++j;
    } else {
      return true;
    }
  }
  return false;
}

void merge(std::vector<Segment>& a, const std::vector<Segment>& b) {
  std::vector<Segment> r;
  r.reserve(a.size() + b.size());
  std::ranges::merge(a, b, std::back_inserter(r), {}, &Segment::begin, &Segment::begin);
  std::vector<Segment> joined;
  for (const Segment& s : r) {
    if (!joined.empty() && joined.back().end == s.begin) {
      joined.back().end = s.end;
    } else {
      joined.push_back(s);
    }
  }
  a = std::move(joined);
}

class Coloring {
 public:
  Coloring(const Program& p, const ColorOptions& o)
      : p_(p), o_(o), l_(analyse_liveness(p)), segments_(live_segments(p, l_)), parent_(p.temp_count) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }

  ColorResult run() {
    classify();
    if (o_.coalesce) {
      coalesce();
    }
    ColorResult r;
    for (const bool long_first : {false, true}) {
      r = assign(long_first);
      if (r.ok) {
        break;
      }
    }
    r.copies_removed = coalesced_;
    return r;
  }

 private:
  std::uint32_t find(std::uint32_t t) {
    while (parent_[t] != t) {
      t = parent_[t] = parent_[parent_[t]];
    }
    return t;
  }

  // What each temporary may be given, from the instructions that define it and what its range crosses.
  void classify() {
    const std::uint64_t file = first_bits(o_.registers);
    allowed_.assign(p_.temp_count, {file, 0});
    is_uniform_.assign(p_.temp_count, 0);
    avoid_.assign(p_.temp_count, 0);
    partner_.assign(p_.temp_count, no_index);
    const bool accumulators = p_.gpu == Gpu::v42 && o_.accumulators;
    std::vector<char> only_uniform(p_.temp_count, 1);
    for (auto& a : allowed_) {
      a.acc = accumulators ? 0x3f : 0;
    }
    for (std::size_t b = 0; b < p_.blocks.size(); ++b) {
      for (const Inst& i : p_.blocks[b].insts) {
        if (i.alu.dst.kind == Reg::temp) {
          RegSet& a = allowed_[i.alu.dst.index];
          only_uniform[i.alu.dst.index] = 0;
          if (has(i.alu.op, sfu) || has(i.alu.op, vpm_load)) {
            a.acc = 0; // these results go to the register file only
          }
        }
        if (i.sig_dst.kind == Reg::temp && (i.sigs & (sig::ldunif | sig::ldunifrf)) == 0) {
          only_uniform[i.sig_dst.index] = 0;
        }
        if (i.sig_dst.kind == Reg::temp && (i.sigs & (sig::ldunif | sig::ldunifrf)) != 0) {
          is_uniform_[i.sig_dst.index] = 1;
        }
      }
    }
    for (std::uint32_t t = 0; t < p_.temp_count; ++t) {
      if (only_uniform[t] == 0) {
        allowed_[t].acc &= 0x1f; // r5 is written by loads only
        is_uniform_[t] = 0;
      }
    }
    if (accumulators) {
      forbid_over_switches();
    }
    avoid_at_end();
  }

  // 4.2: what lives across a thread switch cannot be in an accumulator.
  void forbid_over_switches() {
    std::vector<std::uint32_t> switches(l_.gap_count + 1);
    for (std::size_t b = 0; b < p_.blocks.size(); ++b) {
      for (std::size_t n = 0; n < p_.blocks[b].insts.size(); ++n) {
        if ((p_.blocks[b].insts[n].sigs & sig::thrsw) != 0) {
          // Occupied both in front of it and behind it.
          ++switches[l_.first_position[b] + n];
        }
      }
    }
    std::partial_sum(switches.begin(), switches.end(), switches.begin());
    for (std::uint32_t t = 0; t < p_.temp_count; ++t) {
      for (const Segment& s : segments_[t]) {
        // A range [begin, end) crosses the switch at position q if begin < q < end.
        if (s.end > s.begin + 1 && switches[s.end - 1] != switches[s.begin]) {
          allowed_[t].acc = 0;
        }
      }
    }
  }

  // The last words may not touch some registers: values that are used there keep away if they can.
  void avoid_at_end() {
    const std::uint64_t mask = p_.gpu == Gpu::v42 ? 0x7 : 0xc;
    for (std::size_t b = 0; b < p_.blocks.size(); ++b) {
      const Block& block = p_.blocks[b];
      if (!block.succs.empty()) {
        continue;
      }
      const std::size_t n = block.insts.size();
      for (std::size_t k = n > 6 ? n - 6 : 0; k < n; ++k) {
        for_uses(l_.names, block.insts[k], [&](std::uint32_t u) {
          if (l_.names.is_temp(u)) {
            avoid_[u] |= mask;
          }
        });
        for (const Definition& d : definitions(p_.gpu, l_.names, block.insts[k])) {
          if (l_.names.is_temp(d.name)) {
            avoid_[d.name] |= mask;
          }
        }
      }
    }
  }

  void coalesce() {
    // Copies in deep loops first, then in order.
    std::vector<std::pair<unsigned, const Inst*>> copies;
    for (const Block& b : p_.blocks) {
      for (const Inst& i : b.insts) {
        if (is_plain_copy(i) && i.alu.dst.kind == Reg::temp && i.alu.src[0].reg.kind == Reg::temp) {
          copies.emplace_back(b.loop_depth, &i);
        }
      }
    }
    std::ranges::stable_sort(copies, [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [depth, i] : copies) {
      const std::uint32_t d = find(i->alu.dst.index), s = find(i->alu.src[0].reg.index);
      if (d == s) {
        ++coalesced_;
        continue;
      }
      if (overlap(segments_[d], segments_[s])) {
        continue;
      }
      merge(segments_[s], segments_[d]);
      segments_[d].clear();
      parent_[d] = s;
      allowed_[s].rf &= allowed_[d].rf;
      allowed_[s].acc &= static_cast<std::uint8_t>(allowed_[d].acc & 0x1f);
      avoid_[s] |= avoid_[d];
      is_uniform_[s] = is_uniform_[s] & is_uniform_[d];
      ++coalesced_;
    }
    // The payload is copied into a temporary: if it can stay, so much the better.
    for (const Block& b : p_.blocks) {
      for (const Inst& i : b.insts) {
        if (is_plain_copy(i) && i.alu.dst.kind == Reg::temp && i.alu.src[0].reg.kind == Reg::rf) {
          partner_[find(i.alu.dst.index)] = i.alu.src[0].reg.index;
        }
      }
    }
  }

  RegSet taken(const std::vector<Segment>& list) const {
    RegSet r;
    for (const Segment& s : list) {
      for (std::uint32_t g = s.begin; g < s.end; ++g) {
        r.rf |= busy_rf_[g];
        r.acc |= busy_acc_[g];
      }
    }
    return r;
  }

  void occupy(const std::vector<Segment>& list, const Reg& r) {
    for (const Segment& s : list) {
      for (std::uint32_t g = s.begin; g < s.end; ++g) {
        if (r.kind == Reg::rf) {
          last_end_[r.index] = std::max(last_end_[r.index], s.end);
          busy_rf_[g] |= 1ull << r.index;
        } else {
          last_acc_end_[r.index] = std::max(last_acc_end_[r.index], s.end);
          busy_acc_[g] |= static_cast<std::uint8_t>(1u << r.index);
        }
      }
    }
  }

  // The register that has been free for longest: what is ordered by its last use keeps the scheduler's hands
  // free.
  static std::optional<unsigned> longest_free(std::uint64_t set, std::span<const std::uint32_t> last_end) {
    std::optional<unsigned> best;
    for (; set != 0; set &= set - 1) {
      const auto r = static_cast<unsigned>(std::countr_zero(set));
      if (!best || last_end[r] < last_end[*best]) {
        best = r;
      }
    }
    return best;
  }

  std::optional<unsigned> round_robin(std::uint64_t set) {
    if (set == 0) {
      return std::nullopt;
    }
    const std::uint64_t later = set & ~first_bits(next_);
    const auto r = static_cast<unsigned>(std::countr_zero(later != 0 ? later : set));
    next_ = r + 1 >= o_.registers ? 0 : r + 1;
    return r;
  }

  std::optional<Reg> choose(std::uint32_t t) {
    const RegSet busy = taken(segments_[t]);
    std::uint64_t free = allowed_[t].rf & ~busy.rf;
    const auto free_acc = static_cast<std::uint8_t>(allowed_[t].acc & ~busy.acc);
    if (partner_[t] != no_index && (free >> partner_[t] & 1) != 0 && (avoid_[t] >> partner_[t] & 1) == 0) {
      return rf(partner_[t]);
    }
    if (free_acc != 0) {
      const std::uint32_t length =
          segments_[t].empty() ? 0 : segments_[t].back().end - segments_[t].front().begin;
      if (length <= o_.short_range || std::popcount(free) < 5) {
        if ((free_acc & 0x20) != 0) {
          return acc(5);
        }
        if (o_.longest_free_accumulator) {
          return acc(*longest_free(free_acc, last_acc_end_));
        }
        const unsigned later = free_acc & ~((1u << next_acc_) - 1u);
        const auto r = static_cast<unsigned>(std::countr_zero(later != 0 ? later : free_acc));
        next_acc_ = r >= 4 ? 0 : r + 1;
        return acc(r);
      }
    }
    if (p_.gpu == Gpu::v71) {
      // rf0 is where coefficients arrive: others take it last. Uniforms do too: one after the other in rf0,
      // whose load needs no address, they would wait for each other (1.2 % more instructions).
      if ((free & ~1ull) != 0) {
        free &= ~1ull;
      }
    }
    if ((free & ~avoid_[t]) != 0) {
      free &= ~avoid_[t];
    }
    if (const auto r = o_.longest_free ? longest_free(free, last_end_) : round_robin(free)) {
      return rf(*r);
    }
    if (free_acc != 0) {
      return acc(static_cast<unsigned>(std::countr_zero(static_cast<unsigned>(free_acc))));
    }
    return std::nullopt;
  }

  ColorResult assign(bool long_first) {
    busy_rf_.assign(l_.gap_count, 0);
    busy_acc_.assign(l_.gap_count, 0);
    next_ = p_.gpu == Gpu::v42 ? 3 : 4;
    next_acc_ = 0;
    last_end_.fill(0);
    last_acc_end_.fill(0);
    for (std::uint32_t r = 0; r < 64; ++r) {
      occupy(segments_[l_.names.of(rf(r))], rf(r));
    }
    for (std::uint32_t r = 0; r < 6; ++r) {
      occupy(segments_[l_.names.of(acc(r))], acc(r));
    }
    std::vector<std::uint32_t> order;
    for (std::uint32_t t = 0; t < p_.temp_count; ++t) {
      if (find(t) == t && !segments_[t].empty()) {
        order.push_back(t);
      }
    }
    std::ranges::stable_sort(order, {}, [&](std::uint32_t t) { return segments_[t].front().begin; });
    if (long_first) {
      std::ranges::stable_partition(order, [&](std::uint32_t t) { return segments_[t].size() > 1; });
    }
    ColorResult result;
    result.registers.assign(p_.temp_count, rf(p_.gpu == Gpu::v42 ? 3 : 4));
    for (const std::uint32_t t : order) {
      const auto r = choose(t);
      if (!r) {
        result.failed = t;
        return result;
      }
      occupy(segments_[t], *r);
      result.registers[t] = *r;
    }
    for (std::uint32_t t = 0; t < p_.temp_count; ++t) {
      result.registers[t] = result.registers[find(t)];
    }
    result.ok = true;
    return result;
  }

  const Program& p_;
  const ColorOptions& o_;
  Liveness l_;
  std::vector<std::vector<Segment>> segments_;
  std::vector<std::uint32_t> parent_, partner_;
  std::vector<RegSet> allowed_;
  std::vector<std::uint64_t> avoid_, busy_rf_;
  std::vector<std::uint8_t> busy_acc_;
  std::vector<char> is_uniform_;
  std::array<std::uint32_t, 64> last_end_{};
  std::array<std::uint32_t, 6> last_acc_end_{};
  unsigned next_ = 0, next_acc_ = 0, coalesced_ = 0;
};

} // namespace

ColorResult color(const Program& p, const ColorOptions& options) { return Coloring(p, options).run(); }

void apply_colors(Program& p, const ColorResult& c) {
  const auto replace = [&](Reg& r) {
    if (r.kind == Reg::temp) {
      r = c.registers[r.index];
    }
  };
  for (Block& b : p.blocks) {
    std::erase_if(b.insts, [&](Inst& i) {
      for_sources(i, [&](Src& s) { replace(s.reg); });
      replace(i.alu.dst);
      replace(i.sig_dst);
      return is_plain_copy(i) && i.alu.dst == i.alu.src[0].reg && i.alu.op == Op::mov;
    });
  }
}

} // namespace lanewise::v3d
