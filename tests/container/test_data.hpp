// The code objects of tests/data/container, decompressed.
#pragma once

#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>
#include <zstd.h>

namespace lanewise::container {

inline std::vector<uint8_t> test_file(const std::string& name) {
  std::ifstream in(std::string(LANEWISE_TEST_DATA) + "/container/" + name + ".zst", std::ios::binary);
  const std::vector<char> packed{std::istreambuf_iterator<char>(in), {}};
  const auto size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN || size > (1u << 24))
    throw std::runtime_error("test data is missing: " + name);
  std::vector<uint8_t> bytes(size);
  ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
  return bytes;
}

} // namespace lanewise::container
