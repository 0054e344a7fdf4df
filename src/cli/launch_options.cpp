#include "cli/launch_options.hpp"

#include <fmt/format.h>

namespace lanewise::cli {

void add_launch_options(Command& command, LaunchOptions& options) {
  add_input(command, options.input);
  command.text("--kernel", options.kernel, "kernel to run; may be left out if the file has only one");
  command.text("--grid", options.grid, "work-items, X[,Y[,Z]]");
  command.text("--block", options.block,
               "work-items of a workgroup, X[,Y[,Z]]; default: what the kernel requires, else up to 256");
  command.list("--arg", options.arguments,
               "next argument: [NAME:]TYPE[N]=VALUE|@FILE|iota|rand:SEED[:BELOW], 7u, -3, 2.0f, 0x1f, {1,2}, "
               "local:BYTES, null, &NAME");
}

void add_device_options(Command& command, LaunchOptions& options) {
  command.text("--device", options.device, "Vulkan device: its number or a part of its name");
  command.text("--wave", options.wave, "seating of waves on Vulkan: auto, native, independent or folded")
      .show_default();
  command
      .number("--subgroup", options.subgroup,
              "invocations of a subgroup to count on; 1: one carries a whole wave; default: the device's")
      .range(1, 128);
  command.flag("--validation", options.validation,
               "load the Vulkan validation layers; what they say is an error");
}

Expected<WaveSeating> parse_seating(const std::string& text) {
  if (text == "auto") return WaveSeating::automatic;
  if (text == "native") return WaveSeating::native;
  if (text == "folded") return WaveSeating::folded;
  if (text == "independent") return WaveSeating::independent;
  return fail(ErrorKind::call, fmt::format("--wave '{}' is not auto, native, independent or folded", text));
}

Expected<LoadedLaunch> load_launch(const LaunchOptions& options, std::optional<uint32_t> default_grid) {
  auto binary = load_input(options.input);
  if (!binary) return std::unexpected(binary.error());
  LoadedLaunch loaded;
  loaded.binary = std::make_unique<container::ShaderBinary>(std::move(*binary));
  auto kernel = pick_kernel(*loaded.binary, options.kernel);
  if (!kernel) return std::unexpected(kernel.error());
  runtime::Launch& launch = loaded.launch;
  unsigned dimensions = 1;
  launch.binary = loaded.binary.get();
  launch.kernel = *kernel;

  if (!options.grid.empty()) {
    auto grid = parse_extent(options.grid, "--grid");
    if (!grid) return std::unexpected(grid.error());
    launch.grid = grid->size;
    dimensions = grid->dimensions;
  } else if (!default_grid) {
    return fail(ErrorKind::call, "--grid is missing", {}, "it counts work-items");
  }
  if (!options.block.empty()) {
    auto block = parse_extent(options.block, "--block");
    if (!block) return std::unexpected(block.error());
    launch.block = block->size;
  }
  if (options.grid.empty() && launch.kernel->required_workgroup_size) {
    for (unsigned i = 0; i < 3; ++i)
      launch.grid[i] = (*launch.kernel->required_workgroup_size)[i] * (i == 0 ? 2 : 1);
  } else if (options.grid.empty()) {
    launch.grid = {*default_grid, 1, 1};
  }
  if (options.block.empty()) launch.block = runtime::default_block(*launch.kernel, launch.grid, dimensions);
  for (const std::string& text : options.arguments)
    if (auto ok = add_argument(launch, text); !ok) return std::unexpected(ok.error());
  return loaded;
}

} // namespace lanewise::cli
