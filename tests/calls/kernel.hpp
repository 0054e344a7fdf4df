// Test kernels: code with eight dwords of user data, and launches of one workgroup of 64 work-items.
#pragma once

#include "assembler.hpp"
#include "container/shader_binary.hpp"
#include "runtime/launch.hpp"

#include <cstring>

namespace lanewise::calls {

inline constexpr uint32_t kernel_base = 0x1000;
inline constexpr uint32_t items = 64;

/// s[0:1] the output, s[2:3], s[4:5] and s[6:7] what the host passes, s8 the workgroup id, v0 the work-item
/// id.
inline container::ShaderBinary kernel_of(const Assembled& program, unsigned wave) {
  container::ShaderBinary binary{.format = "raw", .target = "amdgcn-amd-amdhsa--gfx1030"};
  binary.segments.push_back({.address = kernel_base, .bytes = program.code, .executable = true});
  container::Kernel kernel{.name = "test", .entry = kernel_base, .code_size = program.code.size()};
  auto& d = kernel.descriptor;
  d.wave32 = wave == 32;
  d.user.kernarg_preload_length = 8;
  d.user.count = 8;
  d.workgroup_id_x = true;
  d.vgpr_count = 32;
  d.group_segment_fixed_size = 1024;
  d.kernarg_size = 32;
  binary.kernels.push_back(std::move(kernel));
  return binary;
}

/// One workgroup; buffer 0 is the output.
inline runtime::Launch launch_of(const container::ShaderBinary& binary) {
  runtime::Launch launch;
  launch.binary = &binary;
  launch.kernel = &binary.kernels.front();
  launch.grid = launch.block = {items, 1, 1};
  launch.buffers.push_back({"out", runtime::ElementType::u32, std::vector<uint8_t>(4 * items)});
  launch.arguments.push_back(runtime::Argument::of_buffer(0));
  return launch;
}

inline std::vector<uint32_t> words(const runtime::Buffer& buffer) {
  std::vector<uint32_t> list(buffer.contents.size() / 4);
  std::memcpy(list.data(), buffer.contents.data(), 4 * list.size());
  return list;
}

} // namespace lanewise::calls
