// Folding of selects, conversions of representation, halves of 64-bit values, and phis.
#include "ir/fold_rules.hpp"

#include <algorithm>
#include <optional>

namespace lanewise::ir::rules {
namespace {

// -- select
// -----------------------------------------------------------------------------------------------------

/// What is known of mask q in lanes where p is true: true, false, or nothing. Looks through ands of p and
/// or-s of q, a bounded number of steps.
std::optional<bool> known_under(const View& v, Value p, Value q, unsigned depth = 4) {
  if (p == q) return true;
  if (v.opposite(p, q)) return false;
  if (depth == 0) return {};
  if (v.is(p, Op::and_)) {
    for (unsigned i = 0; i < 2; ++i) {
      if (const auto known = known_under(v, v.arg(p, i), q, depth - 1)) return known;
    }
  }
  if (v.is(q, Op::not_)) {
    const auto known = known_under(v, p, v.arg(q, 0), depth - 1);
    return known ? std::optional(!*known) : std::nullopt;
  }
  if (v.is(q, Op::or_)) {
    for (unsigned i = 0; i < 2; ++i) {
      if (known_under(v, p, v.arg(q, i), depth - 1) == true) return true;
    }
  }
  if (v.is(q, Op::and_)) {
    for (unsigned i = 0; i < 2; ++i) {
      if (known_under(v, p, v.arg(q, i), depth - 1) == false) return false;
    }
  }
  return {};
}

// select(m, select(p, x, y), z) -> select(m, x, z) where m implies p, select(m, y, z) where m implies !p
// select(m, x, select(p, y, z)) -> select(m, x, z) where p implies m (nothing of y is left)
// select(m, x, select(p, y, z)) -> select(m, x, y) where !m implies p
Value select_of_select(Builder& b, const View& v) {
  const Value m = v[0], x = v[1], z = v[2];
  if (v.is(x, Op::select)) {
    if (const auto known = known_under(v, m, v.arg(x, 0))) return b.select(m, v.arg(x, *known ? 1 : 2), z);
  }
  if (!v.is(z, Op::select)) return {};
  const Value p = v.arg(z, 0);
  if (known_under(v, p, m) == true) return b.select(m, x, v.arg(z, 2));
  if (v.opposite(p, m)) return b.select(m, x, v.arg(z, 1));
  return {};
}

// select of masks is mask algebra
Value select_mask(Builder& b, const View& v) {
  const Value m = v[0], x = v[1], y = v[2];
  if (v.is_constant(x)) return v.bits(x) ? b.or_(m, y) : b.and_(b.not_(m), y);
  if (v.is_constant(y)) return v.bits(y) ? b.or_(b.not_(m), x) : b.and_(m, x);
  if (x == m) return b.or_(m, y);
  if (y == m) return b.and_(m, x);
  return {};
}

// select(c, ballot(m), ballot(n)) -> ballot(select(c, m, n)), c uniform
Value select_ballots(Builder& b, const View& v) {
  if (!v.f[v[0]].uniform) return {};
  const auto mask = [&](Value w) -> Value {
    if (v.is(w, Op::ballot)) return v.arg(w, 0);
    return v.is_zero(w) || v.is_ones(w) ? b.u1(!v.is_zero(w)) : Value{};
  };
  if (!v.is(v[1], Op::ballot) && !v.is(v[2], Op::ballot)) return {};
  const Value x = mask(v[1]), y = mask(v[2]);
  return x && y ? b.ballot(b.select(v[0], x, y)) : Value{};
}

// select(true, x, y) -> x    select(m, x, x) -> x    select(!m, x, y) -> select(m, y, x)
Value fold_select(Builder& b, const Request& r) {
  const View v(b, r);
  const Value m = v[0], x = v[1], y = v[2];
  if (v.is_constant(m)) return v.bits(m) ? x : y;
  if (x == y) return x;
  if (v.is(m, Op::not_)) return b.select(v.arg(m, 0), y, x);
  if (r.type == Type::u1) {
    if (const Value w = select_mask(b, v)) return w;
  }
  if (r.type == v.f.word_type()) {
    if (const Value w = select_ballots(b, v)) return w;
  }
  return select_of_select(b, v);
}

// -- conversions
// -------------------------------------------------------------------------------------------------

// bitcast to the same type -> x    bitcast(bitcast(x)) -> bitcast(x)
Value fold_bitcast(Builder& b, const Request& r) {
  const View v(b, r);
  if (v.type(v[0]) == r.type) return v[0];
  return v.is(v[0], Op::bitcast) ? b.bitcast(v.arg(v[0], 0), r.type) : Value{};
}

// zext(zext(x)) -> zext(x)    zext(trunc(x)) -> x & mask
Value fold_zext(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0];
  if (v.is(x, Op::zext)) return b.zext(v.arg(x, 0), r.type);
  if (v.is(x, Op::trunc) && v.type(v.arg(x, 0)) == r.type) {
    return b.and_(v.arg(x, 0), b.constant(r.type, low_bits(v.width(x))));
  }
  return {};
}

// sext(sext(x)) -> sext(x)    sext(zext(x)) -> zext(x)    sext(trunc(x:i32)):i32 -> sbfe(x, 0, width)
Value fold_sext(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0];
  if (v.is(x, Op::sext)) return b.sext(v.arg(x, 0), r.type);
  if (v.is(x, Op::zext)) return b.zext(v.arg(x, 0), r.type);
  if (v.is(x, Op::trunc) && r.type == Type::i32 && v.type(v.arg(x, 0)) == Type::i32) {
    return b.sbfe(v.arg(x, 0), b.i32(0), b.i32(v.width(x)));
  }
  return {};
}

