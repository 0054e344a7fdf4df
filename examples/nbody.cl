// One step of n bodies that attract each other; 128 bodies at a time come through LDS. w is the mass.
#define TILE 128
__kernel __attribute__((reqd_work_group_size(TILE, 1, 1)))
void nbody(__global float4* next, __global float4* velocity, __global const float4* position, float dt, uint n) {
  __local float4 tile[TILE];
  const uint i = get_global_id(0), l = get_local_id(0);
  const float4 me = position[i];
  float3 pull = (float3)(0.0f, 0.0f, 0.0f);
  for (uint first = 0; first < n; first += TILE) {
    tile[l] = position[first + l];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint j = 0; j < TILE; ++j) {
      const float3 d = tile[j].xyz - me.xyz;
      const float r2 = d.x * d.x + d.y * d.y + d.z * d.z + 1e-4f;
      pull += d * (tile[j].w / (r2 * sqrt(r2)));
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  float4 v = velocity[i];
  v.xyz += pull * dt;
  velocity[i] = v;
  next[i] = (float4)(me.xyz + v.xyz * dt, me.w);
}
