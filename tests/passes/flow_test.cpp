// Passes over control flow: text before, text after.
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "passes/passes.hpp"
#include "passes/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace lanewise::passes {
namespace {

std::string header(unsigned wave) {
  return "function \"f\" wave" + std::to_string(wave) + " lds 0 scratch 0 {\n";
}

template <class Pass>
std::string after_flow(std::string body, Pass pass, unsigned wave = 32) {
  auto f = ir::parse(header(wave) + body + "}\n");
  if (!f) return f.error().to_string();
  if (const auto ok = ir::verify(*f); !ok) return "before: " + ok.error().to_string();
  pass(*f);
  if (const auto ok = ir::verify(*f); !ok) return "after: " + ok.error().to_string() + "\n" + ir::print(*f);
  const std::string text = ir::print(*f);
  return text.substr(header(wave).size(), text.size() - header(wave).size() - 2);
}

TEST(CfgCleanup, ConstantBranch) {
  EXPECT_EQ(after_flow(R"(b0:
  %1 = uniform i32 input.workgroup_id_x
  cond_br u1 true, b1, b2
b1: from b0
  br b3
b2: from b0
  br b3
b3: from b1, b2
  %2 = uniform i32 phi %1, i32 7
  store.global.4 i64 16, u1 true, %2
  ret
)",
                       cfg_cleanup),
            R"(b0:
  %1 = uniform i32 input.workgroup_id_x
  store.global.4 i64 16, u1 true, %1
  ret
)");
}

/// A condition is known behind its branch: for branches, masks and what goes around the other way.
TEST(CfgCleanup, ConditionsAreKnownBehindTheirBranch) {
  EXPECT_EQ(after_flow(R"(b0:
  %1 = i32 lane_id
  %2 = uniform i32 input.workgroup_id_x
  %3 = uniform u1 ult %2, i32 10
  %4 = uniform u1 not %3
  cond_br %3, b1, b4
b1: from b0
  %5 = u1 ult %1, i32 5
  %6 = u1 and %3, %5
  store.global.4 i64 16, %6, %1
  cond_br %4, b2, b3
b2: from b1
  store.global.4 i64 20, u1 true, %2
  br b3
b3: from b1, b2
  br b4
b4: from b0, b3
  %7 = uniform u1 phi %3, %4
  %8 = i32 select %7, i32 1, i32 2
  store.global.4 i64 24, %3, %8
  ret
)",
                       cfg_cleanup),
            R"(b0:
  %1 = i32 lane_id
  %2 = uniform i32 input.workgroup_id_x
  %3 = uniform u1 ult %2, i32 10
  %4 = uniform u1 not %3
  cond_br %3, b1, b2
b1: from b0
  %5 = u1 ult %1, i32 5
  %6 = u1 and u1 true, %5
  store.global.4 i64 16, %6, %1
  br b2
b2: from b0, b1
  %7 = uniform u1 phi u1 false, u1 false
  %8 = i32 select %7, i32 1, i32 2
  store.global.4 i64 24, %3, %8
  ret
)");
}

/// What lanes do together asks lanes that took the other way, too.
TEST(CfgCleanup, BallotsBehindABranchStay) {
  const char* program = R"(b0:
  %1 = i32 host_lane
  %2 = u1 ult %1, i32 5
  cond_br %2, b1, b2
b1: from b0
  %3 = uniform u1 host_any %2
  store.global.4 i64 16, %3, %1
  br b2
b2: from b0, b1
  ret
)";
  auto f = ir::parse(std::string("function \"f\" wave32 lds 0 scratch 0 divergent {\n") + program + "}\n");
  ASSERT_TRUE(f) << f.error().to_string();
  const std::string before = ir::print(*f);
  EXPECT_FALSE(cfg_cleanup(*f));
  EXPECT_EQ(ir::print(*f), before);
}

