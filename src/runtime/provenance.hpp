// The addresses that a call slot may lead to in one dispatch: its expressions with the host's data put in.
#pragma once

#include "runtime/guest_memory.hpp"
#include "support/error.hpp"
#include "translate/unlinked.hpp"

#include <map>
#include <vector>

namespace lanewise::runtime {

/// What a callee finds in scalar registers at its entry, as far as its caller knows.
using Parameters = std::map<uint32_t, uint32_t>;

/// What a dispatch adds to a prepared shader.
struct Invocation {
  std::span<const uint8_t> kernarg; ///< the kernarg segment; user data stands at its start
  uint64_t kernarg_address = 0;     ///< where the guest finds it
  uint64_t image_base = 0;          ///< guest address of virtual address 0 of the shader's image
};

/// How many addresses a slot may lead to in a dispatch: the product of its choices. Errors: unsupported
/// (halves of the target are chosen apart), limit (max_slot_targets); `where`
/// names the pc.
[[nodiscard]] Expected<uint32_t> count_targets(const translate::Unlinked& program,
                                               const translate::CallSlot& slot);

/// Whether the address has to be compared at run time: there are several, or it was read from memory.
[[nodiscard]] bool needs_comparison(const translate::Unlinked& program, const translate::CallSlot& slot,
                                    uint32_t targets);

/// The addresses, count_targets() of them. Errors: input for a pointer on the way that cannot be read.
[[nodiscard]] Expected<std::vector<uint64_t>> evaluate_targets(const translate::Unlinked& program,
                                                               const translate::CallSlot& slot,
                                                               const Invocation& invocation,
                                                               const GuestMemory& memory,
                                                               const Parameters* parameters = nullptr);

/// What the callee of a slot finds in its registers: those that have one value in a dispatch. The link is not
/// among them. `parameters`: those of the program itself, if it is a callee.
[[nodiscard]] Parameters parameters_of(const translate::Unlinked& program, const translate::CallSlot& slot,
                                       const Invocation& invocation, const GuestMemory& memory,
                                       const Parameters* parameters = nullptr);

} // namespace lanewise::runtime
