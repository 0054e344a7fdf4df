// Random, always terminating IR for property tests: every operation, structured control flow, loads and
// stores to a small window of global memory, LDS and scratch.
#pragma once

#include "ir/builder.hpp"
#include "ir/interpreter.hpp"

#include <algorithm>
#include <map>
#include <random>

namespace lanewise::ir::testing {

struct RandomOptions {
  unsigned wave_size = 32;
  unsigned instructions = 60; ///< about
  unsigned max_depth = 3;     ///< of nested ifs and loops
  bool floats = true;
};

inline constexpr uint64_t kMemoryBase = 0x10000;
inline constexpr uint32_t kWindow = 1024; ///< bytes that the program reads and writes at random
inline constexpr uint32_t kOutputs = 8;   ///< results stored for each lane
inline constexpr uint32_t kItems = 160;   ///< work-items at most
inline constexpr uint32_t kMemoryBytes = kWindow + kOutputs * 8 * kItems + 1024;

class RandomFunction {
 public:
  RandomFunction(uint64_t seed, RandomOptions options)
      : random_(seed), o_(options), f_(options.wave_size), b_(f_) {
    b_.folding = false;
    f_.name = "random";
    f_.lds_bytes = kWindow;
    f_.scratch_bytes = 64;
    b_.block = f_.add_block();
  }

  Function make() {
    inputs();
    region(o_.instructions, 0);
    outputs();
    b_.ret();
    return std::move(f_);
  }

 private:
  using Pool = std::map<Type, std::vector<Value>>;

  uint32_t below(uint32_t n) { return static_cast<uint32_t>(random_() % n); }
  bool chance(uint32_t percent) { return below(100) < percent; }

  void add(Value v) { pool_[f_[v].type].push_back(v); }

  void inputs() {
    for (const Input i :
         {Input::local_id_x, Input::workgroup_id_x, Input::wave_in_group, Input::initial_exec})
      add(b_.input(i));
    flat_ = b_.add(b_.mul(b_.input(Input::workgroup_id_x), b_.i32(80)), b_.input(Input::local_id_x));
    add(flat_);
    add(b_.lane_id());
  }

  Value constant(Type t) {
    static constexpr std::array<uint64_t, 14> kInteresting{
        0, 1, 2, 3, 4, 7, 8, 31, 32, 0xff, 0xffff, 0x7fff'ffff, 0x8000'0000, ~uint64_t{0}};
    static constexpr std::array<uint64_t, 8> kFloats32{0x3f800000, 0xbf800000, 0,          0x80000000,
                                                       0x7f800000, 0x7fc00001, 0x00000123, 0x40490fdb};
    if (t == Type::f32 && chance(60)) return b_.constant(t, kFloats32[below(8)]);
    if (is_float(t) && chance(50)) return b_.constant(t, random_());
    return b_.constant(t, chance(80) ? kInteresting[below(14)] : random_());
  }

  /// Some value of the type that is defined here.
  Value any(Type t) {
    auto& values = pool_[t];
    if (values.empty() || chance(15)) return chance(50) && can_convert(t) ? converted(t) : constant(t);
    // Recent values are likelier, so that operations build on each other.
    const auto n = static_cast<uint32_t>(values.size());
    return values[chance(60) ? n - 1 - below(std::min(n, 4u)) : below(n)];
  }
  Value uniform(Type t) {
    for (unsigned i = 0; i < 4; ++i) {
      const Value v = any(t);
      if (f_[v].uniform) return v;
    }
    return constant(t);
  }
  bool can_convert(Type) const { return true; }
  Value converted(Type t) {
    switch (t) {
    case Type::f32: return b_.bitcast(any_of(Type::i32), t);
    case Type::f64: return b_.bitcast(b_.pack64(any_of(Type::i32), any_of(Type::i32)), t);
    case Type::f16: return b_.bitcast(b_.trunc(any_of(Type::i32), Type::i16), t);
    case Type::i64:
      return chance(50) ? b_.zext(any_of(Type::i32), t) : b_.pack64(any_of(Type::i32), any_of(Type::i32));
    case Type::i16:
    case Type::i8: return b_.trunc(any_of(Type::i32), t);
    case Type::u1: return b_.ult(any_of(Type::i32), any_of(Type::i32));
    default: return constant(t);
    }
  }
  Value any_of(Type t) {
    auto& values = pool_[t];
    return values.empty() ? constant(t) : values[below(static_cast<uint32_t>(values.size()))];
  }

  Type integer() {
    return std::array{Type::i32, Type::i32, Type::i32, Type::i64, Type::i64, Type::i16, Type::i8}[below(7)];
  }
  Type floating() { return std::array{Type::f32, Type::f32, Type::f64, Type::f16}[below(4)]; }