/// The low bits of x as `type`, which is narrower than or as wide as x's source allows.
Value narrow(Builder& b, const View& v, Value x, Type type) {
  if (v.type(x) == type) return x;
  return v.width(x) > bit_width(type) ? b.trunc(x, type) : Value{};
}

// trunc(x:i64):i32 -> lo32(x)    trunc(trunc(x)) -> trunc(x)    trunc(zext(x)), trunc(sext(x)) -> trunc(x),
// x, zext(x), sext(x) by width trunc(pack64(lo, hi)) -> trunc(lo)    trunc(lo32(x)) -> trunc(x)   trunc(x &
// c) -> trunc(x), c covering it trunc(sbfe/ubfe(x, 0, k)) -> trunc(x), k covering it
Value fold_trunc(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0];
  if (v.type(x) == Type::i64 && r.type == Type::i32) return b.lo32(x);
  const uint64_t needed = low_bits(bit_width(r.type));
  switch (v.f[x].op) {
  case Op::trunc:
  case Op::lo32: return b.trunc(v.arg(x, 0), r.type);
  case Op::zext:
  case Op::sext: {
    const Value y = v.arg(x, 0);
    if (const Value w = narrow(b, v, y, r.type)) return w;
    return v.is(x, Op::zext) ? b.zext(y, r.type) : b.sext(y, r.type);
  }
  case Op::pack64: return narrow(b, v, v.arg(x, 0), r.type);
  case Op::and_:
    if (v.is_constant(v.arg(x, 1)) && (v.bits(v.arg(x, 1)) & needed) == needed)
      return b.trunc(v.arg(x, 0), r.type);
    return {};
  case Op::ubfe:
  case Op::sbfe:
    if (v.is_zero(v.arg(x, 1)) && v.is_constant(v.arg(x, 2)) &&
        (v.bits(v.arg(x, 2)) & 31) >= bit_width(r.type)) {
      return b.trunc(v.arg(x, 0), r.type);
    }
    return {};
  default: return {};
  }
}

// -- 64-bit values in halves
// ----------------------------------------------------------------------------------------

/// Its halves cost nothing.
bool splits(const View& v, Value x) {
  const Op op = v.f[x].op;
  return op == Op::constant || op == Op::pack64 || op == Op::zext;
}

// half(x op y) -> half(x) op half(y), for bitwise operations on values that split
Value split_bitwise(Builder& b, const View& v, Value x, Op half) {
  const Op op = v.f[x].op;
  if (op == Op::not_ && splits(v, v.arg(x, 0))) return b.not_(b.emit(half, {v.arg(x, 0)}));
  if (op != Op::and_ && op != Op::or_ && op != Op::xor_) return {};
  if (!splits(v, v.arg(x, 0)) || !splits(v, v.arg(x, 1))) return {};
  return b.emit(op, {b.emit(half, {v.arg(x, 0)}), b.emit(half, {v.arg(x, 1)})});
}

