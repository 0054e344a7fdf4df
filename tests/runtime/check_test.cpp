// What `check` makes of a difference.
#include "runtime/check.hpp"

#include "passes/pipeline.hpp"
#include "runtime/raw_kernel.hpp"
#include "runtime/vulkan_fixture.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace lanewise::runtime {
namespace {

using By = CheckStep::By;
using Outcome = CheckStep::Outcome;

Launch launch_of(const container::ShaderBinary& binary, ElementType type, uint32_t items,
                 uint32_t below = 0) {
  Launch l{.binary = &binary, .kernel = &binary.kernels.at(0), .grid = {items, 1, 1}, .block = {32, 1, 1}};
  l.buffers.push_back({"out", type, {}});
  append_random(type, 1, 64, l.buffers[0].contents, below);
  l.arguments.push_back(Argument::of_buffer(0));
  return l;
}

unsigned count(const CheckReport& report, By by, Outcome outcome) {
  return static_cast<unsigned>(std::ranges::count_if(
      report.steps, [&](const CheckStep& s) { return s.by == by && s.outcome == outcome; }));
}

TEST(Check, VariantsLeavePassesOut) {
  const auto binary = raw_kernel(stores_group);
  const Launch launch = launch_of(binary, ElementType::u32, 32);
  CheckOptions options{.variants = passes::variants()};
  const auto report = check_references(launch, options);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->passed());
  EXPECT_TRUE(report->changed_memory);
  // All of them, each, and all but each; behind the passes once more for each.
  const auto variants = 1 + 2 * passes::optional_pass_names().size();
  EXPECT_EQ(options.variants.size(), variants);
  const auto named = std::ranges::count_if(report->steps, [](const CheckStep& s) {
    return s.by == By::passes && s.name.starts_with("interpreter after the passes, without ");
  });
  EXPECT_EQ(static_cast<size_t>(named), variants);
  EXPECT_EQ(count(*report, By::passes, Outcome::different), 0u);
  EXPECT_EQ(count(*report, By::translation, Outcome::equal), 1u);
}

/// The interpreter counts its own instructions. That is no difference, and the emulator itself finds out.
TEST(Check, ClockIsLeftOpen) {
  const auto binary = raw_kernel(stores_clock);
  const auto report = check_references(launch_of(binary, ElementType::u32, 32), {});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->passed());
  EXPECT_EQ(count(*report, By::translation, Outcome::undetermined), 1u);
  EXPECT_EQ(count(*report, By::translation, Outcome::different), 0u);
}

TEST(Check, OtherTurnsOfTheEmulator) {
  const auto binary = raw_kernel(stores_group);
  struct {
    unsigned turns;
    uint8_t last; ///< the group that stores last
  } const table[]{{0, 1}, {1u << 16, 0}, {1, 0}};
  for (const auto& row : table) {
    Launch launch = launch_of(binary, ElementType::u32, 64);
    ASSERT_TRUE(run_on_emulator(launch, {.threads = 1, .other_turns = row.turns}));
    EXPECT_EQ(launch.buffers[0].contents[0], row.last) << row.turns;
  }
}

/// Several lanes store to one address: nobody says which has the last word.
TEST(Check, OtherLanesOfTheEmulator) {
  for (const std::string& words : lanes_store_to_one) {
    const auto binary = raw_kernel(words);
    Launch highest = launch_of(binary, ElementType::u32, 32), lowest = highest;
    ASSERT_TRUE(run_on_emulator(highest, {.threads = 1}));
    ASSERT_TRUE(run_on_emulator(lowest, {.threads = 1, .other_turns = 61}));
    EXPECT_EQ(highest.buffers[0].contents[0], 31) << words;
    EXPECT_EQ(lowest.buffers[0].contents[0], 0) << words;
  }
}

/// LDS and registers that nothing was written to hold something else.
TEST(Check, OtherContentsAtTheStart) {
  const auto binary = raw_kernel(stores_uninitialised);
  Launch one = launch_of(binary, ElementType::u32, 32), other = one;
  ASSERT_TRUE(run_on_emulator(one, {.threads = 1}));
  ASSERT_TRUE(run_on_emulator(other, {.threads = 1, .other_turns = 61}));
  for (size_t i = 0; i < 256; ++i) EXPECT_NE(one.buffers[0].contents[i], other.buffers[0].contents[i]) << i;
}

/// Among them numbers that floats feel.
TEST(Check, OtherContentsAsFloats) {
  const auto binary = raw_kernel(adds_to_uninitialised);
  struct {
    unsigned turns;
    float sum; ///< of 1 and what LDS holds
  } const table[]{{0, 1}, {1u << 16, 1}, {61, 1 + 0x1.b4b4b4p+53f}, {7, 1 + 0x1.7e7e7ep-1f}};
  for (const auto& row : table) {
    Launch launch = launch_of(binary, ElementType::u32, 32);
    const auto run = run_on_emulator(launch, {.threads = 1, .other_turns = row.turns});
    ASSERT_TRUE(run) << run.error().to_string();
    std::array<float, 32> sums{};
    std::memcpy(sums.data(), launch.buffers[0].contents.data(), sizeof sums);
    for (const float sum : sums) EXPECT_EQ(sum, row.sum) << row.turns;
  }
}

