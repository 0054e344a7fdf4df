// What the writers of the instruction families (emit_*.cpp) share: ids of values, the code of the entry
// point, helper functions.
#pragma once

#include <optional>

#include "ir/program.hpp"
#include "spirv/address_facts.hpp"
#include "spirv/expression_trees.hpp"
#include "spirv/helpers.hpp"
#include "spirv/patterns.hpp"

namespace lanewise::spirv {

/// Kinds of helper functions. Each family numbers its variants itself.
enum class Helper : uint8_t { integer, floating, convert, memory, atomic, lane, trap, tree, quotient };

/// What the functions of a module share.
struct SharedModule {
  /// `callees` outlive it.
  SharedModule(const ir::Function& main, std::span<const ir::CalleeFunction> callees, const EmitOptions& o);

  ModuleBuilder module;
  Types types{module};
  Helpers helpers{types};
  std::optional<Error> error; ///< the first refusal
  TreeShapes tree_shapes;
  std::unordered_map<uint32_t, Id> builtins;
  std::vector<uint32_t> push_members; ///< byte offsets
  Id push = 0, lds = 0, scratch = 0;
  uint32_t lds_bytes = 0, scratch_bytes = 0;
  bool wide_lds = false;
  struct Callee {
    const ir::CalleeFunction* function = nullptr;
    Id id = 0, result_type = 0; ///< void, the type of the only result, or a struct of all
  };
  std::vector<Callee> callees;
};

class Emitter {
 public:
  Emitter(SharedModule& s, const ir::Function& function, const EmitOptions& o);

  const ir::Function& f;
  const EmitOptions& options;
  SharedModule& shared;
  ModuleBuilder& module = shared.module;
  Types& types = shared.types;
  Helpers& helpers = shared.helpers;
  AddressFacts addresses{f, options, shared.lds_bytes, !shared.wide_lds};
  Patterns patterns{f, addresses};
  ExpressionTrees trees{f, patterns, shared.tree_shapes};
  Code code{types};                           ///< of the function
  std::vector<uint32_t> variables;            ///< its OpVariable instructions
  const SharedModule::Callee* self = nullptr; ///< the callee that the function is; null: the entry point
  std::vector<Id> parameters;                 ///< of a callee, as in `self`
  /// Loads a value whose definition the structured form does not keep above its use; null: none is such.
  std::function<Id(ir::Value)> reload;

  /// The id that stands for a value here; it is allocated ahead if the value is not written yet.
  Id id(ir::Value v);
  Expr expr(ir::Value v) { return code.expr(id(v), f[v].type); }
  Expr operand(ir::Value v, unsigned i) { return expr(f.operand(v, i)); }
  Id operand_id(ir::Value v, unsigned i) { return id(f.operand(v, i)); }
  [[nodiscard]] bool written(ir::Value v) const { return written_[v.index]; }

  // -- ways to give a value its instruction
  // ---------------------------------------------------------------------------
  void bind(ir::Value v, Id existing); ///< it is what is written already
  void bind(ir::Value v, Expr e) { bind(v, e.id); }
  Id define(ir::Value v); ///< the id for an instruction that the caller writes
  void make(ir::Value v, spv::Op op, std::initializer_list<uint32_t> operands) {
    const Id result = define(v);
    code.op_as(result, op, type_of(v), operands);
  }
  void make_glsl(ir::Value v, GLSLstd450 op, std::initializer_list<uint32_t> operands);
  void make_call(ir::Value v, Id function, std::span<const Id> arguments);
  void make_call(ir::Value v, Id function, std::initializer_list<Id> arguments) {
    make_call(v, function, std::span<const Id>(arguments.begin(), arguments.size()));
  }
  [[nodiscard]] Id type_of(ir::Value v) { return types.tuple(f[v].type, f[v].components); }
  /// The id of a value is another from here on (a phi behind a guard in place of the load inside it).
  void rebind(ir::Value v, Id other) { ids_[v.index] = other; }

  void refuse(ir::Value v, std::string what, std::string hint = {});
  /// Writes one instruction by its family's handler.
  void write(ir::Value v);
  /// What is written from here on comes from `v`; none: from no value. Costs nothing unless origins are asked
  /// for.
  void mark(ir::Value v) {
    if (options.trace) write_mark(v);
  }

  // -- things of the module that several families want
  // ------------------------------------------------------------------
  [[nodiscard]] Id scope(spv::Scope s) { return module.u32(static_cast<uint32_t>(s)); }
  /// A built-in input variable, loaded.
  Id load_builtin(Code& c, spv::BuiltIn b, Id type);
  /// A 64-bit member of the DispatchBlock by its byte offset.
  Expr load_push(Code& c, uint32_t byte_offset);
  [[nodiscard]] Id lds();     ///< Workgroup variable: an array of u32, or of u64 if wide_lds()
  [[nodiscard]] Id scratch(); ///< Private variable: an array of u32
  [[nodiscard]] uint32_t lds_bytes() const { return shared.lds_bytes; }
  /// The program has 64-bit atomics in LDS. Vulkan's Workgroup memory has one type: 32-bit accesses are then
  /// made of 64-bit ones.
  [[nodiscard]] bool wide_lds() const { return shared.wide_lds; }

 private:
  void write_mark(ir::Value v);
  [[nodiscard]] Id memory_variable(Id type, spv::StorageClass c);
  std::vector<Id> ids_; ///< 0 = not asked for yet
  std::vector<bool> written_;
};

using Handler = void (*)(Emitter&, ir::Value);
using HandlerTable = std::array<Handler, ir::kOpCount>;
void add_integer_handlers(HandlerTable& t);
void add_bit_handlers(HandlerTable& t);
void add_byte_handlers(HandlerTable& t);
void add_float_handlers(HandlerTable& t);
void add_float_special_handlers(HandlerTable& t);
void add_convert_handlers(HandlerTable& t);
void add_memory_handlers(HandlerTable& t);
void add_atomic_handlers(HandlerTable& t);
void add_lane_handlers(HandlerTable& t);
void add_call_handlers(HandlerTable& t);

/// Writes the call of a tree's helper.
void write_tree(Emitter& e, ir::Value top, const TreeShapes::value_type& shape);

/// Gives the callees of a module their ids and the types of their results.
void declare_callees(SharedModule& m);
/// OpFunction and OpFunctionParameter of a callee.
void begin_callee(Emitter& e);

/// Where the DispatchBlock holds an input; none for inputs from elsewhere.
[[nodiscard]] std::optional<uint32_t> push_offset(ir::Input which);

[[nodiscard]] constexpr size_t index_of(ir::Op op) { return static_cast<size_t>(op); }

/// Calls a helper inside another helper.
[[nodiscard]] Expr call(Code& c, Id function, ir::Type result, std::initializer_list<Expr> arguments);

/// Memory operations whose `active` operand is not known to be true, see guards.hpp.
[[nodiscard]] bool is_guarded(const ir::Function& f, ir::Value v);
/// Writes a memory operation without asking whether it is active.
void write_access(Emitter& e, ir::Value v);

} // namespace lanewise::spirv
