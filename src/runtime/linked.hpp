// Prepared shaders with the callees that their dispatches need.
//
//   prepare(shader)  ->  PreparedShader       once
//   resolve(...)     ->  Targets              each dispatch: addresses, and what stands there
//   link(...)        ->  LinkedShader         once for each set of callees
//   callee_table()   ->  bytes behind the packet, each dispatch
#pragma once

#include "runtime/compile.hpp"
#include "runtime/prepare.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace lanewise::runtime {

using CalleePtr = std::shared_ptr<const PreparedCallee>;

/// Where the slots of a shader lead to in one dispatch.
struct Targets {
  struct Target {
    uint64_t address = 0;
    CalleePtr callee; ///< null: nothing that can be called; only where the address is compared at run time
    std::vector<Target>
        nested{}; ///< what the callee calls through pointers of its caller; `callee` contains them
  };
  std::vector<std::vector<Target>> slots;
};

/// Where resolve() gets callees from.
class CalleeSource {
 public:
  virtual ~CalleeSource() = default;
  /// Prepares what stands at an address, or finds it prepared.
  [[nodiscard]] virtual Expected<CalleePtr> find(uint64_t address, const translate::CalleeAbi& abi) = 0;
  /// compose(), or what it made before.
  [[nodiscard]] virtual CalleePtr composed(const CalleePtr& callee, const std::vector<CalleePtr>& nested) {
    return compose(callee, nested);
  }
};

/// Reads the pointers by their provenance and finds their callees. Of a slot with several addresses those
/// that cannot be called are left out, as long as one can. Errors name pc, address and reason.
[[nodiscard]] Expected<Targets> resolve(const PreparedShader& shader, const Invocation& invocation,
                                        const GuestMemory& memory, CalleeSource& source);
/// The same without any cache.
[[nodiscard]] Expected<Targets> resolve(const PreparedShader& shader, const Invocation& invocation,
                                        const GuestMemory& memory);

/// Callees by slot, each of them once.
using CalleeSets = std::vector<std::vector<CalleePtr>>;
[[nodiscard]] CalleeSets sets_of(const Targets& targets);

/// Whether the shader may call these: they come back where the call wants them to and leave alone what code
/// behind the call relies on. Errors name the call's pc and the reason.
[[nodiscard]] Expected<void> check_callees(const PreparedShader& shader, const CalleeSets& sets);

/// The shader's function with its callees inside. A dispatch says through the callee table which of a slot's
/// callees it means. Errors: check_callees(), limit (max_slot_callees, max_callees_bytes), call.
[[nodiscard]] Expected<ir::Function> link_function(const PreparedShader& shader, const CalleeSets& sets);
/// The same with the functions of PreparedShader::callees as they are.
[[nodiscard]] Expected<ir::Program> link_program(const PreparedShader& shader, const CalleeSets& sets);

/// link_function() and compile_program(). `partial_workgroups` must not allow more than the shader was
/// prepared for.
[[nodiscard]] Expected<CompiledKernel> link(const PreparedShader& shader, const CalleeSets& sets,
                                            const CompileOptions& options);

/// Bytes of the callee table of any dispatch of the shader.
[[nodiscard]] size_t callee_table_bytes(const PreparedShader& shader);
/// The table of a dispatch, for a module that was linked with `sets`. Error: call (a callee is not in the
/// sets).
[[nodiscard]] Expected<std::vector<uint8_t>> callee_table(const PreparedShader& shader,
                                                          const CalleeSets& sets, const Targets& targets);

} // namespace lanewise::runtime
