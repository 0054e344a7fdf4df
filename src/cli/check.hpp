// What `lanewise check` was asked for, and its ways of checking a kernel.
#pragma once

#include "cli/launch_options.hpp"
#include "cli/pass_options.hpp"

namespace lanewise::cli {

struct CheckCommand {
  LaunchOptions launch;
  PassOptions passes;
  bool exact_nan = false, json = false, no_vulkan = false, quiet = false, prove = false;
  bool made_up = false, each_pass = false, no_interpreter = false;
  uint64_t seed = 1;
  uint64_t most_instructions = 1 << 16; ///< of a wave of a made-up launch
  uint32_t elements = 4096;
  uint32_t from = 0;    ///< kernels of the file that are left out in front
  uint32_t count = ~0u; ///< kernels behind these that are checked
  double seconds = 60;
  uint32_t try_selects = 0;
};

/// Every decision that rests on lane demand, and every branch that lanes take by themselves, as obligations
/// for the solver.
[[nodiscard]] Expected<bool> prove_one(const CheckCommand& command, const container::ShaderBinary& binary,
                                       const container::Kernel& kernel);
/// Takes out one select at a time (cli/select_trial.hpp).
[[nodiscard]] Expected<bool> try_one(const CheckCommand& command, const container::ShaderBinary& binary,
                                     const container::Kernel& kernel);

} // namespace lanewise::cli
