// Callees as functions of the module: registers of the interface are parameters, results come back as a value
// or a struct.
#include "spirv/emitter.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::spirv {
namespace {

using ir::InterfaceRegister;
using ir::Type;
using ir::Value;

size_t place_of(const std::vector<InterfaceRegister>& list, uint64_t number) {
  return static_cast<size_t>(std::ranges::find(list, number, &InterfaceRegister::number) - list.begin());
}

void write_parameter(Emitter& e, Value v) {
  const size_t at = e.self ? place_of(e.self->function->params, e.f[v].imm) : e.parameters.size();
  if (at >= e.parameters.size()) return e.refuse(v, "parameter of no callee");
  e.bind(v, e.parameters[at]);
}

void write_call(Emitter& e, Value v) {
  if (e.f[v].imm >= e.shared.callees.size()) return e.refuse(v, "call that is not linked");
  const SharedModule::Callee& callee = e.shared.callees[e.f[v].imm];
  std::vector<uint32_t> operands{callee.id};
  for (unsigned i = 1; i < e.f[v].operand_count; ++i) operands.push_back(e.operand_id(v, i));
  e.code.op_as(e.define(v), spv::Op::OpFunctionCall, callee.result_type, operands);
}

void write_result(Emitter& e, Value v) {
  const Value call = e.f.operand(v, 0);
  const auto& results = e.shared.callees[e.f[call].imm].function->results;
  const size_t at = place_of(results, e.f[v].imm);
  if (at == results.size()) return e.refuse(v, "result that the callee does not have");
  if (results.size() == 1) return e.bind(v, e.id(call));
  e.make(v, spv::Op::OpCompositeExtract, {e.id(call), static_cast<uint32_t>(at)});
}

void write_call_return(Emitter& e, Value v) {
  if (!e.self) return e.refuse(v, "return from no callee");
  const unsigned count = e.f[v].operand_count;
  if (count == 0) {
    e.code.effect(spv::Op::OpReturn, {});
  } else if (count == 1) {
    e.code.effect(spv::Op::OpReturnValue, {e.operand_id(v, 0)});
  } else {
    std::vector<uint32_t> parts;
    for (unsigned i = 0; i < count; ++i) parts.push_back(e.operand_id(v, i));
    const Id all = e.module.new_id();
    e.code.op_as(all, spv::Op::OpCompositeConstruct, e.self->result_type, parts);
    e.code.effect(spv::Op::OpReturnValue, {all});
  }
  e.code.block = 0;
}

} // namespace

void declare_callees(SharedModule& m) {
  for (SharedModule::Callee& c : m.callees) {
    c.id = m.module.new_id();
    std::vector<Id> types;
    for (const InterfaceRegister& r : c.function->results) types.push_back(m.types[r.type]);
    c.result_type = types.empty()       ? m.types[Type::none]
                    : types.size() == 1 ? types[0]
                                        : m.module.new_struct(types);
  }
}

void begin_callee(Emitter& e) {
  constexpr size_t most = 255; // SPIR-V specification, 2.17, "Universal Limits"
  if (const size_t count = e.self->function->params.size(); count > most && !e.shared.error)
    e.shared.error = Error{ErrorKind::limit,
                           fmt::format("a function of {} parameters; SPIR-V has {} at most", count, most),
                           e.f.name, "--calls inlined puts callees in the place of their calls"};
  std::vector<Id> types;
  for (const InterfaceRegister& r : e.self->function->params) types.push_back(e.types[r.type]);
  e.code.op_as(e.self->id, spv::Op::OpFunction, e.self->result_type,
               {0, e.module.type_function(e.self->result_type, types)});
  for (const Id t : types) e.parameters.push_back(e.code.op(spv::Op::OpFunctionParameter, t, {}));
  if (e.options.debug_names) e.module.name(e.self->id, e.f.name);
}

void add_call_handlers(HandlerTable& t) {
  t[index_of(ir::Op::param_scalar)] = write_parameter;
  t[index_of(ir::Op::param_vector)] = write_parameter;
  t[index_of(ir::Op::call)] = write_call;
  t[index_of(ir::Op::call_scalar)] = write_result;
  t[index_of(ir::Op::call_vector)] = write_result;
  t[index_of(ir::Op::call_return)] = write_call_return;
}

} // namespace lanewise::spirv
