#include "host_runner.hpp"

extern "C" void sha256_search(uint32_t*, const uint32_t*, uint32_t);

int main(int, char** argv) {
  // printf 00012345 | sha256sum
  const std::vector<uint32_t> wanted{0xa24e4232, 0xb7275b9c, 0xf5f2badb, 0x07103ec4,
                                     0xa29ad896, 0xf061d5ab, 0xfdec4b24, 0x99c8b095};
  std::vector<uint32_t> found(2);
  host::run({{4096, 1, 1}, {256, 1, 1}}, [&] { sha256_search(found.data(), wanted.data(), 4); });
  host::save(argv[1], "found", found);
}
