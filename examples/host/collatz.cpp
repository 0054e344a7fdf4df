#include "host_runner.hpp"

extern "C" void collatz(uint32_t*, uint64_t, uint32_t);

int main(int, char** argv) {
  std::vector<uint32_t> out(4096);
  host::run({{4096, 1, 1}, {256, 1, 1}}, [&] { collatz(out.data(), 1000000, 7); });
  host::save(argv[1], "out", out);
}
