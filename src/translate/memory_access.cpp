#include "translate/memory_access.hpp"

#include "rdna2/opcode_info.hpp"

#include <algorithm>

namespace lanewise::translate {

using ir::AtomicOp;
using ir::Op;
using rdna2::OpcodeFlag;

Shape shape_of(const Instruction& i, ir::Space space) {
  const auto& row = rdna2::info(i.opcode);
  Shape s{.d16 = row.has(OpcodeFlag::d16), .d16_hi = row.has(OpcodeFlag::d16_hi)};
  const uint8_t bytes = row.access.bytes;
  s.components = static_cast<uint8_t>(std::max(1, bytes / 4));
  s.access = {.space = space,
              .bytes = std::min<uint8_t>(bytes, 4),
              .align = std::min<uint8_t>(bytes, 4),
              .sign_extend = row.has(OpcodeFlag::sign_extend),
              .coherent = i.glc || i.dlc};
  return s;
}

void set_loaded(Translator& t, const Shape& shape, unsigned first, Value loaded) {
  if (shape.d16 || shape.d16_hi) return t.set_half(first, t.low16(loaded), shape.d16_hi);
  for (unsigned k = 0; k < shape.components; ++k) t.set_vgpr(first + k, t.b.extract(loaded, k));
}

std::vector<Value> stored_data(Translator& t, const Shape& shape, const Operand& data) {
  std::vector<Value> values;
  for (unsigned k = 0; k < shape.components; ++k) values.push_back(t.raw32(data, k));
  if (shape.d16_hi) values[0] = t.b.lshr(values[0], t.b.i32(16));
  return values;
}

namespace {

/// Scratch belongs to the lane, so no other lane's access can meet it.
bool is_ordered(ir::Space space) { return space != ir::Space::scratch; }

} // namespace

void load(Translator& t, const Instruction& i, ir::Space space, Value address) {
  const Shape shape = shape_of(i, space);
  if (is_ordered(space)) t.before_access(false, space);
  const Value v = t.b.load(Type::i32, address, t.active(), shape.access, shape.components);
  if (is_ordered(space)) t.after_access(false, space);
  set_loaded(t, shape, i.dst[0].reg, v);
}

void store(Translator& t, const Instruction& i, ir::Space space, Value address, const Operand& data) {
  const Shape shape = shape_of(i, space);
  const auto values = stored_data(t, shape, data);
  if (is_ordered(space)) t.before_access(true, space);
  t.b.store(address, t.active(), values, shape.access);
  if (is_ordered(space)) t.after_access(true, space);
}

namespace {

bool is_float(AtomicOp op) {
  return op == AtomicOp::fcmpswap || op == AtomicOp::fmin || op == AtomicOp::fmax || op == AtomicOp::fadd;
}

Type atomic_type(const Instruction& i, AtomicOp op) {
  const bool wide = rdna2::info(i.opcode).access.bytes == 8;
  if (is_float(op)) return wide ? Type::f64 : Type::f32;
  return wide ? Type::i64 : Type::i32;
}

} // namespace

Value register_value(Translator& t, unsigned first, Type type) {
  const bool wide = ir::bit_width(type) == 64;
  const Operand o{.kind = OperandKind::vgpr,
                  .dwords = static_cast<uint8_t>(wide ? 2 : 1),
                  .reg = static_cast<uint16_t>(first)};
  const Value v = wide ? t.raw64(o) : t.raw32(o);
  return ir::is_float(type) ? t.b.bitcast(v, type) : v;
}

AtomicOperands atomic_operands(Translator& t, const Instruction& i, AtomicOp op, const Operand& data) {
  const Type type = atomic_type(i, op);
  AtomicOperands o{.data = register_value(t, data.reg, type), .compare = {}};
  if (op == AtomicOp::cmpswap || op == AtomicOp::fcmpswap)
    o.compare = register_value(t, data.reg + ir::bit_width(type) / 32, type);
  return o;
}

void set_atomic_result(Translator& t, const Instruction& i, Value old) {
  if (i.dst[0].is_none()) return;
  const Type type = t.b.function[old].type;
  const bool wide = ir::bit_width(type) == 64;
  const Value bits = ir::is_float(type) ? t.b.bitcast(old, wide ? Type::i64 : Type::i32) : old;
  if (wide)
    t.set_b64(i, bits);
  else
    t.set_vgpr(i.dst[0].reg, bits);
}

ir::MemoryAccess atomic_access(const Instruction& i, ir::Space space, AtomicOp op) {
  const uint8_t bytes = rdna2::info(i.opcode).access.bytes;
  return {.space = space,
          .atomic = op,
          .bytes = bytes,
          .align = bytes,
          .coherent = true,
          .return_old = !i.dst[0].is_none()};
}

} // namespace lanewise::translate
