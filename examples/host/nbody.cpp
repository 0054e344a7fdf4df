#include "host_runner.hpp"

extern "C" void nbody(float*, float*, const float*, float, uint32_t);

int main(int, char** argv) {
  constexpr uint32_t n = 1024;
  const std::vector<float> position = host::random_f32(n * 4, 4);
  std::vector<float> velocity = host::random_f32(n * 4, 5), next(n * 4);
  host::run({{n, 1, 1}, {128, 1, 1}},
            [&] { nbody(next.data(), velocity.data(), position.data(), 0.01f, n); });
  host::save(argv[1], "next", next);
  host::save(argv[1], "velocity", velocity);
}
