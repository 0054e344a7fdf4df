// From a program over registers to words.
//
// Each block is list-scheduled forwards: the ready instruction with the longest path behind it opens a word,
// and what else is ready and fits joins it. A thread switch is set as early as the words in front of it allow
// (two words follow it anyway) and the two words behind it are filled with what does not mind. A branch
// likewise moves up to three words up. At the end of the program the last three words carry the final thrsw.
#include "v3d/depend.hpp"
#include "v3d/spill.hpp"
#include "v3d/word_builder.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::v3d {

namespace {

constexpr std::uint32_t never = ~0u;

// Instructions scheduled again for one block, and attempts at most.
constexpr unsigned try_budget = 3000, most_tries = 16;

// A word that reads what the special function unit of the word before it has not finished waits for a cycle.
bool reads_late_result(const Word& before, const Word& w) {
  if (before.is_branch || w.is_branch || !has(before.add.op, sfu) || before.add.dst.kind != Reg::rf) {
    return false;
  }
  for (const Alu* a : {&w.add, &w.mul}) {
    for (unsigned s = 0; s < source_count(*a); ++s) {
      if (a->src[s].reg == before.add.dst) {
        return true;
      }
    }
  }
  return false;
}

class Scheduler {
 public:
  explicit Scheduler(const Program& p) : p_(p), last_(last_switch(p)) {
    q_.gpu = p.gpu;
    q_.stage = p.stage;
    q_.threads = p.threads;
    q_.uniforms = p.uniforms;
  }

