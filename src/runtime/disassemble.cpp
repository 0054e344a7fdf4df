#include "runtime/disassemble.hpp"

#include <algorithm>
#include <spirv-tools/libspirv.hpp>

namespace lanewise::runtime {

Expected<std::vector<std::string>> disassemble_spirv(std::span<const uint32_t> words) {
  const spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_3);
  std::string text;
  constexpr uint32_t options = SPV_BINARY_TO_TEXT_OPTION_NO_HEADER | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES;
  if (!tools.Disassemble(words.data(), words.size(), &text, options))
    return fail(ErrorKind::input, "the module cannot be disassembled", "SPIR-V");
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

} // namespace lanewise::runtime