TEST(CfgCleanup, BranchesAroundNothingGo) {
  EXPECT_EQ(after_flow(R"(b0:
  %1 = uniform i32 input.workgroup_id_x
  %2 = uniform u1 ult %1, i32 10
  %3 = uniform u1 ult %1, i32 20
  cond_br %2, b1, b4
b1: from b0
  cond_br %3, b2, b3
b2: from b1
  br b3
b3: from b1, b2
  br b4
b4: from b0, b3
  %4 = uniform i32 phi %1, %1
  cond_br %3, b5, b6
b5: from b4
  br b7
b6: from b4
  br b7
b7: from b5, b6
  %5 = uniform i32 phi i32 1, i32 2
  store.global.4 i64 16, u1 true, %4
  store.global.4 i64 20, u1 true, %5
  ret
)",
                       cfg_cleanup),
            R"(b0:
  %1 = uniform i32 input.workgroup_id_x
  %2 = uniform u1 ult %1, i32 10
  %3 = uniform u1 ult %1, i32 20
  cond_br %3, b1, b2
b1: from b0
  br b3
b2: from b0
  br b3
b3: from b1, b2
  %4 = uniform i32 phi i32 1, i32 2
  store.global.4 i64 16, u1 true, %1
  store.global.4 i64 20, u1 true, %4
  ret
)");
}

TEST(CfgCleanup, LoopStaysAndUnreachableGoes) {
  EXPECT_EQ(after_flow(R"(b0:
  br b2
b1: from b1, b3
  br b1
b2: from b0, b2, b3
  %1 = uniform i32 phi i32 0, %2, i32 9
  %2 = uniform i32 add %1, i32 1
  %3 = uniform u1 ult %2, i32 10
  cond_br %3, b2, b4
b3:
  %4 = uniform u1 any u1 true
  cond_br %4, b1, b2
b4: from b2
  ret
)",
                       cfg_cleanup),
            R"(b0:
  br b1
b1: from b0, b1
  %1 = uniform i32 phi i32 0, %2
  %2 = uniform i32 add %1, i32 1
  %3 = uniform u1 ult %2, i32 10
  cond_br %3, b1, b2
b2: from b1
  ret
)");
}

TEST(CfgCleanup, BothEdgesToOneBlock) {
  EXPECT_EQ(after_flow(R"(b0:
  cond_br u1 false, b1, b1
b1: from b0, b0
  %1 = uniform i32 phi i32 1, i32 2
  store.global.4 i64 16, u1 true, %1
  ret
)",
                       cfg_cleanup),
            R"(b0:
  store.global.4 i64 16, u1 true, i32 2
  ret
)");
}

TEST(DeadCode, KeepsWhatIsVisible) {
  EXPECT_EQ(after_flow(R"(b0:
  %1 = i32 lane_id
  %2 = i32 add %1, i32 1
  %3 = i32 mul %2, %2
  %4 = i32 load.lds.4 %3, u1 true
  %5 = i32 atomic.add.lds.4 %1, u1 true, %2
  barrier
  ret
)",
                       dead_code),
            R"(b0:
  %1 = i32 lane_id
  %2 = i32 add %1, i32 1
  %3 = i32 atomic.add.lds.4 %1, u1 true, %2
  barrier
  ret
)");
}

TEST(Uniformity, ThroughLoops) {
  EXPECT_EQ(after_flow(R"(b0:
  %1 = i32 input.local_id_x
  br b1
b1: from b0, b1
  %2 = i32 phi i32 0, %4
  %3 = i32 phi %1, %5
  %4 = i32 add %2, i32 1
  %5 = i32 add %3, %2
  %6 = uniform u1 any u1 true
  cond_br %6, b1, b2
b2: from b1
  ret
)",
                       uniformity),
            R"(b0:
  %1 = i32 input.local_id_x
  br b1
b1: from b0, b1
  %2 = uniform i32 phi i32 0, %4
  %3 = i32 phi %1, %5
  %4 = uniform i32 add %2, i32 1
  %5 = i32 add %3, %2
  %6 = uniform u1 any u1 true
  cond_br %6, b1, b2
b2: from b1
  ret
)");
}

TEST(Simplify, LoopPhiOfOneValue) {
  EXPECT_EQ(after_flow(R"(b0:
  %1 = uniform i32 input.workgroup_id_x
  br b1
b1: from b0, b1
  %2 = uniform i32 phi %1, %4
  %3 = uniform i32 phi i32 0, %5
  %4 = uniform i32 add %2, i32 0
  %5 = uniform i32 add %3, %4
  %6 = uniform u1 ult %5, i32 100
  cond_br %6, b1, b2
b2: from b1
  store.global.4 i64 16, u1 true, %4
  ret
)",
                       simplify),
            R"(b0:
  %1 = uniform i32 input.workgroup_id_x
  br b1
b1: from b0, b1
  %2 = uniform i32 phi i32 0, %3
  %3 = uniform i32 add %1, %2
  %4 = uniform u1 ult %3, i32 100
  cond_br %4, b1, b2
b2: from b1
  store.global.4 i64 16, u1 true, %1
  ret
)");
}

