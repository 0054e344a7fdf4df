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
  const char* body;   ///< of a program; F stands for a wave_fence, G for a group_fence
  const char* fences; ///< for each in order: 'k' it is kept, '-' it goes
};

std::string with_fences(std::string text, std::string_view keep) {
  size_t n = 0;
  const auto next = [&] { return std::min(text.find("  F\n"), text.find("  G\n")); };
  for (size_t at = next(); at != std::string::npos; at = next(), ++n) {
    const std::string fence = text[at + 2] == 'F' ? "  wave_fence\n" : "  group_fence\n";
    text.replace(at, 4, keep.empty() || keep[n] == 'k' ? fence : "");
  }
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
    {"LoadsOfLdsThatNobodyWrites",
     "b0:\n  %1 = i32 load.lds.4 i32 4, u1 true\n  F\n  %2 = i32 load.lds.4 i32 8, u1 true\n  ret\n", "-"},
    {"LdsLoadsMayWaitForOtherWaves",
     "b0:\n  store.lds.4 i32 0, u1 true, i32 1\n  F\n  %1 = i32 load.lds.4 i32 4, u1 true\n  F\n"
     "  %2 = i32 load.lds.4 i32 8, u1 true\n  ret\n",
     "kk"},
    {"NotAcrossABarrier",
     "b0:\n  store.lds.4 i32 0, u1 true, i32 1\n  barrier\n  %1 = i32 load.lds.4 i32 4, u1 true\n  F\n"
     "  %2 = i32 load.lds.4 i32 8, u1 true\n  ret\n",
     "-"},
    {"TwoMemoriesWithoutTalk",
     "b0:\n  %1 = i32 load.global.4 i64 32, u1 true\n  F\n  store.lds.4 i32 0, u1 true, %1\n  barrier\n"
     "  %2 = i32 load.lds.4 i32 4, u1 true\n  F\n  store.global.4 i64 16, u1 true, %2\n  ret\n",
     "--"},
    {"TwoMemoriesWhereWavesMayTalk",
     "b0:\n  store.global.4 i64 16, u1 true, i32 1\n  F\n  store.lds.4 i32 0, u1 true, i32 1\n  br b1\n"
     "b1: from b0, b1\n  %1 = i32 load.lds.4 i32 4, u1 true\n  %2 = u1 eq %1, i32 0\n  %3 = uniform u1 any "
     "%2\n"
     "  cond_br %3, b1, b2\nb2: from b1\n  F\n  %4 = i32 load.global.4 i64 20, u1 true\n  ret\n",
     "kk"},
    {"ATileInALoop",
     "b0:\n  br b1\nb1: from b0, b1\n  %1 = i32 load.global.4 i64 32, u1 true\n  F\n"
     "  store.lds.4 i32 0, u1 true, %1\n  barrier\n  %2 = i32 load.lds.4 i32 4, u1 true\n  barrier\n"
     "  %3 = u1 eq %2, i32 0\n  %4 = uniform u1 any %3\n  cond_br %4, b1, b2\nb2: from b1\n  F\n"
     "  store.global.4 i64 16, u1 true, %2\n  ret\n",
     "--"},
    {"EveryLaneItsOwnWord",
     "b0:\n  %1 = i32 lane_id\n  %2 = uniform i32 input.workgroup_id_x\n  %3 = i32 add %1, %2\n  %4 = i64 "
     "zext %3\n"
     "  %5 = i64 shl %4, i64 2\n  %6 = i32 load.global.4 %5, u1 true\n  F\n  store.global.4 %5, u1 true, "
     "%6\n  ret\n",
     "-"},
    {"EveryLaneTwoWordsOfFour",
     "b0:\n  %1 = i32 lane_id\n  %2 = i32 shl %1, i32 4\n  %3 = i32 add %2, i32 12\n"
     "  %4 = i32x2 load.lds.4 %2, u1 true\n  F\n  store.lds.4 %3, u1 true, i32 1\n  ret\n",
     "k"}, // waves may talk through LDS
    {"TheNextLanesWord",
     "b0:\n  %1 = i32 lane_id\n  %2 = i64 zext %1\n  %3 = i64 shl %2, i64 2\n  %4 = i64 add %3, i64 4\n"
     "  %5 = i32 load.global.4 %4, u1 true\n  F\n  store.global.4 %3, u1 true, %5\n  ret\n",
     "k"},
    {"ItsOwnWordsOfEight",
     "b0:\n  %1 = i32 lane_id\n  %2 = i64 zext %1\n  %3 = i64 shl %2, i64 3\n  %4 = i64 add %3, i64 4\n"
     "  %5 = i32 load.global.4 %4, u1 true\n  F\n  store.global.4 %3, u1 true, %5\n  ret\n",
     "-"},
    {"WordsThatOverlap",
     "b0:\n  %1 = i32 lane_id\n  %2 = i64 zext %1\n  %3 = i64 shl %2, i64 2\n"
     "  %4 = i32x2 load.global.4 %3, u1 true\n  %5 = i32 extract.0 %4\n  F\n  store.global.4 %3, u1 true, "
     "%5\n  ret\n",
     "k"},
    {"TheWordOfAnotherTurn",
     "b0:\n  %1 = i32 lane_id\n  br b1\nb1: from b0, b1\n  %2 = uniform i32 phi i32 0, %8\n  F\n  %3 = i32 "
     "add %1, %2\n"
     "  %4 = i64 zext %3\n  %5 = i64 shl %4, i64 2\n  %6 = i32 load.global.4 %5, u1 true\n  F\n"
     "  store.global.4 %5, u1 true, %6\n  %8 = uniform i32 add %2, i32 1\n  %9 = uniform u1 ult %8, i32 4\n"
     "  cond_br %9, b1, b2\nb2: from b1\n  ret\n",
     "k-"},
    {"GroupFenceRightBehindABarrier",
     "b0:\n  store.global.4 i64 16, u1 true, i32 1\n  barrier\n  G\n  %1 = i32 load.global.4 i64 16, u1 "
     "true\n  G\n"
     "  %2 = i32 load.global.4 i64 16, u1 true\n  ret\n",
     "-k"},
    {"CoherentLoadsToo",
     "b0:\n  %1 = i32 load.global.4.coherent i64 32, u1 true\n  F\n  %2 = i32 load.global.4 i64 16, u1 "
     "true\n  ret\n",
     "k"},
    {"NobodyWritesWhatTheDispatcherWrote",
     "b0:\n  %1 = uniform i64 input.kernarg_ptr\n  %2 = uniform i64 add %1, i64 16\n"
     "  %3 = uniform i32 load.global.4.invariant %2, u1 true\n  F\n  store.global.4 i64 16, u1 true, %3\n  "
     "ret\n",
     "-"},
    {"ScalarLoadsComeBeforeStores",
     "b0:\n  %1 = uniform i32 load.global.4.invariant i64 32, u1 true\n  F\n  store.global.4 i64 16, u1 "
     "true, %1\n"
     "  ret\n",
     "k"},
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
  std::string left = ir::print(*f); // what barriers order is another matter
  for (size_t at = 0; (at = left.find("barrier.lds", at)) != std::string::npos;) left.erase(at + 7, 4);
  EXPECT_EQ(left, ir::print(*expected));
}

