// Folding of integer arithmetic, comparisons and 64-bit arithmetic done in halves.
#include "ir/fold_rules.hpp"

#include <bit>

namespace lanewise::ir::rules {
namespace {

// x + 0 -> x          (x + c1) + c2 -> x + (c1 + c2)      (x - y) + y -> x
// x + (0 - y) -> x - y                                     mbcnt.lo(-1) + mbcnt.hi(-1) -> lane_id
Value fold_add(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0], y = v[1];
  if (v.is_zero(y)) return x;
  if (v.is_constant(y) && v.is(x, Op::add) && v.is_constant(v.arg(x, 1))) {
    return b.add(v.arg(x, 0), b.constant(r.type, v.bits(v.arg(x, 1)) + v.bits(y)));
  }
  for (const auto& [p, q] : {std::pair(x, y), std::pair(y, x)}) {
    if (!v.is(p, Op::sub)) continue;
    if (v.arg(p, 1) == q) return v.arg(p, 0);
    if (v.is_zero(v.arg(p, 0))) return b.sub(q, v.arg(p, 1));
  }
  const auto counts_all = [&](Value m, uint64_t half) {
    return v.is(m, Op::mbcnt) && v.f[m].imm == half && v.is_ones(v.arg(m, 0));
  };
  if ((counts_all(x, 0) && counts_all(y, 1)) || (counts_all(x, 1) && counts_all(y, 0))) return b.lane_id();
  return {};
}

// x - x -> 0    x - c -> x + (-c)    0 - (0 - x) -> x    x - (0 - y) -> x + y    (x + y) - y -> x
// c1 - (x + c2) -> (c1 - c2) - x
Value fold_sub(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0], y = v[1];
  if (x == y) return v.zero();
  if (v.is_constant(y)) return b.add(x, b.constant(r.type, 0 - v.bits(y)));
  if (v.is(y, Op::sub) && v.is_zero(v.arg(y, 0))) return b.add(x, v.arg(y, 1));
  if (v.is(x, Op::add)) {
    if (v.arg(x, 0) == y) return v.arg(x, 1);
    if (v.arg(x, 1) == y) return v.arg(x, 0);
  }
  if (v.is_constant(x) && v.is(y, Op::add) && v.is_constant(v.arg(y, 1))) {
    return b.sub(b.constant(r.type, v.bits(x) - v.bits(v.arg(y, 1))), v.arg(y, 0));
  }
  return {};
}

// x * 0 -> 0    x * 1 -> x    x * -1 -> 0 - x    x * 2^k -> x << k    (x * c1) * c2 -> x * (c1 c2)
Value fold_mul(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0], y = v[1];
  if (!v.is_constant(y)) return {};
  const uint64_t c = v.bits(y);
  if (c == 0) return y;
  if (c == 1) return x;
  if (v.is_ones(y)) return b.neg(x);
  if (v.is(x, Op::mul) && v.is_constant(v.arg(x, 1))) {
    return b.mul(v.arg(x, 0), b.constant(r.type, v.bits(v.arg(x, 1)) * c));
  }
  if (std::has_single_bit(c)) return b.shl(x, b.constant(r.type, static_cast<uint64_t>(std::countr_zero(c))));
  return {};
}

// high(x * 0), unsigned high(x * 1) -> 0    unsigned high(x * 2^k) -> x >> (width - k)
Value fold_mul_hi(Builder& b, const Request& r) {
  const View v(b, r);
  if (v.is_zero(v[1])) return v[1];
  if (r.op != Op::mul_hi_u || !v.is_constant(v[1])) return {};
  const uint64_t c = v.bits(v[1]);
  if (c == 1) return v.zero();
  if (!std::has_single_bit(c)) return {};
  return b.lshr(v[0], b.constant(r.type, v.width(v[0]) - static_cast<uint64_t>(std::countr_zero(c))));
}

