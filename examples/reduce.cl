// Sums of a workgroup's elements by wave operations: inclusive sums inside each wave by a wave scan, the waves joined
// through LDS. total[g] is the sum of group g, prefix[i] the sum of its elements before i.
#pragma OPENCL EXTENSION cl_khr_subgroups : enable

__kernel __attribute__((reqd_work_group_size(256, 1, 1)))
void reduce(__global uint* total, __global uint* prefix, __global const uint* in) {
  __local uint wave_sum[64];
  const uint i = get_global_id(0), wave = get_sub_group_id();
  const uint value = in[i];
  const uint before = sub_group_scan_exclusive_add(value);
  const uint sum = sub_group_reduce_add(value);
  wave_sum[wave] = sum; // by every lane: clang 19 sinks the wave operation into a branch on the lane
  barrier(CLK_LOCAL_MEM_FENCE);
  uint earlier = 0;
  for (uint w = 0; w < wave; ++w) earlier += wave_sum[w];
  prefix[i] = earlier + before;
  if (get_local_id(0) == get_local_size(0) - 1) total[get_group_id(0)] = earlier + before + value;
}
