// C = A * B for square matrices, 16 x 16 tiles through shared memory: the GLSL twin of examples/matmul.cl.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_buffer_reference : require
const uint TILE = 16;
layout(local_size_x = TILE, local_size_y = TILE) in;
layout(buffer_reference, scalar) buffer Floats { float at[]; };
layout(buffer_reference, scalar) readonly buffer Arguments { Floats c, a, b; uint n; };
layout(push_constant, scalar) uniform Dispatch { Arguments arguments; };
shared float tile_a[TILE][TILE], tile_b[TILE][TILE];

void main() {
  const uint column = gl_GlobalInvocationID.x, row = gl_GlobalInvocationID.y;
  const uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y, n = arguments.n;
  Floats a = arguments.a, b = arguments.b;
  precise float sum = 0;
  for (uint k = 0; k < n; k += TILE) {
    tile_a[y][x] = a.at[row * n + k + x];
    tile_b[y][x] = b.at[(k + y) * n + column];
    barrier();
    for (uint i = 0; i < TILE; ++i) sum += tile_a[y][i] * tile_b[i][x];
    barrier();
  }
  arguments.c.at[row * n + column] = sum;
}
