// Random programs as guest code looks after translation: registers written under EXEC, regions that a wave
// skips when none of its lanes goes in, loops that run until no lane is left, scalars beside them. And some
// of what must keep a pass from acting: writes in all lanes, reads by other lanes, scalars that leave a loop,
// masks that revive, reads under wider masks.
#pragma once

#include "ir/builder.hpp"
#include "ir/graphics.hpp"

#include <random>

namespace lanewise::tests {

inline constexpr uint64_t kOutput = 0x10000;
/// Whether samples and exports stand among the statements.
enum class Statements : uint8_t { of_compute, of_graphics };

inline constexpr uint32_t kItemsOfWave = 32, kSlots = 64, kOutputBytes = kSlots * kItemsOfWave * 4;

class MaskedProgram {
 public:
  /// `output`: address of kOutputBytes that the program writes.
  explicit MaskedProgram(uint64_t seed, unsigned mischief, uint64_t output = kOutput,
                         Statements statements = Statements::of_compute)
      : random_(seed), mischief_(mischief), output_(output), statements_(statements), b_(f_) {
    f_.name = "masked";
    f_.lds_bytes = 256;
    b_.block = f_.add_block();
  }

  ir::Function make(unsigned statements) {
    entry_exec_ = exec_ = b_.input(ir::Input::initial_exec);
    lane_ = b_.input(ir::Input::local_id_x);
    address_ = b_.add(b_.zext(b_.shl(lane_, b_.i32(2)), ir::Type::i64), b_.i64(output_));
    for (unsigned i = 0; i < kVectors; ++i)
      vector_.push_back(b_.add(b_.mul(lane_, b_.i32(2 * i + 1)), b_.i32(i)));
    for (unsigned i = 0; i < kScalars; ++i) scalar_.push_back(b_.i32(3 * i + 1));
    body(statements, 0);
    for (unsigned i = 0; i < kVectors; ++i)
      if (chance(60)) store(chance(70) ? exec_ : entry_exec_, vector_[i]);
    for (unsigned i = 0; i < kScalars; ++i)
      if (chance(30)) store(entry_exec_, scalar_[i]);
    b_.ret();
    return std::move(f_);
  }

 private:
  using Value = ir::Value;
  static constexpr unsigned kVectors = 4, kScalars = 2;

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  bool chance(uint32_t percent) { return below(100) < percent; }
  bool mischief() { return below(100) < mischief_; }

  Value operand() {
    if (chance(20)) return b_.i32(below(9));
    return chance(25) ? scalar_[below(kScalars)] : vector_[below(kVectors)];
  }
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
  Value condition() {
    const Value a = b_.and_(operand(), b_.i32(7)), b = b_.i32(below(8));
    return chance(50) ? b_.ult(a, b) : b_.ne(a, b);
  }
  void store(Value mask, Value data) {
    const Value at = b_.add(address_, b_.i64(uint64_t{below(kSlots)} * kItemsOfWave * 4));
    b_.store(at, mask, data, {.space = ir::Space::global});
  }

  void statement() {
    const unsigned r = below(kVectors);
    switch (below(statements_ == Statements::of_graphics ? 12 : 9)) {
    case 0:
    case 1:
    case 2:
    case 3: vector_[r] = b_.select(mischief() ? entry_exec_ : exec_, arithmetic(), vector_[r]); return;
    case 4: store(mischief() ? entry_exec_ : exec_, vector_[r]); return;
    case 5: {
      const Value at = b_.shl(b_.and_(lane_, b_.i32(31)), b_.i32(2));
      b_.store(at, exec_, vector_[r], {.space = ir::Space::lds});
      vector_[r] = b_.select(exec_, b_.load(ir::Type::i32, at, exec_, {.space = ir::Space::lds}), vector_[r]);
      return;
    }
    case 6: scalar_[below(kScalars)] = b_.add(scalar_[below(kScalars)], b_.i32(below(5))); return;
    case 7:
      if (mischief()) vector_[r] = b_.select(exec_, other_lanes(), vector_[r]);
      return;
    case 8:
      if (mischief()) scalar_[below(kScalars)] = b_.read_first(vector_[below(kVectors)], exec_);
      return;
    case 9: vector_[r] = b_.select(exec_, sample(mischief() ? entry_exec_ : exec_), vector_[r]); return;
    default: write_export(mischief() ? entry_exec_ : exec_);
    }
  }

  Value sample(Value active) {
    using Level = ir::ImageAccess::Level;
    constexpr std::array levels{Level::computed, Level::biased, Level::zero, Level::given,
                                Level::derivatives};
    const ir::ImageAccess a{.level = levels[mischief() ? below(2) : 2 + below(3)], .dmask = 1};
    std::vector<Value> operands;
    for (unsigned i = 0; i < ir::kImageActive; ++i)
      operands.push_back(i == 0 ? scalar_[below(kScalars)] : b_.i32(i));
    operands.push_back(active);
    for (unsigned i = 0; i < a.address_words(); ++i) operands.push_back(operand());
    // The program's scalars may yet turn out to depend on the lane: no descriptor asks.
    return b_.append(a.implicit() ? ir::Op::image_sample_implicit : ir::Op::image_sample, operands,
                     ir::Type::i32, a.pack());
  }
  void write_export(Value active) {
    const ir::ExportTarget e{.target = static_cast<uint8_t>(below(4)), .compressed = true};
    b_.append(ir::Op::export_, std::array{active, vector_[below(kVectors)], operand()}, ir::Type::none,
              e.pack());
  }

