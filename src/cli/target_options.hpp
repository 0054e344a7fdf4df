// The options of a subcommand that say what kernels are compiled for; `compile`, `stats` and `explore` share
// them.
#pragma once

#include "cli/pass_options.hpp"

namespace lanewise::cli {

struct TargetOptions {
  PassOptions passes;
  std::string to = "spirv", wave = "auto", block, device;
  uint32_t subgroup = 32, dynamic_lds = 0;
  bool full = false, separate = false, aligned = false, reconverges = false, unaligned = false;
};

void add_target_options(Command& command, TargetOptions& options);

/// Opens --device if there is one. Errors: call, and those of opening a device.
[[nodiscard]] Expected<runtime::CompileOptions> compile_options(const TargetOptions& options);

} // namespace lanewise::cli
