// Sums of a workgroup's elements by subgroup operations: the GLSL twin of examples/reduce.cl (subgroups of 32).
#version 460
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_buffer_reference : require
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 256) in;
layout(buffer_reference, scalar) buffer Words { uint at[]; };
layout(buffer_reference, scalar) readonly buffer Arguments { Words total, prefix, data; };
layout(push_constant, scalar) uniform Dispatch { Arguments arguments; };
shared uint wave_sum[64];

void main() {
  const uint i = gl_GlobalInvocationID.x, wave = gl_SubgroupID;
  const uint value = arguments.data.at[i];
  const uint before = subgroupExclusiveAdd(value), sum = subgroupAdd(value);
  wave_sum[wave] = sum;
  barrier();
  uint earlier = 0;
  for (uint w = 0; w < wave; ++w) earlier += wave_sum[w];
  arguments.prefix.at[i] = earlier + before;
  if (gl_LocalInvocationID.x == gl_WorkGroupSize.x - 1) arguments.total.at[gl_WorkGroupID.x] = earlier + before + value;
}
