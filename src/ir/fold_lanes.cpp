// Folding of ballots, lane bits and reads of other lanes.
#include "ir/fold_rules.hpp"

#include <bit>
#include <optional>

namespace lanewise::ir::rules {
namespace {

/// Longest chain of lane writes that a lane read looks through: every lane of a wave64 written 64 times.
constexpr unsigned kMaxLaneWrites = 4096;

// ballot(true) -> all ones    ballot(lane_bit(w)) -> w    ballot(lane_id == c) -> 1 << c    ballot(u) ->
// sext(u)
Value fold_ballot(Builder& b, const Request& r) {
  const View v(b, r);
  const Value m = v[0];
  if (v.is_constant(m)) return v.bits(m) ? v.ones() : v.zero();
  if (v.is(m, Op::lane_bit) && v.f[v.arg(m, 0)].uniform) return v.arg(m, 0);
  if (v.is(m, Op::eq) && v.is(v.arg(m, 0), Op::lane_id) && v.is_constant(v.arg(m, 1))) {
    const uint64_t lane = v.bits(v.arg(m, 1));
    return b.constant(r.type, lane < v.f.wave_size ? uint64_t{1} << lane : 0);
  }
  return v.f[m].uniform ? b.sext(m, r.type) : Value{};
}

/// lane_bit of it folds to something without the word.
bool is_mask_word(const View& v, Value w) { return v.is(w, Op::ballot) || v.is_zero(w) || v.is_ones(w); }

// lane_bit(0) -> false    lane_bit(ones) -> true    lane_bit(1 << c) -> lane_id == c
// lane_bit(2^n - 1) -> lane_id < n
Value lane_bit_of_constant(Builder& b, const View& v, uint64_t bits) {
  if (bits == 0) return b.u1(false);
  if (v.is_ones(v[0])) return b.u1(true);
  if (std::has_single_bit(bits))
    return b.eq(b.lane_id(), b.i32(static_cast<uint32_t>(std::countr_zero(bits))));
  if (std::has_single_bit(bits + 1))
    return b.ult(b.lane_id(), b.i32(static_cast<uint32_t>(std::popcount(bits))));
  return {};
}

// lane_bit(ballot(m)) -> m    lane_bit(!w) -> !lane_bit(w)    lane_bit(sext(c:u1)) -> c
// lane_bit(w1 op w2) -> lane_bit(w1) op lane_bit(w2) and lane_bit(select(c, w1, w2)) -> select(...), where
// one of the words is a mask
Value fold_lane_bit(Builder& b, const Request& r) {
  const View v(b, r);
  const Value w = v[0];
  if (v.is_constant(w)) return lane_bit_of_constant(b, v, v.bits(w));
  switch (v.f[w].op) {
  case Op::ballot: return v.arg(w, 0);
  case Op::not_: return b.not_(b.lane_bit(v.arg(w, 0)));
  case Op::sext: return v.type(v.arg(w, 0)) == Type::u1 ? v.arg(w, 0) : Value{};
  case Op::and_:
  case Op::or_:
  case Op::xor_:
    if (!is_mask_word(v, v.arg(w, 0)) && !is_mask_word(v, v.arg(w, 1))) return {};
    return b.emit(v.f[w].op, {b.lane_bit(v.arg(w, 0)), b.lane_bit(v.arg(w, 1))});
  case Op::select:
    if (!is_mask_word(v, v.arg(w, 1)) && !is_mask_word(v, v.arg(w, 2))) return {};
    return b.select(v.arg(w, 0), b.lane_bit(v.arg(w, 1)), b.lane_bit(v.arg(w, 2)));
  default: return {};
  }
}

// any(u) -> u    any(lane_bit(w)) -> w != 0
Value fold_any(Builder& b, const Request& r) {
  const View v(b, r);
  const Value m = v[0];
  if (v.f[m].uniform) return m;
  if (v.is(m, Op::lane_bit) && v.f[v.arg(m, 0)].uniform) {
    return b.ne(v.arg(m, 0), b.constant(v.type(v.arg(m, 0)), 0));
  }
  return {};
}

// mbcnt(0) -> 0    mbcnt.hi -> 0 in wave32    mbcnt.lo(-1) -> lane_id in wave32
Value fold_mbcnt(Builder& b, const Request& r) {
  const View v(b, r);
  const bool wave32 = v.f.wave_size == 32, upper = r.imm != 0;
  if (v.is_zero(v[0]) || (upper && wave32)) return b.i32(0);
  return v.is_ones(v[0]) && wave32 ? b.lane_id() : Value{};
}

/// The lane that m selects, if m is `lane_id == c`.
std::optional<uint64_t> single_lane(const View& v, Value m) {
  if (!v.is(m, Op::eq) || !v.is(v.arg(m, 0), Op::lane_id) || !v.is_constant(v.arg(m, 1))) return {};
  return v.bits(v.arg(m, 1));
}

// read_lane(u, i) -> u    read_lane(lane_id, i) -> i mod W    read_lane(bitcast(x), i) ->
// bitcast(read_lane(x, i)) read_lane(select(lane_id == c, x, y), c) -> read_lane(x, c); of another lane ->
// read_lane(y, ...)
Value fold_read_lane(Builder& b, const Request& r) {
  const View v(b, r);
  const Value lane = v[1];
  Value x = v[0];
  if (v.f[x].uniform) return x;
  if (v.is(x, Op::lane_id)) return b.and_(lane, b.i32(v.f.wave_size - 1));
  if (v.is(x, Op::bitcast)) return b.bitcast(b.read_lane(v.arg(x, 0), lane), r.type);
  if (!v.is_constant(lane)) return {};
  const uint64_t wanted = v.bits(lane) & (v.f.wave_size - 1);
  for (unsigned i = 0; i < kMaxLaneWrites && v.is(x, Op::select); ++i) {
    const auto written = single_lane(v, v.arg(x, 0));
    if (!written) break;
    x = v.arg(x, *written == wanted ? 1 : 2);
  }
  if (x == v[0] && v.bits(lane) == wanted) return {};
  return b.read_lane(x, b.i32(static_cast<uint32_t>(wanted)));
}

// read_first(u, m) -> u    read_first(x, true) -> read_lane(x, 0)
// read_first(bitcast(x), m) -> bitcast(read_first(x, m))
Value fold_read_first(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0];
  if (v.f[x].uniform) return x;
  if (v.is_constant(v[1])) return b.read_lane(x, b.i32(0));
  if (v.is(x, Op::bitcast)) return b.bitcast(b.read_first(v.arg(x, 0), v[1]), r.type);
  return {};
}

// permute(u, i) -> u    permute(x, lane_id) -> x    permute(x, c) -> read_lane(x, c), c uniform
Value fold_permute(Builder& b, const Request& r) {
  const View v(b, r);
  if (v.f[v[0]].uniform || v.is(v[1], Op::lane_id)) return v[0];
  return v.f[v[1]].uniform ? b.read_lane(v[0], v[1]) : Value{};
}

// dpp(u) -> u, where every lane has a source    dpp of the own lane -> x
Value fold_dpp(Builder& b, const Request& r) {
  const View v(b, r);
  const LanePattern pattern = LanePattern::unpack(r.imm);
  bool total = true, own = true;
  for (unsigned lane = 0; lane < 32; ++lane) {
    const int source = pattern.source(lane);
    total &= source >= 0;
    own &= source == static_cast<int>(lane);
  }
  return own || (total && v.f[v[0]].uniform) ? v[0] : Value{};
}

// A load in no lane reads 0.
Value fold_load(Builder& b, const Request& r) {
  const View v(b, r);
  const Value active = v[r.op == Op::load || r.op == Op::atomic ? 1 : 7];
  return r.components == 1 && v.is_zero(active) ? v.zero() : Value{};
}

} // namespace

void add_lane_rules(RuleTable& t) {
  const auto at = [&](Op op) -> Rule& { return t[static_cast<unsigned>(op)]; };
  at(Op::ballot) = fold_ballot;
  at(Op::lane_bit) = fold_lane_bit;
  at(Op::any) = fold_any;
  at(Op::mbcnt) = fold_mbcnt;
  at(Op::read_lane) = fold_read_lane;
  at(Op::read_first) = fold_read_first;
  at(Op::permute) = fold_permute;
  at(Op::dpp) = fold_dpp;
  at(Op::load) = at(Op::buffer_load) = at(Op::atomic) = at(Op::buffer_atomic) = fold_load;
}

} // namespace lanewise::ir::rules
