// The code objects of tests/data/examples.
#pragma once

#include "container/load.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <zstd.h>

namespace lanewise::report {

inline container::ShaderBinary example(const std::string& name) {
  std::ifstream in(std::string(LANEWISE_TEST_DATA) + "/examples/" + name + ".co.zst", std::ios::binary);
  const std::vector<char> packed{std::istreambuf_iterator<char>(in), {}};
  std::vector<uint8_t> bytes(1u << 20);
  bytes.resize(ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size()));
  auto binary = container::load(bytes);
  EXPECT_TRUE(binary) << binary.error().to_string();
  return binary ? std::move(*binary) : container::ShaderBinary{};
}

} // namespace lanewise::report
