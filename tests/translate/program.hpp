// Kernels of raw words, for tests.
#pragma once

#include "container/shader_binary.hpp"

#include <cstring>
#include <span>
#include <vector>

namespace lanewise::translate {

/// Where test programs stand in their image.
inline constexpr uint32_t program_base = 0x1000;

/// A kernel with the kernarg pointer in s[0:1], the workgroup id in s2 and the work-item id in v0.
inline container::ShaderBinary program(std::span<const uint32_t> words, unsigned wave_size = 32) {
  container::ShaderBinary binary;
  container::Segment segment{.address = program_base, .bytes = {}, .executable = true, .writable = false};
  segment.bytes.resize(words.size_bytes());
  std::memcpy(segment.bytes.data(), words.data(), words.size_bytes());
  binary.segments.push_back(std::move(segment));
  container::Kernel kernel{.name = "test", .entry = program_base, .code_size = words.size_bytes()};
  auto& d = kernel.descriptor;
  d.wave32 = wave_size == 32;
  d.user.kernarg_segment_ptr = true;
  d.user.count = 2;
  d.workgroup_id_x = true;
  d.vgpr_count = 24;
  d.kernarg_size = 64;
  binary.kernels.push_back(std::move(kernel));
  return binary;
}

} // namespace lanewise::translate