/// The pointers to two buffers, %p and %q, from the arguments.
constexpr const char* kTwoBuffers =
    "b0:\n  %1 = uniform i64 input.kernarg_ptr\n  %2 = uniform i32x4 load.global.4.invariant %1, u1 true\n"
    "  %3 = uniform i32 extract.0 %2\n  %4 = uniform i32 extract.1 %2\n  %5 = uniform i32 extract.2 %2\n"
    "  %6 = uniform i32 extract.3 %2\n  %p = uniform i64 pack64 %3, %4\n  %q = uniform i64 pack64 %5, %6\n";

/// Which barriers order LDS only: those with no two accesses of global memory before and behind that could
/// meet.
TEST(WaveFenceFacts, BarriersThatOrderLdsOnly) {
  struct {
    const char* what;
    const char* body; ///< B: a barrier, R: loads from buffer p, W: stores to buffer q, X: stores to buffer p
    const char* lds;  ///< for each barrier whether it is one, where buffers are separate
    const char* lds_of_any; ///< where nothing is known of them
  } const table[]{
      {"LDS only", "L B L", "y", "y"},
      {"nothing behind", "R X B", "y", "y"},
      {"nothing before", "B R X", "y", "y"},
      {"loads on both sides", "R B R", "y", "y"},
      {"loads, then stores to another buffer", "R B W", "y", "n"},
      {"loads, then stores to the same buffer", "R B X", "n", "n"},
      {"stores, then loads", "X B R", "n", "n"},
      {"far away", "X B L B L B R", "nnn", "nnn"},
      {"stores on both sides", "W B W", "n", "n"},
      {"coherent accesses", "C B R", "n", "n"},
  };
  for (const auto& row : table) {
    std::string body = kTwoBuffers;
    int next = 100;
    for (const char* c = row.body; *c; ++c) {
      const std::string v = "%" + std::to_string(next++);
      switch (*c) {
      case 'B': body += "  barrier\n"; break;
      case 'L': body += "  store.lds.4 i32 0, u1 true, i32 1\n"; break;
      case 'R': body += "  " + v + " = i32 load.global.4 %p, u1 true\n"; break;
      case 'C': body += "  " + v + " = i32 load.global.4.coherent %p, u1 true\n"; break;
      case 'W': body += "  store.global.4 %q, u1 true, i32 1\n"; break;
      case 'X': body += "  store.global.4 %p, u1 true, i32 1\n"; break;
      default: break;
      }
    }
    for (const bool separate : {true, false}) {
      auto f = ir::parse(with_fences(body + "  ret\n", ""));
      ASSERT_TRUE(f) << f.error().to_string() << body;
      FenceFacts facts;
      if (separate) facts.separate_pointers = {0, 8};
      wave_fences(*f, facts);
      std::string got;
      for (const ir::Value v : f->blocks[0].instructions)
        if ((*f)[v].op == ir::Op::barrier) got += (*f)[v].imm == ir::kBarrierLdsOnly ? 'y' : 'n';
      EXPECT_EQ(got, separate ? row.lds : row.lds_of_any) << row.what;
      auto again = ir::parse(ir::print(*f));
      EXPECT_TRUE(again && ir::print(*again) == ir::print(*f));
    }
  }
}

