// The shaders of the collection, read once for all tests of the room.
#pragma once

#include "v3d/data_file.hpp"
#include "v3d/shaders.hpp"

#include <gtest/gtest.h>

namespace lanewise::v3d {

inline const std::vector<Shader>& collection(Gpu gpu) {
  static const auto load = [](const char* name) {
    const auto text = read_text_file(std::string(LANEWISE_TEST_DATA "/v3d/") + name);
    EXPECT_TRUE(text) << text.error().to_string();
    auto shaders = text ? parse_shaders(*text, name, Gpu::v71) : Expected<std::vector<Shader>>{};
    EXPECT_TRUE(shaders) << shaders.error().to_string();
    return shaders ? *shaders : std::vector<Shader>{};
  };
  static const std::vector<Shader> v42 = load("three-v3d-42.jsonl.zst");
  static const std::vector<Shader> v71 = load("three-v3d-71.jsonl.zst");
  return gpu == Gpu::v42 ? v42 : v71;
}

} // namespace lanewise::v3d
