// The frame that all instruction families use: registers, operands with their modifiers, and results under
// EXEC.
//
// What lanes that are off would read or write is taken care of here and nowhere else:
//  - a result for a VGPR is `select(active, new, old)`;
//  - a lane-local source is read as lanes that are on see it: of `select(exec, a, b)` only `a`, because what
//  the
//    other lanes compute is dropped by the select of the result.
#pragma once

#include "translate/entry.hpp"
#include "translate/mode.hpp"
#include "translate/ssa.hpp"
#include "translate/translate.hpp"

#include <optional>

namespace lanewise::translate {

using ir::Type;
using ir::Value;
using rdna2::Instruction;
using rdna2::Opcode;
using rdna2::Operand;
using rdna2::OperandKind;

class Translator {
 public:
  Translator(const Graph& graph, const Flow& flow, const container::Kernel& kernel,
             const TranslateOptions& options, ir::Function& function);

  ir::Builder b;

  /// All nodes to blocks. The function is whole afterwards.
  [[nodiscard]] Expected<void> run();
  /// MODE at each slot, after run().
  [[nodiscard]] const std::vector<uint32_t>& slot_modes() const { return slot_modes_; }
  /// Registers that Op::call_return has as operands.
  [[nodiscard]] std::vector<uint16_t> results() const;

  // -- about the program
  [[nodiscard]] bool wave64() const { return function_->wave_size == 64; }
  [[nodiscard]] const container::Kernel& kernel() const { return *kernel_; }
  /// How many registers M0 may choose from.
  [[nodiscard]] unsigned relative_reach(const rdna2::Instruction& i) const {
    return flow_->relative_reach().registers(i);
  }
  [[nodiscard]] const container::ShaderBinary& binary() const { return graph_->code.binary(); }
  /// The last operation written to this block is one of these.
  [[nodiscard]] bool behind(ir::Op op) const {
    const auto& written = (*function_)[b.block].instructions;
    return !written.empty() && (*function_)[written.back()].op == op;
  }
  /// Errors end the translation after the instruction.
  void unsupported(const Instruction& i, std::string what);

  // -- registers: scalar register file 0..127 (exec, vcc, m0, null included) and VGPRs, i32
  [[nodiscard]] Value sgpr(unsigned r);
  void set_sgpr(unsigned r, Value v);
  [[nodiscard]] Value vgpr(unsigned r) { return ssa_.read(reg::vgpr0 + r); } ///< in every lane
  [[nodiscard]] Value scc() { return ssa_.read(reg::scc); }
  void set_scc(Value u1) { ssa_.write(reg::scc, u1); }
  [[nodiscard]] Value exec() { return ssa_.read(reg::exec); }
  void set_exec(Value u1) { ssa_.write(reg::exec, u1); }
  /// Values from outside, made once at the start of the program.
  [[nodiscard]] Value input(ir::Input which);
  /// `image base + offset`, i64.
  [[nodiscard]] Value image_address(uint64_t offset);

  // -- scalar operands: uniform
  [[nodiscard]] Value scalar32(const Operand& o, unsigned dword = 0);
  [[nodiscard]] Value scalar64(const Operand& o);
  void set_scalar32(const Operand& o, Value v) { set_sgpr(o.reg, v); }
  void set_scalar64(const Operand& o, Value v);
  /// The operand's one or two registers as a wave mask: a number of the wave's width.
  [[nodiscard]] Value word(const Operand& o) { return wave64() ? scalar64(o) : scalar32(o); }
  /// The same as a per-lane u1. As all lanes see it; `active_mask` as lanes that are on see it.
  [[nodiscard]] Value mask(const Operand& o);
  [[nodiscard]] Value active_mask(const Operand& o) { return strip_mask(mask(o)); }
  void set_mask(const Operand& o, Value u1);

