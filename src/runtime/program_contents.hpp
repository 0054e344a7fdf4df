// What a public Program holds, for the rest of the public API.
#pragma once

#include "container/shader_binary.hpp"
#include "lanewise/lanewise.hpp"

namespace lanewise {

struct Program::Contents {
  container::ShaderBinary binary;
};

} // namespace lanewise
