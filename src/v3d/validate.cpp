// The machine's rules, held against finished words. Every rule is a member function with its reason.
#include "v3d/checker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lanewise::v3d {

namespace {

namespace use = peripheral_use;
constexpr std::size_t none = ~std::size_t{0};

class Validator {
 public:
  explicit Validator(const QpuProgram& q) : q_(q) {}

  Expected<void> run() {
    for (const std::uint64_t b : q_.bits) {
      auto w = unpack(q_.gpu, b);
      if (!w) {
        return std::unexpected(w.error());
      }
      words_.push_back(*w);
    }
    if (words_.size() != q_.words.size() || words_.size() < 3) {
      return fail(ErrorKind::check, "the program is too short or words and bits differ");
    }
    find_switches();
    using Rule = void (Validator::*)(std::size_t);
    constexpr Rule rules[] = {&Validator::shared_units, &Validator::uniforms, &Validator::registers,
                              &Validator::switches,     &Validator::branches, &Validator::varyings,
                              &Validator::tile_buffer,  &Validator::operands};
    for (std::size_t n = 0; n < words_.size(); ++n) {
      for (const Rule r : rules) {
        (this->*r)(n);
      }
    }
    ends();
    tmu();
    lost_state();
    rf0_hazard();
    if (what_.empty()) {
      return {};
    }
    return fail(ErrorKind::check, what_, fmt::format("word {}: {}", where_, to_text(q_.gpu, words_[where_])));
  }

 private:
  void bad(std::size_t n, std::string_view what) {
    if (what_.empty()) {
      what_ = what;
      where_ = n;
    }
  }

  [[nodiscard]] bool switches_at(std::size_t n) const { return (words_[n].sigs & sig::thrsw) != 0; }

  // Starts of thread switches; two in adjacent words are the last one. The program's final one is apart.
  void find_switches() {
    end_ = words_.size() - 3;
    for (std::size_t n = 0; n < end_; ++n) {
      if (!switches_at(n)) {
        continue;
      }
      if (!starts_.empty() && starts_.back() + 1 == n && last_ == none) {
        last_ = starts_.back();
        continue;
      }
      starts_.push_back(n);
    }
  }

  void shared_units(std::size_t n) {
    if (conflicts(q_.gpu, words_[n])) {
      bad(n, "one word asks too much of the peripherals");
    }
  }

  void uniforms(std::size_t n) {
    const Word& w = words_[n];
    const auto by = [](const Alu& a) {
      return a.dst.kind == Reg::magic && takes_uniform(static_cast<std::uint8_t>(a.dst.index));
    };
    const int takers = (w.is_branch ? w.branch.moves_uniforms : 0) +
                       std::popcount(w.sigs & (sig::ldunif | sig::ldunifrf | sig::wrtmuc | sig::ldtlbu)) +
                       by(w.add) + by(w.mul);
    if (takers > 1) {
      bad(n, "two takers of one uniform");
    } else if ((takers == 1) != (q_.words[n].uniform != no_index)) {
      bad(n, "the uniform stream does not fit the words");
    }
  }

  // The file is shared by the threads.
  void registers(std::size_t n) {
    const std::uint32_t limit = q_.threads == 4 ? 32 : 64;
    const auto check = [&](const Reg& r) {
      if (r.kind == Reg::rf && r.index >= limit) {
        bad(n, "a register beyond the thread's share");
      }
      if (r.kind == Reg::acc && q_.gpu == Gpu::v71) {
        bad(n, "7.1 has no accumulators");
      }
    };
    const Word& w = words_[n];
    check(w.sig_dst);
    for (const Alu* a : {&w.add, &w.mul}) {
      check(a->dst);
      for (unsigned s = 0; s < source_count(*a); ++s) {
        check(a->src[s].reg);
      }
    }
  }

  void operands(std::size_t n) {
    Word w = words_[n];
    if (!w.is_branch && !assign_ports(q_.gpu, w)) {
      bad(n, "more register reads or immediates than one word has");
    }
  }

  void switches(std::size_t n) {
    for (std::size_t k = 0; k < starts_.size(); ++k) {
      const std::size_t at = starts_[k];
      if (n <= at || n > at + 2) {
        continue;
      }
      if (switches_at(n) && !(at == last_ && n == at + 1)) {
        bad(n, "a thread switch in the slots of another");
      }
      if (!valid_in_switch_slot(q_.gpu, words_[n], static_cast<unsigned>(n - at))) {
        bad(n, "an instruction that may not stand behind a thread switch");
      }
    }
    if (last_ != none && n > last_ + 1 && n < end_ && switches_at(n)) {
      bad(n, "a thread switch behind the last one");
    }
  }

