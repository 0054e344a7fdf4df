#include "host_runner.hpp"

extern "C" void mandelbrot(uint32_t*, uint32_t, uint32_t, float, float, float, uint32_t);

int main(int, char** argv) {
  std::vector<uint32_t> picture(480 * 360);
  host::run({{480, 360, 1}, {16, 16, 1}},
            [&] { mandelbrot(picture.data(), 480, 360, -2.2f, -1.2f, 0.0066666f, 200); });
  host::save(argv[1], "picture", picture);
}