// half(select(m, x, y)) -> select(m, half(x), half(y)), for values that split
Value split_select(Builder& b, const View& v, Value x, Op half) {
  if (!v.is(x, Op::select) || !splits(v, v.arg(x, 1)) || !splits(v, v.arg(x, 2))) return {};
  return b.select(v.arg(x, 0), b.emit(half, {v.arg(x, 1)}), b.emit(half, {v.arg(x, 2)}));
}

std::optional<uint32_t> high_shift(const View& v, Value x, Op op) {
  if (!v.is(x, op) || !v.is_constant(v.arg(x, 1))) return {};
  const auto count = static_cast<uint32_t>(v.bits(v.arg(x, 1)) & 63);
  return count >= 32 ? std::optional(count - 32) : std::nullopt;
}

// lo32(pack64(lo, hi)) -> lo    lo32(zext(x)), lo32(sext(x)) -> x or extended    lo32(x << 32..) -> 0
// lo32(x >> 32 + c) -> hi32(x) >> c     lo32(x + y), lo32(x * y) -> of the halves, where they split
Value fold_lo32(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0];
  switch (v.f[x].op) {
  case Op::pack64: return v.arg(x, 0);
  case Op::zext: return v.type(v.arg(x, 0)) == Type::i32 ? v.arg(x, 0) : b.zext(v.arg(x, 0), Type::i32);
  case Op::sext: return v.type(v.arg(x, 0)) == Type::i32 ? v.arg(x, 0) : b.sext(v.arg(x, 0), Type::i32);
  case Op::shl: return high_shift(v, x, Op::shl) ? v.zero() : Value{};
  case Op::lshr:
    if (const auto c = high_shift(v, x, Op::lshr)) return b.lshr(b.hi32(v.arg(x, 0)), b.i32(*c));
    return {};
  case Op::ashr:
    if (const auto c = high_shift(v, x, Op::ashr)) return b.ashr(b.hi32(v.arg(x, 0)), b.i32(*c));
    return {};
  case Op::add:
  case Op::mul:
    if (!splits(v, v.arg(x, 0)) || !splits(v, v.arg(x, 1))) return {};
    return b.emit(v.f[x].op, {b.lo32(v.arg(x, 0)), b.lo32(v.arg(x, 1))});
  default: break;
  }
  if (const Value w = split_bitwise(b, v, x, Op::lo32)) return w;
  return split_select(b, v, x, Op::lo32);
}

// hi32(pack64(lo, hi)) -> hi    hi32(zext(x)) -> 0    hi32(sext(x)) -> x's sign    hi32(x >> 32..) -> 0
// hi32(x << 32 + c) -> lo32(x) << c
Value fold_hi32(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0];
  switch (v.f[x].op) {
  case Op::pack64: return v.arg(x, 1);
  case Op::zext: return v.zero();
  case Op::sext:
    if (v.type(v.arg(x, 0)) == Type::u1) return b.sext(v.arg(x, 0), Type::i32);
    return b.ashr(b.lo32(x), b.i32(31));
  case Op::lshr: return high_shift(v, x, Op::lshr) ? v.zero() : Value{};
  case Op::shl:
    if (const auto c = high_shift(v, x, Op::shl)) return b.shl(b.lo32(v.arg(x, 0)), b.i32(*c));
    return {};
  default: break;
  }
  if (const Value w = split_bitwise(b, v, x, Op::hi32)) return w;
  return split_select(b, v, x, Op::hi32);
}

/// Is `sum` the value of x + y?
bool is_sum(const View& v, Value sum, Value x, Value y) {
  if (v.is(sum, Op::add)) {
    const Value p = v.arg(sum, 0), q = v.arg(sum, 1);
    if ((p == x && q == y) || (p == y && q == x)) return true;
    // (z + c1) + c2 was folded to z + (c1 + c2).
    return v.is_constant(q) && v.is_constant(y) && v.is(x, Op::add) && v.arg(x, 0) == p &&
           v.is_constant(v.arg(x, 1)) && truncate(v.type(x), v.bits(v.arg(x, 1)) + v.bits(y)) == v.bits(q);
  }
  return v.is_zero(y) && sum == x;
}

