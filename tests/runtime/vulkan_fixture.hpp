// A device with validation layers, shared by the tests of this room; tests are skipped where there is none.
#pragma once

#include <gtest/gtest.h>

#include <spirv-tools/libspirv.hpp>

#include "runtime/vulkan_runner.hpp"

namespace lanewise::runtime {

class VulkanTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto opened = VulkanDevice::open({.device = {}, .validation = true});
    if (opened)
      device() = std::move(*opened);
    else
      reason() = opened.error().to_string();
  }
  static void TearDownTestSuite() { device().reset(); }
  void SetUp() override {
    if (!device()) GTEST_SKIP() << reason();
  }
  static std::unique_ptr<VulkanDevice>& device() {
    static std::unique_ptr<VulkanDevice> d;
    return d;
  }
  static std::string& reason() {
    static std::string r;
    return r;
  }
  static std::vector<uint32_t> assemble(const std::string& text) {
    spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_3);
    std::vector<uint32_t> words;
    tools.SetMessageConsumer([](spv_message_level_t, const char*, const spv_position_t& at,
                                const char* message) { ADD_FAILURE() << at.line << ": " << message; });
    EXPECT_TRUE(tools.Assemble(text, &words));
    EXPECT_TRUE(tools.Validate(words));
    return words;
  }
};

} // namespace lanewise::runtime
