#include "spirv/lane_ops.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::spirv {

using ir::Builder;
using ir::Op;
using ir::Type;
using ir::Value;

LaneOps::LaneOps(ir::Function& f, const Seating& s, Builder& body) : s_(s), early_(f, prologue_), b_(body) {}

// -- what depends on the lane's number alone
// ----------------------------------------------------------------------

namespace {
enum Cached {
  cached_lane,
  cached_wave,
  cached_host_lane,
  cached_host_bit,
  cached_mask,
  cached_below,
  cached_upper
};
}

template <class F>
Value LaneOps::once(int what, unsigned copy, F make) {
  const std::pair key{what, copy};
  if (const auto it = cached_.find(key); it != cached_.end()) return it->second;
  const Value v = make();
  cached_.emplace(key, v);
  return v;
}

Value LaneOps::host_lane() {
  return once(cached_host_lane, 0, [&] { return alone() ? early_.i32(0) : early_.emit(Op::host_lane, {}); });
}

Value LaneOps::wave() {
  return once(cached_wave, 0,
              [&] { return s_.waves() == 1 ? early_.i32(0) : early_.emit(Op::host_wave, {}); });
}

Value LaneOps::lane(unsigned copy) {
  return once(cached_lane, copy, [&] { return early_.add(host_lane(), early_.i32(copy * s_.host_lanes)); });
}

Value LaneOps::host_bit() {
  return once(cached_host_bit, 0,
              [&] { return early_.shl(early_.i32(1), early_.and_(host_lane(), early_.i32(31))); });
}

Value LaneOps::lane_mask(unsigned copy) {
  return once(cached_mask, copy,
              [&] { return early_.shl(early_.i32(1), early_.and_(lane(copy), early_.i32(31))); });
}

Value LaneOps::below(unsigned copy) {
  return once(cached_below, copy, [&] { return early_.sub(lane_mask(copy), early_.i32(1)); });
}

Value LaneOps::upper_host_lane() {
  return once(cached_upper, 0, [&] { return early_.ule(early_.i32(32), host_lane()); });
}

/// True in the invocations of `mask`.
Value LaneOps::host_predicate(uint64_t mask) {
  const auto it = predicates_.find(mask);
  if (it != predicates_.end()) return it->second;
  Value word = early_.i32(static_cast<uint32_t>(mask));
  if (s_.host_lanes > 32)
    word = early_.select(upper_host_lane(), early_.i32(static_cast<uint32_t>(mask >> 32)), word);
  const Value v = early_.ne(early_.and_(word, host_bit()), early_.i32(0));
  return predicates_[mask] = v;
}

/// A number for each invocation, out of words of four bytes.
Value LaneOps::host_table(const std::vector<uint8_t>& invocations) {
  const auto it = tables_.find(invocations);
  if (it != tables_.end()) return it->second;
  std::vector<Value> words;
  for (size_t i = 0; i < invocations.size(); i += 4) {
    uint32_t word = 0;
    for (size_t k = 0; k < 4 && i + k < invocations.size(); ++k)
      word |= uint32_t{invocations[i + k]} << (8 * k);
    words.push_back(early_.i32(word));
  }
  const Value word = pick(early_, words, early_.lshr(host_lane(), early_.i32(2)));
  const Value shift = early_.shl(early_.and_(host_lane(), early_.i32(3)), early_.i32(3));
  const Value v = early_.and_(early_.lshr(word, shift), early_.i32(255));
  return tables_[invocations] = v;
}

// -- masks
// ------------------------------------------------------------------------------------------------------------

/// 32 lanes of the ballot as an i32.
Value LaneOps::ballot_half(Copies m, unsigned half) {
  Value word = b_.i32(0);
  const unsigned per_half = std::max(1u, 32 / s_.host_lanes);
  for (unsigned i = 0; i < per_half && half * per_half + i < copies(); ++i) {
    const Value bit = at(m, half * per_half + i);
    const unsigned shift = i * s_.host_lanes;
    const uint32_t ones = s_.host_lanes >= 32 ? ~0u : (1u << s_.host_lanes) - 1;
    const ir::Function& f = b_.function;
    Value part;
    if (f.is_constant(bit))
      part = b_.i32(f[bit].imm ? ones << shift : 0);
    else if (alone())
      part = b_.select(bit, b_.i32(1u << shift), b_.i32(0));
    else
      part = b_.shl(b_.trunc(b_.host_ballot(bit), Type::i32), b_.i32(shift));
    word = b_.or_(word, part);
  }
  return word;
}

