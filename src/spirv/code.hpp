// The body of one SPIR-V function while it is written, and typed expressions to write it with.
//
//   Expr x = code.param(0);                                   // a u32
//   Expr denormal = (x & 0x7f80'0000u) == 0u;
//   code.ret(select(denormal, x & 0x8000'0000u, x));
//
// Operators are those of unsigned integers; on u1 they are logical, on floats IEEE (comparisons ordered).
#pragma once

#include "ir/ir.hpp"
#include "spirv/module_builder.hpp"

#include <functional>

namespace lanewise::spirv {

/// SPIR-V types and constants of the IR's scalar types.
class Types {
 public:
  explicit Types(ModuleBuilder& m) : module(m) {}
  [[nodiscard]] Id operator[](ir::Type t);
  /// Several components: a vector up to 4, an array with a stride beyond.
  [[nodiscard]] Id tuple(ir::Type t, unsigned components);
  [[nodiscard]] Id constant(ir::Type t, uint64_t bits);
  ModuleBuilder& module;

 private:
  std::array<Id, 9> ids_{};
};

class Code;

/// A value of a function under construction.
struct Expr {
  Code* code = nullptr;
  Id id = 0;
  ir::Type type = ir::Type::none;
};

class Code {
 public:
  explicit Code(Types& t) : types(t), module(t.module) {}

  Types& types;
  ModuleBuilder& module;
  std::vector<uint32_t> words;
  Id block = 0; ///< label of the block that is being written; 0 behind a terminator

  /// An instruction with a result.
  Id op(spv::Op op, Id type, std::initializer_list<uint32_t> operands) {
    const Id id = module.new_id();
    op_as(id, op, type, std::span<const uint32_t>(operands.begin(), operands.size()));
    return id;
  }
  void op_as(Id id, spv::Op op, Id type, std::span<const uint32_t> operands);
  void op_as(Id id, spv::Op op, Id type, std::initializer_list<uint32_t> operands) {
    op_as(id, op, type, std::span<const uint32_t>(operands.begin(), operands.size()));
  }
  /// An instruction without one.
  void effect(spv::Op op, std::initializer_list<uint32_t> operands) {
    append_instruction(words, op, std::span<const uint32_t>(operands.begin(), operands.size()));
  }
  Id glsl(GLSLstd450 op, Id type, std::initializer_list<uint32_t> operands);

  // -- control
  // ------------------------------------------------------------------------------------------------------
  void start(Id label) {
    effect(spv::Op::OpLabel, {label});
    block = label;
  }
  void branch(Id label) { effect(spv::Op::OpBranch, {label}), block = 0; }
  void branch_if(Id condition, Id yes, Id no) {
    effect(spv::Op::OpBranchConditional, {condition, yes, no}), block = 0;
  }
  void selection(Id merge) { effect(spv::Op::OpSelectionMerge, {merge, 0}); }
  Id phi(Id type, std::initializer_list<uint32_t> value_and_label) {
    return op(spv::Op::OpPhi, type, value_and_label);
  }

