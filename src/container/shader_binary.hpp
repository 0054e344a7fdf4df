// What every container yields: code, the constants beside it, and how the hardware is set up for it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lanewise::container {

enum class Stage : uint8_t { compute, vertex, tess_control, tess_evaluation, geometry, fragment, task, mesh };

/// Denormal handling, as in MODE.FP_DENORM: bit 0 inputs kept, bit 1 results kept.
/// Rounding, as in MODE.FP_ROUND: 0 nearest even, 1 towards +inf, 2 towards -inf, 3 towards zero.
struct FloatMode {
  uint8_t round_32 = 0, round_16_64 = 0, denorm_32 = 3, denorm_16_64 = 3;
};

/// User SGPRs in the order the hardware loads them (LLVM AMDGPU usage, "Initial Kernel Execution State").
struct UserSgprs {
  bool private_segment_buffer = false; // 4 SGPRs
  bool dispatch_ptr = false;           // 2
  bool queue_ptr = false;              // 2
  bool kernarg_segment_ptr = false;    // 2
  bool dispatch_id = false;            // 2
  bool flat_scratch_init = false;      // 2
  bool private_segment_size = false;   // 1
  uint8_t kernarg_preload_length = 0;  ///< SGPRs filled from the kernarg segment: a shader's user data
  uint16_t kernarg_preload_offset = 0; ///< dwords into the kernarg segment
  uint8_t count = 0;                   ///< COMPUTE_PGM_RSRC2.USER_SGPR
};

/// A kernel descriptor in named fields (LLVM AMDGPU usage, "Kernel Descriptor").
struct KernelDescriptor {
  uint32_t group_segment_fixed_size = 0;   ///< static LDS, bytes
  uint32_t private_segment_fixed_size = 0; ///< scratch per lane, bytes
  uint32_t kernarg_size = 0;
  int64_t code_entry_offset = 0; ///< from the descriptor's own address
  uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
  uint32_t vgpr_count = 0; ///< allocated for each lane, v0 upwards
  uint32_t sgpr_count = 0; ///< allocated for a wave; always 128 on gfx10 (106 are addressable, then VCC)
  uint32_t shared_vgpr_count = 0; ///< wave64 only: VGPRs that both halves of a wave share
  uint8_t priority = 0;
  FloatMode float_mode;
  bool ieee = false, dx10_clamp = false, fp16_overflow = false, wgp_mode = false, mem_ordered = false,
       fwd_progress = false, privileged = false, debug_mode = false, bulky = false, cdbg_user = false;
  bool scratch_enabled = false; ///< a scratch wave offset SGPR follows the workgroup ids
  bool workgroup_id_x = false, workgroup_id_y = false, workgroup_id_z = false, workgroup_info = false;
  uint8_t workitem_id_vgprs = 1; ///< 1..3: v0..v2
  bool uses_dynamic_stack = false;
  bool wave32 = false;
  uint8_t exception_mask = 0; ///< RSRC2 bits 30:24: invalid, denormal, div by 0, over-, underflow,
                              ///< inexact, integer div by 0
  UserSgprs user;
};

/// One entry of the kernarg segment, as the metadata describes it.
struct KernelArgument {
  std::string name;              ///< empty for hidden arguments or when the metadata has none
  std::string type_name;         ///< source spelling, as "float*"
  std::string value_kind;        ///< "by_value", "global_buffer", "hidden_global_offset_x", ...
  std::string address_space;     ///< of a pointer: "global", "constant", "local", ...; empty otherwise
  std::string access;            ///< "read_only", "write_only", "read_write" or empty
  uint32_t offset = 0, size = 0; ///< bytes in the kernarg segment
  uint32_t align = 0;            ///< bytes; 0 when the container does not say (code objects never do)
  uint32_t pointee_align = 0;    ///< of a dynamic LDS pointer, bytes; 0 when unknown
  [[nodiscard]] bool hidden() const { return value_kind.starts_with("hidden_"); }
};

/// A named piece of the loaded image.
struct Symbol {
  std::string name;
  uint64_t address = 0; ///< virtual address in the image
  uint64_t size = 0;    ///< bytes; 0 when the file does not say
  enum class Kind : uint8_t { function, object, kernel_descriptor, other } kind = Kind::other;
};

/// One loadable range of the image. Addresses are the file's virtual addresses.
struct Segment {
  uint64_t address = 0;
  std::vector<uint8_t> bytes; ///< file contents, zero-filled up to the memory size
  bool executable = false, writable = false;
};

struct Kernel {
  std::string name;
  Stage stage = Stage::compute;
  uint64_t entry = 0;     ///< virtual address of the first instruction
  uint64_t code_size = 0; ///< bytes of the function's symbol, padding excluded; 0 if unknown
  KernelDescriptor descriptor;
  std::vector<KernelArgument> arguments;
  std::optional<std::array<uint32_t, 3>> required_workgroup_size;
  uint32_t max_flat_workgroup_size = 1024; ///< work-items
  /// The compiler relied on a grid that is a multiple of the workgroup. False when the metadata does not say
  /// so, which leaves partial workgroups at the grid's end allowed.
  bool uniform_workgroup_size = true;
  uint32_t kernarg_align = 16; ///< bytes
  bool has_metadata = false;   ///< `arguments` and the sizes above come from the file, not from defaults
};

/// Everything a container holds. Relocations are applied.
struct ShaderBinary {
  std::string format;            ///< "hsa-code-object-v4", "raw", ...
  std::string target;            ///< "amdgcn-amd-amdhsa--gfx1030"
  std::vector<Segment> segments; ///< sorted by address, without overlap
  std::vector<Symbol> symbols;   ///< sorted by address
  std::vector<Kernel> kernels;   ///< sorted by entry
  /// Addresses of 8-byte words of the image that hold an image address (GOT entries, tables of pointers),
  /// sorted. Relocations are applied for the image at its own addresses; a loader that puts it elsewhere adds
  /// its displacement to each of these words.
  std::vector<uint64_t> pointers;
  std::vector<std::string> printf_formats; ///< "ID:N:SIZE0:...:format", as the metadata has them

  [[nodiscard]] const Kernel* find_kernel(std::string_view name) const;
  /// Bytes of the image at a virtual address, up to the end of the segment; empty when unmapped.
  [[nodiscard]] std::span<const uint8_t> at(uint64_t address) const;
  /// The code of a kernel. Without a size in the file it ends before the next function or the segment's end,
  /// and trailing padding (s_code_end, 0xbf9f0000) is left out. Whole words; empty when unmapped.
  [[nodiscard]] std::span<const uint8_t> code_of(const Kernel& kernel) const;
  /// The same for a function symbol.
  [[nodiscard]] std::span<const uint8_t> code_of(const Symbol& function) const;
  /// The segment that holds an address; null when unmapped.
  [[nodiscard]] const Segment* segment_at(uint64_t address) const;
  /// The last function symbol that starts at or before an address and covers it (a symbol of size 0 covers
  /// all up to the next one); null when there is none.
  [[nodiscard]] const Symbol* function_at(uint64_t address) const;
};

} // namespace lanewise::container
