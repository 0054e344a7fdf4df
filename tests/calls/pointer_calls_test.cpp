// Calls through pointers of the host: every program on the emulator, the interpreter and as SPIR-V, in both
// wave sizes; and what is refused, with its reason.
#include "ir/verifier.hpp"
#include "passes/pipeline.hpp"
#include "pointer_launch.hpp"
#include "runtime/check.hpp"
#include "runtime/vulkan_device.hpp"

#include <gtest/gtest.h>

namespace lanewise::calls {
namespace {

class PointerCalls : public testing::TestWithParam<unsigned> {
 protected:
  static runtime::VulkanDevice* device() {
    static auto opened = runtime::VulkanDevice::open({});
    return opened ? opened->get() : nullptr;
  }

  void SetUp() override {
    std::vector<std::string> sources;
    for (const PointerProgram& p : pointer_programs()) sources.push_back(p.source);
    auto assembled = assemble(GetParam(), sources);
    if (!assembled && assembled.error().kind == ErrorKind::system)
      GTEST_SKIP() << assembled.error().to_string();
    ASSERT_TRUE(assembled) << assembled.error().to_string();
    assembled_ = std::move(*assembled);
  }

  template <class Wanted, class Test>
  void for_each(Wanted wanted, Test test) {
    for (size_t i = 0; i < assembled_.size(); ++i) {
      const PointerProgram& p = pointer_programs()[i];
      if (!wanted(p)) continue;
      SCOPED_TRACE(p.name);
      auto launch = pointer_launch(p, assembled_[i], GetParam());
      test(p, launch);
    }
  }

  template <class Run>
  void expect_results(Run run) {
    for_each([](const PointerProgram& p) { return p.plus != nullptr; },
             [&](const PointerProgram& p, PointerLaunch& l) {
               const auto report = run(l);
               EXPECT_TRUE(report) << report.error().to_string();
               if (!report) return;
               const auto out = words(l.launch.buffers[PointerLaunch::out]);
               for (uint32_t k = 0; k < items; ++k) {
                 EXPECT_EQ(out[k], k + p.plus(k)) << "work-item " << k;
                 if (out[k] != k + p.plus(k)) return;
               }
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

  std::vector<Assembled> assembled_;
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
