// Sorts each 512 keys in LDS by Batcher's bitonic network; a work-item compares one pair in each of 45 steps.
#define KEYS 512
__kernel __attribute__((reqd_work_group_size(KEYS / 2, 1, 1)))
void bitonic(__global uint* keys) {
  __local uint k[KEYS];
  const uint t = get_local_id(0), base = get_group_id(0) * KEYS;
  k[t] = keys[base + t];
  k[t + KEYS / 2] = keys[base + t + KEYS / 2];
  for (uint size = 2; size <= KEYS; size *= 2)
    for (uint stride = size / 2; stride > 0; stride /= 2) {
      barrier(CLK_LOCAL_MEM_FENCE);
      const uint low = 2 * t - (t & (stride - 1)), high = low + stride;
      const bool ascending = (low & size) == 0;
      const uint a = k[low], b = k[high];
      if ((a > b) == ascending) {
        k[low] = b;
        k[high] = a;
      }
    }
  barrier(CLK_LOCAL_MEM_FENCE);
  keys[base + t] = k[t];
  keys[base + t + KEYS / 2] = k[t + KEYS / 2];
}
