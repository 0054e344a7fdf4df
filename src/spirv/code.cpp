#include "spirv/code.hpp"

namespace lanewise::spirv {

using ir::Type;

Id Types::operator[](Type t) {
  Id& id = ids_[static_cast<unsigned>(t)];
  if (id != 0) return id;
  if (t == Type::none)
    id = module.type_void();
  else if (t == Type::u1)
    id = module.type_bool();
  else
    id = ir::is_float(t) ? module.type_float(ir::bit_width(t)) : module.type_int(ir::bit_width(t));
  return id;
}

Id Types::tuple(Type t, unsigned components) {
  const Id element = (*this)[t];
  if (components == 1) return element;
  if (components <= 4) return module.type_vector(element, components);
  return module.type_array(element, components, ir::bit_width(t) / 8);
}

Id Types::constant(Type t, uint64_t bits) {
  if (t == Type::u1) return module.constant_bool(bits != 0);
  const unsigned width = ir::bit_width(t);
  return module.constant((*this)[t], width, width >= 64 ? bits : bits & ((uint64_t{1} << width) - 1));
}

void Code::op_as(Id id, spv::Op op, Id type, std::span<const uint32_t> operands) {
  words.push_back(static_cast<uint32_t>(operands.size() + 3) << 16 | static_cast<uint32_t>(op));
  words.push_back(type);
  words.push_back(id);
  words.insert(words.end(), operands.begin(), operands.end());
}

Id Code::glsl(GLSLstd450 which, Id type, std::initializer_list<uint32_t> operands) {
  const Id id = module.new_id();
  const Id set = module.glsl();
  words.push_back(static_cast<uint32_t>(operands.size() + 5) << 16 |
                  static_cast<uint32_t>(spv::Op::OpExtInst));
  words.insert(words.end(), {type, id, set, static_cast<uint32_t>(which)});
  words.insert(words.end(), operands.begin(), operands.end());
  return id;
}

namespace {

spv::Op choose(Expr a, spv::Op integer, spv::Op floating, spv::Op logical) {
  return a.type == Type::u1 ? logical : ir::is_float(a.type) ? floating : integer;
}
Expr exact(Expr e) {
  if (ir::is_float(e.type)) e.code->module.no_contraction(e.id);
  return e;
}

} // namespace

// clang-format off
Expr operator+(Expr a, Expr b) { return exact(a.code->binary(choose(a, spv::Op::OpIAdd, spv::Op::OpFAdd, spv::Op::OpNop), a, b)); }
Expr operator-(Expr a, Expr b) { return exact(a.code->binary(choose(a, spv::Op::OpISub, spv::Op::OpFSub, spv::Op::OpNop), a, b)); }
Expr operator*(Expr a, Expr b) { return exact(a.code->binary(choose(a, spv::Op::OpIMul, spv::Op::OpFMul, spv::Op::OpNop), a, b)); }
Expr operator&(Expr a, Expr b) { return a.code->binary(choose(a, spv::Op::OpBitwiseAnd, spv::Op::OpNop, spv::Op::OpLogicalAnd), a, b); }
Expr operator|(Expr a, Expr b) { return a.code->binary(choose(a, spv::Op::OpBitwiseOr, spv::Op::OpNop, spv::Op::OpLogicalOr), a, b); }
Expr operator^(Expr a, Expr b) { return a.code->binary(choose(a, spv::Op::OpBitwiseXor, spv::Op::OpNop, spv::Op::OpLogicalNotEqual), a, b); }
Expr operator<<(Expr a, Expr b) { return a.code->binary(spv::Op::OpShiftLeftLogical, a, b); }
Expr operator>>(Expr a, Expr b) { return a.code->binary(spv::Op::OpShiftRightLogical, a, b); }
Expr operator==(Expr a, Expr b) { return a.code->compare(choose(a, spv::Op::OpIEqual, spv::Op::OpFOrdEqual, spv::Op::OpLogicalEqual), a, b); }
Expr operator!=(Expr a, Expr b) { return a.code->compare(choose(a, spv::Op::OpINotEqual, spv::Op::OpFUnordNotEqual, spv::Op::OpLogicalNotEqual), a, b); }
Expr operator<(Expr a, Expr b) { return a.code->compare(choose(a, spv::Op::OpULessThan, spv::Op::OpFOrdLessThan, spv::Op::OpNop), a, b); }
Expr operator<=(Expr a, Expr b) { return a.code->compare(choose(a, spv::Op::OpULessThanEqual, spv::Op::OpFOrdLessThanEqual, spv::Op::OpNop), a, b); }
Expr operator~(Expr a) { return a.code->unary(choose(a, spv::Op::OpNot, spv::Op::OpNop, spv::Op::OpLogicalNot), a, a.type); }
// clang-format on

Expr slt(Expr a, Expr b) { return a.code->compare(spv::Op::OpSLessThan, a, b); }
Expr sle(Expr a, Expr b) { return a.code->compare(spv::Op::OpSLessThanEqual, a, b); }
Expr ashr(Expr a, Expr b) { return a.code->binary(spv::Op::OpShiftRightArithmetic, a, b); }

Expr select(Expr condition, Expr yes, Expr no) {
  Code& c = *condition.code;
  return {&c, c.op(spv::Op::OpSelect, c.types[yes.type], {condition.id, yes.id, no.id}), yes.type};
}

Expr bitcast(Expr a, Type to) { return a.type == to ? a : a.code->unary(spv::Op::OpBitcast, a, to); }

Expr resize(Expr a, Type to, bool sign) {
  if (a.type == to) return a;
  return a.code->unary(sign ? spv::Op::OpSConvert : spv::Op::OpUConvert, a, to);
}

Expr fma(Expr a, Expr b, Expr c) {
  Code& code = *a.code;
  return exact({&code, code.glsl(GLSLstd450Fma, code.types[a.type], {a.id, b.id, c.id}), a.type});
}

Id choose(Code& c, Expr condition, Id type, bool has_value, const CodePart& yes, const CodePart& no) {
  ModuleBuilder& m = c.module;
  const Id then = m.new_id(), otherwise = no ? m.new_id() : 0, merge = m.new_id(), before = c.block;
  c.selection(merge);
  c.branch_if(condition.id, then, no ? otherwise : merge);
  c.start(then);
  const Id a = yes(c), from_a = c.block;
  c.branch(merge);
  Id b = has_value && !no ? m.null(type) : 0, from_b = before;
  if (no) {
    c.start(otherwise);
    b = no(c);
    from_b = c.block;
    c.branch(merge);
  }
  c.start(merge);
  return has_value ? c.phi(type, {a, from_a, b, from_b}) : 0;
}

} // namespace lanewise::spirv
