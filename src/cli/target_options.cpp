#include "cli/target_options.hpp"

#include "cli/command.hpp"
#include "cli/launch_options.hpp"
#include "runtime/vulkan_device.hpp"

#include <fmt/format.h>

namespace lanewise::cli {

void add_target_options(Command& command, TargetOptions& options) {
  command.text("--to", options.to, "target").show_default();
  command.text("--wave", options.wave, "seating of waves: auto, native, independent or folded")
      .show_default();
  command
      .number("--subgroup", options.subgroup, "invocations of a subgroup on the device; 1 suits every device")
      .range(1, 128)
      .show_default();
  command.text("--device", options.device,
               "compile for this Vulkan device: its number or a part of its name");
  command.text("--block", options.block,
               "work-items of a workgroup, X[,Y[,Z]]; default: what the kernel requires, else 64");
  command.number("--dynamic-lds", options.dynamic_lds, "bytes of LDS behind the static ones").range(0, 65536);
  command.flag("--full", options.full, "promise that every grid is a multiple of the block");
  command.flag("--separate", options.separate, "promise that buffers given as arguments do not overlap");
  command.flag("--aligned", options.aligned,
               "promise that buffers given as arguments start at multiples of 8 bytes");
  add_pass_options(command, options.passes);
  command.flag(
      "--reconverges", options.reconverges,
      "the device has VK_KHR_shader_subgroup_uniform_control_flow: lanes may take branches of their own");
  command.flag("--unaligned", options.unaligned,
               "the device accesses global memory at any byte, as AMD's and those that run on a CPU do");
}

Expected<runtime::CompileOptions> compile_options(const TargetOptions& o) {
  if (o.to != "spirv") return fail(ErrorKind::call, fmt::format("--to '{}' is not spirv", o.to));
  runtime::CompileOptions options;
  auto seating = parse_seating(o.wave);
  if (!seating) return std::unexpected(seating.error());
  options.seating = *seating;
  options.host.subgroup_size = o.subgroup;
  options.host.subgroup_operations = o.subgroup > 1;
  if (!o.device.empty()) {
    auto device = runtime::VulkanDevice::open({o.device});
    if (!device) return std::unexpected(device.error());
    options.host = runtime::host_traits(**device);
  }
  if (!o.block.empty()) {
    auto block = parse_extent(o.block, "--block");
    if (!block) return std::unexpected(block.error());
    options.block = block->size;
  }
  options.dynamic_lds_bytes = o.dynamic_lds;
  if (o.full) options.partial_workgroups = {};
  options.separate_buffers = o.separate;
  options.aligned_buffers = o.aligned;
  options.without = o.passes.without;
  options.calls = o.passes.calls.value();
  options.host.device.unaligned_global |= o.unaligned;
  if (o.reconverges) options.host.device.reconverges = options.host.device.uniform_control_flow = true;
  return options;
}

} // namespace lanewise::cli
