// Random programs compute the same before and after every pass.
#include "../ir/random_ir.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "passes/passes.hpp"
#include "passes/pipeline.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace lanewise::passes {
namespace {

/// LANEWISE_RANDOM_PROGRAMS=N runs more; LANEWISE_RANDOM_SEED starts elsewhere.
uint64_t number_from(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

void check_program(uint64_t seed, ir::testing::RandomOptions options) {
  ir::Function f = ir::testing::random_function(seed, options);
  uniformity(f);
  const auto verified = ir::verify(f);
  ASSERT_TRUE(verified) << "seed " << seed << ": " << verified.error().to_string() << '\n' << ir::print(f);
  const auto expected = ir::testing::run_random(f);
  ASSERT_TRUE(expected) << "seed " << seed << ": " << expected.error().to_string();
  ir::Function before = f;
  bool same = true;
  PipelineOptions pipeline;
  pipeline.after = [&](std::string_view pass, size_t index, const ir::Function& now) {
    if (!same) return;
    const auto ok = ir::verify(now);
    same = ok.has_value();
    ASSERT_TRUE(ok) << "seed " << seed << " after " << pass << ' ' << index << ": " << ok.error().to_string()
                    << '\n'
                    << ir::print(before) << ir::print(now);
    const auto result = ir::testing::run_random(now);
    same = result && *result == *expected;
    ASSERT_TRUE(same) << "seed " << seed << " after " << pass << ' ' << index << '\n'
                      << ir::print(before) << ir::print(now);
    before = now;
  };
  const auto report = run(f, pipeline);
  ASSERT_TRUE(report) << report.error().to_string();
}

TEST(Property, PassesKeepTheMeaning) {
  const uint64_t first = number_from("LANEWISE_RANDOM_SEED", 1),
                 count = number_from("LANEWISE_RANDOM_PROGRAMS", 400);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    check_program(
        seed, {.wave_size = seed % 2 ? 32u : 64u, .instructions = 20 + static_cast<unsigned>(seed % 5) * 30});
    if (testing::Test::HasFatalFailure()) return;
  }
}

} // namespace
} // namespace lanewise::passes
