// The scheduler's state and steps. Blocks and their attempts stand in schedule.cpp, one word in
// schedule_word.cpp, thread switches, branches and ends in schedule_ends.cpp.
#pragma once

#include "v3d/depend.hpp"
#include "v3d/spill.hpp"
#include "v3d/word_builder.hpp"

#include <string>

namespace lanewise::v3d::scheduling {

inline constexpr std::uint32_t never = ~0u;

class Scheduler {
 public:
  explicit Scheduler(const Program& p) : p_(p), last_(last_switch(p)) {
    q_.gpu = p.gpu;
    q_.stage = p.stage;
    q_.threads = p.threads;
    q_.uniforms = p.uniforms;
  }
  Expected<QpuProgram> run();

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
  Expected<void> block(std::uint32_t b);

  // For each stall, something that stands shortly in front of it although nothing needs it before: kept back,
  // it fills the word that waits.
  bool find_work_for_stalls(const Outcome& o);
  void hold_back_work();
  void restore(const Outcome& o);

  // Words and stalls of the block; an empty word counts a little more than one with work in it.
  unsigned cost() const;

  // `early`: words that special functions should come earlier than they must, so that other work is left to
  // stand in front of the readers.
  void find_paths(std::uint32_t early);

  // The first attempt goes by the longest path; the others bend it, each by a chance of its own.
  void prioritise(unsigned attempt);
  Expected<void> fill();

  // ---- one word

  // Fills the next word; returns how many instructions it took.
  std::uint32_t word();

  // Nothing fits now, but time will help.
  bool waits_only(std::uint32_t t);

  // The best ready instruction that the word can take. What is held comes where there is nothing else to do.
  std::uint32_t choose(const WordBuilder& w, std::uint32_t t);
  std::uint32_t best_of(const WordBuilder& w, std::uint32_t t, bool held);

  // Held until nothing that is left has a longer path.
  [[nodiscard]] bool is_held(std::uint32_t n) const;
  bool stalls(std::uint32_t n, std::uint32_t t) const;
  bool better(std::uint32_t a, std::uint32_t b, std::uint32_t t) const;
  bool allowed(std::uint32_t n, const WordBuilder& w, std::uint32_t t);

  // The word behind an ldvary receives its coefficient: nothing else may write that register there.
  bool after_varying(const Word& w, std::uint32_t t) const;
  static bool writes_registers(const Word& w);
  void remove(std::uint32_t n);
  void release(std::uint32_t n, std::uint32_t t);
  void append(const QpuWord& w);
  void nop();

  // ---- thread switches
  [[nodiscard]] bool can_carry(std::uint32_t at, std::uint32_t s) const;
  void place_switch(std::uint32_t n);
  [[nodiscard]] bool at_or_after_start(unsigned up) const;
  [[nodiscard]] bool in_branch_slots(std::uint32_t k) const;
  void drain_switch();

  // ---- ends of blocks and of the program
  void branch(const Inst& i);
  void finish_program();

  // Branch distances in words and in uniforms, then bits.
  Expected<void> resolve();

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

} // namespace lanewise::v3d::scheduling
