#include "container/kernarg.hpp"

#include "container/guest_abi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <string_view>

namespace lanewise::container {
namespace {

using Value = uint64_t (*)(const LaunchShape&);

// Workgroups of full size; a partial one at the end does not count.
template <unsigned d>
uint64_t block_count(const LaunchShape& s) {
  return s.grid[d] / s.block[d];
}
template <unsigned d>
uint64_t group_size(const LaunchShape& s) {
  return s.block[d];
}
template <unsigned d>
uint64_t remainder(const LaunchShape& s) {
  return s.grid[d] % s.block[d];
}
template <unsigned d>
uint64_t global_offset(const LaunchShape& s) {
  return s.global_offset[d];
}
uint64_t dimensions(const LaunchShape& s) {
  return s.grid[2] > 1 || s.block[2] > 1 ? 3 : s.grid[1] > 1 || s.block[1] > 1 ? 2 : 1;
}

struct Hidden {
  std::string_view kind;
  Value value; ///< null: a service's pointer, which is the caller's business
};

constexpr Hidden hidden_arguments[] = {
    {"hidden_global_offset_x", global_offset<0>},
    {"hidden_global_offset_y", global_offset<1>},
    {"hidden_global_offset_z", global_offset<2>},
    {"hidden_block_count_x", block_count<0>},
    {"hidden_block_count_y", block_count<1>},
    {"hidden_block_count_z", block_count<2>},
    {"hidden_group_size_x", group_size<0>},
    {"hidden_group_size_y", group_size<1>},
    {"hidden_group_size_z", group_size<2>},
    {"hidden_remainder_x", remainder<0>},
    {"hidden_remainder_y", remainder<1>},
    {"hidden_remainder_z", remainder<2>},
    {"hidden_grid_dims", dimensions},
    {"hidden_private_base", [](const LaunchShape&) { return uint64_t{guest_abi::private_aperture_hi}; }},
    {"hidden_shared_base", [](const LaunchShape&) { return uint64_t{guest_abi::shared_aperture_hi}; }},
    {"hidden_queue_ptr", [](const LaunchShape& s) { return s.queue_address; }},
    {"hidden_dynamic_lds_size", [](const LaunchShape& s) { return uint64_t{s.dynamic_lds_bytes}; }},
    {"hidden_none", nullptr},
    {"hidden_printf_buffer", nullptr},
    {"hidden_hostcall_buffer", nullptr},
    {"hidden_default_queue", nullptr},
    {"hidden_completion_action", nullptr},
    {"hidden_multigrid_sync_arg", nullptr},
    {"hidden_heap_v1", nullptr},
};

} // namespace

std::size_t kernarg_bytes(const Kernel& kernel) {
  std::size_t bytes = kernel.descriptor.kernarg_size;
  for (const KernelArgument& a : kernel.arguments)
    bytes = std::max<std::size_t>(bytes, std::size_t{a.offset} + a.size);
  return (bytes + kernarg_granule - 1) / kernarg_granule * kernarg_granule;
}

Expected<void> fill_hidden_arguments(const Kernel& kernel, const LaunchShape& shape,
                                     std::span<uint8_t> kernarg) {
  for (unsigned d = 0; d < 3; ++d)
    if (shape.grid[d] == 0 || shape.block[d] == 0)
      return fail(ErrorKind::call, "a dimension of the grid or the block is 0", kernel.name);
  for (const KernelArgument& argument : kernel.arguments) {
    if (!argument.hidden()) continue;
    const auto* row = std::find_if(std::begin(hidden_arguments), std::end(hidden_arguments),
                                   [&](const Hidden& h) { return h.kind == argument.value_kind; });
    if (row == std::end(hidden_arguments))
      return fail(ErrorKind::unsupported, fmt::format("hidden argument {}", argument.value_kind),
                  kernel.name);
    if (argument.offset > kernarg.size() || argument.size > kernarg.size() - argument.offset)
      return fail(
          ErrorKind::call,
          fmt::format("the kernarg segment of {} bytes ends before {}", kernarg.size(), argument.value_kind),
          kernel.name);
    if (row->value == nullptr) continue;
    const uint64_t value = row->value(shape);
    std::memset(kernarg.data() + argument.offset, 0, argument.size);
    std::memcpy(kernarg.data() + argument.offset, &value,
                std::min<std::size_t>(argument.size, sizeof(value)));
  }
  return {};
}

} // namespace lanewise::container
