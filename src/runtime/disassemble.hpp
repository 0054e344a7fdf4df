// SPIR-V as text.
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lanewise::runtime {

/// One line for each instruction, in their order, without a header; ids have readable names. Error: input.
[[nodiscard]] Expected<std::vector<std::string>> disassemble_spirv(std::span<const uint32_t> words);

} // namespace lanewise::runtime