// a + b + false -> a + b
Value fold_add_c(Builder& b, const Request& r) {
  const View v(b, r);
  if (v.is_zero(v[2])) return b.add(v[0], v[1]);
  if (v.is_constant(v[2]) && v.is_constant(v[1])) return b.add(v[0], b.constant(r.type, v.bits(v[1]) + 1));
  return {};
}

// carry(a, 0, false) -> false    carry(a, ones, true) -> true    carry(a, ones, false) -> a != 0
// carry(a, 0, true) -> a == ones
Value fold_carry(Builder& b, const Request& r) {
  const View v(b, r);
  if (!v.is_constant(v[1]) || !v.is_constant(v[2])) return {};
  const bool in = v.bits(v[2]) != 0;
  if (v.is_zero(v[1])) return in ? b.eq(v[0], b.constant(v.type(v[0]), ~uint64_t{0})) : b.u1(false);
  if (v.is_ones(v[1])) return in ? b.u1(true) : b.ne(v[0], b.constant(v.type(v[0]), 0));
  return {};
}

// a - b - false -> a - b
Value fold_sub_c(Builder& b, const Request& r) {
  const View v(b, r);
  if (v.is_zero(v[2])) return b.sub(v[0], v[1]);
  if (v.is_constant(v[2]) && v.is_constant(v[1])) return b.add(v[0], b.constant(r.type, ~v.bits(v[1])));
  return {};
}

// borrow(a, b, false) -> a < b    borrow(a, b, true) -> a <= b
Value fold_borrow(Builder& b, const Request& r) {
  const View v(b, r);
  if (!v.is_constant(v[2])) return {};
  return v.bits(v[2]) ? b.ule(v[0], v[1]) : b.ult(v[0], v[1]);
}

// min(x, x) -> x, and constants at the ends of the range
Value fold_min_max(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0], y = v[1];
  if (x == y) return x;
  if (!v.is_constant(y)) return {};
  const unsigned width = v.width(x);
  const uint64_t sign = uint64_t{1} << (width - 1);
  const uint64_t least = r.op == Op::umin || r.op == Op::umax ? 0 : sign;
  const uint64_t most = low_bits(width) ^ least;
  const bool is_min = r.op == Op::umin || r.op == Op::smin;
  if (v.bits(y) == (is_min ? least : most)) return y;
  if (v.bits(y) == (is_min ? most : least)) return x;
  if (v.is(x, r.op) && v.is_constant(v.arg(x, 1))) {
    return b.emit(r.op, {v.arg(x, 0), b.emit(r.op, {v.arg(x, 1), y})});
  }
  return {};
}

// -- comparisons
// ---------------------------------------------------------------------------------------------

