// Calls to fixed places: every program on the emulator, the interpreter and as SPIR-V, in both wave sizes.
#include "program_suite.hpp"
#include "runtime/check.hpp"
#include "runtime/compile.hpp"
#include "runtime/execute.hpp"
#include "static_programs.hpp"
#include "translate/translate.hpp"

namespace lanewise::calls {
namespace {

class StaticCalls : public ProgramSuite<StaticProgram> {
 protected:
  StaticCalls() : ProgramSuite(static_programs()) {}

  template <class Wanted, class Test>
  void for_each(Wanted wanted, Test test) {
    for_each_program(wanted, [&](const StaticProgram& p, const Assembled& assembled) {
      test(p, kernel_of(assembled, GetParam()));
    });
  }

  template <class Run>
  void expect_results(Run run) {
    for_each(runs, [&](const StaticProgram& p, const container::ShaderBinary& binary) {
      auto launch = launch_of(binary);
      const auto report = run(launch);
      EXPECT_TRUE(report) << report.error().to_string();
      if (report) expect_sums(p, launch);
    });
  }
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

/// Every callee that can be a function of the module is one.
TEST_P(StaticCalls, SpirvWithFunctions) {
  if (!device()) GTEST_SKIP() << "no Vulkan device";
  unsigned functions = 0;
  expect_results([&](runtime::Launch& l) -> Expected<runtime::RunReport> {
    auto options = runtime::compile_options(l, *device());
    options.verify = options.validate = true;
    options.calls = runtime::Calls::functions;
    auto compiled = runtime::compile(*l.binary, *l.kernel, options);
    if (!compiled) return std::unexpected(compiled.error());
    functions += compiled->module.functions;
    return runtime::run_on_vulkan(l, *device(), *compiled);
  });
  EXPECT_GE(functions, 25u);
}

/// On the interpreter after every stage, in every seating of the waves.
TEST_P(StaticCalls, FunctionsInEverySeating) {
  for (const unsigned subgroup : {1u, 8u, GetParam()})
    for_each(runs, [&](const StaticProgram& p, const container::ShaderBinary& binary) {
      const auto launch = launch_of(binary);
      const auto report =
          runtime::check_references(launch, {.subgroup_size = subgroup, .calls = runtime::Calls::functions});
      ASSERT_TRUE(report) << report.error().to_string();
      for (const auto& step : report->steps)
        EXPECT_TRUE(step.text.empty()) << p.name << ", " << step.name << ": " << step.text;
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
