// Builder: makes instructions at the end of a block, folding on the way (ir/fold.hpp), so that a front end
// gets neither constant arithmetic nor identities into its program.
//
//   Builder b(function, block);
//   b.pc = 0x40;
//   Value sum = b.add(x, b.i32(4));               // x + 4; the constant itself if x is one
//   Value masked = b.select(m, sum, old);
//   Value scaled = b.fmul(a, c, FloatControl{});
//
// A method has the name of its operation in ir/ops.def. Operand types must be those that docs/ir.md asks for;
// the verifier checks them.
#pragma once

#include "ir/ir.hpp"

#include <bit>

namespace lanewise::ir {

class ValueTable;
struct Request;

class Builder {
 public:
  explicit Builder(Function& f) : function(f) {}
  Builder(Function& f, Block b) : function(f), block(b) {}
  /// Instructions go to `list` instead of a block: for passes that rebuild one.
  Builder(Function& f, std::vector<Value>& list) : function(f), list_(&list) {}

  Function& function;
  Block block;                 ///< where instructions are appended
  uint32_t pc = 0;             ///< guest instruction that they come from
  ValueTable* table = nullptr; ///< if set, equal operations become one value
  bool folding = true;         ///< false: every request becomes an instruction

  /// The result of `op`: an existing value where folding finds one, else a new instruction.
  /// `type` counts only for operations whose result rule is `any`.
  Value emit(Op op, std::span<const Value> operands, Type type = Type::none, uint64_t imm = 0,
             uint8_t components = 1);
  Value emit(Op op, std::initializer_list<Value> operands, Type type = Type::none, uint64_t imm = 0,
             uint8_t components = 1) {
    return emit(op, std::span<const Value>(operands.begin(), operands.size()), type, imm, components);
  }
  /// The same for an instruction that exists already: folded, numbered, or itself put into the list. Its
  /// uniformity is derived anew.
  Value place(Value existing);
  /// Appends a new instruction without folding.
  Value append(Op op, std::span<const Value> operands, Type type = Type::none, uint64_t imm = 0,
               uint8_t components = 1);

  // -- constants -------------------------------------------------------------------------------------------
  Value constant(Type type, uint64_t bits) { return function.constant(type, bits); }
  Value u1(bool v) { return constant(Type::u1, v); }
  Value i8(uint8_t v) { return constant(Type::i8, v); }
  Value i16(uint16_t v) { return constant(Type::i16, v); }
  Value i32(uint32_t v) { return constant(Type::i32, v); }
  Value i64(uint64_t v) { return constant(Type::i64, v); }
  Value f32(float v) { return constant(Type::f32, std::bit_cast<uint32_t>(v)); }
  Value f64(double v) { return constant(Type::f64, std::bit_cast<uint64_t>(v)); }
  Value word(uint64_t v) { return constant(function.word_type(), v); }

  // -- inputs and phis -------------------------------------------------------------------------------------
  Value input(Input which);
  Value lane_id() { return emit(Op::lane_id, {}); }
  /// A phi without operands, in front of the block's other instructions; give it operands with set_operands.
  Value phi(Type type, Block where);
  /// A phi at the end of the current block's phis.
  Value phi(Type type, std::span<const Value> incoming) { return emit(Op::phi, incoming, type); }