/// `x == c` (or `x != c` with `negated`), c constant, by what x is.
Value fold_equal_constant(Builder& b, const View& v, Value x, Value c, bool negated) {
  const auto truth = [&](bool equal) { return b.u1(equal != negated); };
  const auto mask = [&](Value m, bool when) { return when != negated ? m : b.not_(m); };
  const auto again = [&](Value p, Value q) { return negated ? b.ne(p, q) : b.eq(p, q); };
  const Type type = v.type(x);
  const uint64_t bits = v.bits(c);
  const auto pick = [&](Value m, uint64_t if_true, uint64_t if_false) {
    if (bits != if_true && bits != if_false) return truth(false);
    return if_true == if_false ? truth(true) : mask(m, bits == if_true);
  };
  // m == true -> m; m == false -> !m
  if (type == Type::u1) return mask(x, bits != 0);
  switch (v.f[x].op) {
  case Op::zext: { // zext(y) == c -> y == c, or false when c has more bits
    const Value y = v.arg(x, 0);
    if (v.type(y) == Type::u1) return pick(y, 1, 0);
    return truncate(v.type(y), bits) == bits ? again(y, b.constant(v.type(y), bits)) : truth(false);
  }
  case Op::sext: { // sext(m) == c; sext(y) == c -> y == c, or false when no y is
    const Value y = v.arg(x, 0);
    if (v.type(y) == Type::u1) return pick(y, low_bits(bit_width(type)), 0);
    const unsigned narrow = bit_width(v.type(y));
    return truncate(type, static_cast<uint64_t>(sign_extend(bits, narrow))) == bits
               ? again(y, b.constant(v.type(y), bits))
               : truth(false);
  }
  case Op::select: // select(m, c1, c2) == c -> m, !m, true or false
    if (!v.is_constant(v.arg(x, 1)) || !v.is_constant(v.arg(x, 2))) return {};
    return pick(v.arg(x, 0), v.bits(v.arg(x, 1)), v.bits(v.arg(x, 2)));
  case Op::add: // y + c1 == c -> y == c - c1
    if (!v.is_constant(v.arg(x, 1))) return {};
    return again(v.arg(x, 0), b.constant(type, bits - v.bits(v.arg(x, 1))));
  case Op::sub: // y - z == 0 -> y == z
    return bits == 0 ? again(v.arg(x, 0), v.arg(x, 1)) : Value{};
  case Op::xor_: // y ^ z == 0 -> y == z; y ^ c1 == c -> y == c ^ c1
    if (bits == 0) return again(v.arg(x, 0), v.arg(x, 1));
    if (!v.is_constant(v.arg(x, 1))) return {};
    return again(v.arg(x, 0), b.constant(type, bits ^ v.bits(v.arg(x, 1))));
  case Op::not_: return again(v.arg(x, 0), b.constant(type, ~bits));
  case Op::popcount: { // popcount(y) == 0 -> y == 0
    const Value y = v.arg(x, 0);
    return bits == 0 ? again(y, b.constant(v.type(y), 0)) : Value{};
  }
  case Op::pack64: // pack64(lo, hi) == 0 -> (lo | hi) == 0
    return bits == 0 ? again(b.or_(v.arg(x, 0), v.arg(x, 1)), b.i32(0)) : Value{};
  case Op::ballot: // ballot(m) == 0 -> !any(m); ballot(m) == ones -> !any(!m)
    if (bits == 0) return mask(b.any(v.arg(x, 0)), false);
    return v.is_ones(c) ? mask(b.any(b.not_(v.arg(x, 0))), false) : Value{};
  default: return {};
  }
}

Value fold_equal(Builder& b, const Request& r) {
  const View v(b, r);
  const bool negated = r.op == Op::ne;
  if (v[0] == v[1]) return b.u1(!negated);
  if (v.is_constant(v[1])) return fold_equal_constant(b, v, v[0], v[1], negated);
  if (v.opposite(v[0], v[1])) return b.u1(negated);
  // ext(x) == ext(y) -> x == y
  if ((v.is(v[0], Op::zext) || v.is(v[0], Op::sext)) && v.is(v[1], v.f[v[0]].op)) {
    const Value x = v.arg(v[0], 0), y = v.arg(v[1], 0);
    if (v.type(x) == v.type(y)) return negated ? b.ne(x, y) : b.eq(x, y);
  }
  if (v.type(v[0]) == Type::u1) return negated ? b.xor_(v[0], v[1]) : b.not_(b.xor_(v[0], v[1]));
  return {};
}

