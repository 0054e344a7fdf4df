// Facts of the machine that a kernel starts on, shared by the emulator, the translator and the runtime. They
// are what the ROCm runtime sets up; a program may see the values, so all of ours use the same.
#pragma once

#include <cstdint>

namespace lanewise::guest_abi {

/// High halves of 64-bit flat addresses that mean LDS and scratch (SH_MEM_BASES << 16).
inline constexpr uint32_t shared_aperture_hi = 0x0001'0000;
inline constexpr uint32_t private_aperture_hi = 0x0002'0000;

/// Where scratch lies for MUBUF and FLAT_SCRATCH. Every wave has its own memory behind this address, so the
/// scratch wave offset SGPR is always 0. A lane's byte `o` of scratch is reached by the swizzled V# below.
inline constexpr uint64_t scratch_base = 0x0000'7000'0000'0000;
/// The scratch V# (private segment buffer): swizzled, add-thread-id, 4-byte elements, one index per lane.
/// word3: OOB_SELECT 2 (no range check but for an empty buffer) | ADD_TID_ENABLE | INDEX_STRIDE (2: 32 lanes,
/// 3: 64 lanes) | dst_sel xyzw | 32_UINT-like format.
inline constexpr uint32_t scratch_rsrc_word0 = static_cast<uint32_t>(scratch_base);
inline constexpr uint32_t scratch_rsrc_word1 = static_cast<uint32_t>(scratch_base >> 32) | 0x8000'0000u;
inline constexpr uint32_t scratch_rsrc_word2 = 0xffff'ffff;
[[nodiscard]] constexpr uint32_t scratch_rsrc_word3(unsigned wave_size) {
  return 2u << 28 | 1u << 23 | (wave_size == 64 ? 3u : 2u) << 21 | 0x14fac;
}

/// Registers that nobody wrote read as zero, in the emulator and in the translation alike.
inline constexpr uint32_t uninitialised = 0;

/// hsa_kernel_dispatch_packet_t, 64 bytes: byte offsets of what a kernel reads through dispatch_ptr.
namespace packet {
inline constexpr uint32_t setup = 2, workgroup_size_x = 4, workgroup_size_y = 6, workgroup_size_z = 8,
                          grid_size_x = 12, grid_size_y = 16, grid_size_z = 20, private_segment_size = 24,
                          group_segment_size = 28, kernel_object = 32, kernarg_address = 40, bytes = 64;
/// Behind the packet the dispatcher puts the callee table of a linked program (runtime/linked.hpp).
inline constexpr uint32_t callees = bytes;
}

/// An entry says which of a slot's callees a target address means. Byte offsets in an entry.
namespace callee_table {
inline constexpr uint32_t address = 0, callee = 8, entry_bytes = 16;
}

} // namespace lanewise::guest_abi
