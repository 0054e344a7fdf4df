// Folding of bitwise operations, shifts and bit fields: on numbers, on masks (u1) and on ballots.
#include "ir/fold_rules.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace lanewise::ir::rules {
namespace {

/// Both are ballots (or 0 / all ones, which are ballots too), at least one really.
bool are_ballots(const View& v, Value x, Value y) {
  const auto constant = [&](Value w) { return v.is_zero(w) || v.is_ones(w); };
  const bool a = v.is(x, Op::ballot), b = v.is(y, Op::ballot);
  return (a && (b || constant(y))) || (b && constant(x));
}
Value mask_of(Builder& b, const View& v, Value w) {
  return v.is(w, Op::ballot) ? v.arg(w, 0) : b.u1(!v.is_zero(w));
}

/// y or z where x = op(y, z) and the other operand is `known`; none if x is not such.
Value other_operand(const View& v, Value x, Op op, Value known) {
  if (!v.is(x, op)) return {};
  if (v.arg(x, 0) == known) return v.arg(x, 1);
  return v.arg(x, 1) == known ? v.arg(x, 0) : Value{};
}

/// The operand of `not`, or none.
Value negated(const View& v, Value x) { return v.is(x, Op::not_) ? v.arg(x, 0) : Value{}; }

// ballot(m) op ballot(n) -> ballot(m op n)
Value through_ballots(Builder& b, const View& v) {
  if (!are_ballots(v, v[0], v[1])) return {};
  return b.ballot(b.emit(v.request.op, {mask_of(b, v, v[0]), mask_of(b, v, v[1])}));
}

// (x op c1) op c2 -> x op (c1 op c2)
Value reassociate(Builder& b, const View& v) {
  const Op op = v.request.op;
  if (!v.is_constant(v[1]) || !v.is(v[0], op) || !v.is_constant(v.arg(v[0], 1))) return {};
  return b.emit(op, {v.arg(v[0], 0), b.emit(op, {v.arg(v[0], 1), v[1]})});
}

// For x & y, either way round:
//   x & (x | z) -> x                x & !(x & z) -> x & !z          x & !(x | z) -> 0
//   x & (!x | z) -> x & z           x & (x & z) -> x & z            x & (!x & z) -> 0
Value absorb_and(Builder& b, const View& v, Value x, Value y) {
  if (other_operand(v, y, Op::or_, x)) return x;
  if (other_operand(v, y, Op::and_, x)) return y;
  if (const Value n = negated(v, y)) {
    if (const Value z = other_operand(v, n, Op::and_, x)) return b.and_(x, b.not_(z));
    if (other_operand(v, n, Op::or_, x)) return v.zero();
  }
  if (!v.is(y, Op::or_) && !v.is(y, Op::and_)) return {};
  for (unsigned i = 0; i < 2; ++i) {
    if (!v.opposite(x, v.arg(y, i))) continue;
    return v.is(y, Op::or_) ? b.and_(x, v.arg(y, 1 - i)) : v.zero();
  }
  return {};
}

/// What is known of `x` in lanes of m, if it is a constant: a register that holds one after a write under m
/// does.
///   select(m, 7, y) -> 7
Value constant_in(const View& v, Value m, Value x) {
  if (v.is_constant(x)) return x;
  if (!v.is(x, Op::select) || v.arg(x, 0) != m || !v.is_constant(v.arg(x, 1))) return {};
  return v.arg(x, 1);
}

/// m & (select(m, 7, y) < 3) -> m & (7 < 3), where the compare is of constants in all lanes of m, so that it
/// folds.
Value decided_in(Builder& b, const View& v, Value m, Value compare) {
  switch (v.f[compare].op) {
  case Op::eq:
  case Op::ne:
  case Op::ult:
  case Op::ule:
  case Op::slt:
  case Op::sle: break;
  default: return {};
  }
  const Value p = constant_in(v, m, v.arg(compare, 0)), q = constant_in(v, m, v.arg(compare, 1));
  return p && q ? b.and_(m, b.emit(v.f[compare].op, {p, q})) : Value{};
}

// x & 0 -> 0    x & ones -> x    x & x -> x    x & !x -> 0
// (x >> c) & (2^k - 1) -> ubfe(x, c, k)    bitcast(float) & 0x7fffffff -> bitcast(fabs)
Value fold_and(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0], y = v[1];
  if (x == y || v.is_ones(y)) return x;
  if (v.is_zero(y)) return y;
  if (v.opposite(x, y)) return v.zero();
  if (const Value w = reassociate(b, v)) return w;
  if (const Value w = through_ballots(b, v)) return w;
  if (const Value w = absorb_and(b, v, x, y)) return w;
  if (const Value w = absorb_and(b, v, y, x)) return w;
  if (r.type == Type::u1) {
    if (const Value w = decided_in(b, v, x, y)) return w;
    if (const Value w = decided_in(b, v, y, x)) return w;
  }
  if (!v.is_constant(y)) return {};
  const uint64_t c = v.bits(y);
  if (r.type == Type::i32 && v.is(x, Op::lshr) && v.is_constant(v.arg(x, 1)) && std::has_single_bit(c + 1)) {
    return b.ubfe(v.arg(x, 0), v.arg(x, 1), b.i32(static_cast<uint32_t>(std::popcount(c))));
  }
  if (v.is(x, Op::zext) && (c & low_bits(v.width(v.arg(x, 0)))) == low_bits(v.width(v.arg(x, 0)))) return x;
  if (v.is(x, Op::bitcast) && is_float(v.type(v.arg(x, 0))) && c == low_bits(v.width(x) - 1)) {
    return b.bitcast(b.fabs(v.arg(x, 0)), r.type);
  }
  return {};
}

