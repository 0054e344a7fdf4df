// Selection, representation and integer arithmetic.
#include "spirv/emitter.hpp"

namespace lanewise::spirv {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

/// Operations of two operands that SPIR-V has as they are; the second column is for u1.
struct Direct {
  Op op;
  spv::Op integer, logical;
};
constexpr std::array direct{
    Direct{Op::add, spv::Op::OpIAdd, spv::Op::OpLogicalNotEqual},
    Direct{Op::sub, spv::Op::OpISub, spv::Op::OpLogicalNotEqual},
    Direct{Op::mul, spv::Op::OpIMul, spv::Op::OpLogicalAnd},
    Direct{Op::and_, spv::Op::OpBitwiseAnd, spv::Op::OpLogicalAnd},
    Direct{Op::or_, spv::Op::OpBitwiseOr, spv::Op::OpLogicalOr},
    Direct{Op::xor_, spv::Op::OpBitwiseXor, spv::Op::OpLogicalNotEqual},
    Direct{Op::not_, spv::Op::OpNot, spv::Op::OpLogicalNot},
    Direct{Op::eq, spv::Op::OpIEqual, spv::Op::OpLogicalEqual},
    Direct{Op::ne, spv::Op::OpINotEqual, spv::Op::OpLogicalNotEqual},
    Direct{Op::ult, spv::Op::OpULessThan, spv::Op::OpNop},
    Direct{Op::ule, spv::Op::OpULessThanEqual, spv::Op::OpNop},
    Direct{Op::slt, spv::Op::OpSLessThan, spv::Op::OpNop},
    Direct{Op::sle, spv::Op::OpSLessThanEqual, spv::Op::OpNop},
};

void write_direct(Emitter& e, Value v) {
  const Direct* row = direct.data();
  while (row->op != e.f[v].op) ++row;
  const bool logical = e.f[e.f.operand(v, 0)].type == Type::u1;
  const spv::Op op = logical ? row->logical : row->integer;
  if (e.f[v].operand_count == 1)
    e.make(v, op, {e.operand_id(v, 0)});
  else
    e.make(v, op, {e.operand_id(v, 0), e.operand_id(v, 1)});
}

void write_select(Emitter& e, Value v) {
  e.make(v, spv::Op::OpSelect, {e.operand_id(v, 0), e.operand_id(v, 1), e.operand_id(v, 2)});
}

void write_bitcast(Emitter& e, Value v) {
  if (e.f[v].type == e.f[e.f.operand(v, 0)].type)
    e.bind(v, e.operand_id(v, 0));
  else
    e.make(v, spv::Op::OpBitcast, {e.operand_id(v, 0)});
}

void write_extend(Emitter& e, Value v) {
  const Type from = e.f[e.f.operand(v, 0)].type, to = e.f[v].type;
  const bool sign = e.f[v].op == Op::sext;
  if (from == Type::u1)
    e.make(v, spv::Op::OpSelect,
           {e.operand_id(v, 0), e.types.constant(to, sign ? ~uint64_t{0} : 1), e.types.constant(to, 0)});
  else if (from == to)
    e.bind(v, e.operand_id(v, 0));
  else
    e.make(v, sign ? spv::Op::OpSConvert : spv::Op::OpUConvert, {e.operand_id(v, 0)});
}

void write_trunc(Emitter& e, Value v) {
  if (e.f[v].type == Type::u1)
    e.bind(v, (e.operand(v, 0) & 1) != 0);
  else if (e.f[v].type == e.f[e.f.operand(v, 0)].type)
    e.bind(v, e.operand_id(v, 0));
  else
    e.make(v, spv::Op::OpUConvert, {e.operand_id(v, 0)});
}

void write_extract(Emitter& e, Value v) {
  if (e.f[e.f.operand(v, 0)].components == 1)
    e.bind(v, e.operand_id(v, 0));
  else
    e.make(v, spv::Op::OpCompositeExtract, {e.operand_id(v, 0), static_cast<uint32_t>(e.f[v].imm)});
}

// -- through helper functions
// ------------------------------------------------------------------------------------

using HelperBody = Expr (*)(Code&, std::span<const Expr>, Type);

/// A call of a helper that is found by operation and operand type.
template <HelperBody body>
void write_call(Emitter& e, Value v) {
  const Type t = e.f[e.f.operand(v, 0)].type;
  std::vector<Type> types;
  std::vector<Id> arguments;
  for (const Value o : e.f.operands(v)) {
    types.push_back(e.f[o].type);
    arguments.push_back(e.id(o));
  }
  const Helpers::Key key{static_cast<uint8_t>(Helper::integer),
                         index_of(e.f[v].op) << 8 | static_cast<uint64_t>(t)};
  const Id function = e.helpers.get(key, ir::info(e.f[v].op).name, e.type_of(v), types,
                                    [t](Code& c, std::span<const Expr> x) { return body(c, x, t); });
  e.make_call(v, function, arguments);
}

Expr pack64(Code& c, std::span<const Expr> x, Type) {
  const Id pair = c.op(spv::Op::OpCompositeConstruct, c.types.tuple(Type::i32, 2), {x[0].id, x[1].id});
  return c.expr(c.op(spv::Op::OpBitcast, c.types[Type::i64], {pair}), Type::i64);
}

void write_pack64(Emitter& e, Value v) {
  if (const Value pair = e.patterns.loaded_pair(v))
    e.make(v, spv::Op::OpBitcast, {e.id(pair)});
  else
    write_call<pack64>(e, v);
}

Expr hi32(Code&, std::span<const Expr> x, Type) { return resize(x[0] >> 32, Type::i32); }

/// A rotation has one operand.
void write_funnel(Emitter& e, Value v, const Patterns::Funnel& funnel) {
  const unsigned from = funnel.from;
  const bool rotates = funnel.low == funnel.high;
  constexpr uint64_t of_its_own = uint64_t{1} << 48; // no type of an lo32
  const Helpers::Key key{static_cast<uint8_t>(Helper::integer), of_its_own | uint64_t{rotates} << 24 |
                                                                    uint64_t{from} << 16 |
                                                                    index_of(Op::lo32) << 8};
  constexpr std::array types{Type::i32, Type::i32};
  const Id function =
      e.helpers.get(key, rotates ? "rotate" : "funnel", e.types[Type::i32],
                    std::span(types).first(rotates ? 1 : 2), [from, rotates](Code&, std::span<const Expr> x) {
                      return x[0] >> from | x[rotates ? 0 : 1] << (32 - from);
                    });
  if (rotates) return e.make_call(v, function, {e.id(funnel.low)});
  e.make_call(v, function, {e.id(funnel.low), e.id(funnel.high)});
}

void write_lo32(Emitter& e, Value v) {
  if (const auto funnel = e.patterns.funnel(v); funnel.from != 0) return write_funnel(e, v, funnel);
  e.make(v, spv::Op::OpUConvert, {e.operand_id(v, 0)});
}

/// The high half of a product, from 32-bit parts where the type has no wider one.
Expr wide_product(Code& c, Expr a, Expr b) {
  const auto mask = [](Expr x) { return x & 0xffff'ffff; };
  const Expr a0 = mask(a), a1 = a >> 32, b0 = mask(b), b1 = b >> 32;
  const Expr low = a0 * b0, cross = a1 * b0 + (low >> 32), other = a0 * b1 + mask(cross);
  (void)c;
  return a1 * b1 + (cross >> 32) + (other >> 32);
}

Expr mul_hi(Code& c, std::span<const Expr> x, Type t, bool sign) {
  if (ir::bit_width(t) < 32) {
    const Expr p = resize(x[0], Type::i32, sign) * resize(x[1], Type::i32, sign);
    return resize(p >> ir::bit_width(t), t);
  }
  if (t == Type::i64) {
    const Expr high = wide_product(c, x[0], x[1]);
    if (!sign) return high;
    const Expr zero = c.constant(t, 0);
    return high - select(slt(x[0], 0), x[1], zero) - select(slt(x[1], 0), x[0], zero);
  }
  const Id pair = c.module.type(spv::Op::OpTypeStruct, {c.types[t], c.types[t]});
  const Id both = c.op(sign ? spv::Op::OpSMulExtended : spv::Op::OpUMulExtended, pair, {x[0].id, x[1].id});
  return c.expr(c.op(spv::Op::OpCompositeExtract, c.types[t], {both, 1}), t);
}
Expr mul_hi_u(Code& c, std::span<const Expr> x, Type t) { return mul_hi(c, x, t, false); }
Expr mul_hi_s(Code& c, std::span<const Expr> x, Type t) { return mul_hi(c, x, t, true); }

Expr one_if(Expr condition, Type t) {
  return select(condition, condition.code->constant(t, 1), condition.code->constant(t, 0));
}
Expr add_c(Code&, std::span<const Expr> x, Type t) { return x[0] + x[1] + one_if(x[2], t); }
Expr sub_c(Code&, std::span<const Expr> x, Type t) { return x[0] - x[1] - one_if(x[2], t); }
/// a + b + c overflows if a + b does, or if that is all ones and c is set.
Expr carry(Code&, std::span<const Expr> x, Type t) {
  const Expr sum = x[0] + x[1];
  return (sum < x[0]) | ((sum == ~uint64_t{0}) & x[2]);
  (void)t;
}
Expr borrow(Code&, std::span<const Expr> x, Type) { return (x[0] < x[1]) | ((x[0] == x[1]) & x[2]); }

/// With a carry of false, the plain operations do.
template <Op op>
void write_carry(Emitter& e, Value v) {
  const bool no_carry = e.f.is_constant(e.f.operand(v, 2), 0);
  if constexpr (op == Op::add_c) {
    if (no_carry) return e.make(v, spv::Op::OpIAdd, {e.operand_id(v, 0), e.operand_id(v, 1)});
    write_call<add_c>(e, v);
  } else if constexpr (op == Op::sub_c) {
    if (no_carry) return e.make(v, spv::Op::OpISub, {e.operand_id(v, 0), e.operand_id(v, 1)});
    write_call<sub_c>(e, v);
  } else if constexpr (op == Op::carry) {
    // a + b overflows exactly when b > ~a.
    if (no_carry) return e.bind(v, ~e.operand(v, 0) < e.operand(v, 1));
    write_call<carry>(e, v);
  } else {
    if (no_carry) return e.bind(v, e.operand(v, 0) < e.operand(v, 1));
    write_call<borrow>(e, v);
  }
}

struct MinMax {
  Op op;
  GLSLstd450 glsl;
};
constexpr std::array min_max{MinMax{Op::umin, GLSLstd450UMin}, MinMax{Op::umax, GLSLstd450UMax},
                             MinMax{Op::smin, GLSLstd450SMin}, MinMax{Op::smax, GLSLstd450SMax}};

void write_min_max(Emitter& e, Value v) {
  const MinMax* row = min_max.data();
  while (row->op != e.f[v].op) ++row;
  e.make_glsl(v, row->glsl, {e.operand_id(v, 0), e.operand_id(v, 1)});
}

} // namespace

void add_integer_handlers(HandlerTable& t) {
  for (const Direct& d : direct) t[index_of(d.op)] = write_direct;
  for (const MinMax& m : min_max) t[index_of(m.op)] = write_min_max;
  t[index_of(Op::select)] = write_select;
  t[index_of(Op::bitcast)] = write_bitcast;
  t[index_of(Op::zext)] = write_extend;
  t[index_of(Op::sext)] = write_extend;
  t[index_of(Op::trunc)] = write_trunc;
  t[index_of(Op::extract)] = write_extract;
  t[index_of(Op::pack64)] = write_pack64;
  t[index_of(Op::lo32)] = write_lo32;
  t[index_of(Op::hi32)] = write_call<hi32>;
  t[index_of(Op::mul_hi_u)] = write_call<mul_hi_u>;
  t[index_of(Op::mul_hi_s)] = write_call<mul_hi_s>;
  t[index_of(Op::add_c)] = write_carry<Op::add_c>;
  t[index_of(Op::sub_c)] = write_carry<Op::sub_c>;
  t[index_of(Op::carry)] = write_carry<Op::carry>;
  t[index_of(Op::borrow)] = write_carry<Op::borrow>;
}

} // namespace lanewise::spirv
