// exec_select, case by case: a program beside the number of selects that go and that stay.
#include "passes/exec_select.hpp"

#include "analysis/demand_cases.hpp"
#include "ir/parser.hpp"
#include "ir/verifier.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace {

using namespace lanewise;
using namespace lanewise::tests;

class ExecSelect : public testing::TestWithParam<DemandCase> {};

TEST_P(ExecSelect, GoesOrStays) {
  auto f = ir::parse(demand_program(GetParam()));
  ASSERT_TRUE(f) << f.error().to_string();
  auto before = ir::verify(*f);
  ASSERT_TRUE(before) << before.error().to_string();
  const auto result = passes::exec_select(*f, {.explain = true, .prove = true});
  EXPECT_EQ(result.dropped, GetParam().goes);
  EXPECT_EQ(result.selects - result.dropped, GetParam().stays);
  for (const auto& kept : result.kept) EXPECT_TRUE(kept.observer);
  EXPECT_EQ(result.proof.proved, result.proof.total());
  EXPECT_GT(result.proof.total(), 0u);
  for (const auto& failure : result.proof.failures)
    ADD_FAILURE() << "%" << failure.value.index << ": " << failure.what;
  auto after = ir::verify(*f);
  EXPECT_TRUE(after) << after.error().to_string();
}

INSTANTIATE_TEST_SUITE_P(Cases, ExecSelect, testing::ValuesIn(kDemandCases), [](const auto& test) {
  std::string name = test.param.name;
  for (char& ch : name)
    if (!isalnum(static_cast<unsigned char>(ch))) ch = '_';
  return name;
});

/// 50,000 instructions, masks nested 64 deep, a write and a read at each level: all go, in linear time.
TEST(ExecSelectScale, DeepNests) {
  std::string text = kDemandBegin;
  text += "  %s0 = i32 select %m, %new, %old\n";
  unsigned count = 0, selects = 1;
  for (unsigned nest = 0; nest < 200; ++nest) {
    std::string mask = "%m";
    for (unsigned depth = 0; depth < 64; ++depth) {
      const std::string k = std::to_string(nest * 64 + depth);
      text += "  %l" + k + " = i32 load.lds.4 %a, " + mask + "\n";
      text += "  %c" + k + " = u1 slt %l" + k + ", i32 " + std::to_string(depth) + "\n";
      text += "  %m" + k + " = u1 and " + mask + ", %c" + k + "\n";
      text += "  %s" + k + "x = i32 select %m" + k + ", %l" + k + ", %old\n";
      mask = "%m" + k;
      text += "  store.lds.4 %a, " + mask + ", %s" + k + "x\n";
      count += 5;
      ++selects;
    }
  }
  text += "  store.lds.4 %a, %m, %s0\n  ret\n}\n";
  auto f = ir::parse(text);
  ASSERT_TRUE(f) << f.error().to_string();
  const auto result = passes::exec_select(*f);
  EXPECT_GT(count, 50'000u);
  EXPECT_EQ(result.dropped, selects);
}

/// A discard chain of 200 steps: every write is read by the lanes that are left.
TEST(ExecSelectScale, KillChain) {
  std::string text = kDemandBegin;
  std::string alive = "%e";
  for (unsigned i = 0; i < 200; ++i) {
    const std::string k = std::to_string(i);
    text += "  %l" + k + " = i32 load.lds.4 %a, " + alive + "\n  %c" + k + " = u1 slt %l" + k + ", i32 3\n";
    text += "  %n" + k + " = u1 not %c" + k + "\n  %k" + k + " = u1 and " + alive + ", %n" + k + "\n";
    text += "  %s" + k + " = i32 select " + alive + ", %l" + k + ", %old\n";
    alive = "%k" + k;
  }
  for (unsigned i = 0; i < 200; ++i) text += "  store.lds.4 %a, " + alive + ", %s" + std::to_string(i) + "\n";
  auto f = ir::parse(text + "  ret\n}\n");
  ASSERT_TRUE(f) << f.error().to_string();
  EXPECT_EQ(passes::exec_select(*f).dropped, 200u);
}

/// Selects on data whose conditions have nothing to do with each other: as formulas they explode, as demand
/// they must not, and the write under the mask around them still goes.
TEST(ExecSelectScale, SelectsOnData) {
  std::string text = kDemandBegin;
  for (unsigned i = 0; i < 16; ++i) {
    const std::string k = std::to_string(i);
    text += "  %v" + k + " = i32 load.lds.4.align4 %a, %m\n";
    text += "  %w" + k + " = i32 add %v" + k + ", i32 7\n  %x" + k + " = i32 select %m, %w" + k + ", %old\n";
  }
  for (unsigned out = 0; out < 16; ++out) {
    const std::string o = std::to_string(out);
    text += "  %i" + o + " = i32 load.lds.4.align4 %new, %m\n  %y" + o + "_0 = i32 add %x0, i32 " + o + "\n";
    for (unsigned in = 1; in < 16; ++in) {
      const std::string k = std::to_string(in), id = o + "_" + k;
      text += "  %q" + id + " = u1 eq %i" + o + ", i32 " + k + "\n  %y" + id + " = i32 select %q" + id +
              ", %x" + k + ", %y" + o + "_" + std::to_string(in - 1) + "\n";
    }
    text += "  store.lds.4.align4 %i" + o + ", %m, %y" + o + "_15\n";
  }
  auto f = ir::parse(text + "  ret\n}\n");
  ASSERT_TRUE(f) << f.error().to_string();
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(passes::exec_select(*f).dropped, 16u);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(2));
}

} // namespace
