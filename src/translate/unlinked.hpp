// Programs whose calls are not all known: kernels that call through pointers that the host passes, and what
// such pointers lead to.
#pragma once

#include "container/shader_binary.hpp"
#include "ir/ir.hpp"
#include "support/error.hpp"
#include "translate/origins.hpp"
#include "translate/translate.hpp"

#include <optional>
#include <vector>

namespace lanewise::translate {

/// A call, or a jump, whose target only the host's data fixes, or a call of a function that stays one. Code
/// behind it goes on at the node's successor, if there is one.
struct CallSlot {
  uint32_t node = 0;
  uint32_t pc = 0;                  ///< of the instruction
  std::array<uint32_t, 2> target{}; ///< origins of the target's halves
  bool assumed = false;             ///< the target went through memory that may have changed
  std::optional<uint8_t> link;      ///< first register of the pair that holds the way back
  uint32_t return_pc = 0;           ///< where it leads, if there is a link
  struct Register {
    uint8_t reg = 0;
    uint32_t origin = 0;
    friend bool operator==(const Register&, const Register&) = default;
  };
  std::optional<uint32_t> function{}; ///< entry, in the same image, of a function that stays one
  std::vector<Register> registers{};  ///< scalar registers that are known at the call, whatever came before
};

/// A program in which Op::call stands for a call through a slot. Free of invocation data.
struct Unlinked {
  ir::Function function;
  Origins origins;
  std::vector<CallSlot> slots;
  std::vector<uint32_t> modes; ///< MODE at each slot, as a callee finds it and has to leave it
  /// Registers (translate::reg) that stand behind the target as operands of every Op::call through a pointer.
  /// Calls of a function have its parameters there.
  std::vector<uint16_t> interface;
  /// What callees must leave alone. Sorted.
  std::vector<Preserved> preserved;
  // Of a callee:
  std::vector<uint16_t> results; ///< registers that it may change: the operands of every Op::call_return
  std::vector<uint8_t> links;    ///< first registers of the pairs through which it returns; sorted
  /// Code that the program was made of: virtual address and bytes, sorted, without gaps inside a range.
  struct Range {
    uint32_t address = 0, bytes = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };
  std::vector<Range> code;
};

/// How a callee is entered. Part of what makes its translation.
struct CalleeAbi {
  unsigned wave_size = 32;
  uint32_t mode = 0;    ///< MODE bits, see translate::Mode
  unsigned vgprs = 256; ///< registers that the caller has
  friend auto operator<=>(const CalleeAbi&, const CalleeAbi&) = default;
};

/// As translate(), but calls through pointers that the host passes become slots, and so do calls of
/// `options.functions`.
[[nodiscard]] Expected<Unlinked> translate_unlinked(const container::ShaderBinary& binary,
                                                    const container::Kernel& kernel,
                                                    const TranslateOptions& options = {});

/// The function at `entry` of the image. It ends where it jumps to the address that a pair of registers had
/// when it was entered. Errors: as translate(); input if it neither returns nor ends; limit for registers
/// that the caller does not have.
[[nodiscard]] Expected<Unlinked> translate_callee(const container::ShaderBinary& binary, uint32_t entry,
                                                  const CalleeAbi& abi, const TranslateOptions& options = {});

} // namespace lanewise::translate