  void branches(std::size_t n) {
    if (!words_[n].is_branch) {
      return;
    }
    if (n + 3 >= words_.size()) {
      bad(n, "a branch without its three slots");
      return;
    }
    for (std::size_t s = n + 1; s <= n + 3; ++s) {
      if (!valid_in_branch_slot(words_[s], q_.words[s].uniform)) {
        bad(s, "an instruction that may not stand behind a branch");
      }
    }
    const std::int64_t to = static_cast<std::int64_t>(n) + 4 + words_[n].branch.offset / 8;
    if (to < 0 || to >= static_cast<std::int64_t>(words_.size())) {
      bad(n, "a branch out of the program");
    }
    if (q_.gpu == Gpu::v42 && words_[n].branch.msfign != Msfign::none && n > 0 &&
        has(words_[n - 1].add.op, touches_msf)) {
      bad(n, "a branch on sample flags directly behind their change");
    }
  }

  // The coefficient is written a word after its ldvary; that word writes the register in no other way.
  void varyings(std::size_t n) {
    if (n == 0 || (words_[n - 1].sigs & sig::ldvary) == 0) {
      return;
    }
    const Word& w = words_[n];
    const Reg c = implicit_reg(q_.gpu);
    if ((w.sigs & (sig::ldunif | sig::ldunifa)) != 0 || w.add.dst == c || w.mul.dst == c ||
        ((w.sigs & sig::addressed) != 0 && w.sig_dst == c)) {
      bad(n, "the coefficient's register is written twice");
    }
  }

  // The tile buffer is locked for the thread after the last thread switch.
  void tile_buffer(std::size_t n) {
    if ((uses(words_[n]) & (use::tlb_write | use::tlb_read)) == 0) {
      return;
    }
    if (q_.stage == Stage::fragment && (last_ == none || n < last_ + 3)) {
      bad(n, "a tile buffer access before the scoreboard is locked");
    }
  }

  void ends() {
    if (!switches_at(end_)) {
      bad(end_, "the program does not end in a thread switch");
    }
    for (std::size_t n = end_; n < words_.size(); ++n) {
      if (!valid_at_end(q_.gpu, words_[n], q_.words[n].uniform, static_cast<unsigned>(n - end_))) {
        bad(n, "an instruction that may not stand at the end of the program");
      }
      if (n > end_ && switches_at(n)) {
        bad(n, "a thread switch in the last slots");
      }
    }
    if (!starts_.empty() && end_ < starts_.back() + 3) {
      bad(end_, "the end in the slots of a thread switch");
    }
    if (q_.stage == Stage::fragment && last_ == none) {
      bad(end_, "a fragment shader without a last thread switch");
    }
    if (!starts_.empty() && last_ == none) {
      bad(starts_.back(), "thread switches but no last one");
    }
  }

  // FIFOs of the TMU: 16 entries for all threads. Blocks leave them empty.
  void tmu() {
    const unsigned most = 16 / q_.threads;
    unsigned outstanding = 0, writes = 0, configs = 0, returned = 0, data = 0;
    std::size_t block = 0;
    for (std::size_t n = 0; n < words_.size(); ++n) {
      const Word& w = words_[n];
      while (block < q_.block_starts.size() && q_.block_starts[block] == n) {
        if (outstanding + writes + configs != 0) {
          bad(n, "a TMU operation crosses blocks");
        }
        ++block;
      }
      for (const std::size_t s : starts_) {
        if (n == s + 3 && (writes != 0 || configs != 0)) {
          bad(n - 1, "a thread switch inside a TMU sequence");
        }
      }
      if ((w.sigs & sig::ldtmu) != 0) {
        if (outstanding == 0) {
          bad(n, "ldtmu without a result to come");
        } else {
          --outstanding;
        }
      }
      if ((w.sigs & sig::wrtmuc) != 0 && configs++ == 0) {
        returned = static_cast<unsigned>(std::popcount(q_.uniforms[q_.words[n].uniform].returned));
      }
      for (const Alu* a : {&w.add, &w.mul}) {
        if (a->dst.kind != Reg::magic || !is_tmu_write(static_cast<std::uint8_t>(a->dst.index))) {
          continue;
        }
        const auto address = static_cast<std::uint8_t>(a->dst.index);
        data += address == magic::tmud;
        if (++writes > most) {
          bad(n, "more writes in one TMU operation than its FIFO holds");
        }
        if (!is_tmu_trigger(address)) {
          continue;
        }
        if (address == magic::tmua || address == magic::tmuau) {
          // Only tmuau takes a configuration; a uniform beside tmua is the load's.
          const std::uint32_t config = address == magic::tmuau && q_.words[n].uniform != no_index
                                           ? q_.uniforms[q_.words[n].uniform].value
                                           : ~0u;
          const std::uint32_t type = config & 7;
          outstanding += data == 0 ? (type >= 2 && type <= 4 ? type : 1) : (config >> 3 & 15) == 15 ? 0 : 1;
        } else {
          outstanding += returned;
        }
        writes = configs = data = 0;
        if (outstanding > most) {
          bad(n, "more results than the TMU's output FIFO holds");
        }
      }
    }
  }

