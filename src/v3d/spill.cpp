#include "v3d/spill_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::v3d {

using namespace spilling;

namespace {

class Planner {
 public:
  Planner(const Program& p, const SpillOptions& o)
      : p_(p), o_(o), l_(analyse_liveness(p)), next_(find_next_uses(p, l_)), places_(switch_places(p)),
        remat_(find_rematerialisable(p, o)), stored_(p.temp_count), due_(p.temp_count) {
    const auto segments = live_segments(p, l_);
    // Fixed registers that are taken in each gap; 4.2's accumulators are not of the register file.
    std::vector<std::int32_t> change(l_.gap_count + 1);
    for (std::uint32_t r = l_.names.temps; r < l_.names.temps + 64; ++r) {
      for (const Segment& s : segments[r]) {
        ++change[s.begin];
        --change[s.end];
      }
    }
    fixed_.resize(l_.gap_count);
    std::int32_t now = 0;
    for (std::size_t g = 0; g < fixed_.size(); ++g) {
      now += change[g];
      fixed_[g] = static_cast<unsigned>(now);
    }
    pressure_ = temp_pressure(segments);
    find_late_blocks();
  }

  bool run(Plan& plan, std::string& why) {
    // Stores need a register for their address: once a value is known to be stored, room is left behind
    // its definitions. The set of such values grows for a few rounds and then is taken as it is.
    for (unsigned round = 0; round < 4; ++round) {
      if (!simulate()) {
        why = why_;
        return false;
      }
      bool grown = false;
      for (std::size_t t = 0; t < stored_.size(); ++t) {
        grown = grown || (stored_[t] != 0 && due_[t] == 0);
        due_[t] = due_[t] | stored_[t];
      }
      if (!grown) {
        break;
      }
    }
    plan.insertions = std::move(insertions_);
    plan.is_stored = stored_;
    return true;
  }

 private:
  std::vector<unsigned> temp_pressure(const std::vector<std::vector<Segment>>& segments) const {
    std::vector<std::int32_t> change(l_.gap_count + 1);
    for (std::uint32_t t = 0; t < l_.names.temps; ++t) {
      for (const Segment& s : segments[t]) {
        change[s.begin] += remat_[t].kind == Remat::none;
        change[s.end] -= remat_[t].kind == Remat::none;
      }
    }
    std::vector<unsigned> r(l_.gap_count);
    std::int32_t now = 0;
    for (std::size_t g = 0; g < r.size(); ++g) {
      now += change[g];
      r[g] = static_cast<unsigned>(now);
    }
    return r;
  }

  void find_late_blocks() {
    late_.assign(p_.blocks.size(), 0);
    last_ = last_switch(p_);
    if (last_.block == no_index) {
      return;
    }
    std::vector<std::uint32_t> work(p_.blocks[last_.block].succs);
    while (!work.empty()) {
      const std::uint32_t b = work.back();
      work.pop_back();
      if (late_[b] == 0) {
        late_[b] = 1;
        work.insert(work.end(), p_.blocks[b].succs.begin(), p_.blocks[b].succs.end());
      }
    }
  }

  [[nodiscard]] bool is_remat(std::uint32_t t) const { return remat_[t].kind != Remat::none; }
  [[nodiscard]] bool in(std::uint32_t t) const { return where_[t] != never; }

  void add(std::uint32_t t, std::uint32_t next) {
    if (!in(t)) {
      where_[t] = static_cast<std::uint32_t>(set_.size());
      set_.push_back(t);
    }
    next_use_[t] = next;
  }

  void remove(std::uint32_t t) {
    if (!in(t)) {
      return;
    }
    const std::uint32_t at = where_[t];
    set_[at] = set_.back();
    where_[set_[at]] = at;
    set_.pop_back();
    where_[t] = never;
  }

  [[nodiscard]] unsigned capacity(std::uint32_t gap) const {
    const unsigned registers = o_.registers - std::min(o_.registers, fixed_[gap]);
    return registers;
  }

  bool no(std::string why) {
    why_ = std::move(why);
    return false;
  }

