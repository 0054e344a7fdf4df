// Shifts, bit fields, counting and searching of bits. SPIR-V leaves shifts by the width or more undefined and
// has the others for 32 bits only.
#include "spirv/emitter.hpp"

namespace lanewise::spirv {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

spv::Op shift_op(Op op) {
  return op == Op::shl    ? spv::Op::OpShiftLeftLogical
         : op == Op::lshr ? spv::Op::OpShiftRightLogical
                          : spv::Op::OpShiftRightArithmetic;
}

Helpers::Key key_of(Emitter& e, Value v) {
  const Type t = e.f[e.f.operand(v, 0)].type;
  return {static_cast<uint8_t>(Helper::integer), index_of(e.f[v].op) << 8 | static_cast<uint64_t>(t)};
}

/// The count is below the width as it stands: a constant, or `x & constant`.
bool in_range(const ir::Function& f, Value count) {
  const unsigned width = ir::bit_width(f[count].type);
  if (f.is_constant(count)) return f[count].imm < width;
  if (f[count].op != Op::and_) return false;
  for (const Value o : f.operands(count))
    if (f.is_constant(o) && f[o].imm < width) return true;
  return false;
}

void write_shift(Emitter& e, Value v) {
  const Value count = e.f.operand(v, 1);
  const spv::Op op = shift_op(e.f[v].op);
  const Type t = e.f[v].type;
  const unsigned mask = ir::bit_width(t) - 1;
  if (e.f.is_constant(count))
    return e.make(v, op, {e.operand_id(v, 0), e.types.constant(t, e.f[count].imm & mask)});
  if (in_range(e.f, count)) return e.make(v, op, {e.operand_id(v, 0), e.id(count)});
  const Id function =
      e.helpers.get(key_of(e, v), ir::info(e.f[v].op).name, e.types[t], std::array{t, t},
                    [op, mask](Code& c, std::span<const Expr> x) { return c.binary(op, x[0], x[1] & mask); });
  e.make_call(v, function, {e.operand_id(v, 0), e.id(count)});
}

// -- counting and searching
// ------------------------------------------------------------------------------------------

Expr reverse32(Expr x) { return x.code->unary(spv::Op::OpBitReverse, x, Type::i32); }
Expr count32(Expr x) { return x.code->unary(spv::Op::OpBitCount, x, Type::i32); }
Expr find32(Expr x, GLSLstd450 which) {
  return x.code->expr(x.code->glsl(which, x.code->types[Type::i32], {x.id}), Type::i32);
}
Expr low(Expr x) { return resize(x, Type::i32); }
Expr high(Expr x) { return resize(x >> 32, Type::i32); }
Expr join(Expr lo, Expr hi) { return resize(lo, Type::i64) | resize(hi, Type::i64) << 32; }

Expr narrow_or_wide(Op op, Expr x) {
  const unsigned width = ir::bit_width(x.type);
  const bool wide = width == 64;
  switch (op) {
  case Op::bit_reverse:
    if (wide) return join(reverse32(high(x)), reverse32(low(x)));
    return resize(reverse32(resize(x, Type::i32)) >> (32 - width), x.type);
  case Op::popcount: return wide ? count32(low(x)) + count32(high(x)) : count32(resize(x, Type::i32));
  case Op::find_lsb: {
    if (!wide) return find32(resize(x, Type::i32), GLSLstd450FindILsb);
    const Expr above = find32(high(x), GLSLstd450FindILsb);
    return select(low(x) != 0, find32(low(x), GLSLstd450FindILsb), select(high(x) != 0, above + 32, above));
  }
  default: {
    if (!wide) return find32(resize(x, Type::i32), GLSLstd450FindUMsb);
    return select(high(x) != 0, find32(high(x), GLSLstd450FindUMsb) + 32, find32(low(x), GLSLstd450FindUMsb));
  }
  }
}

void write_count(Emitter& e, Value v) {
  const Op op = e.f[v].op;
  const Value source = e.f.operand(v, 0);
  if (e.f[source].type == Type::i32) {
    switch (op) {
    case Op::bit_reverse: return e.make(v, spv::Op::OpBitReverse, {e.id(source)});
    case Op::popcount: return e.make(v, spv::Op::OpBitCount, {e.id(source)});
    case Op::find_lsb: return e.make_glsl(v, GLSLstd450FindILsb, {e.id(source)});
    default: return e.make_glsl(v, GLSLstd450FindUMsb, {e.id(source)});
    }
  }
  const Id function =
      e.helpers.get(key_of(e, v), ir::info(op).name, e.type_of(v), std::array{e.f[source].type},
                    [op](Code&, std::span<const Expr> x) { return narrow_or_wide(op, x[0]); });
  e.make_call(v, function, {e.id(source)});
}

// -- fields: offset and count modulo 32, the field ends at bit 31
// ------------------------------------------------------

Expr field(std::span<const Expr> x, bool sign) {
  Code& c = *x[0].code;
  const Expr offset = x[1] & 31, wanted = x[2] & 31, room = c.constant(Type::i32, 32) - offset;
  const Expr bits = select(wanted < room, wanted, room);
  return c.expr(c.op(sign ? spv::Op::OpBitFieldSExtract : spv::Op::OpBitFieldUExtract, c.types[Type::i32],
                     {x[0].id, offset.id, bits.id}),
                Type::i32);
}

void write_field(Emitter& e, Value v) {
  const bool sign = e.f[v].op == Op::sbfe;
  const Value offset = e.f.operand(v, 1), count = e.f.operand(v, 2);
  const spv::Op op = sign ? spv::Op::OpBitFieldSExtract : spv::Op::OpBitFieldUExtract;
  if (e.f.is_constant(offset) && e.f.is_constant(count)) {
    const auto at = static_cast<uint32_t>(e.f[offset].imm & 31);
    const auto bits = std::min(static_cast<uint32_t>(e.f[count].imm & 31), 32 - at);
    return e.make(v, op, {e.operand_id(v, 0), e.module.u32(at), e.module.u32(bits)});
  }
  constexpr std::array types{Type::i32, Type::i32, Type::i32};
  const Id function = e.helpers.get(key_of(e, v), ir::info(e.f[v].op).name, e.types[Type::i32], types,
                                    [sign](Code&, std::span<const Expr> x) { return field(x, sign); });
  e.make_call(v, function, {e.operand_id(v, 0), e.id(offset), e.id(count)});
}

} // namespace

void add_bit_handlers(HandlerTable& t) {
  for (const Op op : {Op::shl, Op::lshr, Op::ashr}) t[index_of(op)] = write_shift;
  for (const Op op : {Op::bit_reverse, Op::popcount, Op::find_lsb, Op::find_msb})
    t[index_of(op)] = write_count;
  for (const Op op : {Op::ubfe, Op::sbfe}) t[index_of(op)] = write_field;
}

} // namespace lanewise::spirv
