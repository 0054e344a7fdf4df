// Random programs compute the same before and after every pass.
#include "../ir/random_ir.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "pass_variants.hpp"
#include "passes/passes.hpp"
#include "passes/pipeline.hpp"

#include <gtest/gtest.h>

namespace lanewise::passes {
namespace {

/// What depends on the lane, asked again and again until nothing changes.
std::vector<bool> varying(const ir::Function& f) {
  std::vector<bool> varies(f.value_count());
  for (bool changed = true; changed;) {
    changed = false;
    for (const ir::BasicBlock& b : f.blocks)
      for (const ir::Value v : b.instructions) {
        const ir::OpKind kind = ir::info(f[v].op).kind;
        const bool follows = kind == ir::OpKind::pure || kind == ir::OpKind::load ||
                             kind == ir::OpKind::image || kind == ir::OpKind::phi;
        const auto operands = f.operands(v);
        const bool now =
            !f.derive_uniform(f[v].op, {}, f[v].imm) ||
            (follows && std::ranges::any_of(operands, [&](ir::Value o) { return varies[o.index]; }));
        changed = changed || (now && !varies[v.index] && f[v].type != ir::Type::none);
        if (f[v].type != ir::Type::none) varies[v.index] = varies[v.index] || now;
      }
  }
  return varies;
}

void check_program(uint64_t seed, ir::testing::RandomOptions options) {
  ir::Function f = ir::testing::random_function(seed, options);
  uniformity(f);
  const std::vector<bool> varies = varying(f);
  for (const ir::BasicBlock& b : f.blocks)
    for (const ir::Value v : b.instructions)
      ASSERT_TRUE(f[v].type == ir::Type::none || f[v].uniform != varies[v.index])
          << "seed " << seed << ", %" << v.index << '\n'
          << ir::print(f);
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
  if (jump_threading(f)) pipeline.after("jump_threading", 0, f);
}

/// With the passes that `variant` leaves: only the end counts.
void check_variant(const ir::Function& f, const std::vector<uint8_t>& expected,
                   const tests::PassVariant& variant, uint64_t seed) {
  ir::Function g = f;
  const auto report = run(g, {.without = variant.without});
  ASSERT_TRUE(report) << report.error().to_string();
  const auto got = ir::testing::run_random(g);
  ASSERT_TRUE(got && *got == expected) << "seed " << seed << ", " << variant.name << '\n'
                                       << ir::print(f) << ir::print(g);
}

void check_variants(uint64_t seed, ir::testing::RandomOptions options) {
  ir::Function f = ir::testing::random_function(seed, options);
  uniformity(f);
  const auto expected = ir::testing::run_random(f);
  ASSERT_TRUE(expected) << "seed " << seed << ": " << expected.error().to_string();
  for (const tests::PassVariant& variant : tests::pass_variants()) {
    check_variant(f, *expected, variant, seed);
    if (testing::Test::HasFatalFailure()) return;
  }
}

ir::testing::RandomOptions options_of(uint64_t seed) {
  return {.wave_size = seed % 2 ? 32u : 64u, .instructions = 20 + static_cast<unsigned>(seed % 5) * 30};
}

TEST(Property, PassesKeepTheMeaning) {
  const uint64_t first = tests::first_random_seed(), count = tests::random_programs(400);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    check_program(seed, options_of(seed));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(Property, EachPassAloneAndLeftOut) {
  const uint64_t first = tests::first_random_seed(), count = tests::random_programs(100);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    check_variants(seed, options_of(seed));
    if (testing::Test::HasFatalFailure()) return;
  }
  std::cout << count << " programs, " << count * tests::pass_variants().size() << " variants\n";
}

} // namespace
} // namespace lanewise::passes
