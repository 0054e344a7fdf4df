// Capsules brought to life again.
#pragma once

#include "ir/interpreter.hpp"
#include "runtime/capsule.hpp"
#include "runtime/linked.hpp"

#include <map>

namespace lanewise::runtime {

/// A capsule's program, prepared and linked with the callees of its dispatch.
struct ReplayedProgram {
  std::shared_ptr<const PreparedShader> shader;
  Targets targets;
  CalleeSets sets;
  ir::Function linked = ir::Function();
};
/// Errors as prepare(), resolve() and link_function(). Of a registration whose shader has slots only `shader`
/// is made: what it calls is not known.
[[nodiscard]] Expected<ReplayedProgram> replay(const Capsule& capsule);

/// Runs the dispatch on a copy of the capsule's memory; the memory afterwards, by address.
using MemoryAfter = std::map<uint64_t, std::vector<uint8_t>>;
/// `max_instructions` of a wave; 0: the emulator's own limit.
[[nodiscard]] Expected<MemoryAfter> replay_on_emulator(const Capsule& capsule, uint64_t max_instructions = 0);
/// `function` is the linked program at any stage before wave lowering; after it, `host_lanes` invocations
/// carry a wave.
[[nodiscard]] Expected<MemoryAfter> replay_on_interpreter(const Capsule& capsule,
                                                          const ReplayedProgram& program,
                                                          const ir::Function& function,
                                                          unsigned host_lanes = 0);

/// Memory that a capsule's dispatch runs in on the interpreter.
class DispatchMemory : public ir::InterpreterMemory {
 public:
  /// Puts bytes of our own where nothing is; their address.
  virtual uint64_t add(std::vector<uint8_t> bytes) = 0;
};
/// What the interpreter is told; the dispatch packet with the callee table behind it, the queue and, if it is
/// not in memory, the kernarg segment are added to the memory.
[[nodiscard]] ir::InterpreterDispatch interpreter_dispatch(const Capsule& capsule, DispatchMemory& memory,
                                                           const std::vector<uint8_t>& callee_table);

struct ReplayStep {
  std::string name;
  bool failed = false;
  std::string text; ///< the first difference, or the error
};
/// Emulator, interpreter on the linked program, after the passes, and after wave lowering, all against the
/// first. Error: a program that cannot be linked, or a capsule without a dispatch.
[[nodiscard]] Expected<std::vector<ReplayStep>> replay_check(const Capsule& capsule);

} // namespace lanewise::runtime