  // Accumulators and rtop do not survive a thread switch; flags do, but must have been set. Bits: r0..r5,
  // flags, rtop.
  void lost_state() {
    std::vector<unsigned> lost(q_.block_starts.size(), 0);
    const unsigned everything = 0xff;
    if (!lost.empty()) {
      lost[0] = everything;
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t b = 0; b < q_.block_starts.size(); ++b) {
        const std::size_t end = b + 1 < q_.block_starts.size() ? q_.block_starts[b + 1] : words_.size();
        unsigned now = lost[b];
        bool falls = true;
        std::vector<std::size_t> next;
        for (std::size_t n = q_.block_starts[b]; n < end; ++n) {
          const Word& w = words_[n];
          if (w.is_branch) {
            if (w.branch.cond != BranchCond::always && (now & 64) != 0) {
              bad(n, "a branch on flags that nothing has set");
            }
            falls = w.branch.cond != BranchCond::always;
            next.push_back(q_.words[n].target);
          } else {
            now = step(n, w, now);
          }
          for (const std::size_t s : starts_) {
            now = n == s + 2 ? (everything & ~64u) | (now & 64u) : now;
          }
        }
        if (falls && b + 1 < q_.block_starts.size()) {
          next.push_back(b + 1);
        }
        for (const std::size_t s : next) {
          if (s < lost.size() && (lost[s] | now) != lost[s]) {
            lost[s] |= now;
            changed = true;
          }
        }
      }
    }
  }

  unsigned step(std::size_t n, const Word& w, unsigned now) {
    unsigned written = 0;
    for (const Alu* a : {&w.add, &w.mul}) {
      for (unsigned s = 0; s < source_count(*a); ++s) {
        const Reg& r = a->src[s].reg;
        if (r.kind == Reg::acc && (now >> r.index & 1) != 0 && a->op != Op::nop &&
            !(a->dst.kind == Reg::magic && a->dst.index == magic::tlbu)) {
          bad(n, "an accumulator is read that a thread switch has destroyed");
        }
      }
      if (reads_flags_of(*a) && (now & 64) != 0) {
        bad(n, "flags are read that nothing has set");
      }
      if (has(a->op, reads_rtop) && (now & 128) != 0) {
        bad(n, "a thread switch between multop and umul24");
      }
      written |= a->dst.kind == Reg::acc ? 1u << a->dst.index : 0;
      written |= writes_flags(*a) ? 64 : 0;
      written |= has(a->op, writes_rtop) ? 128 : 0;
    }
    written |= w.sig_dst.kind == Reg::acc ? 1u << w.sig_dst.index : 0;
    written |= (w.sigs & (sig::ldunif | sig::ldunifa | sig::ldvary)) != 0 && q_.gpu == Gpu::v42 ? 32 : 0;
    return now & ~written;
  }

  // 7.1: if rf0 was last written implicitly beside another signal's write, the section may not end in such a
  // write.
  void rf0_hazard() {
    if (q_.gpu != Gpu::v71) {
      return;
    }
    constexpr std::uint32_t implicit = sig::ldunif | sig::ldunifa | sig::ldvary;
    bool armed = false;
    for (std::size_t n = 0; n < words_.size(); ++n) {
      const Word& w = words_[n];
      if (w.add.dst == rf(0) || w.mul.dst == rf(0)) {
        armed = false;
      }
      if ((w.sigs & implicit) != 0) {
        armed = std::popcount(w.sigs & (implicit | sig::addressed)) > 1 || (w.sigs & sig::ldvary) != 0;
      }
      for (const std::size_t s : starts_) {
        if (n == s + 2 && armed && (w.sigs & (sig::addressed | implicit)) != 0) {
          bad(n, "rf0 would be lost at the thread switch");
        }
      }
    }
  }

  const QpuProgram& q_;
  std::vector<Word> words_;
  std::vector<std::size_t> starts_;
  std::size_t last_ = none, end_ = 0;
  std::string what_;
  std::size_t where_ = 0;
};

} // namespace

Expected<void> validate(const QpuProgram& q) { return Validator(q).run(); }

} // namespace lanewise::v3d
