// The Mandelbrot set, one invocation a pixel: the GLSL twin of examples/mandelbrot.cl.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_buffer_reference : require
layout(local_size_x = 16, local_size_y = 16) in;
layout(buffer_reference, scalar) buffer Words { uint at[]; };
layout(buffer_reference, scalar) readonly buffer Arguments {
  Words picture; uint width, height; float left, top, step; uint limit;
};
layout(push_constant, scalar) uniform Dispatch { Arguments arguments; };

void main() {
  const uint x = gl_GlobalInvocationID.x, y = gl_GlobalInvocationID.y;
  const uint width = arguments.width, limit = arguments.limit;
  if (x >= width || y >= arguments.height) return;
  precise const float cr = arguments.left + arguments.step * float(x);
  precise const float ci = arguments.top + arguments.step * float(y);
  precise float zr = 0, zi = 0;
  uint n = 0;
  while (n < limit) {
    precise const float size = zr * zr + zi * zi;
    if (!(size < 4)) break;
    precise const float next = zr * zr - zi * zi + cr;
    zi = 2 * zr * zi + ci;
    zr = next;
    ++n;
  }
  const uint red = (n * 9) & 255, green = (n * 5) & 255, blue = (n * 17 + 40) & 255;
  arguments.picture.at[y * width + x] = n == limit ? 0xff000000u : 0xff000000u | blue << 16 | green << 8 | red;
}
