// The options that say what to launch and on what; `run` and `check` share them.
#pragma once

#include <memory>
#include <optional>

#include "cli/arguments.hpp"
#include "cli/command.hpp"
#include "cli/input.hpp"
#include "lanewise/lanewise.hpp"

namespace lanewise::cli {

struct LaunchOptions {
  InputOptions input;
  std::string kernel, grid, block;
  std::vector<std::string> arguments;
  std::string device, wave = "auto";
  bool validation = false;
  uint32_t subgroup = 0; ///< invocations that a wave may use at most; 0: what the device has
};

/// A launch with the binary that it points into.
struct LoadedLaunch {
  std::unique_ptr<container::ShaderBinary> binary;
  runtime::Launch launch;
};

void add_launch_options(Command& command, LaunchOptions& options);
/// Adds --device, --wave, --subgroup and --validation.
void add_device_options(Command& command, LaunchOptions& options);

/// Loads the file, finds the kernel and parses the sizes and arguments. `default_grid` stands in for --grid;
/// without it a missing --grid is an error of kind call. The launch is not checked yet.
[[nodiscard]] Expected<LoadedLaunch> load_launch(const LaunchOptions& options,
                                                 std::optional<uint32_t> default_grid = {});

/// auto, native or folded. Error: call.
[[nodiscard]] Expected<WaveSeating> parse_seating(const std::string& text);

} // namespace lanewise::cli
