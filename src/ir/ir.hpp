// The SSA IR (docs/ir.md): typed values named by 32-bit handles in one arena per function.
//
// Control flow is wave-uniform (as RDNA2 branches are), so a value is *uniform* (one for the wave) or *per
// lane* by data flow alone. Constants stand outside blocks and are unique per (type, bits).
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace lanewise::ir {

enum class Type : uint8_t { none, u1, i8, i16, i32, i64, f16, f32, f64 };

[[nodiscard]] constexpr unsigned bit_width(Type t) {
  constexpr std::array<uint8_t, 9> bits{0, 1, 8, 16, 32, 64, 16, 32, 64};
  return bits[static_cast<unsigned>(t)];
}
[[nodiscard]] constexpr bool is_float(Type t) { return t >= Type::f16; }
[[nodiscard]] constexpr bool is_integer(Type t) { return t >= Type::i8 && t <= Type::i64; }

enum class OpKind : uint8_t { constant, input, pure, gather, reduce, load, store, atomic, image, effect, phi, end };

enum class Op : uint8_t {
#define LANEWISE_IR_OP(name, operands, result, kind) name,
#include "ir/ops.def"
#undef LANEWISE_IR_OP
};

inline constexpr unsigned kOpCount = 0
#define LANEWISE_IR_OP(name, operands, result, kind) +1
#include "ir/ops.def"
#undef LANEWISE_IR_OP
    ;

inline constexpr int kVariadic = -1;
enum class ResultRule : uint8_t { none, same0, same1, u1, i32, i64, word, any };

struct OpInfo {
  const char* name; ///< spelling in the text form: the enumerator without a trailing '_'
  int operands;     ///< or kVariadic
  ResultRule result;
  OpKind kind;
};
extern const std::array<OpInfo, kOpCount> kOpInfos;
[[nodiscard]] inline const OpInfo& info(Op op) { return kOpInfos[static_cast<unsigned>(op)]; }
/// Operations of a program that has to be linked before it can run or be emitted.
[[nodiscard]] constexpr bool is_unlinked(Op op) { return op >= Op::call && op <= Op::call_return; }

/// Reads an image: operands as kImageActive and kin of ir/graphics.hpp say.
[[nodiscard]] constexpr bool is_image(Op op) { return op == Op::image_sample || op == Op::image_sample_implicit; }

/// Handle of a value (also of instructions without one). 0 is "no value".
struct Value {
  uint32_t index = 0;
  explicit operator bool() const { return index != 0; }
  friend bool operator==(Value, Value) = default;
  friend auto operator<=>(Value, Value) = default;
};

/// Handle of a basic block; 0 is the entry block.
struct Block {
  uint32_t index = 0;
  friend bool operator==(Block, Block) = default;
  friend auto operator<=>(Block, Block) = default;
};

/// What a program gets from outside, `imm` of Op::input.
enum class Input : uint8_t {
  workgroup_id_x, workgroup_id_y, workgroup_id_z, ///< i32, uniform
  wave_in_group,                                  ///< i32, uniform: index of the wave in its workgroup
  kernarg_ptr, dispatch_ptr, queue_ptr,           ///< i64, uniform: addresses in guest global memory
  dispatch_id,                                    ///< i64, uniform
  image_base,                                     ///< i64, uniform: where the code object's image is loaded
  local_id_x, local_id_y, local_id_z,             ///< i32, per lane
  initial_exec,                                   ///< u1, per lane: lanes that hold a work-item
  count_
};
[[nodiscard]] bool is_uniform(Input);
[[nodiscard]] Type type_of(Input);

/// Rounding, denormals and NaN rules of one floating-point operation.
struct FloatControl {
  uint8_t round = 0;        ///< 0 nearest even, 1 up, 2 down, 3 towards zero
  bool flush_in = false;    ///< denormal operands count as zero of their sign
  bool flush_out = false;   ///< denormal results become zero of their sign
  bool ieee = false;        ///< MODE.IEEE: signalling NaNs are quieted by min and max
  bool dx10_clamp = false;  ///< fclamp: NaN -> 0
  [[nodiscard]] constexpr uint64_t pack() const {
    return round | (flush_in ? 4u : 0u) | (flush_out ? 8u : 0u) | (ieee ? 16u : 0u) | (dx10_clamp ? 32u : 0u);
  }
  [[nodiscard]] static constexpr FloatControl unpack(uint64_t imm) {
    return {static_cast<uint8_t>(imm & 3), (imm & 4) != 0, (imm & 8) != 0, (imm & 16) != 0, (imm & 32) != 0};
  }
  friend bool operator==(const FloatControl&, const FloatControl&) = default;
};

/// Predicate of fcmp: a set of the outcomes {less, equal, greater, unordered} that give true.
/// imm of fcmp = FloatControl::pack() | predicate << 8.
enum FloatCompare : uint8_t { kLess = 1, kEqual = 2, kGreater = 4, kUnordered = 8 };
[[nodiscard]] constexpr uint64_t fcmp_imm(FloatControl c, unsigned predicate) { return c.pack() | uint64_t{predicate} << 8; }
[[nodiscard]] constexpr unsigned fcmp_predicate(uint64_t imm) { return (imm >> 8) & 15; }

enum class Space : uint8_t { global, lds, scratch, flat };
enum class AtomicOp : uint8_t {
  none, swap, cmpswap, add, sub, rsub, smin, umin, smax, umax, and_, or_, xor_, inc, dec, csub,
  fcmpswap, fmin, fmax, fadd, mskor, wrap,
};

/// imm of the memory operations.
struct MemoryAccess {
  Space space = Space::global;
  AtomicOp atomic = AtomicOp::none;
  uint8_t bytes = 4;        ///< of one component: 1, 2, 4 or 8; narrower than the value's type: see sign_extend
  uint8_t align = 4;        ///< known alignment of the address in bytes
  bool sign_extend = false; ///< of 1- and 2-byte loads into i32
  bool coherent = false;    ///< glc/dlc or atomic: must see other waves' writes
  bool invariant = false;   ///< scalar load: memory that the dispatch does not write
  bool idxen = false, offen = false; ///< buffer operations: which of index and offset count
  uint8_t format = 0;       ///< typed buffer format, 0 = untyped
  bool return_old = true;   ///< atomics: the old value is used
  bool flush_in = false, flush_out = false; ///< fadd: denormal operands, results become zero
  [[nodiscard]] constexpr uint64_t pack() const {
    return uint64_t{static_cast<uint8_t>(space)} | uint64_t{static_cast<uint8_t>(atomic)} << 2 | uint64_t{bytes} << 8 |
           uint64_t{align} << 16 | uint64_t{sign_extend} << 24 | uint64_t{coherent} << 25 | uint64_t{invariant} << 26 |
           uint64_t{idxen} << 27 | uint64_t{offen} << 28 | uint64_t{return_old} << 29 | uint64_t{format} << 32 |
           uint64_t{flush_in} << 40 | uint64_t{flush_out} << 41;
  }
  [[nodiscard]] static constexpr MemoryAccess unpack(uint64_t i) {
    return {static_cast<Space>(i & 3), static_cast<AtomicOp>(i >> 2 & 63), static_cast<uint8_t>(i >> 8), static_cast<uint8_t>(i >> 16),
            (i >> 24 & 1) != 0, (i >> 25 & 1) != 0, (i >> 26 & 1) != 0, (i >> 27 & 1) != 0, (i >> 28 & 1) != 0,
            static_cast<uint8_t>(i >> 32), (i >> 29 & 1) != 0, (i >> 40 & 1) != 0, (i >> 41 & 1) != 0};
  }
};

/// imm of dpp: where each lane reads from. Lanes without a source (see `has_source`) read 0.
struct LanePattern {
  enum class Kind : uint8_t {
    quad_perm,   ///< arg: four 2-bit selectors inside each quad
    row_shl, row_shr, row_ror, ///< arg 1..15: inside rows of 16
    row_mirror, row_half_mirror,
    row_share,   ///< arg: lane of the row that all read
    row_xmask,   ///< arg: lane xor arg inside the row
    dpp8,        ///< arg: eight 3-bit selectors inside groups of 8
    swizzle_xor, ///< arg: (and | or << 5 | xor << 10) on the lane's low 5 bits (ds_swizzle bit-masked mode)
    rotate32,    ///< arg: (lane bits kept | amount << 5 | down << 10), inside groups of 32 (ds_swizzle rotate mode)
    fft,         ///< arg: lane bits kept; the others come from the reversed lane (ds_swizzle FFT mode)
    half_swap,   ///< v_permlanex16-like: lane xor 16
  } kind{};
  uint32_t arg = 0;
  [[nodiscard]] constexpr uint64_t pack() const { return uint64_t{static_cast<uint8_t>(kind)} << 32 | arg; }
  [[nodiscard]] static constexpr LanePattern unpack(uint64_t imm) {
    return {static_cast<Kind>(imm >> 32 & 255), static_cast<uint32_t>(imm)};
  }
  /// Lane that `lane` reads from, or -1 if it has no source. Wave-size independent: patterns stay in 32 lanes.
  [[nodiscard]] int source(unsigned lane) const;
};

/// imm of barrier: nobody could tell whether it orders global memory. Else 0.
constexpr uint64_t kBarrierLdsOnly = 1;

enum class TrapReason : uint8_t { s_trap, bad_return, bad_call_target, fell_off_end };

struct Inst {
  Op op{};
  Type type = Type::none;
  uint8_t components = 1;    ///< > 1: a tuple (loads of several dwords), read with extract
  bool uniform = false;
  uint16_t operand_count = 0;
  uint32_t operand_begin = 0; ///< into Function's operand pool
  uint64_t imm = 0;
  uint32_t pc = 0;           ///< guest instruction it comes from
};

struct BasicBlock {
  std::vector<Value> instructions; ///< phis first, a terminator last
  std::vector<Block> predecessors; ///< order of phi operands
  std::array<Block, 2> successors{};
  uint8_t successor_count = 0;
  uint32_t pc = 0;                 ///< guest address it starts at
};

/// A whole program. Growth: linear in values; handles stay valid while values are added.
class Function {
public:
  explicit Function(unsigned wave_size_ = 32) : wave_size(wave_size_) { insts_.emplace_back(); }

  std::string name;
  unsigned wave_size;              ///< 32 or 64
  uint32_t lds_bytes = 0;          ///< static LDS
  uint32_t scratch_bytes = 0;      ///< private memory of a lane
  /// Branches may be taken by single lanes (passes/diverge; at invocation level only). Lanes come together again
  /// where their ways meet.
  bool divergent = false;
  /// Float operations round and treat special values as the guest's do. Otherwise all that there are number
  /// work-items (spirv/wave_lowering), where neither matters.
  bool guest_floats = true;
  std::vector<BasicBlock> blocks;

  [[nodiscard]] Type word_type() const { return wave_size == 64 ? Type::i64 : Type::i32; }

  Block add_block(uint32_t pc = 0);
  BasicBlock& operator[](Block b) { return blocks[b.index]; }
  const BasicBlock& operator[](Block b) const { return blocks[b.index]; }

  Inst& operator[](Value v) { return insts_[v.index]; }
  const Inst& operator[](Value v) const { return insts_[v.index]; }
  [[nodiscard]] uint32_t value_count() const { return static_cast<uint32_t>(insts_.size()); }

  [[nodiscard]] std::span<const Value> operands(Value v) const {
    const Inst& i = insts_[v.index];
    return {operand_pool_.data() + i.operand_begin, i.operand_count};
  }
  [[nodiscard]] std::span<Value> operands(Value v) {
    const Inst& i = insts_[v.index];
    return {operand_pool_.data() + i.operand_begin, i.operand_count};
  }
  [[nodiscard]] Value operand(Value v, unsigned i) const { return operands(v)[i]; }

  /// The unique constant; bits above the type's width are cleared.
  Value constant(Type type, uint64_t bits);
  [[nodiscard]] bool is_constant(Value v) const { return insts_[v.index].op == Op::constant; }
  [[nodiscard]] bool is_constant(Value v, uint64_t bits) const { return is_constant(v) && insts_[v.index].imm == bits; }

  /// Makes an instruction that stands in no block yet; uniformity and (where the rule fixes it) the type are
  /// derived. `type` is used by ops whose rule is `any`.
  Value create(Op op, std::span<const Value> operands, Type type = Type::none, uint64_t imm = 0,
               uint8_t components = 1, uint32_t pc = 0);
  /// create + push_back at the end of the block.
  Value append(Block b, Op op, std::span<const Value> operands, Type type = Type::none, uint64_t imm = 0,
               uint8_t components = 1, uint32_t pc = 0);
  Value append(Block b, Op op, std::initializer_list<Value> operands, Type type = Type::none, uint64_t imm = 0,
               uint8_t components = 1, uint32_t pc = 0) {
    return append(b, op, std::span<const Value>(operands.begin(), operands.size()), type, imm, components, pc);
  }
  /// Gives an existing instruction (a phi whose incoming values were not known yet) its operands.
  void set_operands(Value v, std::span<const Value> operands);
  /// Type of the result of `op` on these operands; `type` where the rule is `any`.
  [[nodiscard]] Type result_type(Op op, std::span<const Value> operands, Type type) const;
  /// Uniformity of `op` on these operands, as OpKind says.
  [[nodiscard]] bool derive_uniform(Op op, std::span<const Value> operands, uint64_t imm) const;

  /// Links b -> target as the next successor and records the predecessor.
  void add_edge(Block b, Block target);

private:
  std::vector<Inst> insts_; ///< [0] is the null value
  std::vector<Value> operand_pool_;
  struct ConstantKey {
    Type type;
    uint64_t bits;
    friend bool operator==(const ConstantKey&, const ConstantKey&) = default;
  };
  struct ConstantHash {
    size_t operator()(const ConstantKey& k) const {
      return (k.bits * 0x9e3779b97f4a7c15ull) ^ (static_cast<size_t>(k.type) << 57) ^ (k.bits >> 29);
    }
  };
  std::unordered_map<ConstantKey, Value, ConstantHash> constants_;
};

} // namespace lanewise::ir