TEST(Check, EmulatorStopsAtItsLimit) {
  const auto binary = raw_kernel(R"("0xbf82ffff")"); // s_branch to itself
  Launch launch = launch_of(binary, ElementType::u32, 32);
  const auto report = run_on_emulator(launch, {.max_instructions = 1000});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::limit);
}

/// Three dwords at byte 8 are loaded as four: the segment ends at a multiple of 16.
TEST(Check, LoadsBehindTheLastArgument) {
  const auto binary = raw_kernel(
      loads_past_arguments,
      R"({"name": "first", "offset": 0, "size": 8}, {"name": "out", "kind": "global_buffer", "type": "uint*", "offset": 8, "size": 8},
         {"name": "n", "offset": 16, "size": 4})");
  Launch launch = launch_of(binary, ElementType::u32, 32);
  launch.arguments = {Argument::of_bytes(std::vector<uint8_t>(8)), Argument::of_buffer(0),
                      Argument::of_bytes({77, 0, 0, 0})};
  const auto report = check_references(launch, {});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->passed());
  ASSERT_TRUE(run_on_emulator(launch));
  EXPECT_EQ(launch.buffers[0].contents[4 * 31], 77);
}

class CheckOnVulkan : public VulkanTest {};

TEST_F(CheckOnVulkan, ApproximateInstructionsMayBeClose) {
  const auto binary = raw_kernel(
      stores_exp, R"({"name": "x", "kind": "global_buffer", "type": "float*", "offset": 0, "size": 8})");
  const Launch launch = launch_of(binary, ElementType::f32, 32, 4);
  const auto report = check_references(launch, {.device = device().get()});
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_TRUE(report->passed());
  const CheckStep& last = report->steps.back();
  ASSERT_EQ(last.by, By::spirv);
  EXPECT_TRUE(last.outcome == Outcome::equal || last.outcome == Outcome::approximate) << last.text;
  EXPECT_EQ(last.distance.others, 0u);
  EXPECT_LT(last.distance.ulps, 64);
}

Buffer floats(std::initializer_list<float> list) {
  Buffer b{"f", ElementType::f32, std::vector<uint8_t>(4 * list.size())};
  std::memcpy(b.contents.data(), std::data(list), 4 * list.size());
  return b;
}

TEST(Differences, DistanceInUlps) {
  const float nan = NAN, next = std::nextafter(1.0F, 2.0F), tiny = 1e-45F;
  struct {
    float a, b;
    size_t floats;
    double ulps;
  } const table[]{{1, 1, 0, 0},     {1, next, 1, 1},       {tiny, -tiny, 1, 3},
                  {nan, nan, 0, 0}, {nan, 1, 1, INFINITY}, {INFINITY, 1, 1, INFINITY}};
  for (const auto& row : table) {
    const std::array a{floats({row.a})}, b{floats({row.b})};
    const Distance d = distance(a, b);
    EXPECT_EQ(d.floats, row.floats) << row.a << " and " << row.b;
    EXPECT_EQ(d.ulps, row.ulps) << row.a << " and " << row.b;
  }
  const auto doubles = [](double x) {
    Buffer b{"d", ElementType::f64, std::vector<uint8_t>(8)};
    std::memcpy(b.contents.data(), &x, 8);
    return std::array{b};
  };
  EXPECT_EQ(distance(doubles(1), doubles(std::nextafter(1.0, 2.0))).ulps, 1);
  EXPECT_EQ(distance(doubles(-INT64_MAX), doubles(INT64_MAX)).ulps, 2 * 0x43e0'0000'0000'0000p0 + 1);
  // A logarithm near 1 may be off by 2^-21: many ulps of a small result, none that count.
  const auto f32 = [](float x) { return std::array{floats({x})}; };
  EXPECT_EQ(distance(f32(0x1p-10f), f32(0x1p-10f + 0x1p-21f)).ulps, 4096);
  EXPECT_EQ(distance(f32(0x1p-10f), f32(0x1p-10f + 0x1p-21f), kApproximateNear0).ulps, 0);
  EXPECT_EQ(distance(f32(0x1p-10f), f32(0x1p-10f + 0x1p-21f), kApproximateNear0).floats, 1u);
  EXPECT_EQ(distance(f32(0x1p-10f), f32(0x1p-10f + 0x1p-20f), kApproximateNear0).ulps, 8192);
  EXPECT_EQ(distance(doubles(0), doubles(0x1p-1074), kApproximateNear0).ulps, 1);
  const std::array a{Buffer{"u", ElementType::u8, {1, 2}}}, b{Buffer{"u", ElementType::u8, {1, 3}}};
  EXPECT_EQ(distance(a, b).others, 1u);
}

TEST(Differences, AsSets) {
  const auto of = [](std::initializer_list<float> list) { return std::array{floats(list)}; };
  const auto base = of({0, 0, 0});
  const Differences none(base, base, true), first(base, of({1, 0, 0}), true), last(base, of({0, 0, 1}), true);
  EXPECT_FALSE(none.any());
  EXPECT_TRUE(first.any());
  EXPECT_TRUE(none.within(first));
  EXPECT_FALSE(first.within(none));
  EXPECT_FALSE(first.within(last));
  Differences both = last;
  both.add(first);
  EXPECT_TRUE(first.within(both) && last.within(both));
  EXPECT_FALSE(both.within(first));
}

} // namespace
} // namespace lanewise::runtime
