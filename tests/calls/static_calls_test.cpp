// Calls to fixed places: every program on the emulator, the interpreter and as SPIR-V, in both wave sizes.
#include "program_suite.hpp"
#include "runtime/check.hpp"
#include "runtime/compile.hpp"
#include "runtime/execute.hpp"
#include "runtime/linked.hpp"
#include "runtime/prepare.hpp"
#include "runtime/serialize.hpp"
#include "static_programs.hpp"
#include "translate/translate.hpp"

#include <tuple>

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

/// A function that is worth it stays one from the preparation on, through the disk, to the module.
TEST_P(StaticCalls, PreparedShadersHaveFunctions) {
  std::string source = "begin\n";
  for (unsigned k = 0; k < 8; ++k) source += "s_call_b64 s[30:31], f%\n";
  source += "finish\nf%:\n";
  for (unsigned k = 0; k < 70; ++k) source += "plus 1\nv_xor_b32 v1, 0x55, v1\n";
  source += "s_setpc_b64 s[30:31]";
  const auto assembled = assemble(GetParam(), std::array{source});
  if (!assembled) GTEST_SKIP() << assembled.error().to_string();
  const auto binary = kernel_of(assembled->front(), GetParam());
  auto expected = launch_of(binary), launch = launch_of(binary);
  ASSERT_TRUE(runtime::run_on_emulator(expected));

  const auto shader = runtime::prepare(binary, binary.kernels[0]);
  ASSERT_TRUE(shader) << shader.error().to_string();
  ASSERT_EQ((*shader)->callees.size(), 1u);
  const auto kept = runtime::deserialize_shader(runtime::serialize(**shader));
  ASSERT_TRUE(kept) << kept.error().to_string();
  const auto function = runtime::link_function(**kept, {});
  ASSERT_TRUE(function) << function.error().to_string();
  const auto ran = runtime::run_on_interpreter(launch, *function, {});
  ASSERT_TRUE(ran) << ran.error().to_string();
  EXPECT_EQ(words(launch.buffers[0]), words(expected.buffers[0]));

  runtime::CompileOptions options;
  options.block = {64, 1, 1};
  options.validate = true;
  options.host.subgroup_size = 8;
  options.host.subgroup_operations = true;
  options.seating =
      WaveSeating::folded; // inlined, lanes would be independent, and the module a third as long
  const auto fresh = runtime::link(**shader, {}, options), loaded = runtime::link(**kept, {}, options);
  ASSERT_TRUE(fresh && loaded);
  EXPECT_EQ(fresh->module.functions, 1u);
  EXPECT_EQ(fresh->module.words, loaded->module.words);
  options.calls = runtime::Calls::inlined;
  const auto inlined = runtime::compile(binary, binary.kernels[0], options);
  ASSERT_TRUE(inlined);
  EXPECT_LT(2 * fresh->module.words.size(), inlined->module.words.size());
}

/// Waves that a cut workgroup lacks do not end before a callee's barrier, where the others would wait for
/// them; a dispatcher learns that they should not be there.
TEST_P(StaticCalls, BarriersInCalleesCountForCutWorkgroups) {
  const auto compiled_with = [&](const std::string& first) {
    const auto assembled =
        assemble(GetParam(), std::array<std::string, 1>{"begin\ns_call_b64 s[30:31], f%\nfinish\nf%:\n" +
                                                        first + "plus 1\ns_setpc_b64 s[30:31]"});
    EXPECT_TRUE(assembled) << assembled.error().to_string();
    const auto binary = kernel_of(assembled->front(), GetParam());
    runtime::CompileOptions options;
    options.block = {256, 1, 1};
    options.validate = true;
    options.host.subgroup_size = GetParam();
    options.host.subgroup_operations = true;
    options.seating = WaveSeating::native;
    options.calls = runtime::Calls::functions;
    unsigned ends = 0;
    options.look = [&](runtime::Stage stage, const ir::Program& p) {
      if (stage != runtime::Stage::lowered) return;
      for (const auto& b : p.main.blocks)
        for (const ir::Value v : b.instructions) ends += p.main[v].op == ir::Op::ret;
    };
    const auto compiled = runtime::compile(binary, binary.kernels[0], options);
    EXPECT_TRUE(compiled) << compiled.error().to_string();
    return std::tuple(compiled->module.functions, ends, compiled->module.cut.wave_items);
  };
  EXPECT_EQ(compiled_with(""), (std::tuple{1u, 2u, 0u}));
  EXPECT_EQ(compiled_with("s_barrier\n"), (std::tuple{1u, 1u, GetParam()}));
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