  // One value leaves. Values that the rest of the unit needs or that it defined stay.
  bool evict(std::uint32_t b, std::uint32_t now, std::uint32_t unit_end, bool at_boundary) {
    std::uint32_t best = never;
    double best_score = -1;
    for (const std::uint32_t t : set_) {
      if (held_[t] == hold_) {
        continue;
      }
      const bool again = is_remat(t);
      if (!again) {
        const bool needed = next_use_[t] < unit_end || (pin_out_ && next_use_[t] != never);
        const bool defined_here = defined_in_[t] == unit_ && !at_boundary;
        if (!o_.allow_spills || ((needed || defined_here || wanted_[t] == want_) && !at_boundary)) {
          continue;
        }
        if (at_boundary && pin_out_) {
          continue;
        }
      }
      double score =
          next_use_[t] == never ? 1e12 : static_cast<double>(next_use_[t] - std::min(now, next_use_[t]) + 1);
      if (again) {
        score *= o_.remat_bias / remat_[t].cost;
      } else if (stored_[t] != 0 || due_[t] != 0) {
        score *= o_.stored_bias;
      }
      if (score > best_score) {
        best_score = score;
        best = t;
      }
    }
    if (best == never) {
      return no(
          fmt::format("block {}, instruction {}: more values are needed at once than there are registers",
                      p_.blocks[b].label, now));
    }
    if (!is_remat(best)) {
      stored_[best] = 1;
    }
    remove(best);
    return true;
  }

  bool make_room(std::uint32_t b, std::uint32_t now, std::uint32_t gap, unsigned extra,
                 std::uint32_t unit_end, bool at_boundary = false) {
    while (set_.size() + extra > capacity(gap)) {
      if (!evict(b, now, unit_end, at_boundary)) {
        return false;
      }
    }
    return true;
  }

  // Puts a value that can be made again in front of instruction n.
  bool make_again(std::uint32_t b, std::uint32_t n, std::uint32_t t, std::uint32_t unit_end,
                  std::uint32_t next) {
    const Remat& r = remat_[t];
    const Inst& i = p_.blocks[r.block].insts[r.index];
    const std::uint32_t gap = l_.first_position[b] + n - 1;
    std::vector<std::uint32_t> operands;
    if (r.kind == Remat::arithmetic) {
      for (unsigned s = 0; s < source_count(i.alu); ++s) {
        if (i.alu.src[s].reg.kind == Reg::temp) {
          operands.push_back(i.alu.src[s].reg.index);
        }
      }
      for (const std::uint32_t u : operands) {
        if (!in(u) && !make_again(b, n, u, unit_end, 1u << 30)) {
          return false;
        }
        held_[u] = hold_;
      }
    }
    held_[t] = hold_;
    insertions_[b].push_back({Insertion::remat, n, t});
    add(t, next);
    if (!make_room(b, n, gap, 0, unit_end)) {
      return false;
    }
    return true;
  }

  bool entry(std::uint32_t b) {
    const Block& block = p_.blocks[b];
    while (!set_.empty()) {
      remove(set_.back());
    }
    bool is_header = false;
    for (const std::uint32_t q : block.preds) {
      is_header = is_header || q >= b;
    }
    struct Incoming {
      std::uint32_t temp, next;
      bool everywhere;
    };
    std::vector<Incoming> candidates;
    for (std::size_t k = 0; k < l_.live_in[b].size(); ++k) {
      const std::uint32_t t = l_.live_in[b][k];
      if (!l_.names.is_temp(t)) {
        continue;
      }
      bool everywhere = true, can_fill = true;
      for (const std::uint32_t q : block.preds) {
        // Where it is not live out of a predecessor, no definition has reached it there.
        if (q < b && std::ranges::binary_search(l_.live_out[q], t) &&
            !std::ranges::binary_search(exit_[q], t)) {
          everywhere = false;
          can_fill = can_fill && p_.blocks[q].succs.size() == 1;
        }
      }
      const std::uint32_t next = std::min(next_.at_entry[b][k], 1u << 30);
      if (everywhere || (is_header && can_fill && next < loop_exit_distance && !is_remat(t)) ||
          (late_[b] != 0 && !is_remat(t))) {
        candidates.push_back({t, next, everywhere});
      }
    }
    unsigned room = capacity(l_.first_position[b] - 1);
    if (is_header) {
      room = std::min(room, header_room(b, candidates.size()));
      std::ranges::stable_sort(candidates, {}, &Incoming::next);
      unsigned through = through_room(b);
      for (const Incoming& c : candidates) {
        const bool passes = c.next >= loop_exit_distance;
        if (set_.size() >= room || (passes && through == 0) || (is_remat(c.temp) && set_.size() + 4 > room)) {
          if (!is_remat(c.temp)) {
            if (!o_.allow_spills) {
              return no(fmt::format("block {}: more values live through the loop than there are registers",
                                    block.label));
            }
            stored_[c.temp] = 1;
          }
          continue;
        }
        through -= passes && !is_remat(c.temp);
        add(c.temp, c.next);
      }
    } else {
      std::ranges::stable_sort(candidates, {}, &Incoming::next);
      for (const Incoming& c : candidates) {
        if (set_.size() < room) {
          add(c.temp, c.next);
        } else if (!is_remat(c.temp)) {
          if (!o_.allow_spills) {
            return no(fmt::format("block {}: too many values live", block.label));
          }
          stored_[c.temp] = 1;
        }
      }
    }
    // What is live but not here has to come from its slot.
    for (const std::uint32_t t : l_.live_in[b]) {
      if (l_.names.is_temp(t) && !in(t) && !is_remat(t)) {
        if (late_[b] != 0) {
          return no(fmt::format("block {}: a value is needed behind the last thread switch", block.label));
        }
        if (!o_.allow_spills) {
          return no("a value is not in a register where it is needed");
        }
        stored_[t] = 1;
      }
    }
    entry_[b] = set_;
    std::ranges::sort(entry_[b]);
    return true;
  }

