#include "translate/exec_marks.hpp"

namespace lanewise::translate {

Expected<ir::Function> translate_with_marks(const container::ShaderBinary& binary,
                                            const container::Kernel& kernel, bool full_waves) {
  return translate(binary, kernel, {.full_waves = full_waves, .functions = {}, .mark_exec = true});
}

} // namespace lanewise::translate
