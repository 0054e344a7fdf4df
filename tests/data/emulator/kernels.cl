// Kernels that the emulator's tests run; the tests compute the same on the host. make.sh compiles them.
kernel void saxpy(global float* y, global const float* x, float a) {
  size_t i = get_global_id(0);
  y[i] = fma(a, x[i], y[i]);
}

// Lanes leave the loop one by one.
kernel void collatz(global uint* out) {
  uint n = get_global_id(0) + 1, c = 0;
  while (n != 1) {
    n = (n & 1) ? 3 * n + 1 : n / 2;
    c++;
  }
  out[get_global_id(0)] = c;
}

kernel void reduce(global uint* out, global const uint* in, local uint* tmp) {
  uint l = get_local_id(0);
  tmp[l] = in[get_global_id(0)];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (uint s = get_local_size(0) / 2; s > 0; s >>= 1) {
    if (l < s) tmp[l] += tmp[l + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (l == 0) atomic_add(out, tmp[0]);
}

kernel void ids(global uint* out) {
  size_t i = get_global_id(0) + get_global_size(0) * (get_global_id(1) + get_global_size(1) * get_global_id(2));
  out[i] = get_local_id(0) + 10 * get_local_id(1) + 100 * get_local_id(2) + 1000 * get_group_id(0) +
           10000 * get_group_id(1) + 100000 * get_group_id(2) + 1000000 * get_local_size(0) + 10000000 * get_num_groups(0);
}

// A call, and private memory indexed by lane.
__attribute__((noinline)) static uint fill(private uint* t, uint x) {
  for (uint i = 0; i < 8; i++) t[i] = x * i + 1;
  return t[x & 7];
}
kernel void calls(global uint* out) {
  uint t[8];
  uint i = get_global_id(0);
  out[i] = fill(t, i) + 1000 * t[(i * 3) & 7];
}

__attribute__((noinline)) static uint fibonacci(uint n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
kernel void recursion(global uint* out) { out[get_global_id(0)] = fibonacci(get_global_id(0) % 11); }

kernel void divide64(global double* out, global const double* a, global const double* b) {
  size_t i = get_global_id(0);
  out[i] = a[i] / b[i];
}

constant uint table[8] = {3, 1, 4, 1, 5, 9, 2, 6};
kernel void constants(global uint* out) { out[get_global_id(0)] = table[get_global_id(0) & 7]; }

kernel void endless(global volatile uint* out) {
  while (1) out[0]++;
}

// One lane of the second wave writes far behind the buffer.
kernel void stray(global uint* out) {
  size_t i = get_global_id(0);
  out[i == 70 ? 1000000 : i] = i;
}

kernel void traps(global uint* out) { __builtin_trap(); }