constexpr const char* kLoopMask32 = R"(b0:
  %1 = u1 input.initial_exec
  %2 = i32 input.local_id_x
  %3 = uniform i32 ballot %1
  br b1
b1: from b0, b1
  %4 = uniform i32 phi %3, %8
  %5 = i32 phi i32 0, %9
  %6 = u1 lane_bit %4
  %7 = u1 ult %5, %2
  %13 = uniform i32 ballot %7
  %8 = uniform i32 and %4, %13
  %14 = i32 add %5, i32 1
  %9 = i32 select %6, %14, %5
  %10 = uniform u1 ne %8, i32 0
  cond_br %10, b1, b2
b2: from b1
  store.global.4 i64 16, %1, %9
  ret
)";

TEST(MaskPhis, LoopCarriedMask) {
  const auto passes = [](ir::Function& f) {
    mask_phis(f);
    dead_code(f);
  };
  EXPECT_EQ(after_flow(kLoopMask32, passes), R"(b0:
  %1 = u1 input.initial_exec
  %2 = i32 input.local_id_x
  br b1
b1: from b0, b1
  %3 = u1 phi %1, %6
  %4 = i32 phi i32 0, %8
  %5 = u1 ult %4, %2
  %6 = u1 and %5, %3
  %7 = i32 add %4, i32 1
  %8 = i32 select %3, %7, %4
  %9 = uniform u1 any %6
  cond_br %9, b1, b2
b2: from b1
  store.global.4 i64 16, %1, %8
  ret
)");
}

/// A ballot's word that became a number of its own in each lane is no mask: lane i asks for its number, not
/// bit i.
TEST(MaskPhis, NumberInEachLaneStays) {
  const char* const program = R"(b0:
  %1 = u1 input.initial_exec
  %2 = i32 input.local_id_x
  %3 = uniform i32 ballot %1
  %4 = uniform u1 any %1
  cond_br %4, b1, b2
b1: from b0
  %5 = i32 select %1, %3, %2
  br b2
b2: from b0, b1
  %6 = i32 phi %2, %5
  %7 = u1 ne %6, i32 0
  %8 = u1 lane_bit %6
  store.global.4 i64 16, %7, %2
  store.global.4 i64 32, %8, %2
  ret
)";
  EXPECT_EQ(after_flow(program, mask_phis), program);
}

TEST(MaskPhis, Wave64MaskInHalves) {
  const auto passes = [](ir::Function& f) {
    mask_phis(f);
    dead_code(f);
  };
  EXPECT_EQ(after_flow(R"(b0:
  %1 = u1 input.initial_exec
  %2 = uniform i64 ballot %1
  %3 = uniform i32 lo32 %2
  %4 = uniform i32 hi32 %2
  %5 = uniform u1 any %1
  cond_br %5, b1, b2
b1: from b0
  br b2
b2: from b0, b1
  %6 = uniform i32 phi %3, i32 0
  %7 = uniform i32 phi %4, i32 0
  %8 = uniform i64 pack64 %6, %7
  %9 = u1 lane_bit %8
  store.global.4 i64 16, %9, i32 1
  ret
)",
                       passes, 64),
            R"(b0:
  %1 = u1 input.initial_exec
  %2 = uniform u1 any %1
  cond_br %2, b1, b2
b1: from b0
  br b2
b2: from b0, b1
  %3 = u1 phi %1, u1 false
  store.global.4 i64 16, %3, i32 1
  ret
)");
}

TEST(Pipeline, NamesTimesAndStops) {
  auto f = ir::parse(header(32) + kLoopMask32 + "}");
  ASSERT_TRUE(f);
  std::vector<std::string> seen;
  PipelineOptions options{.verify = true, .last = "mask_phis"};
  options.after = [&](std::string_view pass, size_t, const ir::Function&) { seen.emplace_back(pass); };
  const auto report = run(*f, options);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_EQ(seen.back(), "mask_phis");
  EXPECT_EQ(report->passes.size(), seen.size());
  seen.clear();
  options.last = {};
  options.before = "exec_select";
  ASSERT_TRUE(run(*f, options));
  EXPECT_EQ(seen.back(), "dead_code");
  EXPECT_EQ(std::ranges::find(seen, "exec_select"), seen.end());
  options.before = {};
  options.last = "no such pass";
  EXPECT_EQ(run(*f, options).error().to_string(), "there is no pass 'no such pass'");
}

} // namespace
} // namespace lanewise::passes
