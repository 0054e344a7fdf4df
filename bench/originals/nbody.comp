// One step of n bodies that attract each other: the GLSL twin of examples/nbody.cl. Its division and square root are as
// exact as the driver's, where the OpenCL program asks for correctly rounded ones.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_buffer_reference : require
const uint TILE = 128;
layout(local_size_x = TILE) in;
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer Vectors { vec4 at[]; };
layout(buffer_reference, scalar) readonly buffer Arguments { Vectors next, velocity, position; float dt; uint n; };
layout(push_constant, scalar) uniform Dispatch { Arguments arguments; };
shared vec4 tile[TILE];

void main() {
  const uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationID.x, n = arguments.n;
  const vec4 me = arguments.position.at[i];
  precise vec3 pull = vec3(0);
  for (uint first = 0; first < n; first += TILE) {
    tile[l] = arguments.position.at[first + l];
    barrier();
    for (uint j = 0; j < TILE; ++j) {
      precise const vec3 d = tile[j].xyz - me.xyz;
      precise const float r2 = d.x * d.x + d.y * d.y + d.z * d.z + 1e-4;
      pull += d * (tile[j].w / (r2 * sqrt(r2)));
    }
    barrier();
  }
  precise vec4 v = arguments.velocity.at[i];
  v.xyz += pull * arguments.dt;
  arguments.velocity.at[i] = v;
  precise const vec4 moved = vec4(me.xyz + v.xyz * arguments.dt, me.w);
  arguments.next.at[i] = moved;
}