// pack64(xl + yl, xh + yh + carry(xl + yl)) -> pack64(xl, xh) + pack64(yl, yh)
Value join_sum(Builder& b, const View& v) {
  const Value lo = v[0], hi = v[1];
  if (!v.is(hi, Op::add_c)) return {};
  const Value carry = v.arg(hi, 2);
  Value xl, yl;
  if (v.is(carry, Op::carry) && v.is_zero(v.arg(carry, 2))) {
    xl = v.arg(carry, 0);
    yl = v.arg(carry, 1);
  } else if (v.is(carry, Op::ne) && v.is_zero(v.arg(carry, 1))) { // xl + 0xffffffff carries if xl != 0
    xl = v.arg(carry, 0);
    yl = b.i32(~0u);
  } else {
    return {};
  }
  if (v.type(xl) != Type::i32 || !is_sum(v, lo, xl, yl)) return {};
  Value xh = v.arg(hi, 0), yh = v.arg(hi, 1);
  const auto halves_of_one = [&](Value l, Value h) {
    return v.is(l, Op::lo32) && v.is(h, Op::hi32) && v.arg(l, 0) == v.arg(h, 0);
  };
  if (halves_of_one(xl, yh) || halves_of_one(yl, xh) || (v.is_constant(yl) && v.is_constant(xh)))
    std::swap(xh, yh);
  return b.add(b.pack64(xl, xh), b.pack64(yl, yh));
}

/// Is `difference` the value of x - y?
bool is_difference(const View& v, Value difference, Value x, Value y) {
  if (v.is(difference, Op::sub)) return v.arg(difference, 0) == x && v.arg(difference, 1) == y;
  if (!v.is_constant(y)) return false;
  if (v.is_zero(y)) return difference == x;
  return v.is(difference, Op::add) && v.arg(difference, 0) == x &&
         v.f.is_constant(v.arg(difference, 1), truncate(v.type(y), 0 - v.bits(y)));
}

// pack64(xl - yl, xh - yh - borrow(xl - yl)) -> pack64(xl, xh) - pack64(yl, yh)
Value join_difference(Builder& b, const View& v) {
  const Value lo = v[0], hi = v[1];
  if (!v.is(hi, Op::sub_c) || !v.is(v.arg(hi, 2), Op::ult)) return {};
  const Value xl = v.arg(v.arg(hi, 2), 0), yl = v.arg(v.arg(hi, 2), 1);
  if (v.type(xl) != Type::i32 || !is_difference(v, lo, xl, yl)) return {};
  return b.sub(b.pack64(xl, v.arg(hi, 0)), b.pack64(yl, v.arg(hi, 1)));
}

/// Two halves of one value.
bool joins(const View& v, Value lo, Value hi) {
  if (v.is_constant(lo) && v.is_constant(hi)) return true;
  return v.is(lo, Op::lo32) && v.is(hi, Op::hi32) && v.arg(lo, 0) == v.arg(hi, 0);
}

// pack64(select(m, a, b), select(m, c, d)) -> select(m, pack64(a, c), pack64(b, d)), where one of them folds
Value join_selects(Builder& b, const View& v) {
  const Value lo = v[0], hi = v[1];
  if (!v.is(lo, Op::select) || !v.is(hi, Op::select) || v.arg(lo, 0) != v.arg(hi, 0)) return {};
  const auto folds = [&](unsigned i) {
    const Value h = v.arg(hi, i);
    return joins(v, v.arg(lo, i), h) || v.is(h, Op::add_c) || v.is(h, Op::sub_c);
  };
  if (!folds(1) && !folds(2)) return {};
  return b.select(v.arg(lo, 0), b.pack64(v.arg(lo, 1), v.arg(hi, 1)), b.pack64(v.arg(lo, 2), v.arg(hi, 2)));
}

