// Fills one word after the other with what is ready.
#include "v3d/scheduler.hpp"

#include <algorithm>

namespace lanewise::v3d::scheduling {

std::uint32_t Scheduler::word() {
  WordBuilder w(p_.gpu);
  const std::uint32_t t = now();
  if (holds_) {
    longest_left_ = 0;
    for (const std::uint32_t n : ready_) {
      longest_left_ = std::max(longest_left_, nodes_[n].held ? 0 : paths_[n]);
    }
  }
  if (force_switch_ == t) {
    (void)w.add_signal(sig::thrsw);
  }
  std::uint32_t taken = 0;
  while (true) {
    const std::uint32_t n = choose(w, t);
    if (n == never) {
      break;
    }
    if (((*insts_)[n].sigs & sig::thrsw) != 0) {
      // Set where it can stand, perhaps in a word that is already there.
      remove(n);
      if (!w.empty()) {
        append(w.word());
        place_switch(n);
        return taken + 1;
      }
      place_switch(n);
      return 1;
    }
    const bool fits = w.add((*insts_)[n]);
    (void)fits; // choose() has tried it
    remove(n);
    release(n, t);
    ++taken;
  }
  if (w.empty() && taken == 0 && !waits_only(t)) {
    return never;
  }
  append(w.word());
  return taken;
}

bool Scheduler::waits_only(std::uint32_t t) {
  if (switch_at_ != never && t <= switch_at_ + 2) {
    return true;
  }
  for (const std::uint32_t n : ready_) {
    if (nodes_[n].earliest > t) {
      return true;
    }
  }
  // A word by itself: rules that look back (ldvary, switches) pass after some words.
  if (++idle_ < 8) {
    return true;
  }
  stuck_ = ready_.empty() ? std::string("circular dependence") : to_text(p_, (*insts_)[ready_.front()]);
  return false;
}

std::uint32_t Scheduler::choose(const WordBuilder& w, std::uint32_t t) {
  std::uint32_t best = best_of(w, t, false);
  if (holds_ && w.empty() && (best == never || stalls(best, t))) {
    const std::uint32_t held = best_of(w, t, true);
    best = held != never && !stalls(held, t) ? held : best;
  }
  if (best != never) {
    idle_ = 0;
  }
  return best;
}

std::uint32_t Scheduler::best_of(const WordBuilder& w, std::uint32_t t, bool held) {
  std::uint32_t best = never;
  for (const std::uint32_t n : ready_) {
    Node& node = nodes_[n];
    if (node.earliest > t || node.refused == t || is_held(n) != held ||
        (best != never && !better(n, best, t))) {
      continue;
    }
    if (allowed(n, w, t)) {
      best = n;
    } else {
      node.refused = t; // words only grow
    }
  }
  return best;
}

bool Scheduler::is_held(std::uint32_t n) const { return nodes_[n].held && paths_[n] + 2 < longest_left_; }

bool Scheduler::stalls(std::uint32_t n, std::uint32_t t) const {
  if (t == 0 || t > q_.words.size()) {
    return false;
  }
  const Word& before = q_.words[t - 1].word;
  if (before.is_branch || !has(before.add.op, sfu) || before.add.dst.kind != Reg::rf) {
    return false;
  }
  const Alu& a = (*insts_)[n].alu;
  for (unsigned s = 0; s < source_count(a); ++s) {
    if (a.src[s].reg == before.add.dst) {
      return true;
    }
  }
  return false;
}

bool Scheduler::better(std::uint32_t a, std::uint32_t b, std::uint32_t t) const {
  const bool sa = stalls(a, t), sb = stalls(b, t);
  if (sa != sb) {
    return sb;
  }
  if (nodes_[a].order != nodes_[b].order) {
    return nodes_[a].order > nodes_[b].order;
  }
  if (nodes_[a].path != nodes_[b].path) {
    return nodes_[a].path > nodes_[b].path;
  }
  return a < b;
}

bool Scheduler::allowed(std::uint32_t n, const WordBuilder& w, std::uint32_t t) {
  const Inst& i = (*insts_)[n];
  if (i.is_branch) {
    return false;
  }
  if ((i.sigs & sig::thrsw) != 0) {
    return switch_at_ == never || t >= switch_at_ + 3;
  }
  // The last tile writes carry the end of the program: they stay out of words that write registers.
  if (nodes_[n].late && late_left_ <= 3 && !w.empty() && p_.blocks[block_].succs.empty() &&
      writes_registers(w.word().word)) {
    return false;
  }
  // An SFU result read in the next word stalls: only where nothing else is to be done.
  if (!w.empty() && stalls(n, t)) {
    return false;
  }
  WordBuilder trial = w;
  if (!trial.add(i)) {
    return false;
  }
  const Word& next = trial.word().word;
  if (switch_at_ != never && t > switch_at_ && t <= switch_at_ + 2 &&
      !may_move_into_switch_slot(p_.gpu, next, t - switch_at_)) {
    return false;
  }
  return !after_varying(next, t);
}

bool Scheduler::after_varying(const Word& w, std::uint32_t t) const {
  if (t == 0 || (q_.words[t - 1].word.sigs & sig::ldvary) == 0) {
    return false;
  }
  const Reg c = implicit_reg(p_.gpu);
  return (w.sigs & (sig::ldunif | sig::ldunifa)) != 0 || w.add.dst == c || w.mul.dst == c ||
         ((w.sigs & sig::addressed) != 0 && w.sig_dst == c);
}

bool Scheduler::writes_registers(const Word& w) {
  return w.add.dst.kind == Reg::rf || w.mul.dst.kind == Reg::rf;
}

void Scheduler::remove(std::uint32_t n) {
  ready_.erase(std::ranges::find(ready_, n));
  late_left_ -= nodes_[n].late;
}

void Scheduler::release(std::uint32_t n, std::uint32_t t) {
  placed_[n] = t;
  for (const Edge& e : graph_.succs[n]) {
    Node& to = nodes_[e.to];
    to.earliest = std::max(to.earliest, t + e.at_least);
    if (--to.waiting == 0) {
      ready_.push_back(e.to);
    }
  }
}

void Scheduler::append(const QpuWord& w) { q_.words.push_back(w); }

void Scheduler::nop() {
  WordBuilder w(p_.gpu);
  if (force_switch_ == now()) {
    (void)w.add_signal(sig::thrsw);
  }
  append(w.word());
}

} // namespace lanewise::v3d::scheduling