  // -- expressions
  // ----------------------------------------------------------------------------------------------------
  [[nodiscard]] Expr expr(Id id, ir::Type t) { return {this, id, t}; }
  [[nodiscard]] Expr constant(ir::Type t, uint64_t bits) { return {this, types.constant(t, bits), t}; }
  [[nodiscard]] Expr binary(spv::Op o, Expr a, Expr b) {
    return {this, op(o, types[a.type], {a.id, b.id}), a.type};
  }
  [[nodiscard]] Expr compare(spv::Op o, Expr a, Expr b) {
    return {this, op(o, types[ir::Type::u1], {a.id, b.id}), ir::Type::u1};
  }
  [[nodiscard]] Expr unary(spv::Op o, Expr a, ir::Type to) { return {this, op(o, types[to], {a.id}), to}; }
};

// clang-format off
// -- literals take the type of the other side ----------------------------------------------------------------------
[[nodiscard]] inline Expr same(Expr like, uint64_t bits) { return like.code->constant(like.type, bits); }

[[nodiscard]] Expr operator+(Expr a, Expr b);
[[nodiscard]] Expr operator-(Expr a, Expr b);
[[nodiscard]] Expr operator*(Expr a, Expr b);
[[nodiscard]] Expr operator&(Expr a, Expr b);
[[nodiscard]] Expr operator|(Expr a, Expr b);
[[nodiscard]] Expr operator^(Expr a, Expr b);
[[nodiscard]] Expr operator<<(Expr a, Expr b);
[[nodiscard]] Expr operator>>(Expr a, Expr b); ///< logical
[[nodiscard]] Expr operator==(Expr a, Expr b);
[[nodiscard]] Expr operator!=(Expr a, Expr b);
[[nodiscard]] Expr operator<(Expr a, Expr b);
[[nodiscard]] Expr operator<=(Expr a, Expr b);
[[nodiscard]] inline Expr operator>(Expr a, Expr b) { return b < a; }
[[nodiscard]] inline Expr operator>=(Expr a, Expr b) { return b <= a; }
[[nodiscard]] Expr operator~(Expr a);
[[nodiscard]] inline Expr operator!(Expr a) { return ~a; }
#define LANEWISE_LITERAL(o) \
  [[nodiscard]] inline Expr operator o(Expr a, uint64_t b) { return a o same(a, b); }
LANEWISE_LITERAL(+) LANEWISE_LITERAL(-) LANEWISE_LITERAL(*) LANEWISE_LITERAL(&) LANEWISE_LITERAL(|)
LANEWISE_LITERAL(^) LANEWISE_LITERAL(<<) LANEWISE_LITERAL(>>) LANEWISE_LITERAL(==) LANEWISE_LITERAL(!=)
LANEWISE_LITERAL(<) LANEWISE_LITERAL(<=) LANEWISE_LITERAL(>) LANEWISE_LITERAL(>=)
#undef LANEWISE_LITERAL
    // clang-format on

    [[nodiscard]] Expr slt(Expr a, Expr b);
[[nodiscard]] Expr sle(Expr a, Expr b);
[[nodiscard]] inline Expr slt(Expr a, int64_t b) { return slt(a, same(a, static_cast<uint64_t>(b))); }
[[nodiscard]] inline Expr sgt(Expr a, int64_t b) { return slt(same(a, static_cast<uint64_t>(b)), a); }
[[nodiscard]] Expr ashr(Expr a, Expr b);
[[nodiscard]] Expr select(Expr condition, Expr yes, Expr no);
[[nodiscard]] inline Expr select(Expr condition, Expr yes, uint64_t no) {
  return select(condition, yes, same(yes, no));
}
[[nodiscard]] inline Expr select(Expr condition, uint64_t yes, Expr no) {
  return select(condition, same(no, yes), no);
}
/// Same bits as another type of the same width.
[[nodiscard]] Expr bitcast(Expr a, ir::Type to);
/// Integer of another width; zero or sign extension.
[[nodiscard]] Expr resize(Expr a, ir::Type to, bool sign = false);
[[nodiscard]] Expr fma(Expr a, Expr b, Expr c);

/// Code that is written where it is wanted, and the id of its value (0: none).
using CodePart = std::function<Id(Code&)>;
/// if (condition) yes() else no(); the values meet in a phi, whose id is returned. An empty `no` gives zeros.
[[nodiscard]] Id choose(Code& c, Expr condition, Id type, bool has_value, const CodePart& yes,
                        const CodePart& no);

[[nodiscard]] constexpr ir::Type integer_like(ir::Type t) {
  switch (ir::bit_width(t)) {
  case 16: return ir::Type::i16;
  case 64: return ir::Type::i64;
  case 8: return ir::Type::i8;
  default: return ir::Type::i32;
  }
}

} // namespace lanewise::spirv