/// Is `lo` the low half of x, where x is a value that splits, or a 64-bit sum whose low half was computed
/// apart? Looks at a bounded number of sums.
bool is_low_half(const View& v, Value lo, Value x, unsigned& steps) {
  switch (v.f[x].op) {
  case Op::pack64:
    if (v.arg(x, 0) == lo) return true;
    break;
  case Op::zext:
    if (v.arg(x, 0) == lo) return true;
    break;
  case Op::constant: return v.f.is_constant(lo, v.bits(x) & 0xffff'ffff);
  default: break;
  }
  if (v.is(lo, Op::lo32) && v.arg(lo, 0) == x) return true;
  const Op op = v.f[x].op;
  if ((op != Op::add && op != Op::sub) || !v.is(lo, op) || steps == 0) return false;
  --steps;
  const auto halves = [&](unsigned i, unsigned j) {
    return is_low_half(v, v.arg(lo, i), v.arg(x, 0), steps) &&
           is_low_half(v, v.arg(lo, j), v.arg(x, 1), steps);
  };
  return halves(0, 1) || (op == Op::add && halves(1, 0));
}

// pack64(xl + yl, hi32(x + y)) -> x + y    also for differences
Value join_known_sum(const View& v) {
  const Value lo = v[0], hi = v[1];
  if (!v.is(hi, Op::hi32)) return {};
  unsigned steps = 16;
  return is_low_half(v, lo, v.arg(hi, 0), steps) ? v.arg(hi, 0) : Value{};
}

/// Sums, differences and selects of halves are joined this many levels deep per request: what lies deeper is
/// joined at its own pack64, or stays in halves.
constexpr unsigned kMaxJoinNesting = 2;

// pack64(lo32(x), hi32(x)) -> x    pack64(x, 0) -> zext(x)    pack64(x, x >> 31) -> sext(x)
// pack64(lo32(x) op lo32(y), hi32(x) op hi32(y)) -> x op y, bitwise
Value fold_pack64(Builder& b, const Request& r) {
  const View v(b, r);
  const Value lo = v[0], hi = v[1];
  if (joins(v, lo, hi)) return v.arg(lo, 0);
  if (v.is_zero(hi)) return b.zext(lo, Type::i64);
  if (v.is(hi, Op::ashr) && v.arg(hi, 0) == lo && v.f.is_constant(v.arg(hi, 1), 31))
    return b.sext(lo, Type::i64);
  const Op op = v.f[lo].op;
  if ((op == Op::and_ || op == Op::or_ || op == Op::xor_) && v.is(hi, op)) {
    if (joins(v, v.arg(lo, 0), v.arg(hi, 0)) && joins(v, v.arg(lo, 1), v.arg(hi, 1))) {
      return b.emit(op, {b.pack64(v.arg(lo, 0), v.arg(hi, 0)), b.pack64(v.arg(lo, 1), v.arg(hi, 1))});
    }
  }
  if (op == Op::not_ && v.is(hi, Op::not_) && joins(v, v.arg(lo, 0), v.arg(hi, 0))) {
    return b.not_(b.pack64(v.arg(lo, 0), v.arg(hi, 0)));
  }
  if (const Value w = join_known_sum(v)) return w;
  if (b.nesting() > kMaxJoinNesting) return {};
  if (const Value w = join_selects(b, v)) return w;
  if (const Value w = join_sum(b, v)) return w;
  return join_difference(b, v);
}

// -- tuples and phis
// ---------------------------------------------------------------------------------------------

// extract 0 of a value that is no tuple -> the value
Value fold_extract(Builder& b, const Request& r) {
  const View v(b, r);
  return v.f[v[0]].components == 1 && r.imm == 0 ? v[0] : Value{};
}

// phi(x, x, ...) -> x
Value fold_phi(Builder&, const Request& r) {
  if (r.operands.empty()) return {};
  const auto same = [&](Value o) { return o == r.operands.front(); };
  return std::ranges::all_of(r.operands, same) ? r.operands.front() : Value{};
}

} // namespace

void add_representation_rules(RuleTable& t) {
  const auto at = [&](Op op) -> Rule& { return t[static_cast<unsigned>(op)]; };
  at(Op::select) = fold_select;
  at(Op::bitcast) = fold_bitcast;
  at(Op::zext) = fold_zext;
  at(Op::sext) = fold_sext;
  at(Op::trunc) = fold_trunc;
  at(Op::lo32) = fold_lo32;
  at(Op::hi32) = fold_hi32;
  at(Op::pack64) = fold_pack64;
  at(Op::extract) = fold_extract;
  at(Op::phi) = fold_phi;
}

} // namespace lanewise::ir::rules