  [[nodiscard]] unsigned header_room(std::uint32_t, std::size_t candidates) const {
    return static_cast<unsigned>(candidates);
  }

  // How many values may stay in registers through a loop that does not use them.
  [[nodiscard]] unsigned through_room(std::uint32_t header) const {
    unsigned peak = 0, through = 0;
    std::uint32_t last = header;
    for (const std::uint32_t q : p_.blocks[header].preds) {
      last = std::max(last, q);
    }
    for (std::uint32_t b = header; b <= last; ++b) {
      const std::uint32_t first = l_.first_position[b] - 1;
      for (std::uint32_t g = first; g <= first + p_.blocks[b].insts.size(); ++g) {
        peak = std::max(peak, pressure_[g] + fixed_[g]);
      }
    }
    for (std::size_t k = 0; k < l_.live_in[header].size(); ++k) {
      const std::uint32_t t = l_.live_in[header][k];
      through += l_.names.is_temp(t) && !is_remat(t) && next_.at_entry[header][k] >= loop_exit_distance;
    }
    const unsigned used = peak - std::min(peak, through) + 3; // room for uniforms on their way
    if (!o_.allow_spills) {
      return through;
    }
    return o_.registers > used ? o_.registers - used : 0;
  }

  // Values that must be in registers when the block is left to a block that is entered elsewhere too.
  std::vector<std::uint32_t> wanted_at_exit(std::uint32_t b) const {
    std::vector<std::uint32_t> r;
    if (p_.blocks[b].succs.size() == 2) {
      for (const std::uint32_t s : p_.blocks[b].succs) {
        if (s <= b) {
          r.insert(r.end(), entry_[s].begin(), entry_[s].end());
        }
      }
    }
    return r;
  }

  bool needs_old_value(std::uint32_t b, const Inst& i) const {
    return i.alu.dst.kind == Reg::temp && is_partial(i.alu) && is_known(b, i.alu.dst.index);
  }

  // Something may have defined the temporary before this point of the block.
  [[nodiscard]] bool is_known(std::uint32_t b, std::uint32_t t) const {
    return known_in_[t] == b || std::ranges::binary_search(l_.live_in[b], t);
  }

  bool block(std::uint32_t b) {
    if (!entry(b)) {
      return false;
    }
    const auto& insts = p_.blocks[b].insts;
    const auto count = static_cast<std::uint32_t>(insts.size());
    const std::vector<std::uint32_t> at_exit = wanted_at_exit(b);
    for (std::uint32_t s = 0; s < count;) {
      std::uint32_t e = s + 1;
      while (e < count && places_[b][e] == 0) {
        ++e;
      }
      ++unit_;
      pin_out_ = late_[b] != 0 || (last_.block == b && e == count && last_.index < count &&
                                   !p_.blocks[b].succs.empty() && s >= last_.index);
      if (!unit(b, s, e, e == count ? at_exit : std::vector<std::uint32_t>{})) {
        return false;
      }
      s = e;
    }
    exit_[b] = set_;
    std::ranges::sort(exit_[b]);
    return true;
  }