// For x | y, either way round:
//   x | (x & z) -> x       x | (x | z) -> x | z       x | !(x & z) -> ones
//   x | (!x & z) -> x | z  x | (!x | z) -> ones
Value absorb_or(Builder& b, const View& v, Value x, Value y) {
  if (other_operand(v, y, Op::and_, x)) return x;
  if (other_operand(v, y, Op::or_, x)) return y;
  if (const Value n = negated(v, y); n && other_operand(v, n, Op::and_, x)) return v.ones();
  if (!v.is(y, Op::or_) && !v.is(y, Op::and_)) return {};
  for (unsigned i = 0; i < 2; ++i) {
    if (!v.opposite(x, v.arg(y, i))) continue;
    return v.is(y, Op::and_) ? b.or_(x, v.arg(y, 1 - i)) : v.ones();
  }
  return {};
}

// (x & y) | (x & !y) -> x
Value join_halves(const View& v, Value p, Value q) {
  if (!v.is(p, Op::and_) || !v.is(q, Op::and_)) return {};
  for (unsigned i = 0; i < 2; ++i) {
    const Value rest = other_operand(v, q, Op::and_, v.arg(p, i));
    if (rest && v.opposite(rest, v.arg(p, 1 - i))) return v.arg(p, i);
  }
  return {};
}

// x | 0 -> x    x | ones -> ones    x | x -> x    x | !x -> ones
Value fold_or(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0], y = v[1];
  if (x == y || v.is_zero(y)) return x;
  if (v.is_ones(y)) return y;
  if (v.opposite(x, y)) return v.ones();
  if (const Value w = reassociate(b, v)) return w;
  if (const Value w = through_ballots(b, v)) return w;
  if (const Value w = absorb_or(b, v, x, y)) return w;
  if (const Value w = absorb_or(b, v, y, x)) return w;
  return join_halves(v, x, y);
}

