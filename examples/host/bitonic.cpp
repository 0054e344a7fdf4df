#include "host_runner.hpp"

extern "C" void bitonic(uint32_t*);

int main(int, char** argv) {
  std::vector<uint32_t> keys = host::random_u32(8192, 6);
  host::run({{4096, 1, 1}, {256, 1, 1}}, [&] { bitonic(keys.data()); });
  host::save(argv[1], "keys", keys);
}