  void integer_operation() {
    static constexpr std::array kBinary{Op::add,  Op::sub,  Op::mul,  Op::mul_hi_u, Op::mul_hi_s,
                                        Op::and_, Op::or_,  Op::xor_, Op::shl,      Op::lshr,
                                        Op::ashr, Op::umin, Op::umax, Op::smin,     Op::smax};
    static constexpr std::array kUnary{Op::not_, Op::bit_reverse, Op::popcount, Op::find_lsb, Op::find_msb};
    const Type t = integer();
    switch (below(9)) {
    case 0: return add(b_.emit(kUnary[below(kUnary.size())], {any(t)}));
    case 1: return add(b_.add_c(any(t), any(t), any(Type::u1)));
    case 2: return add(b_.sub_c(any(t), any(t), any(Type::u1)));
    case 3: return add(b_.ubfe(any(Type::i32), any(Type::i32), any(Type::i32)));
    case 4: return add(b_.sbfe(any(Type::i32), any(Type::i32), any(Type::i32)));
    case 5: return add(b_.byte_perm(any(Type::i32), any(Type::i32), selectors()));
    default: return add(b_.emit(kBinary[below(kBinary.size())], {any(t), any(t)}));
    }
  }

  /// Of byte_perm: any number, or a constant whose bytes mean something.
  Value selectors() {
    if (below(3) == 0) return any(Type::i32);
    uint32_t bytes = 0;
    for (unsigned k = 0; k < 4; ++k) bytes = bytes << 8 | below(15);
    return b_.i32(bytes);
  }

  void mask_operation() {
    static constexpr std::array kCompare{Op::eq, Op::ne, Op::ult, Op::ule, Op::slt, Op::sle};
    static constexpr std::array kLogic{Op::and_, Op::or_, Op::xor_, Op::eq, Op::ne};
    const Type t = integer(), word = f_.word_type();
    switch (below(13)) {
    case 9: // a mask's word as a number of its own in each lane
      add(b_.select(any(Type::u1), b_.ballot(any(Type::u1)), any(word)));
      [[fallthrough]];
    case 10: return add(b_.emit(chance(50) ? Op::ne : Op::eq, {any(word), b_.constant(word, 0)}));
    case 0:
    case 1: return add(b_.emit(kCompare[below(kCompare.size())], {any(t), any(t)}));
    case 2: return add(b_.not_(any(Type::u1)));
    case 3: return add(b_.select(any(Type::u1), any(Type::u1), any(Type::u1)));
    case 4: return add(b_.ballot(any(Type::u1)));
    case 5: return add(b_.lane_bit(any(word)));
    case 6: return add(b_.any(any(Type::u1)));
    case 7: return add(b_.carry(any(t), any(t), any(Type::u1)));
    case 8: return add(b_.borrow(any(t), any(t), any(Type::u1)));
    default: return add(b_.emit(kLogic[below(kLogic.size())], {any(Type::u1), any(Type::u1)}));
    }
  }

  void conversion() {
    const Type from = integer(), to = integer();
    if (bit_width(to) > bit_width(from))
      return add(chance(50) ? b_.zext(any(from), to) : b_.sext(any(from), to));
    if (bit_width(to) < bit_width(from)) return add(b_.trunc(any(from), to));
    switch (below(7)) {
    case 0: return add(b_.zext(any(Type::u1), to));
    case 1: return add(b_.sext(any(Type::u1), to));
    case 2: return add(b_.lo32(any(Type::i64)));
    case 3: return add(b_.hi32(any(Type::i64)));
    case 4: return add(b_.bitcast(any(Type::f32), Type::i32));
    case 5: return add(b_.bitcast(any(Type::f64), Type::i64));
    default: return add(b_.pack64(any(Type::i32), any(Type::i32)));
    }
  }

  /// lo/hi halves of a 64-bit sum or difference, as the guest computes them.
  void wide_sum() {
    const Value x = any(Type::i64), y = any(Type::i64);
    const bool sum = chance(50);
    if (chance(40)) { // low half apart, upper half of the whole
      const Op op = sum ? Op::add : Op::sub;
      add(b_.pack64(b_.emit(op, {b_.lo32(x), b_.lo32(y)}), b_.hi32(b_.emit(op, {x, y}))));
      return;
    }
    const Value xl = b_.lo32(x), yl = b_.lo32(y), none = b_.u1(false);
    const Value lo = sum ? b_.add(xl, yl) : b_.sub(xl, yl);
    const Value c = sum ? b_.carry(xl, yl, none) : b_.borrow(xl, yl, none);
    const Value hi = sum ? b_.add_c(b_.hi32(x), b_.hi32(y), c) : b_.sub_c(b_.hi32(x), b_.hi32(y), c);
    add(b_.pack64(lo, hi));
  }