// x ^ 0 -> x    x ^ x -> 0    x ^ ones -> !x    x ^ !x -> ones
// x ^ (x & y) -> x & !y    x ^ (x ^ y) -> y    bitcast(float) ^ sign -> bitcast(fneg)
Value fold_xor(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0], y = v[1];
  if (v.is_zero(y)) return x;
  if (x == y) return v.zero();
  if (v.is_ones(y)) return b.not_(x);
  if (v.opposite(x, y)) return v.ones();
  if (const Value w = reassociate(b, v)) return w;
  if (const Value w = through_ballots(b, v)) return w;
  for (const auto& [p, q] : {std::pair(x, y), std::pair(y, x)}) {
    if (const Value z = other_operand(v, q, Op::and_, p)) return b.and_(p, b.not_(z));
    if (const Value z = other_operand(v, q, Op::xor_, p)) return z;
  }
  if (v.is(x, Op::bitcast) && is_float(v.type(v.arg(x, 0))) &&
      v.f.is_constant(y, uint64_t{1} << (v.width(x) - 1))) {
    return b.bitcast(b.fneg(v.arg(x, 0)), r.type);
  }
  return {};
}

// !!x -> x    !(a < b) -> b <= a and so on    !ballot(m) -> ballot(!m)    !fcmp -> fcmp of the other outcomes
// !(x ^ c) -> x ^ !c
Value fold_not(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0];
  const auto swapped = [&](Op op) { return b.emit(op, {v.arg(x, 1), v.arg(x, 0)}); };
  switch (v.f[x].op) {
  case Op::not_: return v.arg(x, 0);
  case Op::eq: return b.ne(v.arg(x, 0), v.arg(x, 1));
  case Op::ne: return b.eq(v.arg(x, 0), v.arg(x, 1));
  case Op::ult: return swapped(Op::ule);
  case Op::ule: return swapped(Op::ult);
  case Op::slt: return swapped(Op::sle);
  case Op::sle: return swapped(Op::slt);
  case Op::fcmp:
    return b.emit(Op::fcmp, {v.arg(x, 0), v.arg(x, 1)}, Type::none, v.f[x].imm ^ fcmp_imm({}, 15));
  case Op::ballot: return b.ballot(b.not_(v.arg(x, 0)));
  case Op::xor_:
    if (v.is_constant(v.arg(x, 1))) return b.xor_(v.arg(x, 0), b.not_(v.arg(x, 1)));
    return {};
  default: return {};
  }
}

// -- shifts and fields
// ------------------------------------------------------------------------------------------

/// A constant shift count modulo the width, or none.
std::optional<unsigned> count(const View& v, Value c) {
  if (!v.is_constant(c)) return {};
  return static_cast<unsigned>(v.bits(c) & (v.width(c) - 1));
}

// x shift (c & (width - 1)) -> x shift c
Value strip_count_mask(Builder& b, const View& v) {
  const Value c = v[1];
  if (!v.is(c, Op::and_) || !v.is_constant(v.arg(c, 1))) return {};
  const uint64_t needed = v.width(c) - 1;
  if ((v.bits(v.arg(c, 1)) & needed) != needed) return {};
  return b.emit(v.request.op, {v[0], v.arg(c, 0)});
}

// (x shift c1) shift c2 -> x shift (c1 + c2), the same kind of shift
Value join_shifts(Builder& b, const View& v, unsigned c2) {
  const auto c1 = v.is(v[0], v.request.op) ? count(v, v.arg(v[0], 1)) : std::nullopt;
  if (!c1) return {};
  const unsigned width = v.width(v[0]);
  const Value x = v.arg(v[0], 0);
  if (*c1 + c2 < width) return b.emit(v.request.op, {x, b.constant(v.request.type, *c1 + c2)});
  return v.request.op == Op::ashr ? b.ashr(x, b.constant(v.request.type, width - 1)) : v.zero();
}

