// Prepared shaders and callees as bytes, and back. The IR travels as its text.
#pragma once

#include "runtime/prepare.hpp"

namespace lanewise::runtime {

[[nodiscard]] std::vector<uint8_t> serialize(const PreparedShader& shader);
[[nodiscard]] std::vector<uint8_t> serialize(const PreparedCallee& callee);

/// Error: input for anything that serialize() would not have written; the program is verified.
[[nodiscard]] Expected<std::shared_ptr<const PreparedShader>>
deserialize_shader(std::span<const uint8_t> bytes);
[[nodiscard]] Expected<std::shared_ptr<const PreparedCallee>>
deserialize_callee(std::span<const uint8_t> bytes);

} // namespace lanewise::runtime