  // -- vector sources, with SDWA, DPP, op_sel, abs and neg; as lanes that are on see them
  [[nodiscard]] Value raw32(const Operand& o, unsigned dword = 0); ///< without modifiers
  [[nodiscard]] Value raw64(const Operand& o, unsigned first_dword = 0);
  [[nodiscard]] Value b32(const Instruction& i, unsigned n);
  [[nodiscard]] Value b64(const Instruction& i, unsigned n) { return raw64(i.src[n]); }
  [[nodiscard]] Value b16(const Instruction& i, unsigned n); ///< i16
  [[nodiscard]] Value f32(const Instruction& i, unsigned n);
  [[nodiscard]] Value f64(const Instruction& i, unsigned n);
  [[nodiscard]] Value f16(const Instruction& i, unsigned n);
  [[nodiscard]] Value with_modifiers(Value x, const Operand& o); ///< abs, then neg; of a float

  // -- results, under the instruction's active mask
  void set_b32(const Instruction& i, Value v);
  void set_b64(const Instruction& i, Value v);
  void set_b16(const Instruction& i, Value i16);
  void set_f32(const Instruction& i, Value v); ///< output modifier and clamp applied here
  void set_f64(const Instruction& i, Value v);
  void set_f16(const Instruction& i, Value v);
  void set_half(unsigned r, Value i16, bool high);  ///< the other half stays
  void set_compare(const Instruction& i, Value u1); ///< VCC, SGPRs or EXEC
  void set_vgpr(unsigned r, Value v);               ///< select(active, v, old)
  /// In lanes of `lanes` instead.
  void set_vgpr(unsigned r, Value v, Value lanes);

  /// Lanes that the current instruction works for: EXEC, less those that DPP switches off.
  [[nodiscard]] Value active() const { return active_; }
  [[nodiscard]] Value strip(Value v);      ///< v as lanes in EXEC see it
  [[nodiscard]] Value strip_mask(Value m); ///< the same for a u1
  /// A per-lane constant: `lane` -> bool, as lane_bit of a number.
  template <class F>
  [[nodiscard]] Value lane_constant(F&& f) {
    uint64_t bits = 0;
    for (unsigned lane = 0; lane < function_->wave_size; ++lane) bits |= uint64_t{f(lane)} << lane;
    if (bits == (~uint64_t{0} >> (64 - function_->wave_size))) return b.u1(true);
    return b.lane_bit(b.word(bits));
  }

  // -- floating point
  /// Reports an error where MODE is not a constant.
  [[nodiscard]] ir::FloatControl control(Type type);
  /// To [0, 1], as the clamp bit of a float instruction says.
  [[nodiscard]] Value clamp(Value v);
  /// omod and clamp.
  [[nodiscard]] Value output_modifier(const Instruction& i, Value v);
  [[nodiscard]] const Mode& mode() const { return mode_; }

  // -- halves
  [[nodiscard]] Value low16(Value v);             ///< i32 -> i16
  [[nodiscard]] Value high16(Value v);            ///< i32 -> i16
  [[nodiscard]] Value pack16(Value lo, Value hi); ///< two i16 -> i32
  /// `pack64`, which sees through a 64-bit addition done in two steps.
  [[nodiscard]] Value pair(Value lo, Value hi);
  /// lo32, kept as such: folding would make it arithmetic on halves, and the pair would no longer be one
  /// value.
  [[nodiscard]] Value low_half(Value i64);
  /// x + y + carry_in as the high half of an i64 sum, where carry_in is the carry of the low half; else none.
  [[nodiscard]] Value wide_sum(Value x, Value y, Value carry_in);
  [[nodiscard]] Value wide_difference(Value x, Value y, Value borrow_in);
  /// Whether `low` is the low half of the operation that `carry` comes from.
  [[nodiscard]] bool is_low_of(Value low, Value carry, ir::Op op) const;

  // -- control
  void set_jump_target(Value i64) { jump_target_ = i64; }

  // -- order of memory accesses
  void before_access(bool writes, ir::Space space);
  void after_access(bool writes, ir::Space space);
  void wait() { order_.wait(); }
  /// All lanes are past all that they did.
  void synchronized() { order_ = {}; }

 private:
  /// Memories that accesses reach, as bits: LDS, and what is behind 64-bit addresses. Flat ones reach both.
  static uint8_t memories(ir::Space space) {
    return space == ir::Space::lds ? 1 : space == ir::Space::flat ? 3 : 2;
  }

