#include "spirv/emitter.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

namespace lanewise::spirv {

using ir::Type;

namespace {

template <class F>
void for_each_value(const ir::Function& main, std::span<const ir::CalleeFunction> callees, F visit) {
  const auto values_of = [&](const ir::Function& f) {
    for (const auto& block : f.blocks)
      for (const ir::Value v : block.instructions) visit(f, v);
  };
  values_of(main);
  for (const ir::CalleeFunction& c : callees) values_of(c.function);
}

bool is_wide_lds_atomic(const ir::Function& f, ir::Value v, uint32_t lds_bytes) {
  if (f[v].op != ir::Op::atomic || ir::bit_width(f[f.operand(v, 2)].type) != 64) return false;
  const ir::Space space = ir::MemoryAccess::unpack(f[v].imm).space;
  return space == ir::Space::lds || (space == ir::Space::flat && lds_bytes != 0);
}

} // namespace

SharedModule::SharedModule(const ir::Function& main, std::span<const ir::CalleeFunction> list,
                           const EmitOptions& o)
    : lds_bytes((main.lds_bytes + o.dynamic_lds_bytes + 7) & ~7u), scratch_bytes(main.scratch_bytes) {
  helpers.debug_names = o.debug_names;
  const auto use = [&](uint32_t offset) {
    if (std::ranges::find(push_members, offset) == push_members.end()) push_members.push_back(offset);
  };
  // Members of the DispatchBlock that the program reads: the others are not declared.
  for_each_value(main, list, [&](const ir::Function& f, ir::Value v) {
    wide_lds = wide_lds || is_wide_lds_atomic(f, v, lds_bytes);
    if (f[v].op == ir::Op::trap) use(offsetof(DispatchBlock, status_ptr));
    if (f[v].op == ir::Op::input)
      if (const auto offset = push_offset(static_cast<ir::Input>(f[v].imm))) use(*offset);
  });
  std::ranges::sort(push_members);
  for (const ir::CalleeFunction& c : list) callees.push_back({.function = &c});
}

Emitter::Emitter(SharedModule& s, const ir::Function& function, const EmitOptions& o)
    : f(function), options(o), shared(s), ids_(function.value_count()), written_(function.value_count()) {}

Id Emitter::id(ir::Value v) {
  if (reload)
    if (const Id loaded = reload(v)) return loaded;
  Id& i = ids_[v.index];
  if (i == 0) i = f.is_constant(v) ? types.constant(f[v].type, f[v].imm) : module.new_id();
  return i;
}

Id Emitter::define(ir::Value v) {
  Id& i = ids_[v.index];
  if (i == 0) i = module.new_id();
  written_[v.index] = true;
  return i;
}

void Emitter::bind(ir::Value v, Id existing) {
  Id& i = ids_[v.index];
  written_[v.index] = true;
  if (i == 0)
    i = existing;
  else // a phi named it before
    code.op_as(i, spv::Op::OpCopyObject, type_of(v), {existing});
}

void Emitter::make_glsl(ir::Value v, GLSLstd450 op, std::initializer_list<uint32_t> operands) {
  bind(v, code.glsl(op, type_of(v), operands));
}

void Emitter::make_call(ir::Value v, Id function, std::span<const Id> arguments) {
  std::vector<uint32_t> operands{function};
  operands.insert(operands.end(), arguments.begin(), arguments.end());
  const bool has_result = f[v].type != Type::none;
  code.op_as(has_result ? define(v) : module.new_id(), spv::Op::OpFunctionCall, type_of(v), operands);
}

Expr call(Code& c, Id function, Type result, std::initializer_list<Expr> arguments) {
  std::vector<uint32_t> operands{function};
  for (const Expr& a : arguments) operands.push_back(a.id);
  const Id id = c.module.new_id();
  c.op_as(id, spv::Op::OpFunctionCall, c.types[result], operands);
  return {&c, id, result};
}

void Emitter::refuse(ir::Value v, std::string what, std::string hint) {
  if (shared.error) return;
  std::string name = ir::info(f[v].op).name;
  if (name.ends_with('_')) name.pop_back();
  shared.error = Error{ErrorKind::unsupported, std::move(what), fmt::format("pc {:#x}: {}", f[v].pc, name),
                       std::move(hint)};
}

Id Emitter::load_builtin(Code& c, spv::BuiltIn b, Id type) {
  Id& variable = shared.builtins[static_cast<uint32_t>(b)];
  if (variable == 0) {
    variable = module.variable(module.type_pointer(spv::StorageClass::Input, type), spv::StorageClass::Input);
    module.decorate(variable, spv::Decoration::BuiltIn, {static_cast<uint32_t>(b)});
  }
  return c.op(spv::Op::OpLoad, type, {variable});
}

Expr Emitter::load_push(Code& c, uint32_t byte_offset) {
  const Id u64 = types[Type::i64];
  if (shared.push == 0) {
    const Id block = module.new_struct(std::vector<Id>(shared.push_members.size(), u64));
    module.decorate(block, spv::Decoration::Block);
    for (uint32_t i = 0; i < shared.push_members.size(); ++i)
      module.decorate_member(block, i, spv::Decoration::Offset, {shared.push_members[i]});
    shared.push = module.variable(module.type_pointer(spv::StorageClass::PushConstant, block),
                                  spv::StorageClass::PushConstant);
  }
  const auto member = std::ranges::find(shared.push_members, byte_offset) - shared.push_members.begin();
  const Id pointer = c.op(spv::Op::OpAccessChain, module.type_pointer(spv::StorageClass::PushConstant, u64),
                          {shared.push, module.u32(static_cast<uint32_t>(member))});
  return c.expr(c.op(spv::Op::OpLoad, u64, {pointer}), Type::i64);
}

std::optional<uint32_t> push_offset(ir::Input which) {
  using ir::Input;
  switch (which) {
  case Input::kernarg_ptr: return offsetof(DispatchBlock, kernarg_ptr);
  case Input::dispatch_ptr: return offsetof(DispatchBlock, dispatch_ptr);
  case Input::queue_ptr: return offsetof(DispatchBlock, queue_ptr);
  case Input::dispatch_id: return offsetof(DispatchBlock, dispatch_id);
  case Input::image_base: return offsetof(DispatchBlock, image_base);
  default: return {};
  }
}

Id Emitter::memory_variable(Id type, spv::StorageClass c) {
  return module.variable(module.type_pointer(c, type), c, options.zero_memory ? module.null(type) : 0);
}

Id Emitter::lds() {
  if (shared.lds == 0) {
    const uint32_t unit = shared.wide_lds ? 8 : 4;
    const Id array = module.type_array(types[shared.wide_lds ? Type::i64 : Type::i32],
                                       std::max(1u, lds_bytes() / unit), 0);
    shared.lds = memory_variable(array, spv::StorageClass::Workgroup);
  }
  return shared.lds;
}

Id Emitter::scratch() {
  if (shared.scratch == 0) {
    const Id array = module.type_array(types[Type::i32], std::max(1u, (shared.scratch_bytes + 3) / 4), 0);
    shared.scratch = memory_variable(array, spv::StorageClass::Private);
  }
  return shared.scratch;
}

void Emitter::write_mark(ir::Value v) {
  const auto owner = self ? static_cast<uint32_t>(self - shared.callees.data() + 1) : 0u;
  append_instruction(code.words, ModuleBuilder::kMark, std::array{owner, v.index});
}

void Emitter::write(ir::Value v) {
  static const HandlerTable table = [] {
    HandlerTable t{};
    for (auto add : {add_integer_handlers, add_bit_handlers, add_byte_handlers, add_float_handlers,
                     add_float_special_handlers, add_convert_handlers, add_memory_handlers,
                     add_atomic_handlers, add_lane_handlers, add_call_handlers})
      add(t);
    return t;
  }();
  if (patterns.absorbed(v) || trees.inside(v)) return;
  mark(v);
  if (const auto* shape = trees.shape_of(v)) return write_tree(*this, v, *shape);
  if (const Handler h = table[index_of(f[v].op)])
    h(*this, v);
  else
    refuse(v, "operation has no SPIR-V form", "lower waves and buffers first");
}

} // namespace lanewise::spirv