// (x << c1) >> c2 -> ubfe / sbfe(x, c2 - c1, 32 - c2)    (x >> c) << c -> x & (ones << c)
Value fold_shift(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0];
  if (v.is_zero(x)) return x;
  const auto c = count(v, v[1]);
  if (!c) return strip_count_mask(b, v);
  if (*c == 0) return x;
  if (!v.f.is_constant(v[1], *c)) return b.emit(r.op, {x, b.constant(r.type, *c)});
  if (const Value w = join_shifts(b, v, *c)) return w;
  if (r.op == Op::shl) {
    const auto inner = v.is(x, Op::lshr) ? count(v, v.arg(x, 1)) : std::nullopt;
    if (inner == *c) return b.and_(v.arg(x, 0), b.constant(r.type, ~uint64_t{0} << *c));
    return {};
  }
  const auto inner = v.is(x, Op::shl) ? count(v, v.arg(x, 1)) : std::nullopt;
  if (!inner || *inner > *c) return {};
  if (r.type == Type::i32) {
    const Value offset = b.i32(*c - *inner), bits = b.i32(32 - *c);
    return r.op == Op::lshr ? b.ubfe(v.arg(x, 0), offset, bits) : b.sbfe(v.arg(x, 0), offset, bits);
  }
  if (r.op == Op::lshr && inner == *c)
    return b.and_(v.arg(x, 0), b.constant(r.type, low_bits(v.width(x) - *c)));
  return {};
}

// ubfe(x, 0, k) -> x & (2^k - 1)    ubfe(x, c, rest) -> x >> c    ubfe(ubfe(x, c1, k1), c2, k2) -> ubfe
Value fold_field(Builder& b, const Request& r) {
  const View v(b, r);
  const Value x = v[0];
  if (!v.is_constant(v[2])) return {};
  const auto bits = static_cast<uint32_t>(v.bits(v[2]) & 31);
  if (bits == 0) return v.zero();
  if (!v.is_constant(v[1])) return {};
  const auto offset = static_cast<uint32_t>(v.bits(v[1]) & 31);
  const bool is_signed = r.op == Op::sbfe;
  if (offset + bits >= 32) return is_signed ? b.ashr(x, b.i32(offset)) : b.lshr(x, b.i32(offset));
  if (is_signed) return {};
  if (offset == 0) return b.and_(x, b.i32(static_cast<uint32_t>(low_bits(bits))));
  if (v.is(x, Op::ubfe) && v.is_constant(v.arg(x, 1)) && v.is_constant(v.arg(x, 2))) {
    const auto inner_offset = static_cast<uint32_t>(v.bits(v.arg(x, 1)) & 31);
    const auto inner_bits = static_cast<uint32_t>(v.bits(v.arg(x, 2)) & 31);
    if (offset >= inner_bits) return v.zero();
    return b.ubfe(v.arg(x, 0), b.i32(inner_offset + offset), b.i32(std::min(bits, inner_bits - offset)));
  }
  if (v.is(x, Op::lshr)) {
    const auto inner = count(v, v.arg(x, 1));
    if (inner && *inner + offset < 32) return b.ubfe(v.arg(x, 0), b.i32(*inner + offset), v[2]);
  }
  return {};
}

// bit_reverse(bit_reverse(x)) -> x
Value fold_bit_reverse(Builder& b, const Request& r) {
  const View v(b, r);
  return v.is(v[0], Op::bit_reverse) ? v.arg(v[0], 0) : Value{};
}

} // namespace

void add_bit_rules(RuleTable& t) {
  const auto at = [&](Op op) -> Rule& { return t[static_cast<unsigned>(op)]; };
  at(Op::and_) = fold_and;
  at(Op::or_) = fold_or;
  at(Op::xor_) = fold_xor;
  at(Op::not_) = fold_not;
  at(Op::shl) = at(Op::lshr) = at(Op::ashr) = fold_shift;
  at(Op::ubfe) = at(Op::sbfe) = fold_field;
  at(Op::bit_reverse) = fold_bit_reverse;
}

} // namespace lanewise::ir::rules
