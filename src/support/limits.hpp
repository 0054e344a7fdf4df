// The named limits of Lanewise, all in one place. An error of kind `limit` names the constant.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lanewise::limits {

inline constexpr std::size_t max_file_bytes = 1u << 30;     ///< largest input file
inline constexpr std::size_t max_kernels = 65536;           ///< kernels in one code object
inline constexpr std::size_t max_segments = 256;            ///< loadable segments of one image
inline constexpr std::size_t max_image_bytes = 64u << 20;   ///< all loadable segments of one image, in memory
inline constexpr std::size_t max_bundle_entries = 4096;     ///< entries of one offload bundle
inline constexpr std::size_t max_program_bytes = 64u << 20; ///< machine code of one program
inline constexpr std::size_t max_inlined_instructions = 1u << 20; ///< guest instructions after inlining calls
inline constexpr std::size_t max_call_depth = 64;                 ///< nested calls that are inlined
inline constexpr std::size_t max_call_slots = 64;                 ///< calls through pointers in one shader
inline constexpr std::size_t max_slot_targets = 256;              ///< addresses that one of them may call in a dispatch
inline constexpr std::size_t max_slot_callees = 16;               ///< callees that one of them may carry at a time
inline constexpr std::size_t max_known_addresses = 1u << 16;        ///< of callees that a library remembers, then it starts anew
inline constexpr std::size_t max_callee_bytes = 1u << 20;         ///< code of one callee, read from guest memory
inline constexpr std::size_t max_callees_bytes = 16u << 20;       ///< code of all callees of one linked shader
inline constexpr std::size_t max_ir_values = 1u << 26;            ///< values in one IR function
inline constexpr std::size_t max_dispatch_blocks = 256;            ///< dispatches that irreducible control flow may need
inline constexpr uint64_t max_emulated_instructions = uint64_t{1} << 28; ///< of one wave, in the emulator
inline constexpr std::size_t max_lds_bytes = 65536;               ///< LDS of one workgroup (gfx1030)
inline constexpr std::size_t max_scratch_bytes = 1u << 20;        ///< scratch of one lane, in the emulator
inline constexpr std::size_t max_kernarg_bytes = 1u << 20;        ///< kernarg segment, in the emulator

} // namespace lanewise::limits
