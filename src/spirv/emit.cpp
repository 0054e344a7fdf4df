#include "spirv/emit.hpp"

#include "cfg/structurize.hpp"
#include "ir/graph.hpp"
#include "spirv/control.hpp"
#include "spirv/reducible.hpp"

#include <algorithm>

namespace lanewise::spirv {
namespace {

using ir::Type;

/// Execution modes for the float widths that the guest's operations have, as far as the device knows them.
/// (With RoundingModeRTE and no floats but those that number work-items, NVIDIA's compiler failed on 18 of
/// hashcat's kernels: "NVVM compilation failed: 3", driver 580.159.)
void declare_float_modes(ModuleBuilder& module, const FloatTraits& traits,
                         std::span<const ir::Function* const> functions) {
  constexpr std::array<unsigned, 3> widths{16, 32, 64};
  std::array<bool, 3> used{};
  for (const ir::Function* f : functions)
    for (uint32_t v = 1; f->guest_floats && v < f->value_count(); ++v) {
      const Type t = (*f)[ir::Value{v}].type;
      if (ir::is_float(t)) used[t == Type::f16 ? 0 : t == Type::f32 ? 1 : 2] = true;
    }
  const auto declare = [&](const std::array<bool, 3>& has, spv::Capability capability,
                           spv::ExecutionMode mode) {
    for (unsigned i = 0; i < 3; ++i) {
      if (!used[i] || !has[i]) continue;
      module.capability(capability);
      module.execution_mode(mode, {widths[i]});
    }
  };
  declare(traits.denorm_preserve, spv::Capability::DenormPreserve, spv::ExecutionMode::DenormPreserve);
  declare(traits.round_nearest_even, spv::Capability::RoundingModeRTE, spv::ExecutionMode::RoundingModeRTE);
  declare(traits.signed_zero_inf_nan_preserve, spv::Capability::SignedZeroInfNanPreserve,
          spv::ExecutionMode::SignedZeroInfNanPreserve);
}

void begin_main(Emitter& e) {
  const Id function = e.module.new_id(), nothing = e.types[Type::none];
  e.module.entry_point(function);
  e.code.op_as(function, spv::Op::OpFunction, nothing, {0, e.module.type_function(nothing, {})});
}

/// The entry point, or a callee.
Expected<void> write_function(SharedModule& shared, const ir::Function& function, const EmitOptions& options,
                              const SharedModule::Callee* self) {
  if (function.blocks.empty()) return fail(ErrorKind::input, "function without blocks");
  auto structured = cfg::structurize(graph_of(function));
  std::optional<ir::Function> copy;
  if (!structured) {
    copy = function;
    if (auto ok = make_reducible(*copy); !ok) return std::unexpected(ok.error());
    structured = cfg::structurize(graph_of(*copy));
  }
  if (!structured) return std::unexpected(structured.error());
  Emitter e(shared, copy ? *copy : function, options);
  e.self = self;
  if (self)
    begin_callee(e);
  else
    begin_main(e);
  Code& c = e.code;
  const size_t head = c.words.size();
  Control(e, *structured).write();
  c.effect(spv::Op::OpFunctionEnd, {});
  // Variables stand behind the first label.
  c.words.insert(c.words.begin() + static_cast<std::ptrdiff_t>(head) + 2, e.variables.begin(),
                 e.variables.end());
  shared.module.function(std::move(c.words));
  if (shared.error) return std::unexpected(*shared.error);
  return {};
}

/// Callees that the kernel calls, by itself or through others. They call those before them only.
std::vector<bool> reached_callees(const ir::Function& main, std::span<const ir::CalleeFunction> callees) {
  std::vector<bool> reached(callees.size());
  const auto mark = [&](const ir::Function& f) {
    for (const auto& b : f.blocks)
      for (const ir::Value v : b.instructions)
        if (f[v].op == ir::Op::call && f[v].imm < callees.size()) reached[f[v].imm] = true;
  };
  mark(main);
  for (size_t k = callees.size(); k-- > 0;)
    if (reached[k]) mark(callees[k].function);
  return reached;
}

Expected<EmittedModule> emit_module(const ir::Function& main, std::span<const ir::CalleeFunction> callees,
                                    const EmitOptions& options) {
  if (auto ok = check(options.seating); !ok) return std::unexpected(ok.error());
  SharedModule shared(main, callees, options);
  shared.module.capability(spv::Capability::Shader);
  shared.module.capability(spv::Capability::PhysicalStorageBufferAddresses);
  declare_callees(shared);
  if (auto ok = write_function(shared, main, options, nullptr); !ok) return std::unexpected(ok.error());
  std::vector<const ir::Function*> functions{&main};
  const auto reached = reached_callees(main, callees);
  for (size_t k = 0; k < callees.size(); ++k) {
    if (!reached[k]) continue;
    functions.push_back(&callees[k].function);
    if (auto ok = write_function(shared, callees[k].function, options, &shared.callees[k]); !ok)
      return std::unexpected(ok.error());
  }
  declare_float_modes(shared.module, options.device.floats, functions);
  const Seating& seating = options.seating;
  EmittedModule m;
  if (options.cut_waves) {
    m.cut = {seating.wave_size, seating.host_lanes};
    shared.module.local_size_constant(kLocalSizeConstant, seating.invocations());
  } else {
    shared.module.execution_mode(spv::ExecutionMode::LocalSize, {seating.invocations(), 1, 1});
  }
  const bool divergent = std::ranges::any_of(functions, [](const ir::Function* f) { return f->divergent; });
  if (divergent && options.device.uniform_control_flow && !seating.independent) {
    shared.module.extension("SPV_KHR_subgroup_uniform_control_flow");
    shared.module.execution_mode(spv::ExecutionMode::SubgroupUniformControlFlowKHR);
  }
  m.host_workgroup = {seating.invocations(), 1, 1};
  m.subgroup_size = seating.host_lanes > 1 && !seating.independent ? seating.host_lanes : 0;
  m.lds_bytes = shared.lds_bytes;
  m.functions = static_cast<uint32_t>(functions.size() - 1);
  ModuleBuilder::Marks marks;
  m.words = shared.module.finish(options.trace ? &marks : nullptr);
  for (const auto& [owner, value] : marks) m.origins.push_back({owner, {value}});
  return m;
}

} // namespace

Expected<EmittedModule> emit(const ir::Function& function, const EmitOptions& options) {
  return emit_module(function, {}, options);
}

Expected<EmittedModule> emit(const ir::Program& program, const EmitOptions& options) {
  return emit_module(program.main, program.callees, options);
}

} // namespace lanewise::spirv