  bool unit(std::uint32_t b, std::uint32_t s, std::uint32_t e, const std::vector<std::uint32_t>& at_exit) {
    if (!bring_in(b, s, e, at_exit)) {
      return false;
    }
    defined_.clear();
    for (std::uint32_t n = s; n < e; ++n) {
      if (!instruction(b, n, e)) {
        return false;
      }
    }
    bool due = false;
    for (const std::uint32_t t : defined_) {
      if (in(t) && !is_remat(t)) {
        candidates_.push_back({b, e, t});
        due = due || due_[t] != 0;
      }
    }
    ++hold_;
    for (const std::uint32_t t : at_exit) {
      if (!in(t) && is_remat(t) && !make_again(b, e - 1, t, e, 1u << 30)) {
        return false;
      }
    }
    return !due || make_room(b, e, l_.first_position[b] + e - 1, 1, e, true);
  }

  // Everything that the unit reads and that is in a slot comes back in front of it.
  bool bring_in(std::uint32_t b, std::uint32_t s, std::uint32_t e,
                const std::vector<std::uint32_t>& at_exit) {
    const auto& insts = p_.blocks[b].insts;
    ++want_;
    std::vector<std::uint32_t> missing;
    const auto want = [&](std::uint32_t t, std::uint32_t next) {
      if (defined_early_[t] == unit_ || is_remat(t) || wanted_[t] == want_) {
        return;
      }
      wanted_[t] = want_;
      if (!in(t) && is_known(b, t)) {
        missing.push_back(t);
        next_use_[t] = next;
      }
    };
    for (std::uint32_t n = s; n < e; ++n) {
      const Inst& i = insts[n];
      for (unsigned k = 0; k < source_count(i.alu); ++k) {
        if (i.alu.src[k].reg.kind == Reg::temp) {
          want(i.alu.src[k].reg.index, n);
        }
      }
      if (needs_old_value(b, i)) {
        want(i.alu.dst.index, n);
      }
      for (const Reg* d : {&i.alu.dst, &i.sig_dst}) {
        if (d->kind == Reg::temp) {
          defined_early_[d->index] = unit_;
        }
      }
    }
    for (const std::uint32_t t : at_exit) {
      want(t, e);
    }
    if (missing.empty()) {
      return true;
    }
    if (places_[b][s] == 0) {
      return no(fmt::format("block {}, instruction {}: a stored value is needed where none can be read back",
                            p_.blocks[b].label, s));
    }
    for (const std::uint32_t t : missing) {
      add(t, next_use_[t]);
      stored_[t] = 1;
      insertions_[b].push_back({Insertion::fill, s, t});
    }
    return make_room(b, s, l_.first_position[b] + s - 1, 0, e);
  }

  bool instruction(std::uint32_t b, std::uint32_t n, std::uint32_t e) {
    const Inst& i = p_.blocks[b].insts[n];
    const auto& after = next_.after[b][n];
    const std::uint32_t gap = l_.first_position[b] + n;
    ++hold_;
    for (unsigned k = 0; k < source_count(i.alu); ++k) {
      if (i.alu.src[k].reg.kind == Reg::temp && in(i.alu.src[k].reg.index)) {
        held_[i.alu.src[k].reg.index] = hold_;
      }
    }
    for (unsigned k = 0; k < source_count(i.alu); ++k) {
      const Reg& r = i.alu.src[k].reg;
      if (r.kind == Reg::temp && !in(r.index) && is_remat(r.index) &&
          !make_again(b, n, r.index, e, after[k])) {
        return false;
      }
    }
    for (unsigned k = 0; k < source_count(i.alu); ++k) {
      const Reg& r = i.alu.src[k].reg;
      if (r.kind == Reg::temp && in(r.index)) {
        next_use_[r.index] = after[k];
        if (after[k] == never) {
          remove(r.index);
        }
      }
    }
    ++hold_;
    unsigned dead = 0;
    const auto define = [&](const Reg& d, std::uint32_t next) {
      if (d.kind != Reg::temp) {
        return;
      }
      known_in_[d.index] = b;
      if (next == never) {
        remove(d.index);
        ++dead;
        return;
      }
      add(d.index, next);
      held_[d.index] = hold_;
      defined_in_[d.index] = unit_;
      defined_.push_back(d.index);
    };
    define(i.alu.dst, after[2]);
    define(i.sig_dst, after[3]);
    return make_room(b, n + 1, gap, dead, e);
  }

