#include <cstdlib>

#include "host_runner.hpp"

extern "C" void reduce(uint32_t*, uint32_t*, const uint32_t*);

int main(int argc, char** argv) {
  const std::vector<uint32_t> in = host::random_u32(16384, 3);
  std::vector<uint32_t> total(64), prefix(16384);
  const size_t wave = argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 32;
  host::run({{16384, 1, 1}, {256, 1, 1}, wave}, [&] { reduce(total.data(), prefix.data(), in.data()); });
  host::save(argv[1], "total", total);
  host::save(argv[1], "prefix", prefix);
}
