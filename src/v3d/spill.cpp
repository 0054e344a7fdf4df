// The walk: block by block with the set of values that are in registers.
#include "v3d/spill_planner.hpp"

#include <fmt/format.h>

#include <optional>

namespace lanewise::v3d {

namespace spilling {

bool Planner::run(Plan& plan, std::string& why) {
  // Stores need a register for their address: once a value is known to be stored, room is left behind
  // its definitions. The set of such values grows for a few rounds and then is taken as it is.
  std::ranges::fill(due_, 0);
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
  if (o_.batch) {
    share_switches();
  }
  plan.insertions = std::move(insertions_);
  plan.is_stored = stored_;
  return true;
}

void Planner::add(std::uint32_t t, std::uint32_t next) {
  if (!in(t)) {
    where_[t] = static_cast<std::uint32_t>(set_.size());
    set_.push_back(t);
  }
  next_use_[t] = next;
}

void Planner::remove(std::uint32_t t) {
  if (!in(t)) {
    return;
  }
  const std::uint32_t at = where_[t];
  set_[at] = set_.back();
  where_[set_[at]] = at;
  set_.pop_back();
  where_[t] = never;
  left_[t] = {block_, leaves_at_};
  if (open_[t] != never) {
    Candidate& c = candidates_[open_[t]];
    c.until = std::max(c.index, leaves_at_);
    open_[t] = never;
  }
}

unsigned Planner::capacity(std::uint32_t gap) const {
  return switches_[gap] != 0 ? capacity_over_switch(gap) : o_.registers - std::min(o_.registers, fixed_[gap]);
}

unsigned Planner::capacity_over_switch(std::uint32_t gap) const {
  const unsigned registers = std::min(o_.registers, o_.file);
  return registers - std::min(registers, fixed_[gap]);
}

void Planner::find_switches() {
  switches_.assign(l_.gap_count, 0);
  for (std::size_t b = 0; b < p_.blocks.size(); ++b) {
    for (std::size_t n = 0; n < p_.blocks[b].insts.size(); ++n) {
      switches_[l_.first_position[b] + n] = (p_.blocks[b].insts[n].sigs & sig::thrsw) != 0;
    }
  }
}

bool Planner::no(std::string why) {
  why_ = std::move(why);
  return false;
}

// One value leaves. Values that the rest of the unit needs or that it defined stay.
bool Planner::evict(std::uint32_t b, std::uint32_t now, std::uint32_t unit_end, bool at_boundary) {
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
    return no(fmt::format("block {}, instruction {}: more values are needed at once than there are registers",
                          p_.blocks[b].label, now));
  }
  if (!is_remat(best)) {
    stored_[best] = 1;
  }
  remove(best);
  return true;
}

bool Planner::make_room(std::uint32_t b, std::uint32_t now, std::uint32_t gap, unsigned extra,
                        std::uint32_t unit_end, bool at_boundary) {
  // Not in its register in this gap: it can be stored up to the place in front of the instruction before.
  leaves_at_ = gap - l_.first_position[b] + (gap < l_.first_position[b] ? 1 : 0);
  while (set_.size() + extra > capacity(gap)) {
    if (!evict(b, now, unit_end, at_boundary)) {
      return false;
    }
  }
  used_[gap] = std::max(used_[gap], static_cast<unsigned>(set_.size()) + extra);
  return true;
}

// Puts a value that can be made again in front of instruction n.
bool Planner::make_again(std::uint32_t b, std::uint32_t n, std::uint32_t t, std::uint32_t unit_end,
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
  insertions_[b].push_back({Insertion::remat, n, t, n});
  add(t, next);
  if (!make_room(b, n, gap, 0, unit_end)) {
    return false;
  }
  return true;
}

bool Planner::needs_old_value(std::uint32_t b, const Inst& i) const {
  return i.alu.dst.kind == Reg::temp && is_partial(i.alu) && is_known(b, i.alu.dst.index);
}

// Something may have defined the temporary before this point of the block.
bool Planner::is_known(std::uint32_t b, std::uint32_t t) const {
  return known_in_[t] == b || std::ranges::binary_search(l_.live_in[b], t);
}

bool Planner::block(std::uint32_t b) {
  block_ = never;
  if (!entry(b)) {
    return false;
  }
  block_ = b;
  used_[l_.first_position[b] - 1] = static_cast<unsigned>(set_.size());
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
  for (const std::uint32_t t : set_) {
    if (open_[t] != never) {
      Candidate& c = candidates_[open_[t]];
      c.until = std::max(c.index, count - (count != 0 && insts.back().is_branch ? 1 : 0));
      open_[t] = never;
    }
  }
  return true;
}

bool Planner::unit(std::uint32_t b, std::uint32_t s, std::uint32_t e,
                   const std::vector<std::uint32_t>& at_exit) {
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
      if (open_[t] != never) { // a later definition in the unit
        candidates_[open_[t]].until = candidates_[open_[t]].index;
      }
      open_[t] = static_cast<std::uint32_t>(candidates_.size());
      candidates_.push_back({b, e, t, e});
      due = due || due_[t] != 0;
    }
  }
  ++hold_;
  for (const std::uint32_t t : at_exit) {
    if (!in(t) && is_remat(t) && !make_again(b, e - 1, t, e, 1u << 30)) {
      return false;
    }
  }
  const std::uint32_t gap = l_.first_position[b] + e - 1;
  if (due && set_.size() > capacity_over_switch(gap) &&
      !make_room(b, e, gap, capacity(gap) - capacity_over_switch(gap), e, true)) {
    return false;
  }
  return !due || make_room(b, e, gap, 1, e, true);
}

