// Which waits stay.
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "passes/passes.hpp"

#include <gtest/gtest.h>

namespace lanewise::passes {
namespace {

struct Case {
  const char* name;
  const char* body;   ///< of a program; F stands for a wave_fence
  const char* fences; ///< for each F in order: 'k' it is kept, '-' it goes
};

std::string with_fences(std::string text, std::string_view keep) {
  size_t n = 0;
  for (size_t at = text.find("  F\n"); at != std::string::npos; at = text.find("  F\n", at), ++n)
    text.replace(at, 4, keep.empty() || keep[n] == 'k' ? "  wave_fence\n" : "");
  return "function \"case\" wave32 lds 64 scratch 64 {\n" + text + "}\n";
}

constexpr Case cases[] = {
    {"NothingBefore", "b0:\n  F\n  store.global.4 i64 16, u1 true, i32 1\n  ret\n", "-"},
    {"NothingBehind", "b0:\n  store.global.4 i64 16, u1 true, i32 1\n  F\n  ret\n", "-"},
    {"StoreThenLoad",
     "b0:\n  store.global.4 i64 16, u1 true, i32 1\n  F\n  %1 = i32 load.global.4 i64 32, u1 true\n  ret\n",
     "k"},
    {"LoadThenStore",
     "b0:\n  %1 = i32 load.global.4 i64 32, u1 true\n  F\n  store.global.4 i64 16, u1 true, %1\n  ret\n",
     "k"},
    {"LoadThenLoad",
     "b0:\n  %1 = i32 load.global.4 i64 32, u1 true\n  F\n  %2 = i32 load.global.4 i64 16, u1 true\n  ret\n",
     "-"},
    {"TheLastOfThreeLoadsAndAStore",
     "b0:\n  %1 = i32 load.global.4 i64 32, u1 true\n  F\n  %2 = i32 load.global.4 i64 16, u1 true\n  F\n"
     "  %3 = i32 load.global.4 i64 16, u1 true\n  F\n  store.global.4 i64 16, u1 true, %1\n  ret\n",
     "--k"},
    {"ScratchIsEachLanesOwn",
     "b0:\n  store.scratch.4 i32 4, u1 true, i32 1\n  F\n  %1 = i32 load.scratch.4 i32 4, u1 true\n  ret\n",
     "-"},
    {"FlatMayBeGlobal",
     "b0:\n  store.flat.4 i64 16, u1 true, i32 1\n  F\n  %1 = i32 load.flat.4 i64 16, u1 true\n  ret\n", "k"},
    {"LdsLoadsMayWaitForOtherWaves",
     "b0:\n  %1 = i32 load.lds.4 i32 4, u1 true\n  F\n  %2 = i32 load.lds.4 i32 8, u1 true\n  ret\n", "k"},
    {"CoherentLoadsToo",
     "b0:\n  %1 = i32 load.global.4.coherent i64 32, u1 true\n  F\n  %2 = i32 load.global.4 i64 16, u1 "
     "true\n  ret\n",
     "k"},
    {"InvariantLoadsReadWhatNobodyWrites",
     "b0:\n  %1 = i32 load.global.4.invariant i64 32, u1 true\n  F\n  store.global.4 i64 16, u1 true, %1\n  "
     "ret\n",
     "-"},
    {"ABarrierOrdersToo",
     "b0:\n  store.global.4 i64 16, u1 true, i32 1\n  barrier\n  F\n  %1 = i32 load.global.4 i64 32, u1 "
     "true\n  ret\n",
     "-"},
    {"AcrossBlocks",
     "b0:\n  %1 = uniform u1 any u1 true\n  store.global.4 i64 16, u1 true, i32 1\n  cond_br %1, b1, b2\nb1: "
     "from b0\n"
     "  br b2\nb2: from b0, b1\n  F\n  %2 = i32 load.global.4 i64 32, u1 true\n  ret\n",
     "k"},
    {"OnOneWayOnly",
     "b0:\n  %1 = uniform u1 any u1 true\n  cond_br %1, b1, b2\nb1: from b0\n  store.global.4 i64 16, u1 "
     "true, i32 1\n"
     "  br b2\nb2: from b0, b1\n  F\n  %2 = i32 load.global.4 i64 32, u1 true\n  ret\n",
     "k"},
    {"AroundALoop",
     "b0:\n  br b1\nb1: from b0, b1\n  F\n  %1 = i32 load.global.4 i64 32, u1 true\n  store.global.4 i64 16, "
     "u1 true, %1\n"
     "  %2 = uniform u1 any u1 true\n  cond_br %2, b1, b2\nb2: from b1\n  ret\n",
     "k"},
    {"ADroppedFenceHandsOnWhatItWaitedFor",
     "b0:\n  %1 = i32 load.global.4 i64 32, u1 true\n  F\n  br b1\nb1: from b0\n  F\n  store.global.4 i64 "
     "16, u1 true, %1\n  ret\n",
     "-k"},
};

class WaveFences : public testing::TestWithParam<Case> {};

TEST_P(WaveFences, KeepThoseThatOrder) {
  const Case& c = GetParam();
  auto f = ir::parse(with_fences(c.body, ""));
  const auto expected = ir::parse(with_fences(c.body, c.fences));
  ASSERT_TRUE(f && expected);
  wave_fences(*f);
  ASSERT_TRUE(ir::verify(*f));
  EXPECT_EQ(ir::print(*f), ir::print(*expected));
}

INSTANTIATE_TEST_SUITE_P(Cases, WaveFences, testing::ValuesIn(cases),
                         [](const auto& info) { return info.param.name; });

} // namespace
} // namespace lanewise::passes