  FloatControl control() {
    FloatControl c{.round = static_cast<uint8_t>(chance(70) ? 0 : below(4))};
    c.flush_in = chance(30);
    c.flush_out = chance(30);
    c.ieee = chance(30);
    c.dx10_clamp = chance(50);
    return c;
  }

  void float_operation() {
    static constexpr std::array kUnary{Op::fcanonicalize, Op::fclamp, Op::ftrunc,      Op::ffloor,
                                       Op::fceil,         Op::frndne, Op::ffract,      Op::fsqrt,
                                       Op::frcp,          Op::frsq,   Op::fexp2,       Op::flog2,
                                       Op::fsin,          Op::fcos,   Op::ffrexp_mant, Op::ffrexp_exp};
    static constexpr std::array kBinary{Op::fadd, Op::fmul, Op::fmin, Op::fmax};
    const Type t = floating();
    const FloatControl c = control();
    switch (below(14)) {
    case 0: return add(b_.fneg(any(t)));
    case 1: return add(b_.fabs(any(t)));
    case 2: return add(b_.ffma(any(t), any(t), any(t), c));
    case 3: return add(b_.fldexp(any(t), any(Type::i32), c));
    case 4: return add(b_.fclass(any(t), any(Type::i32), c));
    case 5:
    case 6: return add(b_.fcmp(any(t), any(t), below(16), c));
    case 7: return add(b_.f2s(any(t), integer(), c));
    case 8: return add(b_.s2f(any(integer()), t, c));
    case 9: {
      const Type to = floating();
      return to == t ? add(b_.f2u(any(t), integer(), c)) : add(b_.f2f(any(t), to, c));
    }
    case 10: return add(b_.emit(kUnary[below(kUnary.size())], {any(t)}, Type::none, c.pack()));
    default: return add(b_.emit(kBinary[below(kBinary.size())], {any(t), any(t)}, Type::none, c.pack()));
    }
  }

  void lane_operation() {
    const Type t = std::array{Type::i32, Type::i32, Type::i64, Type::f32, Type::u1}[below(5)];
    switch (below(8)) {
    case 0: return add(b_.read_lane(any(t), uniform(Type::i32)));
    case 1: return add(b_.read_first(any(t), any(Type::u1)));
    case 2: return add(b_.permute(any(t), any(Type::i32)));
    case 3: return add(b_.push(any(t), any(Type::i32), any(Type::u1)));
    case 4: return add(b_.mbcnt(any(Type::i32), chance(50)));
    case 5: { // v_writelane
      const Value lane = b_.i32(below(o_.wave_size));
      return add(b_.select(b_.eq(b_.lane_id(), lane), uniform(t), any(t)));
    }
    case 6: return add(b_.read_lane(any(t), b_.i32(below(o_.wave_size))));
    default: {
      const auto kind = static_cast<LanePattern::Kind>(below(13));
      const uint32_t arg = kind == LanePattern::Kind::quad_perm ? below(256)
                           : kind >= LanePattern::Kind::dpp8    ? below(1 << 15)
                                                                : below(15) + 1;
      return add(b_.dpp(any(t), {kind, arg}));
    }
    }
  }

  void memory_operation() {
    const auto space = std::array{Space::global, Space::global, Space::lds, Space::scratch}[below(4)];
    const uint32_t size = space == Space::scratch ? 64 : kWindow;
    const Type t = std::array{Type::i32, Type::i64, Type::f32, Type::i16}[below(4)];
    MemoryAccess m{.space = space, .bytes = static_cast<uint8_t>(bit_width(t) / 8), .align = 1};
    Value address = b_.and_(any(Type::i32), b_.i32(size / 2 - 8));
    if (space == Space::global) address = b_.add(b_.zext(address, Type::i64), b_.i64(kMemoryBase));
    switch (below(5)) {
    case 0: b_.store(address, any(Type::u1), any(t), m); return;
    case 1:
      if (t == Type::i16 || t == Type::f32) return;
      m.atomic =
          std::array{AtomicOp::add, AtomicOp::umax, AtomicOp::swap, AtomicOp::xor_, AtomicOp::inc}[below(5)];
      return add(b_.atomic(address, any(Type::u1), any(t), m));
    case 2: {
      const Value tuple = b_.load(t, address, any(Type::u1), m, 2);
      add(b_.extract(tuple, 1));
      return add(b_.extract(tuple, 0));
    }
    default: return add(b_.load(t, address, any(Type::u1), m));
    }
  }

  void instruction() {
    const uint32_t which = below(100);
    if (which < 24)
      integer_operation();
    else if (which < 44)
      mask_operation();
    else if (which < 56)
      conversion();
    else if (which < 60)
      wide_sum();
    else if (which < 70)
      select_operation();
    else if (which < 80)
      lane_operation();
    else if (which < 88)
      memory_operation();
    else if (o_.floats)
      float_operation();
  }

