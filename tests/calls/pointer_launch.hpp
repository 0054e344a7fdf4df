// A PointerProgram with its buffers, ready to run.
#pragma once

#include "kernel.hpp"
#include "pointer_programs.hpp"
#include "runtime/execute.hpp"
#include "runtime/launch_guest_memory.hpp"
#include "runtime/linked.hpp"

#include <memory>

namespace lanewise::calls {

struct PointerLaunch {
  std::unique_ptr<container::ShaderBinary> binary;
  runtime::Launch launch;

  enum : size_t { out, code, words }; ///< buffers
};

[[nodiscard]] PointerLaunch pointer_launch(const PointerProgram& program, const Assembled& assembled,
                                           unsigned wave);

/// The launch's memory, placed somewhere.
[[nodiscard]] Expected<runtime::LaunchMemory> placed(const runtime::Launch& launch);

/// Options that make the callee table of a dispatch linked with `sets`.
[[nodiscard]] runtime::ExecuteOptions with_callees(const runtime::PreparedShader& shader,
                                                   const runtime::CalleeSets& sets);

} // namespace lanewise::calls