  Expected<QpuProgram> run() {
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

 private:
  struct Node {
    std::uint32_t waiting = 0, earliest = 0, path = 0;
    bool late = false; ///< tile writes: last among equals
    std::uint8_t order = 1;
    std::uint32_t refused = never; ///< the word that it does not fit
    bool held = false; ///< kept for a word that would be empty or wait, until its path is the longest left
  };

  [[nodiscard]] std::uint32_t now() const { return static_cast<std::uint32_t>(q_.words.size()); }

  // Everything that scheduling a block changes.
  struct Outcome {
    std::vector<QpuWord> words; ///< of the block
    std::uint32_t switch_at = never, force_switch = never;
    unsigned cost = ~0u;
    unsigned attempt = 0;
    std::vector<std::uint32_t> placed; ///< the word of each instruction
  };

  // A block is scheduled by a few orders of priority, and the shortest result is kept.
  Expected<void> block(std::uint32_t b) {
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

  // For each stall, something that stands shortly in front of it although nothing needs it before: kept back,
  // it fills the word that waits.
  bool find_work_for_stalls(const Outcome& o) {
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

  void hold_back_work() {
    for (Node& n : nodes_) {
      n.held = false;
    }
    for (const std::uint32_t n : work_) {
      nodes_[n].held = true;
    }
    holds_ = true;
    mended_.insert(mended_.end(), work_.begin(), work_.end());
  }

  void restore(const Outcome& o) {
    q_.words.resize(block_start_);
    q_.words.insert(q_.words.end(), o.words.begin(), o.words.end());
    switch_at_ = o.switch_at;
    force_switch_ = o.force_switch;
    idle_ = 0;
  }

  // Words and stalls of the block; an empty word counts a little more than one with work in it.
  unsigned cost() const {
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

  // `early`: words that special functions should come earlier than they must, so that other work is left to
  // stand in front of the readers.
  void find_paths(std::uint32_t early) {
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

  // The first attempt goes by the longest path; the others bend it, each by a chance of its own.
  void prioritise(unsigned attempt) {
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

  Expected<void> fill() {
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

  // ---- one word

  // Fills the next word; returns how many instructions it took.
  std::uint32_t word() {
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

  // Nothing fits now, but time will help.
  bool waits_only(std::uint32_t t) {
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

  // The best ready instruction that the word can take. What is held comes where there is nothing else to do.
  std::uint32_t choose(const WordBuilder& w, std::uint32_t t) {
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

  std::uint32_t best_of(const WordBuilder& w, std::uint32_t t, bool held) {
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

  // Held until nothing that is left has a longer path.
  [[nodiscard]] bool is_held(std::uint32_t n) const {
    return nodes_[n].held && paths_[n] + 2 < longest_left_;
  }

  bool stalls(std::uint32_t n, std::uint32_t t) const {
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

  bool better(std::uint32_t a, std::uint32_t b, std::uint32_t t) const {
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

  bool allowed(std::uint32_t n, const WordBuilder& w, std::uint32_t t) {
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

  // The word behind an ldvary receives its coefficient: nothing else may write that register there.
  bool after_varying(const Word& w, std::uint32_t t) const {
    if (t == 0 || (q_.words[t - 1].word.sigs & sig::ldvary) == 0) {
      return false;
    }
    const Reg c = implicit_reg(p_.gpu);
    return (w.sigs & (sig::ldunif | sig::ldunifa)) != 0 || w.add.dst == c || w.mul.dst == c ||
           ((w.sigs & sig::addressed) != 0 && w.sig_dst == c);
  }

  static bool writes_registers(const Word& w) {
    return w.add.dst.kind == Reg::rf || w.mul.dst.kind == Reg::rf;
  }

  void remove(std::uint32_t n) {
    ready_.erase(std::ranges::find(ready_, n));
    late_left_ -= nodes_[n].late;
  }

  void release(std::uint32_t n, std::uint32_t t) {
    placed_[n] = t;
    for (const Edge& e : graph_.succs[n]) {
      Node& to = nodes_[e.to];
      to.earliest = std::max(to.earliest, t + e.at_least);
      if (--to.waiting == 0) {
        ready_.push_back(e.to);
      }
    }
  }

  void append(const QpuWord& w) { q_.words.push_back(w); }

  void nop() {
    WordBuilder w(p_.gpu);
    if (force_switch_ == now()) {
      (void)w.add_signal(sig::thrsw);
    }
    append(w.word());
  }

  // ---- thread switches

  [[nodiscard]] bool can_carry(std::uint32_t at, std::uint32_t s) const {
    QpuWord w = q_.words[at];
    if (w.word.is_branch || (w.word.sigs & sig::thrsw) != 0) {
      return false;
    }
    std::uint32_t imms = 0;
    constexpr std::array flags{sig::imm_a, sig::imm_b, sig::imm_c, sig::imm_d};
    unsigned operand = 0;
    for (const Alu* a : {&w.word.add, &w.word.mul}) {
      for (unsigned k = 0; k < 2; ++k, ++operand) {
        if (k < source_count(*a) && a->src[k].reg.kind == Reg::imm) {
          imms |= p_.gpu == Gpu::v42 ? sig::imm_b : flags[operand];
        }
      }
    }
    return signal_code(p_.gpu, w.word.sigs | s | imms).has_value();
  }

  void place_switch(std::uint32_t n) {
    const bool is_last = last_.block == block_ && last_.index == n;
    std::uint32_t at = now();
    for (unsigned up = 1; up <= 3 && at_or_after_start(up); ++up) {
      const std::uint32_t k = now() - up;
      bool ok =
          (switch_at_ == never || k >= switch_at_ + 3) && can_carry(k, sig::thrsw) && !in_branch_slots(k);
      for (std::uint32_t s = k + 1; s < now(); ++s) {
        ok = ok && valid_in_switch_slot(p_.gpu, q_.words[s].word, s - k);
      }
      if (is_last && up >= 2) {
        ok = ok && can_carry(k + 1, sig::thrsw);
      }
      if (ok) {
        at = k;
      }
    }
    if (at == now()) {
      while (switch_at_ != never && now() < switch_at_ + 3) {
        nop();
      }
      at = now();
      append({});
    }
    q_.words[at].word.sigs |= sig::thrsw;
    switch_at_ = at;
    if (is_last) {
      if (at + 1 < now()) {
        q_.words[at + 1].word.sigs |= sig::thrsw;
      } else {
        force_switch_ = at + 1;
      }
    }
    for (const Edge& e : graph_.succs[n]) {
      Node& to = nodes_[e.to];
      to.earliest = std::max(to.earliest, at + 3);
      if (--to.waiting == 0) {
        ready_.push_back(e.to);
      }
    }
  }

  [[nodiscard]] bool at_or_after_start(unsigned up) const { return now() >= block_start_ + up; }

  [[nodiscard]] bool in_branch_slots(std::uint32_t k) const {
    for (std::uint32_t back = 1; back <= 3 && back <= k; ++back) {
      if (q_.words[k - back].word.is_branch) {
        return true;
      }
    }
    return false;
  }

  void drain_switch() {
    while (switch_at_ != never && now() < switch_at_ + 3) {
      nop();
    }
  }

  // ---- ends of blocks and of the program

  void branch(const Inst& i) {
    WordBuilder w(p_.gpu);
    (void)w.add(i);
    QpuWord b = w.word();
    b.target = p_.blocks[block_].succs.front();
    std::uint32_t at = now();
    for (unsigned up = 1; up <= 3 && at_or_after_start(up); ++up) {
      const std::uint32_t k = now() - up;
      if (!valid_in_branch_slot(q_.words[k].word, q_.words[k].uniform) ||
          (switch_at_ != never && k < switch_at_ + 3)) {
        break;
      }
      at = k;
    }
    while (p_.gpu == Gpu::v42 && i.branch.msfign != Msfign::none && at > block_start_ &&
           has(q_.words[at - 1].word.add.op, touches_msf)) {
      nop();
      at = now();
    }
    q_.words.insert(q_.words.begin() + at, b);
    while (now() < at + 4) {
      nop();
    }
  }

  void finish_program() {
    const std::uint32_t earliest = switch_at_ == never ? 0 : switch_at_ + 3;
    for (unsigned behind = 2;; --behind) {
      const std::uint32_t count = now();
      // The thrsw stands `behind` words before the present end; nops make up the rest.
      if (count >= behind + 1) {
        const std::uint32_t k = count - behind - 1;
        bool ok = k >= std::max(earliest, block_start_) && can_carry(k, sig::thrsw) && !in_branch_slots(k);
        for (std::uint32_t s = k; ok && s < count; ++s) {
          ok = valid_at_end(p_.gpu, q_.words[s].word, q_.words[s].uniform, s - k);
        }
        if (ok) {
          q_.words[k].word.sigs |= sig::thrsw;
          while (now() < k + 3) {
            append({});
          }
          return;
        }
      }
      if (behind == 0) {
        break;
      }
    }
    while (now() < earliest || in_branch_slots(now())) {
      append({});
    }
    append({});
    q_.words.back().word.sigs |= sig::thrsw;
    append({});
    append({});
  }

  // Branch distances in words and in uniforms, then bits.
  Expected<void> resolve() {
    std::vector<std::uint32_t> uniforms_before(q_.words.size() + 1);
    for (std::size_t n = 0; n < q_.words.size(); ++n) {
      uniforms_before[n + 1] = uniforms_before[n] + (q_.words[n].uniform != no_index ? 1 : 0);
    }
    for (std::uint32_t n = 0; n < q_.words.size(); ++n) {
      QpuWord& w = q_.words[n];
      if (w.word.is_branch) {
        const std::uint32_t to = q_.block_starts[w.target];
        w.word.branch.offset = static_cast<std::int32_t>(to - (n + 4)) * 8;
        const auto distance = static_cast<std::int32_t>(uniforms_before[to] - uniforms_before[n + 1]) * 4;
        q_.stream.push_back({w.uniform, distance});
      } else if (w.uniform != no_index) {
        q_.stream.push_back({w.uniform, 0});
      }
      const auto bits = pack(p_.gpu, w.word);
      if (!bits) {
        return fail(ErrorKind::unsupported, bits.error().what,
                    fmt::format("word {}: {}", n, to_text(p_.gpu, w.word)));
      }
      q_.bits.push_back(*bits);
    }
    return {};
  }

  const Program& p_;
  Place last_;
  QpuProgram q_;
  const std::vector<Inst>* insts_ = nullptr;
  DependenceGraph graph_;
  std::vector<Node> nodes_;
  std::vector<std::uint32_t> ready_, paths_, placed_, work_, mended_;
  std::uint32_t late_left_ = 0;
  std::uint32_t block_ = 0, block_start_ = 0, switch_at_ = never, force_switch_ = never;
  unsigned idle_ = 0;
  bool holds_ = false;
  std::uint32_t longest_left_ = 0;
  std::string stuck_;
};

} // namespace

Expected<QpuProgram> schedule(const Program& p) { return Scheduler(p).run(); }

Figures measure(const QpuProgram& q) {
  Figures f;
  f.instructions = static_cast<unsigned>(q.words.size());
  f.threads = q.threads;
  f.uniforms = static_cast<unsigned>(q.stream.size());
  for (std::size_t n = 0; n < q.words.size(); ++n) {
    const Word& w = q.words[n].word;
    if (w.is_branch) {
      f.loops += w.branch.offset < 0;
      continue;
    }
    f.nops += is_nop(w.add) && is_nop(w.mul) && w.sigs == 0;
    if (n == 0 || q.words[n - 1].word.is_branch) {
      continue;
    }
    f.sfu_stalls += reads_late_result(q.words[n - 1].word, w);
  }
  f.inst_and_stalls = f.instructions + f.sfu_stalls;
  return f;
}

std::string to_text(const QpuProgram& q) {
  std::string s;
  std::size_t at = 0;
  for (std::size_t n = 0; n < q.words.size(); ++n) {
    s += fmt::format("{:#018x} {}", q.bits[n], to_text(q.gpu, q.words[n].word));
    if (q.words[n].uniform != no_index && at < q.stream.size()) {
      const StreamEntry& e = q.stream[at++];
      s += q.words[n].word.is_branch ? fmt::format(" ({})", e.distance)
                                     : fmt::format(" ({})", q.uniforms[e.uniform].text);
    }
    s += '\n';
  }
  return s;
}

} // namespace lanewise::v3d