Value LaneOps::ballot(Copies m) {
  const uint64_t all = s_.wave_size == 64 ? ~uint64_t{0} : 0xffff'ffff;
  if (m.size() == 1 && copies() != 1) return b_.select(m[0], b_.word(all), b_.word(0));
  if (s_.host_lanes == 64) {
    if (b_.function.is_constant(m[0])) return b_.word(b_.function[m[0]].imm ? all : 0);
    return b_.host_ballot(m[0]);
  }
  if (s_.wave_size == 32) return ballot_half(m, 0);
  return b_.pack64(ballot_half(m, 0), ballot_half(m, 1));
}

Value LaneOps::any(Copies m) {
  Value all = m[0];
  for (size_t i = 1; i < m.size(); ++i) all = b_.or_(all, m[i]);
  if (alone() || b_.function.is_constant(all)) return all;
  return b_.host_any(all);
}

/// The 32 bits of a word among which a copy's lanes are.
Value LaneOps::half_of_word(Value word, unsigned copy) {
  if (s_.wave_size == 32) return word;
  if (s_.host_lanes == 64) return b_.select(upper_host_lane(), b_.hi32(word), b_.lo32(word));
  return copy * s_.host_lanes >= 32 ? b_.hi32(word) : b_.lo32(word);
}

Value LaneOps::lane_bit(Value word, unsigned copy) {
  return b_.ne(b_.and_(half_of_word(word, copy), lane_mask(copy)), b_.i32(0));
}

/// Lanes 0..31 are below every lane of the upper half; lanes 32..63 are below none of the lower.
Value LaneOps::mbcnt(Value word, bool upper, unsigned copy) {
  const auto counted = [&](Value w) { return b_.emit(Op::popcount, {w}); };
  if (s_.host_lanes == 64) {
    const Value own = b_.and_(word, below(0));
    return counted(upper ? b_.select(upper_host_lane(), own, b_.i32(0))
                         : b_.select(upper_host_lane(), word, own));
  }
  const bool upper_lanes = copy * s_.host_lanes >= 32;
  if (upper == upper_lanes) return counted(b_.and_(word, below(copy)));
  return upper ? b_.i32(0) : counted(word);
}

// -- reading other lanes
// ---------------------------------------------------------------------------------------------------

Value LaneOps::pick(Builder& b, Copies choices, Value index) {
  if (b.function.is_constant(index)) return choices[b.function[index].imm % choices.size()];
  std::vector<Value> level(choices.begin(), choices.end());
  for (unsigned bit = 0; level.size() > 1; ++bit) {
    const Value odd = b.ne(b.and_(index, b.i32(1u << bit)), b.i32(0));
    std::vector<Value> next;
    for (size_t i = 0; i < level.size(); i += 2)
      next.push_back(i + 1 < level.size() ? b.select(odd, level[i + 1], level[i]) : level[i]);
    level = std::move(next);
  }
  return level[0];
}

Value LaneOps::read_lane(Copies v, Value lane) {
  if (v.size() == 1 && copies() != 1) return v[0];
  const Value index = b_.and_(lane, b_.i32(s_.wave_size - 1));
  const auto log = static_cast<uint32_t>(std::countr_zero(s_.host_lanes));
  const Value own = pick(b_, v, b_.lshr(index, b_.i32(log)));
  if (alone() || b_.function.is_constant(own)) return own;
  return b_.host_broadcast(own, b_.and_(index, b_.i32(s_.host_lanes - 1)));
}

Value LaneOps::read_first(Copies v, Copies m) {
  if (v.size() == 1 && copies() != 1) return v[0];
  if (alone()) {
    Value result = v[0];
    for (size_t i = v.size(); i-- > 0;) result = b_.select(at(m, static_cast<unsigned>(i)), v[i], result);
    return result;
  }
  const Value lowest = b_.emit(Op::find_lsb, {ballot(m)});
  return read_lane(v, b_.smax(lowest, b_.i32(0)));
}

Value LaneOps::permute(Copies v, Value lane) {
  if (v.size() == 1 && copies() != 1) return v[0];
  const Value index = b_.and_(lane, b_.i32(s_.wave_size - 1));
  if (alone()) return pick(b_, v, index);
  const auto log = static_cast<uint32_t>(std::countr_zero(s_.host_lanes));
  const Value invocation = b_.and_(index, b_.i32(s_.host_lanes - 1));
  std::vector<Value> shuffled;
  for (const Value x : v) shuffled.push_back(b_.function.is_constant(x) ? x : b_.host_shuffle(x, invocation));
  return pick(b_, shuffled, b_.lshr(index, b_.i32(log)));
}

