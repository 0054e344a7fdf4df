// Lengths of Collatz sequences; the step count is a real call (noinline), taken by some lanes only.
__attribute__((noinline)) static uint steps(ulong n) {
  uint count = 0;
  while (n != 1) {
    n = (n & 1) ? 3 * n + 1 : n / 2;
    ++count;
  }
  return count;
}

__kernel void collatz(__global uint* out, ulong first, uint stride) {
  const uint i = get_global_id(0);
  uint result = 0xffffffffu;
  if (i % stride != 0) result = steps(first + i);
  out[i] = result;
}
