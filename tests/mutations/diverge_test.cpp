// Each broken rule of diverge is noticed twice: the prover refutes the conversion, and the converted program
// shows another output than the machine code does, in the IR interpreter and as SPIR-V on a device. With no
// rule broken all agree and all is proved.
#include "calls/kernel.hpp"
#include "demand_programs.hpp"
#include "diverge_programs.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "mutation_run.hpp"
#include "passes/passes.hpp"
#include "passes/pipeline.hpp"
#include "spirv/wave_lowering.hpp"

#include <gtest/gtest.h>

namespace lanewise::tests {
namespace {

using passes::BrokenDivergeRule;

/// A wave of which eight lanes hold work-items, on eight invocations: one lane each, as in native seating.
constexpr uint32_t group = 8;
constexpr spirv::Seating seating{32, group, {group, 1, 1}};

ir::Function lowered(ir::Function f) {
  const auto report = passes::run(f);
  EXPECT_TRUE(report) << report.error().to_string();
  auto low = spirv::lower_waves(f, {.seating = seating});
  EXPECT_TRUE(low) << low.error().to_string();
  if (!low) return ir::Function();
  passes::simplify(*low);
  passes::dead_code(*low);
  return std::move(*low);
}

struct Diverged {
  ir::Function function;
  passes::DivergeResult result;
  unsigned refuted = 0;
};

Diverged diverged(ir::Function f, BrokenDivergeRule rule) {
  Diverged d{std::move(f), {}, 0};
  d.result = passes::diverge(d.function, {.reconverges = true, .prove = true, .broken = rule});
  for (const auto& failure : d.result.proof.failures) d.refuted += failure.refuted;
  const auto ok = ir::verify(d.function);
  EXPECT_TRUE(ok) << ok.error().to_string();
  return d;
}

class BrokenDiverge : public testing::TestWithParam<DivergeMutation> {};

TEST_P(BrokenDiverge, ProverAndExecutionNotice) {
  const auto code =
      calls::assemble(32, std::array{kMutationMacros + std::string(kDivergeBegin) + GetParam().source});
  if (!code && code.error().kind == ErrorKind::system) GTEST_SKIP() << code.error().to_string();
  ASSERT_TRUE(code) << code.error().to_string();
  const MutationRun run(calls::kernel_of(code->front(), 32), group);
  ASSERT_FALSE(run.expected.empty());
  const ir::Function translated = run.translated(), low = lowered(translated);
  EXPECT_EQ(run.interpreted(translated), run.expected);
  EXPECT_EQ(run.interpreted(low, group), run.expected);

  const Diverged sound = diverged(low, BrokenDivergeRule::none);
  EXPECT_EQ(sound.result.proof.proved, sound.result.proof.total());
  EXPECT_EQ(run.interpreted(sound.function, group), run.expected);

  const Diverged broken = diverged(low, GetParam().rule);
  EXPECT_GT(broken.refuted, 0u) << ir::print(low);
  EXPECT_GT(broken.result.regions + broken.result.loops, sound.result.regions + sound.result.loops);
  EXPECT_NE(run.interpreted(broken.function, group), run.expected) << ir::print(broken.function);
  if (!run.device() || run.device()->info().subgroup_size != group) GTEST_SKIP() << "no subgroups of 8";
  EXPECT_EQ(run.lowered_on_device(sound.function, seating), run.expected);
  EXPECT_NE(run.lowered_on_device(broken.function, seating), run.expected);
}

INSTANTIATE_TEST_SUITE_P(Rules, BrokenDiverge, testing::ValuesIn(kDivergeMutations),
                         [](const auto& test) { return std::string(test.param.name); });

} // namespace
} // namespace lanewise::tests
