// Lengths of Collatz sequences: the GLSL twin of examples/collatz.cl.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 256) in;
layout(buffer_reference, scalar) buffer Words { uint at[]; };
layout(buffer_reference, scalar) readonly buffer Arguments { Words result; uint64_t first; uint stride; };
layout(push_constant, scalar) uniform Dispatch { Arguments arguments; };

uint steps(uint64_t n) {
  uint count = 0;
  while (n != 1) {
    n = (n & 1) != 0 ? 3 * n + 1 : n / 2;
    ++count;
  }
  return count;
}

void main() {
  const uint i = gl_GlobalInvocationID.x;
  uint result = 0xffffffffu;
  if (i % arguments.stride != 0) result = steps(arguments.first + i);
  arguments.result.at[i] = result;
}
