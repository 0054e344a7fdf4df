// Calls of helper functions that are shorter written out, because they are called seldom.
#pragma once

#include <functional>
#include <unordered_set>

#include "spirv/module_builder.hpp"

namespace lanewise::spirv {

/// Writes the bodies of functions in place of their calls, and drops the functions, wherever that makes the
/// module shorter. Taken are functions of one block without calls, built of instructions whose operands are
/// known to be ids or literals, and that write nothing in `kept` (ids that decorations name). Each element of
/// `functions` is OpFunction to OpFunctionEnd; `entry` stays. Returns the ids of the functions dropped.
/// Growth: linear in words.
[[nodiscard]] std::unordered_set<Id> inline_short_calls(std::vector<std::vector<uint32_t>>& functions,
                                                        Id entry, const std::unordered_set<Id>& kept,
                                                        const std::function<Id()>& new_id);

/// Calls `f(op, instruction)` for each instruction of a stream, its first word included.
template <class F>
void for_each_instruction(std::span<const uint32_t> words, F&& f) {
  for (size_t at = 0; at < words.size();) {
    const auto count = words[at] >> 16;
    f(static_cast<spv::Op>(words[at] & 0xffff), words.subspan(at, count));
    at += count;
  }
}

} // namespace lanewise::spirv