/// What is known of addresses from outside.
TEST(WaveFenceFacts, SeparateBuffersAndRanges) {
  const std::string body =
      std::string(kTwoBuffers) +
      "  %9 = i32 input.local_id_x\n  %10 = i64 zext %9\n  %11 = i64 add %p, %10\n  %12 = i64 add %q, %10\n"
      "  %13 = i32 load.global.4 %11, u1 true\n  F\n  store.global.4 %12, u1 true, %13\n  br b1\n"
      "b1: from b0, b1\n  %14 = i64 phi %12, %16\n  F\n  %15 = i32 load.global.4 %11, u1 true\n"
      "  %16 = i64 add %14, i64 4\n  F\n  store.global.4 %16, u1 true, %15\n  %17 = u1 eq %15, i32 0\n"
      "  %18 = uniform u1 any %17\n  cond_br %18, b1, b2\nb2: from b1\n  ret\n";
  const auto left = [&](const FenceFacts& facts) {
    auto f = ir::parse(with_fences(body, ""));
    EXPECT_TRUE(f) << (f ? "" : f.error().to_string());
    wave_fences(*f, facts);
    return ir::print(*f);
  };
  const auto expected = [&](const char* fences) { return ir::print(*ir::parse(with_fences(body, fences))); };
  EXPECT_EQ(left({}), expected("kkk"));
  EXPECT_EQ(left({.separate_pointers = {0, 8}}), expected("--k")) << "the last: stores of two turns";
  EXPECT_EQ(left({.separate_pointers = {0}}), expected("kkk")) << "the other pointer may lead anywhere";
}