  // -- operations without choice
  // ------------------------------------------------------------------------------
  // clang-format off
#define LANEWISE_UNARY(name) \
  Value name(Value a) { return emit(Op::name, {a}); }
#define LANEWISE_BINARY(name) \
  Value name(Value a, Value b) { return emit(Op::name, {a, b}); }
#define LANEWISE_TERNARY(name) \
  Value name(Value a, Value b, Value c) { return emit(Op::name, {a, b, c}); }
  LANEWISE_TERNARY(select)
  LANEWISE_BINARY(pack64) LANEWISE_UNARY(lo32) LANEWISE_UNARY(hi32)
  LANEWISE_BINARY(add) LANEWISE_BINARY(sub) LANEWISE_BINARY(mul) LANEWISE_BINARY(mul_hi_u)
  LANEWISE_BINARY(mul_hi_s) LANEWISE_BINARY(and_) LANEWISE_BINARY(or_) LANEWISE_BINARY(xor_)
  LANEWISE_UNARY(not_) LANEWISE_BINARY(shl) LANEWISE_BINARY(lshr) LANEWISE_BINARY(ashr)
  LANEWISE_BINARY(umin) LANEWISE_BINARY(umax) LANEWISE_BINARY(smin) LANEWISE_BINARY(smax)
  LANEWISE_TERNARY(add_c) LANEWISE_TERNARY(carry) LANEWISE_TERNARY(sub_c) LANEWISE_TERNARY(borrow)
  LANEWISE_UNARY(bit_reverse) LANEWISE_UNARY(popcount) LANEWISE_UNARY(find_lsb) LANEWISE_UNARY(find_msb)
  LANEWISE_TERNARY(ubfe) LANEWISE_TERNARY(sbfe) LANEWISE_TERNARY(byte_perm)
  LANEWISE_BINARY(eq) LANEWISE_BINARY(ne) LANEWISE_BINARY(ult) LANEWISE_BINARY(ule)
  LANEWISE_BINARY(slt) LANEWISE_BINARY(sle)
  LANEWISE_UNARY(fneg) LANEWISE_UNARY(fabs)
  LANEWISE_UNARY(ballot) LANEWISE_UNARY(lane_bit) LANEWISE_UNARY(any)
  LANEWISE_BINARY(read_lane) LANEWISE_BINARY(read_first) LANEWISE_BINARY(permute) LANEWISE_TERNARY(push)
  LANEWISE_UNARY(host_ballot) LANEWISE_UNARY(host_any) LANEWISE_BINARY(host_shuffle)
  LANEWISE_BINARY(host_broadcast)
#undef LANEWISE_UNARY
#undef LANEWISE_BINARY
#undef LANEWISE_TERNARY
      // clang-format on

      Value ugt(Value a, Value b) {
    return ult(b, a);
  }
  Value uge(Value a, Value b) { return ule(b, a); }
  Value sgt(Value a, Value b) { return slt(b, a); }
  Value sge(Value a, Value b) { return sle(b, a); }
  Value neg(Value a) { return sub(constant(function[a].type, 0), a); }
  Value andn(Value a, Value b) { return and_(a, not_(b)); }

  // -- operations with a chosen type
  // -----------------------------------------------------------------------------
  Value bitcast(Value a, Type to) { return emit(Op::bitcast, {a}, to); }
  Value zext(Value a, Type to) { return emit(Op::zext, {a}, to); }
  Value sext(Value a, Type to) { return emit(Op::sext, {a}, to); }
  Value trunc(Value a, Type to) { return emit(Op::trunc, {a}, to); }
  /// Component of a tuple; the value itself if it has only one.
  Value extract(Value tuple, unsigned component) {
    return emit(Op::extract, {tuple}, function[tuple].type, component);
  }