  bool simulate() {
    const std::size_t temps = p_.temp_count, blocks = p_.blocks.size();
    where_.assign(temps, never);
    set_.clear();
    next_use_.assign(temps, never);
    held_.assign(temps, 0);
    wanted_.assign(temps, 0);
    defined_in_.assign(temps, 0);
    defined_early_.assign(temps, 0);
    known_in_.assign(temps, no_index);
    std::ranges::fill(stored_, 0);
    insertions_.assign(blocks, {});
    entry_.assign(blocks, {});
    exit_.assign(blocks, {});
    candidates_.clear();
    for (std::uint32_t b = 0; b < blocks; ++b) {
      if (!block(b)) {
        return false;
      }
    }
    for (std::uint32_t b = 0; b < blocks; ++b) {
      if (!edges(b)) {
        return false;
      }
    }
    return stores();
  }

  // What a successor expects in registers and this block does not leave there.
  bool edges(std::uint32_t b) {
    const Block& block = p_.blocks[b];
    for (const std::uint32_t s : block.succs) {
      for (const std::uint32_t t : entry_[s]) {
        if (std::ranges::binary_search(exit_[b], t) || !std::ranges::binary_search(l_.live_out[b], t)) {
          continue;
        }
        const bool branches = !block.insts.empty() && block.insts.back().is_branch;
        const auto at = static_cast<std::uint32_t>(block.insts.size()) - branches;
        if (block.succs.size() != 1) {
          return no("a value is missing on a critical edge");
        }
        if (is_remat(t)) {
          make_at_end(b, at, t);
          continue;
        }
        if (places_[b][at] == 0 || !o_.allow_spills) {
          return no(fmt::format("block {}: a value cannot be read back at the end", block.label));
        }
        stored_[t] = 1;
        insertions_[b].push_back({Insertion::fill, at, t});
      }
    }
    return true;
  }

  void make_at_end(std::uint32_t b, std::uint32_t at, std::uint32_t t) {
    const Remat& r = remat_[t];
    const Inst& i = p_.blocks[r.block].insts[r.index];
    for (unsigned s = 0; r.kind == Remat::arithmetic && s < source_count(i.alu); ++s) {
      const Reg& q = i.alu.src[s].reg;
      if (q.kind == Reg::temp && !std::ranges::binary_search(exit_[b], q.index)) {
        make_at_end(b, at, q.index);
      }
    }
    insertions_[b].push_back({Insertion::remat, at, t});
  }

  // Behind the unit of each definition, or where the block ends in a branch at the start of what follows.
  bool stores() {
    for (const Candidate& c : candidates_) {
      if (stored_[c.temp] == 0) {
        continue;
      }
      const Block& block = p_.blocks[c.block];
      const auto count = static_cast<std::uint32_t>(block.insts.size());
      if (c.index < count || !block.insts.back().is_branch) {
        if (places_[c.block][c.index] == 0) {
          return no(fmt::format("block {}: a value cannot be stored", block.label));
        }
        insertions_[c.block].push_back({Insertion::store, c.index, c.temp});
        continue;
      }
      for (const std::uint32_t s : block.succs) {
        if (!std::ranges::binary_search(l_.live_in[s], c.temp)) {
          continue;
        }
        if (!std::ranges::binary_search(entry_[s], c.temp) || places_[s][0] == 0) {
          return no(fmt::format("block {}: a value cannot be stored behind a branch", block.label));
        }
        insertions_[s].push_back({Insertion::store, 0, c.temp});
      }
    }
    return true;
  }

  struct Candidate {
    std::uint32_t block, index, temp;
  };

  const Program& p_;
  const SpillOptions& o_;
  Liveness l_;
  NextUses next_;
  std::vector<std::vector<char>> places_;
  std::vector<Remat> remat_;
  std::vector<char> stored_, due_, late_;
  std::vector<unsigned> fixed_, pressure_;
  Place last_;
  std::string why_;
  // The state of the walk.
  std::vector<std::uint32_t> set_, where_, next_use_, held_, wanted_, defined_in_, defined_early_, known_in_,
      defined_;
  std::uint32_t hold_ = 0, want_ = 0, unit_ = 0;
  bool pin_out_ = false;
  std::vector<std::vector<Insertion>> insertions_;
  std::vector<std::vector<std::uint32_t>> entry_, exit_;
  std::vector<Candidate> candidates_;
};

} // namespace

SpillResult plan_spills(Program& p, const SpillOptions& options) {
  SpillResult result;
  Plan plan;
  SpillOptions o = options;
  o.registers -= o.allow_spills ? 1 : 0; // the base
  result.fits = Planner(p, o).run(plan, result.why);
  if (result.fits) {
    write_plan(p, std::move(plan), find_rematerialisable(p, options), options, result);
  }
  return result;
}

} // namespace lanewise::v3d