/// Addresses that follow from the lanes' numbers: a step of a sorting network, as the program's lanes and as
/// others.
TEST(WaveFenceFacts, TablesOfAddresses) {
  struct {
    const char* what;
    const char* number; ///< %t of %l (host_lane) and %w (host_wave)
    const char* apart;  ///< bytes from one word of a pair to the other
    const char* fences;
  } const table[]{
      {"each item has its pair", "add %l, %first", "i32 8", "-"},
      {"every second item has its neighbour's", "add %l, %first", "i32 4", "k"},
      {"the pairs of two waves are the same", "add %l, i32 0", "i32 8", "k"},
      {"two lanes have one pair", "and %item, i32 62", "i32 8", "k"},
      {"items in another order", "xor %item, i32 31", "i32 8", "-"},
      {"nobody knows", "add %item, %group", "i32 8", "k"},
      {"outside LDS", "add %item, i32 0x100000", "i32 8", "k"},
  };
  for (const auto& row : table) {
    const std::string body =
        "b0:\n  %l = i32 host_lane\n  %w = i32 host_wave\n  %first = i32 shl %w, i32 5\n"
        "  %item = i32 add %l, %first\n  %group = uniform i32 input.workgroup_id_x\n"
        "  %t = i32 " +
        std::string(row.number) +
        "\n  %odd = i32 and %t, i32 1\n  %twice = i32 shl %t, i32 1\n"
        "  %low = i32 sub %twice, %odd\n  %a = i32 shl %low, i32 2\n  %b = i32 add %a, " +
        row.apart +
        "\n  %x = i32 load.lds.4 %a, u1 true\n  %y = i32 load.lds.4 %b, u1 true\n  F\n"
        "  store.lds.4 %a, u1 true, %y\n  store.lds.4 %b, u1 true, %x\n  ret\n";
    auto f = ir::parse(with_fences(body, ""));
    ASSERT_TRUE(f) << f.error().to_string();
    wave_fences(*f, {.lanes = 32, .waves = 2});
    EXPECT_EQ(ir::print(*f), ir::print(*ir::parse(with_fences(body, row.fences)))) << row.what;
  }
}

/// Many places, around nested loops: few are kept apart, and it ends.
TEST(WaveFenceFacts, MorePlacesThanAreKeptApart) {
  std::string body = "b0:\n  %1 = i32 lane_id\n  br b1\nb1: from b0, b2\n  br b2\nb2: from b1, b2\n";
  int next = 2;
  for (int i = 0; i < 40; ++i, next += 2) {
    body += "  %" + std::to_string(next) + " = i32 mul %1, i32 " + std::to_string(64 * i + 4) + "\n  %" +
            std::to_string(next + 1) + " = i32 load.lds.4 %" + std::to_string(next) +
            ", u1 true\n  F\n  store.lds.4 %" + std::to_string(next) + ", u1 true, i32 1\n";
  }
  body += "  %900 = uniform i32 input.workgroup_id_x\n  %901 = uniform u1 eq %900, i32 0\n  cond_br %901, "
          "b2, b3\n"
          "b3: from b2\n  cond_br %901, b1, b4\nb4: from b3\n  ret\n";
  body.replace(body.find("from b0, b2\n  br b2"), 11, "from b0, b3");
  auto f = ir::parse(with_fences(body, ""));
  ASSERT_TRUE(f) << f.error().to_string();
  const std::string before = ir::print(*f);
  wave_fences(*f);
  EXPECT_EQ(ir::print(*f), before) << "waves may talk: all stay";
}

INSTANTIATE_TEST_SUITE_P(Cases, WaveFences, testing::ValuesIn(cases),
                         [](const auto& info) { return info.param.name; });

} // namespace
} // namespace lanewise::passes