  // -- floating point
  // ------------------------------------------------------------------------------------------------
  // clang-format off
#define LANEWISE_FLOAT1(name) \
  Value name(Value a, FloatControl c) { return emit(Op::name, {a}, Type::none, c.pack()); }
#define LANEWISE_FLOAT2(name) \
  Value name(Value a, Value b, FloatControl c) { return emit(Op::name, {a, b}, Type::none, c.pack()); }
#define LANEWISE_FLOAT3(name) \
  Value name(Value x, Value y, Value z, FloatControl c) { \
    return emit(Op::name, {x, y, z}, Type::none, c.pack()); \
  }
#define LANEWISE_CONVERT(name) \
  Value name(Value a, Type to, FloatControl c) { return emit(Op::name, {a}, to, c.pack()); }
  LANEWISE_FLOAT2(fadd) LANEWISE_FLOAT2(fmul) LANEWISE_FLOAT3(ffma) LANEWISE_FLOAT2(fmin)
  LANEWISE_FLOAT2(fmax) LANEWISE_FLOAT1(fcanonicalize) LANEWISE_FLOAT1(fclamp) LANEWISE_FLOAT1(ftrunc)
  LANEWISE_FLOAT1(ffloor) LANEWISE_FLOAT1(fceil) LANEWISE_FLOAT1(frndne) LANEWISE_FLOAT1(ffract)
  LANEWISE_FLOAT1(fsqrt) LANEWISE_FLOAT1(frcp) LANEWISE_FLOAT1(frsq) LANEWISE_FLOAT1(fexp2)
  LANEWISE_FLOAT1(flog2) LANEWISE_FLOAT1(fsin) LANEWISE_FLOAT1(fcos) LANEWISE_FLOAT2(fldexp)
  LANEWISE_FLOAT1(ffrexp_mant) LANEWISE_FLOAT1(ffrexp_exp) LANEWISE_FLOAT2(fclass)
  LANEWISE_FLOAT3(fdiv_scale) LANEWISE_FLOAT3(fdiv_scale_flag) LANEWISE_FLOAT3(fdiv_fixup)
  LANEWISE_FLOAT2(ftrig_preop)
  LANEWISE_CONVERT(f2f) LANEWISE_CONVERT(f2s) LANEWISE_CONVERT(f2u) LANEWISE_CONVERT(s2f)
  LANEWISE_CONVERT(u2f)
#undef LANEWISE_FLOAT1
#undef LANEWISE_FLOAT2
#undef LANEWISE_FLOAT3
#undef LANEWISE_CONVERT
      // clang-format on
      Value fcmp(Value x, Value y, unsigned predicate, FloatControl c) {
    return emit(Op::fcmp, {x, y}, Type::none, fcmp_imm(c, predicate));
  }
  Value fdiv_fmas(Value x, Value y, Value z, Value flag, FloatControl c) {
    return emit(Op::fdiv_fmas, {x, y, z, flag}, Type::none, c.pack());
  }

  // -- lanes, memory, order, control
  // ------------------------------------------------------------------------------------
  Value mbcnt(Value w, bool upper) { return emit(Op::mbcnt, {w}, Type::none, upper); }
  Value dpp(Value v, LanePattern p) { return emit(Op::dpp, {v}, Type::none, p.pack()); }
  /// `components` values of `type` from consecutive addresses.
  Value load(Type type, Value address, Value active, MemoryAccess m, uint8_t components = 1) {
    return emit(Op::load, {address, active}, type, m.pack(), components);
  }
  Value store(Value address, Value active, std::span<const Value> data, MemoryAccess m);
  Value store(Value address, Value active, Value data, MemoryAccess m) {
    return store(address, active, std::span<const Value>(&data, 1), m);
  }
  /// `compare` is none for all but cmpswap and fcmpswap.
  Value atomic(Value address, Value active, Value data, MemoryAccess m, Value compare = {});
  Value barrier() { return emit(Op::barrier, {}); }
  Value wave_fence() { return emit(Op::wave_fence, {}); }
  Value group_fence() { return emit(Op::group_fence, {}); }
  Value memory_fence() { return emit(Op::memory_fence, {}); }
  Value clock() { return emit(Op::clock, {}); }

  // Terminators also link the blocks.
  void br(Block target);
  void cond_br(Value condition, Block if_true, Block if_false);
  void ret() { emit(Op::ret, {}); }
  void trap(TrapReason reason) { emit(Op::trap, {}, Type::none, static_cast<uint64_t>(reason)); }

  /// How deep folding is in rules that ask for further instructions: 1 for a request from outside.
  [[nodiscard]] unsigned nesting() const { return nesting_; }

 private:
  [[nodiscard]] Value folded(const Request& request);
  [[nodiscard]] std::vector<Value>& list() { return list_ ? *list_ : function[block].instructions; }
  std::vector<Value>* list_ = nullptr;
  unsigned nesting_ = 0, budget_ = 0;
};

} // namespace lanewise::ir
