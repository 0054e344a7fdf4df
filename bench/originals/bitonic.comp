// Sorts each 512 keys in shared memory by Batcher's bitonic network: the GLSL twin of examples/bitonic.cl.
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_buffer_reference : require
const uint KEYS = 512;
layout(local_size_x = KEYS / 2) in;
layout(buffer_reference, scalar) buffer Words { uint at[]; };
layout(buffer_reference, scalar) readonly buffer Arguments { Words keys; };
layout(push_constant, scalar) uniform Dispatch { Arguments arguments; };
shared uint k[KEYS];

void main() {
  const uint t = gl_LocalInvocationID.x, base = gl_WorkGroupID.x * KEYS;
  Words keys = arguments.keys;
  k[t] = keys.at[base + t];
  k[t + KEYS / 2] = keys.at[base + t + KEYS / 2];
  for (uint size = 2; size <= KEYS; size *= 2)
    for (uint stride = size / 2; stride > 0; stride /= 2) {
      barrier();
      const uint low = 2 * t - (t & (stride - 1)), high = low + stride;
      const bool ascending = (low & size) == 0;
      const uint a = k[low], b = k[high];
      if ((a > b) == ascending) {
        k[low] = b;
        k[high] = a;
      }
    }
  barrier();
  keys.at[base + t] = k[t];
  keys.at[base + t + KEYS / 2] = k[t + KEYS / 2];
}
