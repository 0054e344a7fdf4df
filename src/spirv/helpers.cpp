#include "spirv/helpers.hpp"

namespace lanewise::spirv {

Id Helpers::get(Key key, const char* name, Id result, std::span<const ir::Type> parameters,
                const Body& body) {
  const uint64_t packed = uint64_t{key.kind} << 56 | key.variant;
  if (const auto it = functions_.find(packed); it != functions_.end()) return it->second;
  const Id function = types_.module.new_id();
  functions_.emplace(packed, function);
  std::vector<Id> types;
  for (const ir::Type t : parameters) types.push_back(types_[t]);
  Code code(types_);
  code.op_as(function, spv::Op::OpFunction, result, {0, types_.module.type_function(result, types)});
  std::vector<Expr> arguments;
  for (size_t i = 0; i < types.size(); ++i)
    arguments.push_back({&code, code.op(spv::Op::OpFunctionParameter, types[i], {}), parameters[i]});
  code.start(types_.module.new_id());
  const Expr value = body(code, arguments);
  if (value.id != 0)
    code.effect(spv::Op::OpReturnValue, {value.id});
  else
    code.effect(spv::Op::OpReturn, {});
  code.effect(spv::Op::OpFunctionEnd, {});
  types_.module.function(std::move(code.words));
  if (debug_names) types_.module.name(function, name);
  return function;
}

} // namespace lanewise::spirv
