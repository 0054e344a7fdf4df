// A test over a table of assembly programs, in one wave size.
#pragma once

#include "kernel.hpp"
#include "runtime/vulkan_device.hpp"

#include <gtest/gtest.h>

namespace lanewise::calls {

/// `Program` has a name, a source, and `plus`: out[i] = i + plus(i), or null for a program that is refused.
template <class Program>
class ProgramSuite : public testing::TestWithParam<unsigned> {
 protected:
  explicit ProgramSuite(const std::vector<Program>& programs) : programs_(programs) {}

  static runtime::VulkanDevice* device() {
    static auto opened = runtime::VulkanDevice::open({});
    return opened ? opened->get() : nullptr;
  }

  void SetUp() override {
    std::vector<std::string> sources;
    for (const Program& p : programs_) sources.push_back(p.source);
    auto assembled = assemble(GetParam(), sources);
    if (!assembled && assembled.error().kind == ErrorKind::system)
      GTEST_SKIP() << assembled.error().to_string();
    ASSERT_TRUE(assembled) << assembled.error().to_string();
    assembled_ = std::move(*assembled);
  }

  /// Calls `test(program, assembled)` for each program that it is for.
  template <class Wanted, class Test>
  void for_each_program(Wanted wanted, Test test) {
    for (size_t i = 0; i < assembled_.size(); ++i) {
      if (!wanted(programs_[i])) continue;
      SCOPED_TRACE(programs_[i].name);
      test(programs_[i], assembled_[i]);
    }
  }

  static bool runs(const Program& p) { return p.plus != nullptr; }

  /// Whether buffer 0 of a launch that was run holds what the program should leave there.
  static void expect_sums(const Program& p, const runtime::Launch& launch) {
    const auto out = words(launch.buffers[0]);
    for (uint32_t k = 0; k < items; ++k) {
      EXPECT_EQ(out[k], k + p.plus(k)) << "work-item " << k;
      if (out[k] != k + p.plus(k)) return;
    }
  }

 private:
  const std::vector<Program>& programs_;
  std::vector<Assembled> assembled_;
};

} // namespace lanewise::calls
