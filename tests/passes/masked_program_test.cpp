// Random guest-like programs leave the same memory with all passes, none, all but one and each alone, and
// when lanes take branches of their own.
#include "../ir/graphics_recorder.hpp"
#include "masked_program.hpp"
#include "pass_variants.hpp"

#include "ir/interpreter.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "passes/diverge.hpp"
#include "passes/passes.hpp"
#include "passes/pipeline.hpp"
#include "spirv/wave_lowering.hpp"

#include <gtest/gtest.h>

namespace lanewise::passes {
namespace {

/// What a program leaves.
struct Visible {
  std::vector<uint8_t> memory;
  decltype(tests::GraphicsRecorder::exports) exports;
  friend bool operator==(const Visible&, const Visible&) = default;
};

Expected<Visible> left_by(const ir::Function& f, unsigned host_invocations = 0,
                          ir::LaneOrder order = ir::LaneOrder::together) {
  tests::GraphicsRecorder graphics;
  ir::FlatMemory memory(tests::kOutput, tests::kOutputBytes);
  constexpr uint32_t items = 29; // lanes 29 to 31 hold no work-item
  const ir::InterpreterDispatch d{.grid = {items, 1, 1},
                                  .workgroup = {items, 1, 1},
                                  .host_invocations = host_invocations,
                                  .order = order,
                                  .max_instructions = 1 << 24,
                                  .graphics = &graphics};
  if (auto ok = ir::interpret(f, d, memory); !ok) return std::unexpected(ok.error());
  return Visible{std::move(memory.bytes), std::move(graphics.exports)};
}

struct Counts {
  unsigned variants = 0, dropped = 0, regions = 0, loops = 0, apart = 0;
};

/// Ways that are decided early, and lanes that execute one after the other where they have nothing to do with
/// each other.
void check_threaded(ir::Function& f, const Visible& expected, uint64_t seed, unsigned host_lanes,
                    Counts& counts) {
  const ir::Function before = f;
  if (jump_threading(f)) {
    const auto verified = ir::verify(f);
    ASSERT_TRUE(verified) << "seed " << seed << ": " << verified.error().to_string() << ir::print(before)
                          << ir::print(f);
    for (unsigned tidied = 0; tidied < 2; ++tidied) {
      const auto got = left_by(f, host_lanes);
      ASSERT_TRUE(got && *got == expected) << "seed " << seed << " threaded, on " << host_lanes << " lanes\n"
                                           << ir::print(before) << ir::print(f);
      simplify(f);
      cfg_cleanup(f);
      dead_code(f);
    }
  }
  if (!ir::lanes_may_part(f)) return;
  ++counts.apart;
  for (const ir::LaneOrder order : {ir::LaneOrder::ascending, ir::LaneOrder::descending}) {
    const auto got = left_by(f, host_lanes, order);
    ASSERT_TRUE(got && *got == expected)
        << "seed " << seed << ", lanes apart, on " << host_lanes << " lanes\n"
        << ir::print(f);
  }
}

/// No lane of such a program can sit in another invocation than its own.
bool needs_own_invocations(const ir::Function& f) {
  return std::ranges::any_of(f.blocks, [&](const ir::BasicBlock& b) {
    return std::ranges::any_of(b.instructions, [&](ir::Value v) {
      return f[v].op == ir::Op::image_sample_implicit || f[v].op == ir::Op::export_;
    });
  });
}

void check_diverge(const ir::Function& f, const Visible& expected, uint64_t seed, Counts& counts) {
  for (const unsigned host_lanes : {32u, 8u}) {
    auto lowered = spirv::lower_waves(f, {.seating = {32, host_lanes, {29, 1, 1}}});
    if (host_lanes == 8 && needs_own_invocations(f)) { // refused by name
      ASSERT_FALSE(lowered);
      ASSERT_EQ(lowered.error().kind, ErrorKind::unsupported);
      continue;
    }
    ASSERT_TRUE(lowered) << lowered.error().to_string();
    simplify(*lowered);
    dead_code(*lowered);
    const ir::Function before = *lowered;
    const auto diverged = diverge(*lowered, {.reconverges = true});
    counts.regions += diverged.regions;
    counts.loops += diverged.loops;
    const auto verified = ir::verify(*lowered);
    ASSERT_TRUE(verified) << "seed " << seed << ": " << verified.error().to_string() << ir::print(*lowered);
    const auto got = left_by(*lowered, host_lanes);
    ASSERT_TRUE(got) << "seed " << seed << ": " << got.error().to_string() << " on " << host_lanes
                     << " lanes\n"
                     << ir::print(before) << ir::print(*lowered);
    ASSERT_TRUE(*got == expected) << "seed " << seed << " on " << host_lanes << " lanes\n"
                                  << ir::print(before) << ir::print(*lowered);
    simplify(*lowered);
    cfg_cleanup(*lowered);
    dead_code(*lowered);
    const auto cleaned = left_by(*lowered, host_lanes);
    ASSERT_TRUE(cleaned && *cleaned == expected)
        << "seed " << seed << ", cleaned, on " << host_lanes << " lanes\n"
        << ir::print(*lowered);
    check_threaded(*lowered, expected, seed, host_lanes, counts);
    if (testing::Test::HasFatalFailure()) return;
  }
}

void check_program_masked(uint64_t seed, tests::Statements statements, Counts& counts) {
  ir::Function f = tests::masked_program(seed, tests::kOutput, statements);
  uniformity(f);
  const auto verified = ir::verify(f);
  ASSERT_TRUE(verified) << "seed " << seed << ": " << verified.error().to_string() << ir::print(f);
  const auto expected = left_by(f);
  ASSERT_TRUE(expected) << "seed " << seed << ": " << expected.error().to_string();
  for (const tests::PassVariant& variant : tests::pass_variants()) {
    ir::Function g = f;
    const auto report = run(g, {.without = variant.without});
    ASSERT_TRUE(report) << report.error().to_string();
    counts.dropped += report->exec_select.dropped;
    ++counts.variants;
    const auto got = left_by(g);
    ASSERT_TRUE(got) << "seed " << seed << ", " << variant.name << ": " << got.error().to_string();
    ASSERT_TRUE(*got == *expected) << "seed " << seed << ", " << variant.name << '\n'
                                   << ir::print(f) << ir::print(g);
    if (!variant.leaves_out(kDiverge)) check_diverge(g, *expected, seed, counts);
    if (testing::Test::HasFatalFailure()) return;
  }
}

class MaskedPrograms : public testing::TestWithParam<tests::Statements> {};

TEST_P(MaskedPrograms, KeepTheirMeaning) {
  const uint64_t count = tests::random_programs(GetParam() == tests::Statements::of_compute ? 150 : 60);
  const uint64_t first = tests::first_random_seed();
  Counts counts;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    check_program_masked(seed, GetParam(), counts);
    if (testing::Test::HasFatalFailure()) return;
  }
  std::cout << count << " programs, " << counts.variants << " variants, " << counts.dropped
            << " selects dropped, " << counts.regions << " regions, " << counts.apart
            << " with lanes apart, and " << counts.loops << " loops diverged\n";
  EXPECT_GT(counts.dropped, count);
  EXPECT_GT(counts.regions, count);
  EXPECT_GT(counts.loops, count / 10);
  EXPECT_GT(counts.apart, count / 10);
}

/// Whatever diverges is proved.
TEST_P(MaskedPrograms, ConversionsAreProved) {
  unsigned conversions = 0;
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    ir::Function f = tests::masked_program(seed, tests::kOutput, GetParam());
    ASSERT_TRUE(run(f, {}));
    for (const unsigned host_lanes : {32u, 8u}) {
      if (host_lanes == 8 && needs_own_invocations(f)) continue;
      auto lowered = spirv::lower_waves(f, {.seating = {32, host_lanes, {29, 1, 1}}});
      ASSERT_TRUE(lowered) << lowered.error().to_string();
      simplify(*lowered);
      dead_code(*lowered);
      const ir::Function before = *lowered;
      const auto diverged = diverge(*lowered, {.reconverges = true, .prove = true});
      conversions += diverged.regions + diverged.loops;
      for (const auto& failure : diverged.proof.failures)
        ADD_FAILURE() << "seed " << seed << ", S' " << host_lanes << ", %" << failure.value.index << ": "
                      << failure.what << (failure.refuted ? "" : " (not decided)") << '\n'
                      << ir::print(before);
      EXPECT_EQ(diverged.proof.proved, diverged.proof.total());
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(conversions, 12u);
}

INSTANTIATE_TEST_SUITE_P(Statements, MaskedPrograms,
                         testing::Values(tests::Statements::of_compute, tests::Statements::of_graphics),
                         [](const auto& test) {
                           return test.param == tests::Statements::of_compute ? "of_compute" : "of_graphics";
                         });

} // namespace
} // namespace lanewise::passes
