// Launches of kernels that call through pointers: resolved against the launch's own buffers.
#pragma once

#include "runtime/execute.hpp"
#include "runtime/linked.hpp"

namespace lanewise::runtime {

/// Whether a launch of the kernel has to supply call targets. False for a kernel that is refused anyway.
[[nodiscard]] bool has_call_slots(const container::ShaderBinary& binary, const container::Kernel& kernel);

struct LinkedLaunch {
  std::shared_ptr<const PreparedShader> shader;
  CalleeSets sets;
  /// Adds what makes the callee table.
  void add_to(ExecuteOptions& options) const;
};

/// Prepares the kernel and finds the callees that the launch's arguments and buffers lead to. Errors as
/// prepare() and resolve().
[[nodiscard]] Expected<LinkedLaunch> link_launch(const Launch& launch);

} // namespace lanewise::runtime
