#include "spirv/emit.hpp"

#include "cfg/structurize.hpp"
#include "spirv/control.hpp"
#include "spirv/reducible.hpp"

namespace lanewise::spirv {
namespace {

using ir::Type;

/// Execution modes for the float widths that the module has, as far as the device knows them.
void declare_float_modes(Emitter& e) {
  constexpr std::array<unsigned, 3> widths{16, 32, 64};
  std::array<bool, 3> used{};
  for (uint32_t v = 1; v < e.f.value_count(); ++v) {
    const Type t = e.f[ir::Value{v}].type;
    if (ir::is_float(t)) used[t == Type::f16 ? 0 : t == Type::f32 ? 1 : 2] = true;
  }
  const FloatTraits& traits = e.options.device.floats;
  const auto declare = [&](const std::array<bool, 3>& has, spv::Capability capability,
                           spv::ExecutionMode mode) {
    for (unsigned i = 0; i < 3; ++i) {
      if (!used[i] || !has[i]) continue;
      e.module.capability(capability);
      e.module.execution_mode(mode, {widths[i]});
    }
  };
  declare(traits.denorm_preserve, spv::Capability::DenormPreserve, spv::ExecutionMode::DenormPreserve);
  declare(traits.round_nearest_even, spv::Capability::RoundingModeRTE, spv::ExecutionMode::RoundingModeRTE);
  declare(traits.signed_zero_inf_nan_preserve, spv::Capability::SignedZeroInfNanPreserve,
          spv::ExecutionMode::SignedZeroInfNanPreserve);
}

void write_main(Emitter& e, const cfg::Structured& s) {
  Code& c = e.code;
  const Id function = e.module.new_id(), nothing = e.types[Type::none];
  e.module.entry_point(function);
  Control control(e, s);
  c.op_as(function, spv::Op::OpFunction, nothing, {0, e.module.type_function(nothing, {})});
  const size_t head = c.words.size();
  control.write();
  c.effect(spv::Op::OpFunctionEnd, {});
  // Variables stand behind the first label.
  c.words.insert(c.words.begin() + static_cast<std::ptrdiff_t>(head) + 2, e.variables.begin(),
                 e.variables.end());
  e.module.function(std::move(c.words));
}

} // namespace

Expected<EmittedModule> emit(const ir::Function& function, const EmitOptions& options) {
  if (auto ok = check(options.seating); !ok) return std::unexpected(ok.error());
  if (function.blocks.empty()) return fail(ErrorKind::input, "function without blocks");
  auto structured = cfg::structurize(graph_of(function));
  std::optional<ir::Function> copy;
  if (!structured) {
    copy = function;
    if (auto ok = make_reducible(*copy); !ok) return std::unexpected(ok.error());
    structured = cfg::structurize(graph_of(*copy));
  }
  const ir::Function& f = copy ? *copy : function;
  if (!structured) return std::unexpected(structured.error());
  Emitter e(f, options);
  e.module.capability(spv::Capability::Shader);
  e.module.capability(spv::Capability::PhysicalStorageBufferAddresses);
  write_main(e, *structured);
  if (e.error) return std::unexpected(*e.error);
  declare_float_modes(e);
  const Seating& seating = options.seating;
  e.module.execution_mode(spv::ExecutionMode::LocalSize, {seating.invocations(), 1, 1});
  if (f.divergent && options.device.uniform_control_flow) {
    e.module.extension("SPV_KHR_subgroup_uniform_control_flow");
    e.module.execution_mode(spv::ExecutionMode::SubgroupUniformControlFlowKHR);
  }
  EmittedModule m;
  m.host_workgroup = {seating.invocations(), 1, 1};
  m.subgroup_size = seating.host_lanes > 1 ? seating.host_lanes : 0;
  m.lds_bytes = e.lds_bytes();
  m.words = e.module.finish();
  return m;
}

} // namespace lanewise::spirv