  /// Accesses since the last fence. The memory pipelines keep a wave's accesses of one memory in order,
  /// waited for or not; other waves may rely on what was waited for (s_waitcnt) in any of them.
  struct Order {
    uint8_t loads = 0, stores = 0; ///< memories
    bool waited_load = false, waited_store = false;
    void wait() {
      waited_load = waited_load || loads != 0;
      waited_store = waited_store || stores != 0;
    }
    void unite(const Order& o) {
      loads |= o.loads, stores |= o.stores;
      waited_load |= o.waited_load, waited_store |= o.waited_store;
    }
    static Order anything() { return {3, 3, true, true}; }
  };

  [[nodiscard]] Value initial(unsigned r);
  void translate_node(uint32_t node);
  void begin_instruction(const Instruction& i);
  void end_node(uint32_t node);
  void leave_checked(uint32_t node, const Instruction& last);
  void leave_slot(uint32_t node);
  void leave_callee(const Instruction& last);
  [[nodiscard]] Value parameter(unsigned r);
  void link_blocks();
  [[nodiscard]] Value branch_condition(Opcode opcode, bool& negated);
  [[nodiscard]] bool implies(Value mask, Value other, unsigned depth = 0) const;
  [[nodiscard]] Value sum_of_halves(Value a, Value b_, Value c, Value d);
  [[nodiscard]] Value special32(const Operand& o, unsigned dword);
  [[nodiscard]] Value sub_dword(Value v, const Operand& o);
  [[nodiscard]] Value dpp_source(const Instruction& i, const Operand& o);
  [[nodiscard]] Value dpp_active(const Instruction& i);
  [[nodiscard]] Value keep_half(Value v, uint32_t mask);
  [[nodiscard]] Value insert_sdwa(const Instruction& i, Value v);

  const Graph* graph_;
  const container::Kernel* kernel_;
  const TranslateOptions* options_;
  ir::Function* function_;
  const Flow* flow_;
  std::vector<Value> prologue_list_;
  ir::Builder prologue_;
  Ssa ssa_;
  std::vector<Mode> modes_;
  Mode mode_;
  std::vector<ir::Block> blocks_; ///< by node
  std::vector<Order> orders_;     ///< at the end of a node
  Order order_;
  Value active_, dpp_valid_;
  std::array<Value, static_cast<size_t>(ir::Input::count_)> inputs_{};
  std::array<EntryValue, 106> entry_sgprs_{};
  const Instruction* current_ = nullptr;
  Value jump_target_; ///< of the s_setpc_b64 or s_swappc_b64 that ends the node
  std::vector<uint32_t> slot_modes_;
  std::optional<Error> error_;
};

/// What one opcode means.
using Handler = void (*)(Translator&, const Instruction&);
struct Meaning {
  Opcode opcode;
  Handler handler;
};

/// Nothing that a value depends on, and what orders memory.
inline void nothing(Translator&, const Instruction&) {}
inline void invalidate(Translator& t, const Instruction&) { t.b.memory_fence(); }

/// A shift count or offset: the low bits of a register, as wide as the value it is for.
inline Value count32(Translator& t, Value v) { return t.b.and_(v, t.b.i32(31)); }
inline Value count64(Translator& t, Value v) { return t.b.zext(t.b.and_(v, t.b.i32(63)), ir::Type::i64); }

// One function for each family, in the file of the same name.
[[nodiscard]] std::span<const Meaning> scalar_alu();
[[nodiscard]] std::span<const Meaning> scalar_mask();
[[nodiscard]] std::span<const Meaning> scalar_memory();
[[nodiscard]] std::span<const Meaning> vector_integer();
[[nodiscard]] std::span<const Meaning> vector_bytes();
[[nodiscard]] std::span<const Meaning> vector_float();
[[nodiscard]] std::span<const Meaning> vector_convert();
[[nodiscard]] std::span<const Meaning> vector_compare();
[[nodiscard]] std::span<const Meaning> vector_packed();
[[nodiscard]] std::span<const Meaning> cross_lane();
[[nodiscard]] std::span<const Meaning> lds();
[[nodiscard]] std::span<const Meaning> global_memory();
[[nodiscard]] std::span<const Meaning> buffer_memory();
[[nodiscard]] std::span<const Meaning> control();

/// The handler of an opcode; null when it is not supported.
[[nodiscard]] Handler handler_of(Opcode opcode);

} // namespace lanewise::translate
