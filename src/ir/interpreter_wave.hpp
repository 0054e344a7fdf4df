// Internal to ir/interpreter: one wave in its workgroup.
#pragma once

#include "ir/interpreter.hpp"
#include "ir/interpreter_program.hpp"

#include <bit>

namespace lanewise::ir::interpreter {

struct Workgroup {
  const Function& function;
  const InterpreterDispatch& dispatch;
  InterpreterMemory& memory;
  std::array<uint32_t, 3> id{};
  std::array<uint32_t, 3> size{
      1, 1, 1}; ///< work-items in it: smaller than the dispatch's workgroup at the grid's end
  std::vector<uint8_t> lds;
};

class Wave {
 public:
  enum class State : uint8_t { running, at_barrier, ended };

  Wave(const Program& p, Workgroup& group, uint32_t index);

  /// Runs until a barrier, the end, or `budget` instructions are used up (which it counts down).
  Expected<State> run(uint64_t& budget);
  State state = State::running;

 private:
  // interpreter_wave.cpp
  [[nodiscard]] Expected<void> execute(const Code& c);
  [[nodiscard]] Expected<void> step(const Code& c);
  [[nodiscard]] Expected<void> run_singly(uint64_t& budget);
  template <class F>
  void for_each_lane(uint64_t lanes, F visit) const;
  void pure(const Code& c);
  void take_edge(uint32_t edge, uint64_t lanes);
  [[nodiscard]] Expected<void> branch(const Code& c);
  void resume_first();
  [[nodiscard]] Expected<void> barrier(const Code& c);
  [[nodiscard]] uint64_t flat_id(unsigned lane) const {
    return uint64_t{index_} * group_.function.wave_size + lane;
  }
  [[nodiscard]] uint64_t local_id(unsigned dimension, unsigned lane) const;
  [[nodiscard]] uint64_t input(Input which, unsigned lane) const;
  // interpreter_lanes.cpp
  [[nodiscard]] bool lanes(const Code& c);
  [[nodiscard]] uint64_t ballot(Place m) const;
  void push(const Code& c);
  // interpreter_graphics.cpp
  [[nodiscard]] ImageSample image_sample(const Code& c, unsigned lane) const;
  [[nodiscard]] Expected<void> sample(const Code& c);
  [[nodiscard]] Expected<void> export_words(const Code& c);
  // interpreter_access.cpp
  [[nodiscard]] Expected<void> access(const Code& c);
  [[nodiscard]] Expected<void> access_lane(const Code& c, unsigned lane);
  struct Target {
    Space space = Space::global;
    uint64_t address = 0;
    bool in_range = true;
  };
  [[nodiscard]] Target target(const Code& c, MemoryAccess m, unsigned lane, unsigned component) const;
  [[nodiscard]] Target buffer_target(const Code& c, MemoryAccess m, unsigned lane, unsigned component) const;
  [[nodiscard]] bool load(const Target& t, unsigned lane, unsigned bytes, uint64_t& value);
  [[nodiscard]] bool store(const Target& t, unsigned lane, unsigned bytes, uint64_t value);
  [[nodiscard]] std::unexpected<Error> outside(const Code& c, const Target& t, unsigned lane,
                                               unsigned bytes) const;

  [[nodiscard]] std::string where(const Code& c) const;
  [[nodiscard]] Place operand(const Code& c, unsigned i) const { return p_.operands[c.first_operand + i]; }
  [[nodiscard]] uint64_t read(Place p, unsigned lane) const { return values_[p.slot + lane * p.stride]; }
  [[nodiscard]] uint64_t read(const Code& c, unsigned i, unsigned lane) const {
    return read(operand(c, i), lane);
  }
  void write(const Code& c, unsigned lane, uint64_t bits) {
    if (c.uniform)
      values_[c.slot] = bits;
    else if (is_active(lane))
      values_[c.slot + lane] = bits;
  }
  [[nodiscard]] bool is_active(unsigned lane) const { return (active_ >> lane & 1) != 0; }
  [[nodiscard]] unsigned first_active() const { return static_cast<unsigned>(std::countr_zero(active_)); }
  [[nodiscard]] unsigned count(const Code& c) const { return c.uniform ? 1 : p_.lanes; }

  const Program& p_;
  Workgroup& group_;
  uint32_t index_; ///< of the wave in its workgroup
  uint32_t next_ = 0;
  uint64_t active_;          ///< lanes that are executing: all, unless the function is divergent
  uint64_t waiting_ = 0;     ///< lanes that go on at `at_`
  uint64_t blocked_ = 0;     ///< of lanes that run alone, those at the barrier
  std::vector<uint32_t> at_; ///< by lane
  uint64_t executed_ = 0;
  std::vector<uint64_t> values_, scratch_moves_;
  std::vector<uint8_t> scratch_;
};

} // namespace lanewise::ir::interpreter
