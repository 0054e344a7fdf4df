#include <spirv-tools/libspirv.hpp>

#include "runtime/compile.hpp"

namespace lanewise::runtime {

Expected<void> validate_spirv(std::span<const uint32_t> words) {
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_3);
  std::string message;
  tools.SetMessageConsumer(
      [&](spv_message_level_t level, const char*, const spv_position_t& at, const char* text) {
        if (level > SPV_MSG_ERROR) return;
        if (message.empty()) message = std::string(text) + " (word " + std::to_string(at.index) + ")";
      });
  spvtools::ValidatorOptions options;
  options.SetScalarBlockLayout(true);
  if (tools.Validate(words.data(), words.size(), options)) return {};
  return fail(ErrorKind::check, message.empty() ? "the module is not valid" : message, "SPIR-V validator");
}

} // namespace lanewise::runtime
