#include "host_runner.hpp"

extern "C" void matmul(float*, const float*, const float*, uint32_t);

int main(int, char** argv) {
  constexpr uint32_t n = 128;
  const std::vector<float> a = host::random_f32(n * n, 1), b = host::random_f32(n * n, 2);
  std::vector<float> c(n * n);
  host::run({{n, n, 1}, {16, 16, 1}}, [&] { matmul(c.data(), a.data(), b.data(), n); });
  host::save(argv[1], "c", c);
}
