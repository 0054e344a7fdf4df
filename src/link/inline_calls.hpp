// Callees in the place of the calls that lead to them.
//
//   token = call target, r0, r1, ...          ...           (one copy of the callee's blocks,
//   x = call_scalar.3 token           ->      br b1          its parameters are r0, r1, ...)
//                                             b1: x = phi ... (what its ends leave in register 3)
#pragma once

#include "ir/program.hpp"

#include <optional>
#include <span>
#include <vector>

namespace lanewise::link {

/// A function that ends with Op::call_return. Registers are numbered as in Op::call_scalar.
struct Callee {
  const ir::Function* function = nullptr;
  std::span<const uint16_t> results; ///< registers that Op::call_return's operands are
  uint32_t entry = 0;      ///< virtual address of its first instruction: the target, less the image base
  bool same_image = false; ///< its image is the caller's; the target is not looked at
};

/// The callees of one slot (the immediate of Op::call), and how a wave finds its own.
struct SlotCallees {
  std::vector<Callee> callees;
  /// Entries of the callee table (container/guest_abi.hpp) that belong to the slot. With none the first
  /// callee is the only one and needs no choice.
  uint32_t first_entry = 0, entry_count = 0;
  /// The entry whose address is the target says which callee it is, and a target without one traps. Else the
  /// first entry says it for all.
  bool by_address = false;
  /// Registers of the operands behind the target, where they are not the same for all slots.
  std::optional<std::vector<uint16_t>> interface{};
};

/// Replaces every Op::call of `f`. `interface`: registers of the operands behind the target. A slot may have
/// any number of calls. Growth: linear in the copies.
void inline_calls(ir::Function& f, std::span<const uint16_t> interface, std::span<const SlotCallees> slots);

/// The program as one function: all callees in the place of their calls. What a program with functions means.
[[nodiscard]] ir::Function composed(const ir::Program& program);

} // namespace lanewise::link
