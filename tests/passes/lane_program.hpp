// Random programs whose lanes take branches of their own: if and else, loops that lanes leave at different
// turns, by `break` (out of outer loops too) and `continue`, and branches that all take together.
#pragma once

#include "ir/builder.hpp"

#include <random>

namespace lanewise::tests {

/// `lane` of the wave level is local_id_x, of the invocation level host_lane.
class LaneProgram {
 public:
  LaneProgram(uint64_t seed, bool invocations, uint64_t output)
      : random_(seed), invocations_(invocations), output_(output), b_(f_) {
    f_.name = "lanes";
    f_.divergent = true;
    b_.block = f_.add_block();
  }

  ir::Function make(unsigned statements) {
    lane_ = invocations_ ? b_.emit(ir::Op::host_lane, {}) : b_.input(ir::Input::local_id_x);
    address_ = b_.add(b_.zext(b_.shl(lane_, b_.i32(2)), ir::Type::i64), b_.i64(output_));
    for (unsigned i = 0; i < kVariables; ++i)
      variables_.push_back(i < 3 ? b_.add(b_.mul(lane_, b_.i32(2 * i + 1)), b_.i32(i)) : b_.i32(i));
    body(statements, 0);
    for (const Value v : variables_) store(v);
    b_.ret();
    return std::move(f_);
  }

 private:
  using Value = ir::Value;
  using State = std::vector<Value>;
  static constexpr unsigned kVariables = 5, kSlots = 32, kLanes = 32;

  struct Loop {
    ir::Block turn, exit;             ///< where a turn is counted, and behind the loop
    std::vector<State> breaks, turns; ///< in the order of the edges there
  };

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  bool chance(uint32_t percent) { return below(100) < percent; }

  Value operand() { return chance(20) ? b_.i32(below(9)) : variables_[below(kVariables)]; }
  Value arithmetic() {
    const Value a = operand(), b = operand();
    switch (below(5)) {
    case 0: return b_.add(a, b);
    case 1: return b_.sub(a, b);
    case 2: return b_.xor_(a, b);
    case 3: return b_.mul(a, b_.i32(3 + below(5)));
    default: return b_.and_(a, b_.i32(0xff));
    }
  }
  Value condition() { return b_.ult(b_.and_(operand(), b_.i32(7)), b_.i32(below(8))); }
  void store(Value data) {
    const Value at = b_.add(address_, b_.i64(uint64_t{below(kSlots)} * kLanes * 4));
    b_.store(at, chance(70) ? b_.u1(true) : condition(), data, {.space = ir::Space::global});
  }

  void statement() {
    if (chance(75))
      variables_[below(kVariables)] = arithmetic();
    else if (chance(70))
      store(operand());
    else {
      const Value any = invocations_ ? b_.host_any(condition()) : b_.any(condition());
      variables_[below(kVariables)] = b_.select(any, operand(), operand());
    }
  }

  void body(unsigned statements, unsigned depth) {
    for (unsigned i = 0; i < statements; ++i) {
      if (depth < 3 && chance(22))
        chance(60) ? if_else(statements / 2 + 1, depth + 1) : loop(statements / 2 + 1, depth + 1);
      else if (!loops_.empty() && chance(8))
        leave();
      else
        statement();
    }
  }

  void phis_of(ir::Block block, const std::vector<State>& incoming) {
    b_.block = block;
    for (unsigned i = 0; i < kVariables; ++i) {
      std::vector<Value> values;
      for (const State& s : incoming) values.push_back(s[i]);
      variables_[i] = b_.emit(ir::Op::phi, values, ir::Type::i32);
    }
  }

  void if_else(unsigned statements, unsigned depth) {
    const ir::Block then = f_.add_block(), other = f_.add_block(), join = f_.add_block();
    const bool has_else = chance(50);
    // Sometimes the lanes go together.
    const Value own = condition(), c = chance(80) ? own : invocations_ ? b_.host_any(own) : b_.any(own);
    b_.cond_br(c, then, other);
    const State before = variables_;
    std::vector<State> ends;
    for (const ir::Block side : {then, other}) {
      b_.block = side;
      variables_ = before;
      if (side == then || has_else) body(statements, depth);
      ends.push_back(variables_);
      b_.br(join);
    }
    phis_of(join, ends);
  }

  /// break or continue, under a condition, of this loop or one around it.
  void leave() {
    Loop& loop = loops_[chance(70) ? loops_.size() - 1 : below(static_cast<uint32_t>(loops_.size()))];
    const ir::Block rest = f_.add_block();
    const bool out = chance(70);
    b_.cond_br(condition(), out ? loop.exit : loop.turn, rest);
    (out ? loop.breaks : loop.turns).push_back(variables_);
    b_.block = rest;
  }

  void loop(unsigned statements, unsigned depth) {
    const ir::Block head = f_.add_block(), turn = f_.add_block(), exit = f_.add_block();
    State start = variables_;
    const Value zero = b_.i32(0);
    b_.br(head);
    b_.block = head;
    State phis;
    for (unsigned i = 0; i < kVariables + 1; ++i) phis.push_back(b_.append(ir::Op::phi, {}, ir::Type::i32));
    for (const Value p : phis) f_[p].uniform = false;
    for (unsigned i = 0; i < kVariables; ++i) variables_[i] = phis[i];
    loops_.push_back({turn, exit, {}, {}});
    body(statements, depth);
    loops_.back().turns.push_back(variables_);
    b_.br(turn);
    Loop self = loops_.back();
    loops_.pop_back();
    phis_of(turn, self.turns);
    const Value count = b_.add(phis[kVariables], b_.i32(1));
    b_.cond_br(b_.and_(b_.ult(count, b_.i32(1 + below(7))), condition()), head, exit);
    self.breaks.push_back(variables_);
    for (unsigned i = 0; i < kVariables; ++i) f_.set_operands(phis[i], std::array{start[i], variables_[i]});
    f_.set_operands(phis[kVariables], std::array{zero, count});
    phis_of(exit, self.breaks);
  }

  std::mt19937_64 random_;
  bool invocations_;
  uint64_t output_;
  ir::Function f_{32};
  ir::Builder b_;
  Value lane_, address_;
  State variables_;
  std::vector<Loop> loops_;
};

} // namespace lanewise::tests