/// For each lane, the lanes that write to it: those whose target agrees with its number in every bit.
std::vector<Value> LaneOps::push(Copies v, Copies lane, Copies m) {
  const auto bits = static_cast<unsigned>(std::countr_zero(s_.wave_size));
  std::vector<Value> agreeing(bits), selected(copies());
  const Value writers = ballot(m);
  for (unsigned bit = 0; bit < bits; ++bit) {
    for (unsigned c = 0; c < copies(); ++c)
      selected[c] = b_.ne(b_.and_(at(lane, c), b_.i32(1u << bit)), b_.i32(0));
    agreeing[bit] = ballot(selected);
  }
  std::vector<Value> result;
  for (unsigned c = 0; c < copies(); ++c) {
    Value mask = writers;
    for (unsigned bit = 0; bit < bits; ++bit) {
      const Value set = early_.ne(early_.and_(this->lane(c), early_.i32(1u << bit)), early_.i32(0));
      mask = b_.and_(mask, b_.select(set, agreeing[bit], b_.not_(agreeing[bit])));
    }
    const Value source = b_.emit(Op::find_msb, {mask});
    const Value zero = b_.constant(b_.function[v[0]].type, 0);
    result.push_back(b_.select(b_.ne(mask, b_.word(0)), permute(v, source), zero));
  }
  return result;
}

// -- fixed patterns
// -----------------------------------------------------------------------------------------------------------

/// v as invocation h of `mask` sees it: in invocation invocations[h].
Value LaneOps::in_host_order(Value v, const std::vector<uint8_t>& invocations, uint64_t mask) {
  const unsigned n = s_.host_lanes;
  const auto holds = [&](auto rule) {
    for (unsigned h = 0; h < n; ++h)
      if ((mask >> h & 1) != 0 && invocations[h] != rule(h)) return false;
    return true;
  };
  if (b_.function.is_constant(v) || holds([](unsigned h) { return h; })) return v;
  const auto first = static_cast<unsigned>(std::countr_zero(mask));
  const unsigned exclusive = invocations[first] ^ first, distance = (invocations[first] - first) & (n - 1);
  if (holds([&](unsigned) { return unsigned{invocations[first]}; }))
    return b_.host_shuffle(v, b_.i32(invocations[first]));
  if (holds([&](unsigned h) { return h ^ exclusive; }))
    return b_.host_shuffle(v, early_.xor_(host_lane(), early_.i32(exclusive)));
  if (holds([&](unsigned h) { return (h + distance) & (n - 1); }))
    return b_.host_shuffle(v, early_.and_(early_.add(host_lane(), early_.i32(distance)), early_.i32(n - 1)));
  return b_.host_shuffle(v, host_table(invocations));
}

Value LaneOps::dpp(Copies v, ir::LanePattern pattern, unsigned copy) {
  const unsigned n = s_.host_lanes;
  const Value zero = b_.constant(b_.function[v[0]].type, 0);
  // By source copy: which invocations read from it, and where.
  std::map<unsigned, std::pair<uint64_t, std::vector<uint8_t>>> sources;
  for (unsigned h = 0; h < n; ++h) {
    const int from = pattern.source(copy * n + h);
    if (from < 0) continue;
    auto& [mask, invocations] = sources[static_cast<unsigned>(from) / n];
    invocations.resize(n);
    mask |= uint64_t{1} << h;
    invocations[h] = static_cast<uint8_t>(static_cast<unsigned>(from) % n);
  }
  const uint64_t everyone = n == 64 ? ~uint64_t{0} : (uint64_t{1} << n) - 1;
  Value result = zero;
  uint64_t covered = 0;
  for (const auto& [source, reading] : sources) {
    const auto& [mask, invocations] = reading;
    const Value part = in_host_order(at(v, source), invocations, mask);
    covered |= mask;
    // The last source needs no test when nobody is left over.
    const bool rest = covered == everyone && source == sources.rbegin()->first && sources.size() == 1;
    result = rest ? part : b_.select(host_predicate(mask), part, result);
  }
  return result;
}

} // namespace lanewise::spirv
