// Calls through pointers of the host: every program on the emulator, the interpreter and as SPIR-V, in both
// wave sizes; and what is refused, with its reason.
#include "ir/verifier.hpp"
#include "passes/pipeline.hpp"
#include "pointer_launch.hpp"
#include "program_suite.hpp"
#include "runtime/check.hpp"

namespace lanewise::calls {
namespace {

class PointerCalls : public ProgramSuite<PointerProgram> {
 protected:
  PointerCalls() : ProgramSuite(pointer_programs()) {}

  template <class Wanted, class Test>
  void for_each(Wanted wanted, Test test) {
    for_each_program(wanted, [&](const PointerProgram& p, const Assembled& assembled) {
      auto launch = pointer_launch(p, assembled, GetParam());
      test(p, launch);
    });
  }

  template <class Run>
  void expect_results(Run run) {
    for_each(runs, [&](const PointerProgram& p, PointerLaunch& l) {
      const auto report = run(l);
      EXPECT_TRUE(report) << report.error().to_string();
      if (report) expect_sums(p, l.launch);
    });
  }

  struct Linked {
    std::shared_ptr<const runtime::PreparedShader> shader;
    runtime::CalleeSets sets;
  };
  static Expected<Linked> resolved(const PointerLaunch& l) {
    auto shader = runtime::prepare(*l.binary, *l.launch.kernel);
    if (!shader) return std::unexpected(shader.error());
    auto memory = placed(l.launch);
    if (!memory) return std::unexpected(memory.error());
    auto targets =
        runtime::resolve(**shader, runtime::invocation_of(*memory), runtime::LaunchGuestMemory(*memory));
    if (!targets) return std::unexpected(targets.error());
    return Linked{*shader, runtime::sets_of(*targets)};
  }
};

TEST_P(PointerCalls, Emulator) {
  expect_results([](PointerLaunch& l) { return runtime::run_on_emulator(l.launch); });
}

TEST_P(PointerCalls, Interpreter) {
  expect_results([](PointerLaunch& l) -> Expected<runtime::RunReport> {
    auto linked = resolved(l);
    if (!linked) return std::unexpected(linked.error());
    auto f = runtime::link_function(*linked->shader, linked->sets);
    if (!f) return std::unexpected(f.error());
    if (auto ok = ir::verify(*f); !ok) return std::unexpected(ok.error());
    // As linked, and as the passes leave it.
    const auto options = with_callees(*linked->shader, linked->sets);
    runtime::Launch before = l.launch;
    if (auto ok = runtime::run_on_interpreter(before, *f, options); !ok) return std::unexpected(ok.error());
    if (auto ok = passes::run(*f, {.verify = true}); !ok) return std::unexpected(ok.error());
    auto report = runtime::run_on_interpreter(l.launch, *f, options);
    EXPECT_EQ(words(before.buffers[0]), words(l.launch.buffers[0]));
    return report;
  });
}

TEST_P(PointerCalls, Spirv) {
  if (!device()) GTEST_SKIP() << "no Vulkan device";
  expect_results([](PointerLaunch& l) -> Expected<runtime::RunReport> {
    auto linked = resolved(l);
    if (!linked) return std::unexpected(linked.error());
    auto options = runtime::compile_options(l.launch, *device());
    options.verify = options.validate = true;
    auto compiled = runtime::link(*linked->shader, linked->sets, options);
    if (!compiled) return std::unexpected(compiled.error());
    return runtime::run_on_vulkan(l.launch, *device(), *compiled,
                                  with_callees(*linked->shader, linked->sets));
  });
}

TEST_P(PointerCalls, CheckHoldsThemAgainstEachOther) {
  expect_results([](PointerLaunch& l) -> Expected<runtime::RunReport> {
    auto report = runtime::check_references(l.launch, {});
    if (!report) return std::unexpected(report.error());
    for (const auto& step : report->steps) EXPECT_TRUE(step.text.empty()) << step.name << ": " << step.text;
    EXPECT_GT(report->steps.size(), 8u);
    return runtime::run_on_interpreter(l.launch);
  });
}

TEST_P(PointerCalls, PrepareRefuses) {
  for_each([](const PointerProgram& p) { return p.refused != nullptr; },
           [](const PointerProgram& p, PointerLaunch& l) {
             const auto shader = runtime::prepare(*l.binary, *l.launch.kernel);
             ASSERT_FALSE(shader);
             EXPECT_NE(shader.error().to_string().find(p.refused), std::string::npos)
                 << shader.error().to_string();
           });
}

TEST_P(PointerCalls, LinkRefuses) {
  for_each([](const PointerProgram& p) { return p.unlinked != nullptr; },
           [](const PointerProgram& p, PointerLaunch& l) {
             auto linked = resolved(l);
             const Error e = !linked ? linked.error() : [&] {
               const auto f = runtime::link_function(*linked->shader, linked->sets);
               return f ? Error{.what = "linked"} : f.error();
             }();
             EXPECT_NE(e.to_string().find(p.unlinked), std::string::npos) << e.to_string();
           });
}

INSTANTIATE_TEST_SUITE_P(Wave, PointerCalls, testing::Values(32u, 64u));

} // namespace
} // namespace lanewise::calls
