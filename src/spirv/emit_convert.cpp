// Conversions between numbers.
#include "spirv/float_call.hpp"

namespace lanewise::spirv {

using ir::FloatControl;
using ir::Op;
using ir::Type;
using ir::Value;

Expr rounds_away(Expr q, Expr rest, Expr half, Expr negative, unsigned round) {
  switch (round) {
  case 0: return (rest > half) | ((rest == half) & ((q & 1) != 0));
  case 1: return (rest != 0) & !negative;
  case 2: return (rest != 0) & negative;
  default: return rest.code->constant(Type::u1, 0);
  }
}

Expr overflow(Expr infinity, Expr negative, unsigned round) {
  if (round == 0) return infinity;
  const Expr largest = infinity - 1;
  if (round == 3) return largest;
  return round == 1 ? select(negative, largest, infinity) : select(negative, infinity, largest);
}

Expr narrow_exactly(Expr x, Type to, unsigned round) {
  Code& c = *x.code;
  const FloatFormat from = format_of(x.type), f = format_of(to);
  const Type i = integer_like(x.type);
  const unsigned cut = from.mantissa - f.mantissa;
  const Expr b = bits(x), abs = b & from.all_but_sign(), negative = (b & from.sign_bit()) != 0;
  const uint64_t rebias = (from.bias() - f.bias()) << from.mantissa;
  // Below the smallest normal number of `to` the significand is shifted further.
  const Expr exponent = abs >> from.mantissa;
  const Expr significand =
      (abs & from.fraction()) | select(exponent == 0, c.constant(i, 0), c.constant(i, from.implicit_one()));
  const uint64_t first_normal = from.bias() - f.bias() + 1;
  const Expr normal = exponent >= first_normal;
  const Expr deeper = c.constant(i, first_normal) - exponent;
  const Expr most = c.constant(i, from.mantissa + 2 - cut);
  const Expr shift = select(normal, c.constant(i, cut), same(abs, cut) + select(deeper < most, deeper, most));
  const Expr source = select(normal, abs - rebias, significand);
  const Expr q = source >> shift;
  const Expr rest = source & ((c.constant(i, 1) << shift) - 1);
  const Expr half = c.constant(i, 1) << (shift - 1);
  const Expr up = rounds_away(q, rest, half, negative, round);
  Expr result = q + select(up, c.constant(i, 1), c.constant(i, 0));
  // Overflow: infinity, or the largest finite number where the rounding points inwards.
  const Expr infinity = c.constant(i, f.infinity());
  result = select(result >= f.infinity(), overflow(infinity, negative, round), result);
  result = select(abs == from.infinity(), infinity, result);
  result = select(abs > from.infinity(), c.constant(i, f.nan()), result);
  const Type narrow = integer_like(to);
  const Expr sign = select(negative, c.constant(narrow, f.sign_bit()), c.constant(narrow, 0));
  return as_float(resize(result, narrow) | sign, to);
}

namespace {

Expr float_to_float(Code& c, std::span<const Expr> x, const FloatCall& call) {
  const bool narrows = ir::bit_width(call.type) < ir::bit_width(call.operand);
  if (!narrows) return c.unary(spv::Op::OpFConvert, x[0], call.type);
  return narrow_exactly(x[0], call.type, call.control.round);
}

/// f64 -> f32 to nearest even is what FConvert does; to f16, drivers go through f32 or round as they like.
void write_f2f(Emitter& e, Value v) {
  const Type from = e.f[e.f.operand(v, 0)].type, to = e.f[v].type;
  const FloatControl c = FloatControl::unpack(e.f[v].imm);
  const bool widens = ir::bit_width(to) > ir::bit_width(from);
  if (from == to) return e.bind(v, e.operand_id(v, 0));
  const bool plain = !c.flush_in && !c.flush_out && (widens || (c.round == 0 && to == Type::f32));
  if (plain) return e.make(v, spv::Op::OpFConvert, {e.operand_id(v, 0)});
  write_float_call(e, v, float_to_float);
}

/// Truncates and saturates; NaN is 0. Outside the range SPIR-V's conversion is undefined.
Expr float_to_integer(Code& c, std::span<const Expr> x, const FloatCall& call) {
  const bool sign = call.op == Op::f2s;
  const FloatFormat f = call.format();
  const unsigned width = ir::bit_width(call.type);
  const Type wide = width < 32 ? Type::i32 : call.type;
  const auto number = [&](uint64_t b) {
    return as_float(c.constant(integer_like(call.operand), b), call.operand);
  };
  // The bounds are powers of two; f16 ends before them.
  const int top = static_cast<int>(sign ? width - 1 : width);
  const uint64_t limit = top > static_cast<int>(f.bias()) ? f.infinity() : f.power(top);
  const Expr above = x[0] >= number(limit);
  const Expr below = sign ? x[0] <= number(limit | f.sign_bit()) : x[0] <= number(0);
  const Expr number_inside = !(above | below | (x[0] != x[0]));
  const Expr inside = select(number_inside, x[0], number(0));
  const Expr whole = c.unary(sign ? spv::Op::OpConvertFToS : spv::Op::OpConvertFToU, inside, wide);
  const uint64_t most = sign ? (uint64_t{1} << (width - 1)) - 1 : ~uint64_t{0};
  const uint64_t least = sign ? uint64_t{1} << (width - 1) : 0;
  Expr result = resize(whole, call.type);
  result = select(above, c.constant(call.type, most), result);
  return select(below, c.constant(call.type, least), result);
}

/// 64-bit integers, rounded once: to f64 directly, to narrower types by way of an f64 rounded to odd.
Expr wide_integer_to_float(Code& c, Expr x, const FloatCall& call) {
  const FloatFormat f = format_of(Type::f64);
  const Expr negative = call.op == Op::s2f ? slt(x, 0) : c.constant(Type::u1, 0);
  const Expr magnitude = select(negative, c.constant(Type::i64, 0) - x, x);
  const Expr lead = highest_one(magnitude | 1), significand = magnitude << (c.constant(Type::i64, 63) - lead);
  const Expr exponent = lead + f.bias(), is_zero = x == 0;
  if (call.type == Type::f64)
    return as_float(select(is_zero, 0, round_to_f64(significand, exponent, negative, call.control.round)),
                    Type::f64);
  const Expr rest = select((significand & 0x7ff) != 0, c.constant(Type::i64, 1), c.constant(Type::i64, 0));
  const Expr sign = select(negative, c.constant(Type::i64, f.sign_bit()), c.constant(Type::i64, 0));
  const Expr odd = exponent << f.mantissa | ((significand >> 11) & f.fraction()) | rest | sign;
  return narrow_exactly(as_float(select(is_zero, 0, odd), Type::f64), call.type, call.control.round);
}

/// Through f64, which holds all 32-bit integers: no driver's own rounding comes in.
Expr integer_to_float(Code& c, std::span<const Expr> x, const FloatCall& call) {
  if (call.operand == Type::i64) return wide_integer_to_float(c, x[0], call);
  const Expr wide =
      c.unary(call.op == Op::s2f ? spv::Op::OpConvertSToF : spv::Op::OpConvertUToF, x[0], Type::f64);
  return call.type == Type::f64 ? wide : narrow_exactly(wide, call.type, call.control.round);
}

void write_integer_to_float(Emitter& e, Value v) {
  const FloatControl c = FloatControl::unpack(e.f[v].imm);
  if (c.round == 0 && e.f[v].type != Type::f16)
    return e.make(v, e.f[v].op == Op::s2f ? spv::Op::OpConvertSToF : spv::Op::OpConvertUToF,
                  {e.operand_id(v, 0)});
  write_float_call(e, v, integer_to_float);
}

} // namespace

void add_convert_handlers(HandlerTable& t) {
  t[index_of(Op::f2f)] = write_f2f;
  t[index_of(Op::f2s)] = float_call<float_to_integer>;
  t[index_of(Op::f2u)] = float_call<float_to_integer>;
  t[index_of(Op::s2f)] = write_integer_to_float;
  t[index_of(Op::u2f)] = write_integer_to_float;
}

} // namespace lanewise::spirv