// ext(x) < ext(y) -> x < y    ext(x) < c -> x < c, or true or false when c lies outside what ext(x) can be
//
// zext makes signed comparisons unsigned ones; sext keeps the order of both kinds. Words that were made of
// dwords are compared so by code that did not look at their type. (Mesa 22.3.6 gets sext(x) < c wrong.)
Value fold_less_extended(Builder& b, const View& v, Op op) {
  const Value x = v[0], y = v[1];
  const auto is_extended = [&](Value e) {
    return v.type(e) == Type::i64 && (v.is(e, Op::zext) || v.is(e, Op::sext)) &&
           v.type(v.arg(e, 0)) == Type::i32;
  };
  const bool first = is_extended(x), second = is_extended(y);
  if (!first && !second) return {};
  const Value extended = first ? x : y, other = first ? y : x;
  const bool zero = v.is(extended, Op::zext), is_signed = op == Op::slt || op == Op::sle;
  if (zero && is_signed) op = op == Op::slt ? Op::ult : Op::ule;
  if (first && second) return v.f[x].op == v.f[y].op ? b.emit(op, {v.arg(x, 0), v.arg(y, 0)}) : Value{};
  if (!v.is_constant(other)) return {};
  const uint64_t c = v.bits(other);
  const auto low = static_cast<uint32_t>(c);
  if ((zero ? uint64_t{low} : static_cast<uint64_t>(sign_extend(low, 32))) == c) {
    const Value narrow = b.i32(low), inner = v.arg(extended, 0);
    return first ? b.emit(op, {inner, narrow}) : b.emit(op, {narrow, inner});
  }
  if (!zero && !is_signed) return {}; // c lies between those that are negative and those that are not
  const bool below_all = is_signed && (c >> 63) != 0;
  return b.u1(first != below_all);
}

// x < x -> false    x < 0 -> false    x < 1 -> x == 0    0 < x -> x != 0    ones < x -> false
// x <= x -> true    0 <= x -> true    1 <= x -> x != 0   x <= 0 -> x == 0   x <= ones -> true
Value fold_unsigned_less(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0], y = v[1];
  const bool or_equal = r.op == Op::ule;
  const Value zero = b.constant(v.type(x), 0);
  if (x == y) return b.u1(or_equal);
  if (v.is_constant(y)) {
    if (v.is_zero(y)) return or_equal ? b.eq(x, zero) : b.u1(false);
    if (or_equal && v.is_ones(y)) return b.u1(true);
    if (!or_equal && v.bits(y) == 1) return b.eq(x, zero);
    if (!or_equal && v.is_ones(y)) return b.ne(x, y);
  }
  if (v.is_constant(x)) {
    if (v.is_zero(x)) return or_equal ? b.u1(true) : b.ne(y, zero);
    if (or_equal && v.bits(x) == 1) return b.ne(y, zero);
    if (v.is_ones(x)) return or_equal ? b.eq(y, x) : b.u1(false);
  }
  return fold_less_extended(b, v, r.op);
}

// x < x -> false    x < least -> false    most < x -> false;  x <= x -> true    x <= most -> true
Value fold_signed_less(Builder& b, const Request& r) {
  const View v(b, r);
  const bool or_equal = r.op == Op::sle;
  if (v[0] == v[1]) return b.u1(or_equal);
  const uint64_t least = uint64_t{1} << (v.width(v[0]) - 1), most = least - 1;
  if (v.f.is_constant(v[or_equal ? 0 : 1], least)) return b.u1(or_equal);
  if (v.f.is_constant(v[or_equal ? 1 : 0], most)) return b.u1(or_equal);
  return fold_less_extended(b, v, r.op);
}

} // namespace

void add_integer_rules(RuleTable& t) {
  const auto at = [&](Op op) -> Rule& { return t[static_cast<unsigned>(op)]; };
  at(Op::add) = fold_add;
  at(Op::sub) = fold_sub;
  at(Op::mul) = fold_mul;
  at(Op::mul_hi_u) = at(Op::mul_hi_s) = fold_mul_hi;
  at(Op::add_c) = fold_add_c;
  at(Op::carry) = fold_carry;
  at(Op::sub_c) = fold_sub_c;
  at(Op::borrow) = fold_borrow;
  at(Op::umin) = at(Op::umax) = at(Op::smin) = at(Op::smax) = fold_min_max;
  at(Op::eq) = at(Op::ne) = fold_equal;
  at(Op::ult) = at(Op::ule) = fold_unsigned_less;
  at(Op::slt) = at(Op::sle) = fold_signed_less;
}

} // namespace lanewise::ir::rules
