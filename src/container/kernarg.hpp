// Hidden kernel arguments: what the runtime adds behind the explicit ones (LLVM AMDGPU usage, "Kernel
// Argument Metadata Map", code object versions 3 to 5). Used by every runner, so that all show a kernel the
// same values.
#pragma once

#include "container/shader_binary.hpp"
#include "support/error.hpp"

#include <array>
#include <cstdint>
#include <span>

namespace lanewise::container {

/// What hidden arguments say. Counts are work-items.
struct LaunchShape {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::array<uint32_t, 3> block{1, 1, 1};
  std::array<uint64_t, 3> global_offset{};
  uint32_t dynamic_lds_bytes = 0;
  uint64_t queue_address = 0;
};

/// Segments are allocated in pieces of so many bytes (hsa.h: the size of a kernarg segment is a multiple of
/// 16). Compilers count on it: three dwords at byte 8 are loaded as four.
inline constexpr std::size_t kernarg_granule = 16;

/// Bytes that the kernarg segment of a kernel takes: the descriptor's size and the end of every argument fit,
/// rounded up to kernarg_granule.
[[nodiscard]] std::size_t kernarg_bytes(const Kernel& kernel);

/// Writes the hidden arguments of the kernel into its kernarg segment. Pointers to services (printf buffer,
/// host calls, device queues, heap, multi-grid synchronisation) stay as the caller left them: null where
/// there is no such service. Errors: call (the segment is shorter than an argument needs, or a dimension of
/// the grid or block is 0), unsupported (a hidden argument of unknown kind).
[[nodiscard]] Expected<void> fill_hidden_arguments(const Kernel& kernel, const LaunchShape& shape,
                                                   std::span<uint8_t> kernarg);

} // namespace lanewise::container
