// What a kernel finds in its registers (LLVM, "User Guide for AMDGPU Backend", "Initial Kernel Execution
// State").
#pragma once

#include "container/shader_binary.hpp"
#include "ir/ir.hpp"
#include "support/error.hpp"

#include <array>

namespace lanewise::translate {

/// What a scalar register holds when the kernel starts.
struct EntryValue {
  enum class Kind : uint8_t {
    constant,
    whole, ///< `input`
    low,   ///< half of `input`
    high,
    user_data, ///< dword `constant` of the kernarg segment
  } kind = Kind::constant;
  ir::Input input{};
  uint32_t constant = 0;
};

/// Registers s0..s105, in the order of the hardware: user SGPRs, workgroup ids, workgroup info, scratch
/// offset. Errors: workgroup info, which gfx1030 kernels of compilers do not use.
[[nodiscard]] Expected<std::array<EntryValue, 106>> entry_sgprs(const container::Kernel& kernel,
                                                                unsigned wave_size);

} // namespace lanewise::translate
