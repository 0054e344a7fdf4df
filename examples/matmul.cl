// C = A * B for square matrices, 16 x 16 tiles through LDS.
#define TILE 16
__kernel __attribute__((reqd_work_group_size(TILE, TILE, 1)))
void matmul(__global float* c, __global const float* a, __global const float* b, uint n) {
  __local float tile_a[TILE][TILE], tile_b[TILE][TILE];
  const uint column = get_global_id(0), row = get_global_id(1);
  const uint x = get_local_id(0), y = get_local_id(1);
  float sum = 0.0f;
  for (uint k = 0; k < n; k += TILE) {
    tile_a[y][x] = a[row * n + k + x];
    tile_b[y][x] = b[(k + y) * n + column];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint i = 0; i < TILE; ++i) sum += tile_a[y][i] * tile_b[i][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  c[row * n + column] = sum;
}