// Everything that the unit reads and that is in a slot comes back in front of it.
bool Planner::bring_in(std::uint32_t b, std::uint32_t s, std::uint32_t e,
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
    const auto& [block, place] = left_[t];
    insertions_[b].push_back({Insertion::fill, s, t, block == b ? std::min(place + 1, s) : 0});
  }
  const std::uint32_t gap = l_.first_position[b] + s - 1;
  const unsigned beyond = capacity(gap) - capacity_over_switch(gap);
  const auto filled = static_cast<unsigned>(missing.size());
  return make_room(b, s, gap, beyond - std::min(beyond, filled), e);
}

bool Planner::instruction(std::uint32_t b, std::uint32_t n, std::uint32_t e) {
  const Inst& i = p_.blocks[b].insts[n];
  const auto& after = next_.after[b][n];
  const std::uint32_t gap = l_.first_position[b] + n;
  ++hold_;
  leaves_at_ = n;
  for (unsigned k = 0; k < source_count(i.alu); ++k) {
    if (i.alu.src[k].reg.kind == Reg::temp && in(i.alu.src[k].reg.index)) {
      held_[i.alu.src[k].reg.index] = hold_;
    }
  }
  for (unsigned k = 0; k < source_count(i.alu); ++k) {
    const Reg& r = i.alu.src[k].reg;
    if (r.kind == Reg::temp && !in(r.index) && is_remat(r.index) && !make_again(b, n, r.index, e, after[k])) {
      return false;
    }
  }
  for (unsigned k = 0; k < source_count(i.alu); ++k) {
    const Reg& r = i.alu.src[k].reg;
    if (r.kind == Reg::temp && in(r.index)) {
      next_use_[r.index] = after[k];
      leaves_at_ = n;
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
    leaves_at_ = n;
    if (open_[d.index] != never) { // the value that was to be stored ends here
      Candidate& c = candidates_[open_[d.index]];
      c.until = std::max(c.index, n);
      open_[d.index] = never;
    }
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

bool Planner::simulate() {
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
  open_.assign(temps, never);
  left_.assign(temps, {never, 0});
  used_.assign(l_.gap_count, 0);
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

} // namespace spilling

using namespace spilling;

struct SpillPlanner::State {
  Program program;
  SpillOptions given, inside; ///< inside: without the register of the base
  std::optional<Planner> planner;
};

SpillPlanner::SpillPlanner(const Program& p, const SpillOptions& options)
    : state_(std::make_unique<State>(p, options, options, std::nullopt)) {
  state_->inside.file -= options.allow_spills ? 1 : 0;
  state_->planner.emplace(state_->program, state_->inside);
}
SpillPlanner::SpillPlanner(SpillPlanner&&) noexcept = default;
SpillPlanner& SpillPlanner::operator=(SpillPlanner&&) noexcept = default;
SpillPlanner::~SpillPlanner() = default;

SpillResult SpillPlanner::plan(unsigned registers, Program& out) {
  State& s = *state_;
  s.inside.registers = registers - (s.given.allow_spills ? 1 : 0);
  SpillResult result;
  Plan plan;
  result.fits = s.planner->run(plan, result.why);
  if (result.fits) {
    out = s.program;
    write_plan(out, std::move(plan), s.planner->rematerialisable(), s.given, result);
  }
  return result;
}

} // namespace lanewise::v3d
