// The 64-byte kernel descriptor of an HSA code object (LLVM AMDGPU usage, "Kernel Descriptor").
#pragma once

#include "container/shader_binary.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <span>

namespace lanewise::container {

inline constexpr std::size_t kernel_descriptor_bytes = 64;

/// Bits of KERNEL_CODE_PROPERTIES.
struct KernelCodeProperties {
  static constexpr uint16_t private_segment_buffer = 1u << 0, dispatch_ptr = 1u << 1, queue_ptr = 1u << 2,
                            kernarg_segment_ptr = 1u << 3, dispatch_id = 1u << 4, flat_scratch_init = 1u << 5,
                            private_segment_size = 1u << 6, wave32 = 1u << 10, uses_dynamic_stack = 1u << 11;
};

/// Decodes a descriptor for gfx10.3. Errors (input): fewer than 64 bytes, more user SGPRs than the hardware
/// has or fewer than the enabled ones take. Reserved bits are ignored: clang 14 and 19 set RSRC1 bits 9:6,
/// which gfx10 does not read.
[[nodiscard]] Expected<KernelDescriptor> decode_kernel_descriptor(std::span<const uint8_t> bytes);

/// Fills the fields that RSRC1..3 and KERNEL_CODE_PROPERTIES decide; `rsrc1..3` of the descriptor are the
/// input.
[[nodiscard]] Expected<void> decode_registers(KernelDescriptor& descriptor, uint16_t properties);

/// SGPRs that the enabled user SGPRs take, preloaded kernel arguments included.
[[nodiscard]] uint32_t enabled_user_sgprs(const UserSgprs& user);

} // namespace lanewise::container
