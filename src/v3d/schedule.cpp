// From a program over registers to words.
//
// Each block is list-scheduled forwards: the ready instruction with the longest path behind it opens a word,
// and what else is ready and fits joins it. A thread switch is set as early as the words in front of it allow
// (two words follow it anyway) and the two words behind it are filled with what does not mind. A branch
// likewise moves up to three words up. At the end of the program the last three words carry the final thrsw.
#include "v3d/scheduler.hpp"

#include <algorithm>

namespace lanewise::v3d::scheduling {

namespace {

// Instructions scheduled again for one block, and attempts at most.
constexpr unsigned try_budget = 3000, most_tries = 16;

} // namespace

Expected<QpuProgram> Scheduler::run() {
  for (std::uint32_t b = 0; b < p_.blocks.size(); ++b) {
    q_.block_starts.push_back(static_cast<std::uint32_t>(q_.words.size()));
    if (auto r = block(b); !r) {
      return std::unexpected(r.error());
    }
  }
  if (p_.blocks.empty()) {
    finish_program();
  }
  if (auto r = resolve(); !r) {
    return std::unexpected(r.error());
  }
  return std::move(q_);
}

Expected<void> Scheduler::block(std::uint32_t b) {
  block_ = b;
  block_start_ = now();
  insts_ = &p_.blocks[b].insts;
  graph_ = build_dependences(p_.gpu, *insts_, p_.temp_count);
  mended_.clear();
  const Outcome before{{}, switch_at_, force_switch_, 0, 0, {}};
  Outcome best;
  const auto count = static_cast<unsigned>(insts_->size());
  const unsigned tries = count < 4 ? 1 : std::clamp(try_budget / count, 1u, most_tries);
  for (unsigned attempt = 0; attempt < tries; ++attempt) {
    // The last third mends the stalls of the best so far.
    const bool mends = tries > 2 && attempt >= tries - tries / 3;
    if (mends && !find_work_for_stalls(best)) {
      break;
    }
    restore(before);
    prioritise(mends ? best.attempt : attempt);
    if (mends) {
      hold_back_work();
    }
    if (auto r = fill(); !r) {
      if (attempt + 1 == tries && best.cost == ~0u) {
        return r;
      }
      continue;
    }
    Outcome o{{q_.words.begin() + block_start_, q_.words.end()},
              switch_at_,
              force_switch_,
              cost(),
              mends ? best.attempt : attempt,
              placed_};
    if (o.cost < best.cost) {
      best = std::move(o);
    }
  }
  restore(best);
  return {};
}

bool Scheduler::find_work_for_stalls(const Outcome& o) {
  constexpr std::uint32_t look_back = 16;
  work_.clear();
  std::vector<std::uint32_t> stalled;
  for (std::uint32_t t = 1; t < o.words.size(); ++t) {
    if (!o.words[t].word.is_branch && reads_late_result(o.words[t - 1].word, o.words[t].word)) {
      stalled.push_back(block_start_ + t);
    }
  }
  for (const std::uint32_t t : stalled) {
    std::uint32_t best = never;
    for (std::uint32_t n = 0; n < o.placed.size(); ++n) {
      const std::uint32_t at = o.placed[n];
      if (at == never || at >= t || at + look_back < t || is_nop((*insts_)[n].alu) ||
          has((*insts_)[n].alu.op, sfu) || (best != never && at <= o.placed[best])) {
        continue;
      }
      const auto needed = [&](const Edge& e) { return o.placed[e.to] == never || o.placed[e.to] <= t; };
      if (std::ranges::none_of(graph_.succs[n], needed) && std::ranges::find(mended_, n) == mended_.end()) {
        best = n;
      }
    }
    if (best != never) {
      work_.push_back(best);
    }
  }
  return !work_.empty();
}

void Scheduler::hold_back_work() {
  for (Node& n : nodes_) {
    n.held = false;
  }
  for (const std::uint32_t n : work_) {
    nodes_[n].held = true;
  }
  holds_ = true;
  mended_.insert(mended_.end(), work_.begin(), work_.end());
}

void Scheduler::restore(const Outcome& o) {
  q_.words.resize(block_start_);
  q_.words.insert(q_.words.end(), o.words.begin(), o.words.end());
  switch_at_ = o.switch_at;
  force_switch_ = o.force_switch;
  idle_ = 0;
}

unsigned Scheduler::cost() const {
  unsigned r = 0;
  for (std::size_t n = block_start_; n < q_.words.size(); ++n) {
    const Word& w = q_.words[n].word;
    r += 8;
    if (w.is_branch) {
      continue;
    }
    r += is_nop(w.add) && is_nop(w.mul) && w.sigs == 0 ? 1 : 0;
    r += n > 0 && reads_late_result(q_.words[n - 1].word, w) ? 9 : 0;
  }
  return r;
}

void Scheduler::find_paths(std::uint32_t early) {
  const auto count = static_cast<std::uint32_t>(insts_->size());
  paths_.assign(count, 0);
  for (std::uint32_t n = count; n-- > 0;) {
    const std::uint32_t more = has((*insts_)[n].alu.op, sfu) ? early : 0;
    for (const Edge& e : graph_.succs[n]) {
      // What a branch waits for comes early, so that other work is left for its slots.
      const bool decides = (*insts_)[e.to].is_branch && e.kind == Dependence::result;
      paths_[n] = std::max(paths_[n], paths_[e.to] + e.latency + more + (decides ? 3u : 0u));
    }
  }
}

void Scheduler::prioritise(unsigned attempt) {
  const auto count = static_cast<std::uint32_t>(insts_->size());
  nodes_.assign(count, {});
  placed_.assign(count, never);
  find_paths(attempt % 4 == 3 ? 3 : attempt % 4 == 1 && attempt > 4 ? 1 : 0);
  holds_ = attempt >= 7;
  for (std::uint32_t n = 0; n < count; ++n) {
    Node& node = nodes_[n];
    node.waiting = graph_.pred_count[n];
    node.path = paths_[n] * 16;
    if (attempt == 1) {
      node.path += static_cast<std::uint32_t>(std::min<std::size_t>(graph_.succs[n].size(), 8)) * 6;
    } else if (attempt == 2) {
      node.path += unit_of(p_.gpu, (*insts_)[n].alu.op) == Unit::add && !is_nop((*insts_)[n].alu) ? 20 : 0;
    } else if (attempt > 2) {
      node.path += (n * 2654435761u + attempt * 40503u) * 2246822519u >> 26;
    }
    const auto chance = (n * 2654435761u + attempt * 97u) * 2246822519u >> 24;
    node.held = holds_ && !is_nop((*insts_)[n].alu) && chance < 48;
    node.late = (uses((*insts_)[n].alu) & peripheral_use::tlb_write) != 0;
    node.order = node.late ? 0 : 1;
  }
}

Expected<void> Scheduler::fill() {
  ready_.clear();
  late_left_ = 0;
  const auto count = static_cast<std::uint32_t>(insts_->size());
  for (std::uint32_t n = 0; n < count; ++n) {
    late_left_ += nodes_[n].late;
    if (nodes_[n].waiting == 0) {
      ready_.push_back(n);
    }
  }
  const bool branches = count != 0 && insts_->back().is_branch;
  std::uint32_t left = count - (branches ? 1 : 0);
  while (left > 0) {
    const std::uint32_t taken = word();
    if (taken == never) {
      return fail(ErrorKind::unsupported, "an instruction fits no word", stuck_);
    }
    left -= taken;
  }
  drain_switch();
  if (branches) {
    branch(insts_->back());
  } else if (!p_.blocks[block_].succs.empty() && !q_.words.empty() &&
             (q_.words.back().word.sigs & sig::ldvary) != 0) {
    nop();
  }
  if (block_ + 1 == p_.blocks.size()) {
    finish_program();
  }
  return {};
}

} // namespace lanewise::v3d::scheduling

namespace lanewise::v3d {

Expected<QpuProgram> schedule(const Program& p) { return scheduling::Scheduler(p).run(); }

} // namespace lanewise::v3d
