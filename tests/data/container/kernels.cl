// The kernels behind the code objects of this folder; make.sh compiles them.
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable

__constant unsigned primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};

kernel void scale(global float *out, global const float *in, float factor, unsigned count) {
  unsigned i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
  if (i < count) out[i] = in[i] * factor + (float)primes[i & 7];
}

kernel __attribute__((reqd_work_group_size(8, 4, 2))) void tile(global unsigned *out) {
  local unsigned shared[64];
  unsigned i = __builtin_amdgcn_workitem_id_x() + 8 * __builtin_amdgcn_workitem_id_y() + 32 * __builtin_amdgcn_workitem_id_z();
  shared[i] = out[i];
  __builtin_amdgcn_s_barrier();
  out[i] = shared[63 - i] + __builtin_amdgcn_workgroup_id_y();
}

#ifdef WITH_CALLS
typedef unsigned (*step)(unsigned);
__attribute__((noinline)) static unsigned add_one(unsigned x) { return x + 1; }
__attribute__((noinline)) static unsigned triple(unsigned x) { return x * 3; }
__constant step steps[2] = {add_one, triple};

__attribute__((noinline)) unsigned depth(unsigned x) { return x < 2 ? x : depth(x - 1) + depth(x - 2); }
global unsigned counter = 7;

kernel void calls(global unsigned *out, unsigned which) {
  out[0] = steps[which & 1](out[0]) + depth(out[1]);
  counter += out[2];
}
#endif
