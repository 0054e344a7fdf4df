// Each broken rule of lane demand is noticed twice: the prover refutes it, and what runs shows another output
// than the machine code does, in the IR interpreter and as SPIR-V on a device. With no rule broken all agree
// and all is proved.
#include "analysis/demand_cases.hpp"
#include "calls/kernel.hpp"
#include "demand_programs.hpp"
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "mutation_run.hpp"
#include "passes/pipeline.hpp"

#include <gtest/gtest.h>

namespace lanewise::tests {
namespace {

using analysis::BrokenRule;

struct Optimised {
  ir::Function function;
  analysis::ProofReport proof;
  unsigned refuted = 0;
};

Optimised optimised(ir::Function f, BrokenRule rule) {
  passes::PipelineOptions options{.verify = true};
  options.exec_select = {.prove = true, .broken = rule};
  const auto report = passes::run(f, options);
  EXPECT_TRUE(report) << report.error().to_string();
  Optimised result{std::move(f), report ? report->exec_select.proof : analysis::ProofReport{}};
  for (const auto& failure : result.proof.failures) result.refuted += failure.refuted;
  return result;
}

class BrokenDemand : public testing::TestWithParam<DemandMutation> {};

TEST_P(BrokenDemand, ProverAndExecutionNotice) {
  const auto code =
      calls::assemble(32, std::array{kMutationMacros + std::string(kMutationBegin) + GetParam().source});
  if (!code && code.error().kind == ErrorKind::system) GTEST_SKIP() << code.error().to_string();
  ASSERT_TRUE(code) << code.error().to_string();
  const MutationRun run(calls::kernel_of(code->front(), 32));
  ASSERT_FALSE(run.expected.empty());
  const ir::Function translated = run.translated();
  EXPECT_EQ(run.interpreted(translated), run.expected);

  const Optimised sound = optimised(translated, BrokenRule::none);
  EXPECT_EQ(sound.proof.proved, sound.proof.total());
  EXPECT_EQ(run.interpreted(sound.function), run.expected);

  const Optimised broken = optimised(translated, GetParam().rule);
  EXPECT_GT(broken.refuted, 0u);
  EXPECT_NE(run.interpreted(broken.function), run.expected) << ir::print(broken.function);
  if (!run.device()) GTEST_SKIP() << "no Vulkan device";
  EXPECT_EQ(run.on_device(sound.function), run.expected);
  EXPECT_NE(run.on_device(broken.function), run.expected);
}

INSTANTIATE_TEST_SUITE_P(Rules, BrokenDemand, testing::ValuesIn(kDemandMutations),
                         [](const auto& test) { return std::string(test.param.name); });

/// One rule that execution cannot show. A decision compares a value's demand with masks that are defined
/// before the value, so they hold no atom of a loop that starts behind it: whether such atoms are quantified
/// away makes the claims true or false, but no decision another. Only the prover notices.
TEST(BrokenDemandRule, LoopsLeftUnquantifiedDecidesNothing) {
  for (const DemandCase& c : kDemandCases) {
    const auto f = ir::parse(demand_program(c));
    ASSERT_TRUE(f) << c.name;
    ir::Function sound = *f, broken = *f;
    passes::exec_select(sound);
    passes::exec_select(broken, {.broken = BrokenRule::loops_left_unquantified});
    EXPECT_EQ(ir::print(sound), ir::print(broken)) << c.name;
  }
}

} // namespace
} // namespace lanewise::tests
