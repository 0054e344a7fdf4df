// Float arithmetic, comparison, rounding to integers, and the approximate functions.
#include "spirv/float_call.hpp"

namespace lanewise::spirv {

using ir::FloatControl;
using ir::Op;
using ir::Type;
using ir::Value;

void write_float_call(Emitter& e, Value v, FloatBody body) {
  const ir::Inst& inst = e.f[v];
  const FloatCall call{
      e.options, e.helpers, inst.op, inst.type, e.f[e.f.operand(v, 0)].type, FloatControl::unpack(inst.imm),
      inst.imm};
  std::array<Type, 4> types{};
  std::array<Id, 4> arguments{};
  const auto operands = e.f.operands(v);
  for (size_t i = 0; i < operands.size(); ++i) {
    types[i] = e.f[operands[i]].type;
    arguments[i] = e.id(operands[i]);
  }
  const uint64_t variant = index_of(inst.op) << 32 | static_cast<uint64_t>(inst.type) << 24 |
                           static_cast<uint64_t>(call.operand) << 16 | (inst.imm & 0xffff);
  const auto whole = [&](Code& c, std::span<const Expr> x) {
    std::vector<Expr> in(x.begin(), x.end());
    // The division's steps keep denormal operands whatever the mode says (ISA, V_DIV_FMAS_F32).
    const bool division =
        call.op == Op::fdiv_scale || call.op == Op::fdiv_scale_flag || call.op == Op::fdiv_fmas;
    if (call.control.flush_in && !division)
      for (Expr& i : in)
        if (ir::is_float(i.type)) i = flush(i);
    const Expr result = body(c, in, call);
    return call.control.flush_out && ir::is_float(result.type) ? flush(result) : result;
  };
  const Id function = e.helpers.get({static_cast<uint8_t>(Helper::floating), variant}, ir::info(inst.op).name,
                                    e.type_of(v), std::span(types).first(operands.size()), whole);
  e.make_call(v, function, std::span(arguments).first(operands.size()));
}

namespace {

[[nodiscard]] FloatControl control(Emitter& e, Value v) { return FloatControl::unpack(e.f[v].imm); }

// -- arithmetic
// ---------------------------------------------------------------------------------------------------

[[nodiscard]] unsigned width_index(Type t) { return t == Type::f16 ? 0 : t == Type::f32 ? 1 : 2; }
[[nodiscard]] bool has_fused(const EmitOptions& o, Type t) { return o.device.fused_fma[width_index(t)]; }
Expr multiply_add(Code& c, std::span<const Expr> x, const FloatCall& call) {
  if (call.control.round == 0 && has_fused(call.options, call.type)) return fma(x[0], x[1], x[2]);
  return soft_fma(c, x, call);
}
/// Directed rounding: a * 1 + b and a * b + -0 are the sum and the product.
Expr add(Code& c, std::span<const Expr> x, const FloatCall& call) {
  if (call.control.round == 0) return x[0] + x[1];
  const Expr one = as_float(c.constant(integer_like(call.type), call.format().one()), call.type);
  return soft_fma(c, std::array{x[0], one, x[1]}, call);
}
Expr multiply(Code& c, std::span<const Expr> x, const FloatCall& call) {
  if (call.control.round == 0) return x[0] * x[1];
  const Expr zero = as_float(c.constant(integer_like(call.type), call.format().sign_bit()), call.type);
  return soft_fma(c, std::array{x[0], x[1], zero}, call);
}

template <spv::Op op, FloatBody body>
void write_arithmetic(Emitter& e, Value v) {
  if (!plain(control(e, v))) return write_float_call(e, v, body);
  e.make(v, op, {e.operand_id(v, 0), e.operand_id(v, 1)});
  e.module.no_contraction(e.id(v));
}

void write_add(Emitter& e, Value v) {
  const auto negated = e.patterns.negated_operand(v);
  if (!negated) return write_arithmetic<spv::Op::OpFAdd, add>(e, v);
  const Value subtrahend = e.f.operand(e.f.operand(v, *negated), 0);
  e.make(v, spv::Op::OpFSub, {e.operand_id(v, 1 - *negated), e.id(subtrahend)});
  e.module.no_contraction(e.id(v));
}

void write_fma(Emitter& e, Value v) {
  if (!plain(control(e, v)) || !has_fused(e.options, e.f[v].type))
    return write_float_call(e, v, multiply_add);
  e.make_glsl(v, GLSLstd450Fma, {e.operand_id(v, 0), e.operand_id(v, 1), e.operand_id(v, 2)});
  e.module.no_contraction(e.id(v));
}

/// v_div_fmas: a * b + c, times 2^+-scale when v_div_scale had scaled, all with one rounding. The quotient
/// (c) is then far above or below 1, which tells the direction.
Expr divide_fmas(Code& c, std::span<const Expr> x, const FloatCall& call) {
  const Id then = c.module.new_id(), otherwise = c.module.new_id(), merge = c.module.new_id();
  c.selection(merge);
  c.branch_if(x[3].id, then, otherwise);
  c.start(then);
  const Expr scaled = soft_scaled_fma(c, x, call);
  const Id from_then = c.block;
  c.branch(merge);
  c.start(otherwise);
  const Expr plain_sum = multiply_add(c, x.first(3), call);
  const Id from_otherwise = c.block;
  c.branch(merge);
  c.start(merge);
  return c.expr(c.phi(c.types[call.type], {scaled.id, from_then, plain_sum.id, from_otherwise}), call.type);
}

// -- minimum and maximum
// --------------------------------------------------------------------------------------------

/// The other operand if one is NaN; -0 is less than +0. In IEEE mode a signalling NaN wins, quieted.
Expr extremum(Code& c, std::span<const Expr> x, const FloatCall& call) {
  const FloatFormat f = call.format();
  const bool least = call.op == Op::fmin;
  const Expr a = x[0], b = x[1];
  const Expr first = (least ? a < b : b < a) | (b != b);
  // Equal numbers differ at most in the sign of zero.
  const Expr both = least ? bits(a) | bits(b) : bits(a) & bits(b);
  Expr result = select(a == b, as_float(both, a.type), select(first, a, b));
  if (!call.control.ieee) return result;
  for (const Expr& s : {b, a}) {
    const Expr signalling = is_nan(s, f) & ((bits(s) & f.quiet_bit()) == 0);
    result = select(signalling, as_float(c.constant(integer_like(s.type), f.nan()), s.type), result);
  }
  return result;
}

/// To [0, 1]. NaN is 0 with DX10_CLAMP and stays NaN without.
Expr clamp(Code& c, std::span<const Expr> x, const FloatCall& call) {
  const FloatFormat f = call.format();
  const auto number = [&](uint64_t b) { return as_float(c.constant(integer_like(call.type), b), call.type); };
  const Expr zero = number(0), one = number(f.one());
  const Expr inside = select(x[0] > zero, select(x[0] < one, x[0], one), zero);
  return call.control.dx10_clamp ? inside : select(x[0] != x[0], x[0], inside);
}

Expr canonicalize(Code&, std::span<const Expr> x, const FloatCall& call) {
  const FloatFormat f = call.format();
  return as_float(select(is_nan(x[0], f), bits(x[0]) | f.quiet_bit(), bits(x[0])), x[0].type);
}

// -- rounding to integers
// --------------------------------------------------------------------------------------------

/// Trunc, RoundEven, Floor or Ceil.
Expr rounded(GLSLstd450 op, Expr x, const EmitOptions& o) {
  return o.device.exact_rounding[width_index(x.type)] ? glsl(op, x) : soft_round(op, x);
}

template <GLSLstd450 op>
Expr round_to_integer(Code&, std::span<const Expr> x, const FloatCall& call) {
  return rounded(op, x[0], call.options);
}

template <GLSLstd450 op>
void write_rounding(Emitter& e, Value v) {
  const FloatControl c = control(e, v);
  if (c.flush_in || c.flush_out || !e.options.device.exact_rounding[width_index(e.f[v].type)])
    return write_float_call(e, v, round_to_integer<op>);
  e.make_glsl(v, op, {e.operand_id(v, 0)});
}

template <GLSLstd450 op>
Expr through_glsl(Code&, std::span<const Expr> x, const FloatCall&) {
  return glsl(op, x[0]);
}

template <GLSLstd450 op>
void write_glsl(Emitter& e, Value v) {
  const FloatControl c = control(e, v);
  if (c.flush_in || c.flush_out) return write_float_call(e, v, through_glsl<op>);
  e.make_glsl(v, op, {e.operand_id(v, 0)});
}

/// x - floor(x), at most the number before 1; the sum is exact but for that case.
Expr fract(Code& c, std::span<const Expr> x, const FloatCall& call) {
  const FloatFormat f = call.format();
  const Expr rest = x[0] - rounded(GLSLstd450Floor, x[0], call.options);
  const Expr largest = as_float(c.constant(integer_like(call.type), f.one() - 1), call.type);
  return select(rest < largest, rest, select(rest != rest, rest, largest));
}

// -- approximate functions: accuracy is the driver's
// ---------------------------------------------------------------------

Expr one(Code& c, Type t) { return as_float(c.constant(integer_like(t), format_of(t).one()), t); }

Expr divide(Expr a, Expr b) { return a.code->binary(spv::Op::OpFDiv, a, b); }

Expr reciprocal(Code& c, std::span<const Expr> x, const FloatCall& call) {
  return divide(one(c, call.type), x[0]);
}
Expr reciprocal_root(Code& c, std::span<const Expr> x, const FloatCall& call) {
  return divide(one(c, call.type), glsl(GLSLstd450Sqrt, x[0]));
}

/// GLSL.std.450 has these for 16 and 32 bits; the guest has no 64-bit form of them.
template <GLSLstd450 op>
Expr through_f32(Code& c, std::span<const Expr> x, const FloatCall&) {
  if (x[0].type != Type::f64) return glsl(op, x[0]);
  return c.unary(spv::Op::OpFConvert, glsl(op, c.unary(spv::Op::OpFConvert, x[0], Type::f32)), Type::f64);
}

template <GLSLstd450 op>
void write_single(Emitter& e, Value v) {
  if (!plain(control(e, v)) || e.f[v].type == Type::f64) return write_float_call(e, v, through_f32<op>);
  e.make_glsl(v, op, {e.operand_id(v, 0)});
}

/// sin(2 pi x): the nearest whole turns are dropped exactly before the driver's function sees the angle, so
/// that small angles of either sign keep their bits.
template <GLSLstd450 op>
Expr turns(Code& c, std::span<const Expr> x, const FloatCall& call) {
  const bool convert = call.type != Type::f32;
  const Expr single = convert ? c.unary(spv::Op::OpFConvert, x[0], Type::f32) : x[0];
  const Expr rest = single - rounded(GLSLstd450RoundEven, single, call.options);
  const Expr circle = as_float(c.constant(Type::i32, 0x40c9'0fdb), Type::f32); // 2 pi
  Expr y = glsl(op, rest * circle);
  if (op == GLSLstd450Sin) // -0 less -0 is +0
    y = select(single == as_float(c.constant(Type::i32, 0), Type::f32), single, y);
  return convert ? c.unary(spv::Op::OpFConvert, y, call.type) : y;
}

void write_reciprocal(Emitter& e, Value v) {
  if (!plain(control(e, v))) return write_float_call(e, v, reciprocal);
  const Type t = e.f[v].type;
  e.make(v, spv::Op::OpFDiv, {e.types.constant(t, format_of(t).one()), e.operand_id(v, 0)});
}

// -- comparison
// -----------------------------------------------------------------------------------------------------------

/// By FloatCompare set; Nop where SPIR-V has no single operation.
constexpr std::array<spv::Op, 16> comparisons{spv::Op::OpNop,
                                              spv::Op::OpFOrdLessThan,
                                              spv::Op::OpFOrdEqual,
                                              spv::Op::OpFOrdLessThanEqual,
                                              spv::Op::OpFOrdGreaterThan,
                                              spv::Op::OpFOrdNotEqual,
                                              spv::Op::OpFOrdGreaterThanEqual,
                                              spv::Op::OpNop,
                                              spv::Op::OpNop,
                                              spv::Op::OpFUnordLessThan,
                                              spv::Op::OpFUnordEqual,
                                              spv::Op::OpFUnordLessThanEqual,
                                              spv::Op::OpFUnordGreaterThan,
                                              spv::Op::OpFUnordNotEqual,
                                              spv::Op::OpFUnordGreaterThanEqual,
                                              spv::Op::OpNop};

Expr compare(Code& c, std::span<const Expr> x, const FloatCall& call) {
  const unsigned predicate = ir::fcmp_predicate(call.imm);
  if (const spv::Op op = comparisons[predicate]; op != spv::Op::OpNop) return c.compare(op, x[0], x[1]);
  if (predicate == 0 || predicate == 15) return c.constant(Type::u1, predicate);
  const Expr unordered = (x[0] != x[0]) | (x[1] != x[1]);
  return predicate == 8 ? unordered : !unordered;
}

void write_compare(Emitter& e, Value v) {
  const FloatControl c = control(e, v);
  const unsigned predicate = ir::fcmp_predicate(e.f[v].imm);
  const spv::Op op = comparisons[predicate];
  if (c.flush_in) return write_float_call(e, v, compare);
  if (op != spv::Op::OpNop) return e.make(v, op, {e.operand_id(v, 0), e.operand_id(v, 1)});
  if (e.f.operand(v, 0) == e.f.operand(v, 1) && (predicate == 7 || predicate == 8))
    return e.make(v, predicate == 7 ? spv::Op::OpFOrdEqual : spv::Op::OpFUnordNotEqual,
                  {e.operand_id(v, 0), e.operand_id(v, 0)});
  write_float_call(e, v, compare);
}

void write_negate(Emitter& e, Value v) { e.make(v, spv::Op::OpFNegate, {e.operand_id(v, 0)}); }
void write_absolute(Emitter& e, Value v) { e.make_glsl(v, GLSLstd450FAbs, {e.operand_id(v, 0)}); }

} // namespace

void add_float_handlers(HandlerTable& t) {
  t[index_of(Op::fadd)] = write_add;
  t[index_of(Op::fmul)] = write_arithmetic<spv::Op::OpFMul, multiply>;
  t[index_of(Op::ffma)] = write_fma;
  t[index_of(Op::fdiv_fmas)] = float_call<divide_fmas>;
  t[index_of(Op::fmin)] = float_call<extremum>;
  t[index_of(Op::fmax)] = float_call<extremum>;
  t[index_of(Op::fneg)] = write_negate;
  t[index_of(Op::fabs)] = write_absolute;
  t[index_of(Op::fclamp)] = float_call<clamp>;
  t[index_of(Op::fcanonicalize)] = float_call<canonicalize>;
  t[index_of(Op::ftrunc)] = write_rounding<GLSLstd450Trunc>;
  t[index_of(Op::ffloor)] = write_rounding<GLSLstd450Floor>;
  t[index_of(Op::fceil)] = write_rounding<GLSLstd450Ceil>;
  t[index_of(Op::frndne)] = write_rounding<GLSLstd450RoundEven>;
  t[index_of(Op::ffract)] = float_call<fract>;
  t[index_of(Op::fsqrt)] = write_glsl<GLSLstd450Sqrt>;
  t[index_of(Op::frcp)] = write_reciprocal;
  t[index_of(Op::frsq)] = float_call<reciprocal_root>;
  t[index_of(Op::fexp2)] = write_single<GLSLstd450Exp2>;
  t[index_of(Op::flog2)] = write_single<GLSLstd450Log2>;
  t[index_of(Op::fsin)] = float_call<turns<GLSLstd450Sin>>;
  t[index_of(Op::fcos)] = float_call<turns<GLSLstd450Cos>>;
  t[index_of(Op::fcmp)] = write_compare;
}

} // namespace lanewise::spirv