  void select_operation() {
    const Type t = std::array{Type::i32, Type::i32, Type::i64, Type::f32}[below(4)];
    add(b_.select(any(Type::u1), any(t), any(t)));
  }

  void region(unsigned budget, unsigned depth) {
    while (budget > 0) {
      if (depth < o_.max_depth && budget > 8 && chance(8)) {
        const unsigned inner = budget / 2;
        chance(50) ? if_else(inner, depth + 1) : loop(inner, depth + 1);
        budget -= inner;
      } else {
        instruction();
        --budget;
      }
    }
  }

  static constexpr std::array kCarried{Type::i32, Type::i64, Type::u1, Type::f32};

  void if_else(unsigned budget, unsigned depth) {
    const Value condition = uniform(Type::u1);
    const Block then = f_.add_block(), other = f_.add_block();
    b_.cond_br(condition, then, other);
    const Pool before = pool_;
    std::array<std::vector<Value>, 2> results;
    std::array<Block, 2> ends;
    const std::array types{f_.word_type(), kCarried[below(4)], kCarried[below(4)]};
    for (unsigned side = 0; side < 2; ++side) {
      b_.block = side ? other : then;
      pool_ = before;
      region(budget / 2, depth);
      for (const Type t : types) results[side].push_back(any(t));
      ends[side] = b_.block;
    }
    pool_ = before;
    const Block join = f_.add_block();
    for (const Block end : ends) {
      b_.block = end;
      b_.br(join);
    }
    b_.block = join;
    for (size_t i = 0; i < types.size(); ++i) add(b_.phi(types[i], std::array{results[0][i], results[1][i]}));
  }

  void loop(unsigned budget, unsigned depth) {
    const std::array types{f_.word_type(), kCarried[below(4)], Type::u1};
    std::vector<Value> start, phis;
    for (const Type t : types) start.push_back(any(t));
    const Block body = f_.add_block();
    b_.br(body);
    b_.block = body;
    const Value counter = b_.append(Op::phi, {}, Type::i32);
    for (const Type t : types) {
      phis.push_back(b_.append(Op::phi, {}, t));
      f_[phis.back()].uniform = false;
    }
    for (const Value p : phis) add(p);
    add(counter);
    region(budget, depth);
    std::vector<Value> next;
    for (const Type t : types) next.push_back(any(t));
    const Value following = b_.add(counter, b_.i32(1));
    const Value again = b_.ult(following, b_.i32(1 + below(4)));
    const Block exit = f_.add_block();
    b_.cond_br(again, body, exit);
    f_.set_operands(counter, std::array{b_.i32(0), following});
    for (size_t i = 0; i < types.size(); ++i) f_.set_operands(phis[i], std::array{start[i], next[i]});
    b_.block = exit;
  }

  void outputs() {
    const Value base =
        b_.add(b_.mul(b_.zext(b_.umin(flat_, b_.i32(kItems - 1)), Type::i64), b_.i64(kOutputs * 8)),
               b_.i64(kMemoryBase + kWindow));
    for (uint32_t i = 0; i < kOutputs; ++i) {
      static constexpr std::array kTypes{Type::i32, Type::i64, Type::f32, Type::u1,
                                         Type::f64, Type::i16, Type::i8,  Type::f16};
      Value v = any(kTypes[i % kTypes.size()]);
      if (f_[v].type == Type::u1) v = b_.zext(v, Type::i32);
      const MemoryAccess m{.bytes = static_cast<uint8_t>(bit_width(f_[v].type) / 8), .align = 1};
      b_.store(b_.add(base, b_.i64(i * 8)), b_.input(Input::initial_exec), v, m);
    }
  }

  std::mt19937_64 random_;
  RandomOptions o_;
  Function f_;
  Builder b_;
  Pool pool_;
  Value flat_;
};

inline Function random_function(uint64_t seed, RandomOptions options = {}) {
  return RandomFunction(seed, options).make();
}

/// Memory after a run in two workgroups of 80 work-items, the second one partial; or the error.
inline Expected<std::vector<uint8_t>> run_random(const Function& f) {
  FlatMemory memory(kMemoryBase, kMemoryBytes);
  for (uint32_t i = 0; i < kWindow; ++i) memory.bytes[i] = static_cast<uint8_t>(i * 37 + (i >> 3));
  const InterpreterDispatch d{.grid = {110, 1, 1}, .workgroup = {80, 1, 1}, .max_instructions = 1 << 24};
  if (auto ok = interpret(f, d, memory); !ok) return std::unexpected(ok.error());
  return memory.bytes;
}

} // namespace lanewise::ir::testing