  Value other_lanes() {
    const Value v = vector_[below(kVectors)];
    switch (below(4)) {
    case 0: return b_.permute(v, b_.xor_(lane_, b_.i32(1)));
    case 1:
      return b_.emit(ir::Op::dpp, {v}, ir::Type::none,
                     ir::LanePattern{ir::LanePattern::Kind::row_shr, 1}.pack());
    case 2: return b_.read_lane(v, b_.i32(below(32)));
    default: return b_.trunc(b_.zext(b_.ballot(b_.and_(exec_, condition())), ir::Type::i64), ir::Type::i32);
    }
  }

  void body(unsigned statements, unsigned depth) {
    for (unsigned i = 0; i < statements; ++i) {
      if (depth < 3 && chance(18))
        chance(60) ? region(statements / 2 + 1, depth + 1) : loop(statements / 2 + 1, depth + 1);
      else
        statement();
    }
  }

  struct State {
    std::vector<Value> vector, scalar;
  };
  [[nodiscard]] State state() const { return {vector_, scalar_}; }

  /// s_and_saveexec, s_cbranch_execz ... s_mov exec
  void region(unsigned statements, unsigned depth) {
    const Value outer = exec_, inner = b_.and_(outer, condition());
    const ir::Block inside = f_.add_block(), from = b_.block;
    const ir::Block join = f_.add_block();
    b_.cond_br(b_.any(inner), inside, join);
    const State before = state();
    b_.block = inside;
    exec_ = inner;
    body(statements, depth);
    const State after = state();
    b_.br(join);
    b_.block = join;
    (void)from;
    exec_ = outer;
    merge(before, after);
  }

  void merge(const State& around, const State& through) {
    const auto phi = [&](Value a, Value b) { return a == b ? a : b_.phi(ir::Type::i32, std::array{a, b}); };
    for (unsigned i = 0; i < kVectors; ++i) vector_[i] = phi(around.vector[i], through.vector[i]);
    for (unsigned i = 0; i < kScalars; ++i) scalar_[i] = phi(around.scalar[i], through.scalar[i]);
  }

  /// do { ... exec = exec & condition } while (exec != 0), at most eight times.
  void loop(unsigned statements, unsigned depth) {
    const Value outer = exec_;
    const ir::Block head = f_.add_block();
    const bool counts_lanes_that_left = chance(40);
    std::vector<Value> start{outer, b_.i32(0), b_.u1(false)};
    start.insert(start.end(), vector_.begin(), vector_.end());
    start.insert(start.end(), scalar_.begin(), scalar_.end());
    b_.br(head);
    b_.block = head;
    std::vector<Value> phis;
    for (const Value v : start) {
      phis.push_back(b_.append(ir::Op::phi, {}, f_[v].type));
      f_[phis.back()].uniform = false;
    }
    const Value in = phis[0], turn = phis[1], left = phis[2];
    exec_ = in;
    std::copy(phis.begin() + 3, phis.begin() + 3 + kVectors, vector_.begin());
    std::copy(phis.begin() + 3 + kVectors, phis.end(), scalar_.begin());
    body(statements, depth);
    const Value next_turn = b_.add(turn, b_.i32(1));
    Value stay = b_.and_(exec_, b_.and_(condition(), b_.ult(next_turn, b_.i32(1 + below(8)))));
    Value gone = left;
    if (counts_lanes_that_left) {
      gone = b_.or_(left, b_.and_(exec_, b_.not_(stay)));
      stay = b_.and_(exec_, b_.not_(gone));
    }
    if (mischief()) stay = b_.and_(outer, b_.and_(condition(), b_.ult(next_turn, b_.i32(5)))); // lanes revive
    std::vector<Value> back{stay, next_turn, gone};
    back.insert(back.end(), vector_.begin(), vector_.end());
    back.insert(back.end(), scalar_.begin(), scalar_.end());
    const ir::Block exit = f_.add_block();
    b_.cond_br(b_.any(stay), head, exit);
    for (size_t i = 0; i < phis.size(); ++i) f_.set_operands(phis[i], std::array{start[i], back[i]});
    b_.block = exit;
    exec_ = counts_lanes_that_left && chance(60) ? b_.or_(stay, gone) : outer;
    if (mischief()) exec_ = b_.and_(outer, b_.not_(gone));
  }

  std::mt19937_64 random_;
  unsigned mischief_; ///< percent
  uint64_t output_;
  Statements statements_;
  ir::Function f_{32};
  ir::Builder b_;
  Value entry_exec_, exec_, lane_, address_;
  std::vector<Value> vector_, scalar_;
};

/// The usual program of a seed.
inline ir::Function masked_program(uint64_t seed, uint64_t output = kOutput,
                                   Statements statements = Statements::of_compute) {
  const unsigned mischief = seed % 3 == 0 ? 0 : seed % 3 == 1 ? 3 : 15;
  return MaskedProgram(seed, mischief, output, statements).make(static_cast<unsigned>(6 + seed % 12));
}

} // namespace lanewise::tests
