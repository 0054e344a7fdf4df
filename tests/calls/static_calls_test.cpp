// Calls to fixed places: every program on the emulator, the interpreter and as SPIR-V, in both wave sizes.
#include "kernel.hpp"
#include "runtime/compile.hpp"
#include "runtime/execute.hpp"
#include "runtime/vulkan_device.hpp"
#include "static_programs.hpp"
#include "translate/translate.hpp"

#include <gtest/gtest.h>

namespace lanewise::calls {
namespace {

class StaticCalls : public testing::TestWithParam<unsigned> {
 protected:
  static runtime::VulkanDevice* device() {
    static auto opened = runtime::VulkanDevice::open({});
    return opened ? opened->get() : nullptr;
  }

  void SetUp() override {
    std::vector<std::string> sources;
    for (const StaticProgram& p : static_programs()) sources.push_back(p.source);
    auto assembled = assemble(GetParam(), sources);
    if (!assembled && assembled.error().kind == ErrorKind::system)
      GTEST_SKIP() << assembled.error().to_string();
    ASSERT_TRUE(assembled) << assembled.error().to_string();
    assembled_ = std::move(*assembled);
  }

  /// Calls `test` for each program that it is for.
  template <class Wanted, class Test>
  void for_each(Wanted wanted, Test test) {
    for (size_t i = 0; i < assembled_.size(); ++i) {
      const StaticProgram& p = static_programs()[i];
      if (!wanted(p)) continue;
      SCOPED_TRACE(p.name);
      const auto binary = kernel_of(assembled_[i], GetParam());
      test(p, binary);
    }
  }

  template <class Run>
  void expect_results(Run run) {
    for_each([](const StaticProgram& p) { return p.plus != nullptr; },
             [&](const StaticProgram& p, const container::ShaderBinary& binary) {
               auto launch = launch_of(binary);
               const auto report = run(launch);
               ASSERT_TRUE(report) << report.error().to_string();
               const auto out = words(launch.buffers[0]);
               for (uint32_t k = 0; k < items; ++k) ASSERT_EQ(out[k], k + p.plus(k)) << "work-item " << k;
             });
  }

  std::vector<Assembled> assembled_;
};

TEST_P(StaticCalls, Emulator) {
  expect_results([](runtime::Launch& l) { return runtime::run_on_emulator(l); });
}

TEST_P(StaticCalls, Interpreter) {
  expect_results([](runtime::Launch& l) { return runtime::run_on_interpreter(l); });
}

TEST_P(StaticCalls, Spirv) {
  if (!device()) GTEST_SKIP() << "no Vulkan device";
  expect_results([](runtime::Launch& l) -> Expected<runtime::RunReport> {
    auto options = runtime::compile_options(l, *device());
    options.verify = options.validate = true;
    auto compiled = runtime::compile(*l.binary, *l.kernel, options);
    if (!compiled) return std::unexpected(compiled.error());
    return runtime::run_on_vulkan(l, *device(), *compiled);
  });
}

TEST_P(StaticCalls, Refusals) {
  for_each([](const StaticProgram& p) { return p.refused != nullptr; },
           [&](const StaticProgram& p, const container::ShaderBinary& binary) {
             const auto f = translate::translate(binary, binary.kernels[0]);
             ASSERT_FALSE(f);
             EXPECT_NE(f.error().to_string().find(p.refused), std::string::npos) << f.error().to_string();
           });
}

TEST_P(StaticCalls, Traps) {
  for_each([](const StaticProgram& p) { return p.trapped != nullptr; },
           [&](const StaticProgram& p, const container::ShaderBinary& binary) {
             auto launch = launch_of(binary);
             EXPECT_FALSE(runtime::run_on_emulator(launch));
             const auto report = runtime::run_on_interpreter(launch);
             ASSERT_FALSE(report);
             EXPECT_NE(report.error().to_string().find(p.trapped), std::string::npos)
                 << report.error().to_string();
           });
}

INSTANTIATE_TEST_SUITE_P(Wave, StaticCalls, testing::Values(32u, 64u));

} // namespace
} // namespace lanewise::calls
