// Float operations on exponents and classes, and the steps of a division (ISA, V_LDEXP to V_DIV_FIXUP).
#include "ir/float_facts.hpp"
#include "spirv/float_call.hpp"

#include <optional>

namespace lanewise::spirv {

using ir::Op;
using ir::Type;
using ir::Value;

Expr highest_one(Expr x) {
  Code& c = *x.code;
  const auto find = [&](Expr y) {
    return c.expr(c.glsl(GLSLstd450FindUMsb, c.types[Type::i32], {y.id}), Type::i32);
  };
  if (x.type == Type::i32) return find(x);
  const Expr high = resize(x >> 32, Type::i32), low = resize(x, Type::i32);
  return resize(select(high != 0, find(high) + 32, find(low)), Type::i64);
}
namespace {

/// 16-bit formats are taken apart in 32 bits.
Type work_type(Type t) { return t == Type::f64 ? Type::i64 : Type::i32; }

/// A finite nonzero float as 1.fraction * 2^(exponent - bias); the exponent may be 0 or negative.
struct Parts {
  Expr magnitude, sign; ///< bits in the work type
  Expr exponent;        ///< biased, in the work type
  Expr significand;     ///< with the implicit one
  Expr special;         ///< zero, infinity or NaN: exponent and significand mean nothing
};

Parts take_apart(Expr x) {
  const FloatFormat f = format_of(x.type);
  const Type w = work_type(x.type);
  Code& c = *x.code;
  const Expr b = resize(bits(x), w), abs = b & f.all_but_sign();
  const Expr field = abs >> f.mantissa, denormal = field == 0;
  const Expr shift = c.constant(w, f.mantissa) - highest_one(abs | 1);
  return {.magnitude = abs,
          .sign = b & f.sign_bit(),
          .exponent = select(denormal, c.constant(w, 1) - shift, field),
          .significand = select(denormal, abs << shift, (abs & f.fraction()) | f.implicit_one()),
          .special = (abs == 0) | (abs >= f.infinity())};
}

Expr as_result(Expr work, Type t) { return as_float(resize(work, integer_like(t)), t); }

} // namespace

Expr scale_exactly(Expr x, Expr exponent, unsigned round) {
  const FloatFormat f = format_of(x.type);
  const Type w = work_type(x.type);
  Code& c = *x.code;
  const auto k = [&](int64_t v) { return c.constant(w, static_cast<uint64_t>(v)); };
  const Parts p = take_apart(x);
  // Far beyond every exponent is far enough, and does not overflow.
  const Expr low = c.constant(Type::i32, static_cast<uint64_t>(-8192)), high = c.constant(Type::i32, 8192);
  const Expr bounded = select(slt(exponent, low), low, select(slt(high, exponent), high, exponent));
  const Expr total = p.exponent + resize(bounded, w, true);
  const Expr normal = total << f.mantissa | (p.significand & f.fraction());
  const Expr needed = k(1) - total, most = k(f.mantissa + 2);
  const Expr shift = select(slt(needed, most), needed, most) & (ir::bit_width(w) - 1);
  const Expr q = p.significand >> shift, rest = p.significand & ((k(1) << shift) - 1);
  const Expr half = k(1) << ((shift - 1) & (ir::bit_width(w) - 1));
  const Expr negative = p.sign != 0;
  const Expr up = rounds_away(q, rest, half, negative, round);
  const Expr denormal = q + select(up, k(1), k(0));
  const Expr infinite = !slt(total, k(static_cast<int64_t>(f.infinity() >> f.mantissa)));
  Expr result = select(slt(total, k(1)), denormal, normal);
  const Expr over = overflow(k(static_cast<int64_t>(f.infinity())), negative, round);
  result = select(infinite, over, result) | p.sign;
  return select(p.special, x, as_result(result, x.type));
}

namespace {

/// A normal number, as most are: its exponent field is neither the lowest nor the highest.
Expr is_normal_field(Expr field, FloatFormat f) { return field - 1 < (f.infinity() >> f.mantissa) - 1; }

/// `yes` where the condition holds, else `no`: as a branch, since `no` is long and rare.
Expr usually(Code& c, Expr condition, Expr yes, const std::function<Expr(Code&)>& no) {
  const auto part = [&](Code&) { return yes.id; };
  const Id id = choose(c, condition, c.types[yes.type], true, part, [&](Code& k) { return no(k).id; });
  return c.expr(id, yes.type);
}

/// Normal numbers whose result is normal only change their exponent field.
Expr scaled(Code& c, Expr x, Expr exponent, unsigned round) {
  const FloatFormat f = format_of(x.type);
  const Type w = work_type(x.type);
  const Expr b = resize(bits(x), w), field = (b & f.all_but_sign()) >> f.mantissa,
             by = resize(exponent, w, true);
  const Expr both = is_normal_field(field, f) & is_normal_field(field + by, f);
  return usually(c, both, as_result(b + (by << f.mantissa), x.type),
                 [&](Code&) { return scale_exactly(x, exponent, round); });
}

Expr ldexp(Code& c, std::span<const Expr> x, const FloatCall& call) {
  return scaled(c, x[0], x[1], call.control.round);
}

/// The bits of 2^exponent, if that is a normal number and so is its inverse.
std::optional<uint64_t> power_of_two(int32_t exponent, FloatFormat format) {
  const auto bias = static_cast<int32_t>(format.bias());
  if (exponent <= -bias || exponent >= bias) return {};
  return static_cast<uint64_t>(exponent + bias) << format.mantissa;
}

/// Zero, infinity and NaN are their own mantissas; NaN comes out quiet.
Expr unusual_mantissa(Expr x, FloatFormat f) {
  const Parts p = take_apart(x);
  const Expr half = (p.significand & f.fraction()) | (f.one() - f.implicit_one()) | p.sign;
  const Expr quiet = as_float(bits(x) | f.quiet_bit(), x.type);
  return select(p.special, select(is_nan(x, f), quiet, x), as_result(half, x.type));
}

Expr unusual_exponent(Code& c, Expr x, FloatFormat f) {
  const Parts p = take_apart(x);
  return select(p.special, c.constant(Type::i32, 0), resize(p.exponent - (f.bias() - 1), Type::i32));
}

Expr frexp_mantissa(Code& c, std::span<const Expr> x, const FloatCall& call) {
  const FloatFormat f = call.format();
  const Expr b = resize(bits(x[0]), work_type(call.operand));
  const Expr normal = is_normal_field((b & f.all_but_sign()) >> f.mantissa, f);
  const Expr usual =
      as_result((b & (f.fraction() | f.sign_bit())) | (f.one() - f.implicit_one()), call.operand);
  return usually(c, normal, usual, [&](Code&) { return unusual_mantissa(x[0], f); });
}

Expr frexp_exponent(Code& c, std::span<const Expr> x, const FloatCall& call) {
  const FloatFormat f = call.format();
  const Expr field = (resize(bits(x[0]), work_type(call.operand)) & f.all_but_sign()) >> f.mantissa;
  const Expr usual = resize(field - (f.bias() - 1), Type::i32);
  return usually(c, is_normal_field(field, f), usual, [&](Code& k) { return unusual_exponent(k, x[0], f); });
}

/// n * (1/d): OpenCL's f32 division takes both apart to keep 1/d and the product from becoming denormal or
/// infinite. Where neither can, it is the product of the numbers themselves: powers of two change nothing
/// else.
Expr quotient(Code& c, std::span<const Expr> x, const FloatCall& call) {
  const FloatFormat f = call.format();
  const auto number = [&](uint64_t exponent) { // 2^exponent
    return as_float(c.constant(Type::i32, (f.bias() + exponent) << f.mantissa), Type::f32);
  };
  const Expr small = number(0 - uint64_t{60}), large = number(60);
  const Expr n = glsl(GLSLstd450FAbs, x[0]), d = glsl(GLSLstd450FAbs, x[1]);
  const auto at_least = [&](Expr a, Expr b) { return c.compare(spv::Op::OpFOrdGreaterThanEqual, a, b); };
  const Expr zero = x[0] == as_float(c.constant(Type::i32, 0), Type::f32);
  const Expr usual =
      (at_least(n, small) | zero) & at_least(large, n) & at_least(d, small) & at_least(large, d);
  const auto over = [&](Expr a) { return c.binary(spv::Op::OpFDiv, number(0), a); };
  const auto part = [&](Code&) { return (x[0] * over(x[1])).id; };
  const auto scaled_parts = [&](Code& k) {
    const std::array one{x[0]}, other{x[1]};
    const Expr product = frexp_mantissa(k, one, call) * over(frexp_mantissa(k, other, call));
    return scaled(k, product, frexp_exponent(k, one, call) - frexp_exponent(k, other, call), 0).id;
  };
  return c.expr(choose(c, usual, c.types[Type::f32], true, part, scaled_parts), Type::f32);
}

void write_quotient(Emitter& e, Value v, const Patterns::Quotient& q) {
  const auto inst = e.f[v];
  const FloatCall call{
      e.options, e.helpers, inst.op, inst.type, inst.type, ir::FloatControl::unpack(inst.imm), inst.imm};
  const std::array types{Type::f32, Type::f32};
  const Id function =
      e.helpers.get({static_cast<uint8_t>(Helper::quotient), 0}, "quotient", e.types[Type::f32], types,
                    [&](Code& c, std::span<const Expr> x) { return quotient(c, x, call); });
  e.make_call(v, function, {e.id(q.numerator), e.id(q.denominator)});
}

/// By a known power of two, or one of two, as square roots scale: a product rounds as ldexp does.
void write_ldexp(Emitter& e, Value v) {
  if (const auto q = e.patterns.quotient(v); q.denominator) return write_quotient(e, v, q);
  const Type t = e.f[v].type;
  const FloatFormat format = format_of(t);
  const auto choice = ir::exponent_choice(e.f, e.f.operand(v, 1));
  const auto yes = choice ? power_of_two(choice->yes, format) : std::nullopt,
             no = choice ? power_of_two(choice->no, format) : std::nullopt;
  if (!plain(ir::FloatControl::unpack(e.f[v].imm)) || !yes || !no) return write_float_call(e, v, ldexp);
  Id factor = e.types.constant(t, *yes);
  if (choice->yes != choice->no)
    factor =
        e.code.op(spv::Op::OpSelect, e.types[t], {e.id(choice->condition), factor, e.types.constant(t, *no)});
  e.make(v, spv::Op::OpFMul, {e.operand_id(v, 0), factor});
  e.module.no_contraction(e.id(v));
}

/// Bits of v_cmp_class: 0 signalling NaN, 1 quiet NaN, 2..5 -inf -normal -denormal -0, 6..9 +0 .. +inf.
Expr classify(Code& c, std::span<const Expr> x, const FloatCall& call) {
  const FloatFormat f = call.format();
  const auto k = [&](uint64_t v) { return c.constant(Type::i32, v); };
  const Expr abs = magnitude(x[0], f), negative = sign_of(x[0], f) != 0;
  const Expr rank =
      select(abs == 0, k(0), select(abs < f.implicit_one(), k(1), select(abs < f.infinity(), k(2), k(3))));
  const Expr number = select(negative, k(5) - rank, k(6) + rank);
  const Expr quiet = select((abs & f.quiet_bit()) != 0, k(1), k(0));
  const Expr index = select(abs > f.infinity(), quiet, number);
  return ((x[1] >> index) & 1) != 0;
}

// -- division
// ---------------------------------------------------------------------------------------------------------

struct DivisionLimits {
  int scale;        ///< exponent that denominators and numerators are scaled by
  int near_maximum; ///< exponent difference from which the quotient overflows soon
  int tiny;         ///< numerator exponent field up to which it is scaled
  int underflow;    ///< exponent difference below which the quotient is nothing
};
DivisionLimits limits_of(Type t) {
  return t == Type::f64 ? DivisionLimits{128, 768, 53, -1075} : DivisionLimits{64, 96, 23, -150};
}

Expr exponent_field(Expr x) {
  const FloatFormat f = format_of(x.type);
  return resize(magnitude(x, f) >> f.mantissa, Type::i32);
}
Expr is_denormal(Expr x) {
  const FloatFormat f = format_of(x.type);
  return (magnitude(x, f) != 0) & ((bits(x) & f.infinity()) == 0);
}
/// Is the exact quotient below the least normal number? Without a division, which drivers round as they like.
Expr quotient_is_denormal(Code& c, Expr numerator, Expr denominator) {
  const FloatFormat f = format_of(numerator.type);
  const Parts n = take_apart(numerator), d = take_apart(denominator);
  const Type w = n.exponent.type;
  const Expr borrow = select(n.significand < d.significand, c.constant(w, 1), c.constant(w, 0));
  const Expr exponent = n.exponent - d.exponent - borrow + f.bias();
  return (!n.special) & (!d.special) & slt(exponent, 1);
}

/// What v_div_scale decides about (value, denominator, numerator). Where both the reciprocal and the quotient
/// are denormal the manual's text scales the denominator up; it has to go down for the iteration to stay in
/// range.
struct DivisionScale {
  Expr invalid, up, down, flag;
};

DivisionScale division_scale(Code& c, std::span<const Expr> x, Type t) {
  const FloatFormat f = format_of(t);
  const DivisionLimits l = limits_of(t);
  const Expr value = x[0], denominator = x[1], numerator = x[2];
  const Expr en = exponent_field(numerator), ed = exponent_field(denominator);
  const Expr is_denominator = bits(value) == bits(denominator), is_numerator = bits(value) == bits(numerator);
  const Expr no = c.constant(Type::u1, 0);
  const Expr one = as_float(c.constant(integer_like(t), f.one()), t);
  const Expr near_maximum = !slt(en - ed, l.near_maximum);
  const Expr denormal = is_denormal(denominator);
  const Expr reciprocal_denormal = quotient_is_denormal(c, one, denominator),
             quotient_denormal = quotient_is_denormal(c, numerator, denominator);
  const Expr both = reciprocal_denormal & quotient_denormal;
  const Expr tiny = !slt(c.constant(Type::i32, static_cast<uint64_t>(l.tiny)), en);
  // The first rule that holds decides.
  const Expr yes = c.constant(Type::u1, 1);
  Expr up = tiny, down = no, flag = no;
  const auto rule = [&](Expr when, Expr then_up, Expr then_down, Expr then_flag) {
    up = select(when, then_up, up);
    down = select(when, then_down, down);
    flag = select(when, then_flag, flag);
  };
  rule(quotient_denormal, is_numerator, no, yes);
  rule(reciprocal_denormal, no, yes, no);
  rule(both, no, is_denominator, yes);
  rule(denormal, yes, no, no);
  rule(near_maximum, is_denominator, no, yes);
  const Expr invalid = (magnitude(numerator, f) == 0) | (magnitude(denominator, f) == 0) | is_nan(value, f);
  return {invalid, up, down, flag & !invalid};
}

Expr divide_scale(Code& c, std::span<const Expr> x, const FloatCall& call) {
  const FloatFormat f = call.format();
  const DivisionScale s = division_scale(c, x, call.operand);
  const auto scale = static_cast<uint64_t>(limits_of(call.operand).scale);
  const auto k = [&](uint64_t v) { return c.constant(Type::i32, v); };
  const Expr exponent = select(s.up, k(scale), select(s.down, k(0 - scale), k(0)));
  const Expr result =
      usually(c, !(s.up | s.down), x[0], [&](Code& other) { return scaled(other, x[0], exponent, 0); });
  return select(s.invalid, as_float(c.constant(integer_like(call.operand), f.nan()), call.operand), result);
}

Expr divide_scale_flag(Code& c, std::span<const Expr> x, const FloatCall& call) {
  return division_scale(c, x, call.operand).flag;
}

/// (quotient, denominator, numerator)
Expr divide_fixup(Code& c, std::span<const Expr> x, const FloatCall& call) {
  const FloatFormat f = call.format();
  const Type i = integer_like(call.operand);
  const Expr q = magnitude(x[0], f), d = magnitude(x[1], f), n = magnitude(x[2], f);
  const Expr sign = sign_of(x[1], f) ^ sign_of(x[2], f);
  const auto k = [&](uint64_t v) { return c.constant(i, v); };
  Expr result = q;
  if (call.operand != Type::f16) {
    // The iteration's infinity, or the NaN that came of it, stands for a quotient too large.
    const unsigned round = call.control.round;
    const Expr negative = sign != 0;
    result = select(q >= f.infinity(), overflow(k(f.infinity()), negative, round), result);
    const Expr distance = exponent_field(x[2]) - exponent_field(x[1]);
    const Expr away = round == 1   ? select(negative, k(0), k(1))
                      : round == 2 ? select(negative, k(1), k(0))
                                   : k(0);
    result = select(slt(distance, limits_of(call.operand).underflow), away, result);
  }
  result = select((d == f.infinity()) | (n == 0), k(0), result);
  result = select((d == 0) | (n == f.infinity()), k(f.infinity()), result) | sign;
  const Expr undefined = ((d == 0) & (n == 0)) | ((d == f.infinity()) & (n == f.infinity()));
  result = select(undefined, k(f.nan() | f.sign_bit()), result);
  result = select(d > f.infinity(), bits(x[1]) | f.quiet_bit(), result);
  result = select(n > f.infinity(), bits(x[2]) | f.quiet_bit(), result);
  return as_float(result, call.operand);
}

void refuse_trig_preop(Emitter& e, Value v) { e.refuse(v, "reduction by a table of 2/pi"); }

} // namespace

void add_float_special_handlers(HandlerTable& t) {
  t[index_of(Op::fldexp)] = write_ldexp;
  t[index_of(Op::ffrexp_mant)] = float_call<frexp_mantissa>;
  t[index_of(Op::ffrexp_exp)] = float_call<frexp_exponent>;
  t[index_of(Op::fclass)] = float_call<classify>;
  t[index_of(Op::fdiv_scale)] = float_call<divide_scale>;
  t[index_of(Op::fdiv_scale_flag)] = float_call<divide_scale_flag>;
  t[index_of(Op::fdiv_fixup)] = float_call<divide_fixup>;
  t[index_of(Op::ftrig_preop)] = refuse_trig_preop;
}

} // namespace lanewise::spirv
