// linearize: what becomes of a branch and of a loop, and that random programs, those that diverge made and
// those whose lanes branched from the start, leave the same memory.
#include "passes/linearize.hpp"

#include "../ir/image_text.hpp"

#include "ir/interpreter.hpp"
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "lane_program.hpp"
#include "masked_program.hpp"
#include "pass_variants.hpp"
#include "passes/diverge.hpp"
#include "passes/passes.hpp"
#include "passes/pipeline.hpp"
#include "spirv/wave_lowering.hpp"

#include <gtest/gtest.h>

namespace lanewise::passes {
namespace {

constexpr uint32_t items = 29;

Expected<std::vector<uint8_t>> linearize_memory_after(const ir::Function& f, unsigned host_invocations) {
  ir::FlatMemory memory(tests::kOutput, tests::kOutputBytes);
  const uint32_t size = host_invocations == 32 ? 32 : items;
  const ir::InterpreterDispatch d{.grid = {size, 1, 1},
                                  .workgroup = {size, 1, 1},
                                  .host_invocations = host_invocations,
                                  .max_instructions = 1 << 24};
  if (auto ok = ir::interpret(f, d, memory); !ok) return std::unexpected(ok.error());
  return memory.bytes;
}

void expect_same(const ir::Function& before, const ir::Function& f, const std::vector<uint8_t>& expected,
                 unsigned host_invocations, uint64_t seed) {
  const auto verified = ir::verify(f);
  ASSERT_TRUE(verified) << "seed " << seed << ": " << verified.error().to_string() << ir::print(before)
                        << ir::print(f);
  const auto got = linearize_memory_after(f, host_invocations);
  ASSERT_TRUE(got) << "seed " << seed << ": " << got.error().to_string() << ir::print(before) << ir::print(f);
  ASSERT_TRUE(*got == expected) << "seed " << seed << '\n' << ir::print(before) << ir::print(f);
}

/// Lanes branch by themselves: the interpreter follows each lane.
TEST(Linearize, LanePrograms) {
  const uint64_t first = tests::first_random_seed(), count = tests::random_programs(300);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    for (const bool invocations : {true, false}) {
      const ir::Function f =
          tests::LaneProgram(seed, invocations, tests::kOutput).make(static_cast<unsigned>(4 + seed % 12));
      const unsigned host = invocations ? 32 : 0;
      const auto ok = ir::verify(f);
      ASSERT_TRUE(ok) << ok.error().to_string() << ir::print(f);
      const auto expected = linearize_memory_after(f, host);
      ASSERT_TRUE(expected) << expected.error().to_string() << ir::print(f);
      ir::Function g = f;
      const auto done = linearize(g, invocations ? ir::Op::host_any : ir::Op::any);
      ASSERT_TRUE(done) << "seed " << seed << ": " << done.error().to_string() << ir::print(f);
      EXPECT_FALSE(g.divergent);
      expect_same(f, g, *expected, host, seed);
      if (testing::Test::HasFatalFailure()) return;
      if (invocations) continue;
      // As masks the program can be seated like any other.
      const auto lowered = spirv::lower_waves(g, {.seating = {32, 8, {items, 1, 1}}});
      ASSERT_TRUE(lowered) << lowered.error().to_string();
      expect_same(g, *lowered, *expected, 8, seed);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
}

/// There and back: what diverge made of regions and loops becomes masks again.
TEST(Linearize, AfterDiverge) {
  const uint64_t first = tests::first_random_seed(), count = tests::random_programs(150);
  unsigned changed = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    ir::Function f = tests::masked_program(seed);
    uniformity(f);
    const auto expected = linearize_memory_after(f, 0);
    ASSERT_TRUE(expected) << expected.error().to_string();
    ASSERT_TRUE(run(f, {}));
    for (const unsigned host_lanes : {16u, 8u}) {
      auto g = spirv::lower_waves(f, {.seating = {32, host_lanes, {items, 1, 1}}});
      ASSERT_TRUE(g) << g.error().to_string();
      simplify(*g);
      dead_code(*g);
      if (!diverge(*g, {.reconverges = true}).changed()) continue;
      simplify(*g);
      cfg_cleanup(*g);
      dead_code(*g);
      const ir::Function before = *g;
      const auto done = linearize(*g);
      ASSERT_TRUE(done) << "seed " << seed << ": " << done.error().to_string() << ir::print(before);
      changed += *done;
      expect_same(before, *g, *expected, host_lanes, seed);
      if (testing::Test::HasFatalFailure()) return;
    }
  }
  EXPECT_GT(changed, count / 4);
}

struct LinearizeCase {
  const char* name;
  const char* before; ///< behind the common beginning
  const char* after;  ///< from the first block that changes on; null: refused
  friend void PrintTo(const LinearizeCase& c, std::ostream* out) { *out << c.name; }
};

constexpr const char* kLinearizeBegin = R"(function "t" wave32 lds 4096 scratch 0 divergent {
b0:
  %id = i32 host_lane
  %x = i32 mul %id, i32 7
  %m = u1 ult %x, i32 90
  %a = i32 shl %id, i32 2
)";

const LinearizeCase kLinearizeCases[] = {
    {"both sides under their masks", R"(  cond_br %m, b1, b2
b1: from b0
  %u = i32 add %x, i32 1
  store.lds.4 %a, u1 true, %u
  br b3
b2: from b0
  %l = i32 load.lds.4 %a, u1 true
  br b3
b3: from b1, b2
  %r = i32 phi %u, %l
  store.lds.4 %a, u1 true, %r
  ret
})",
     R"(  %5 = u1 ule i32 90, %2
  %6 = i32 load.lds.4 %4, %5
  %7 = i32 add %2, i32 1
  store.lds.4 %4, %3, %7
  %8 = i32 select %5, %6, %7
  store.lds.4 %4, u1 true, %8
  ret
}
)"},
    {"a loop until no lane is left", R"(  br b1
b1: from b0, b1
  %i = i32 phi %id, %j
  %j = i32 add %i, i32 3
  %c = u1 ult %j, %x
  cond_br %c, b1, b2
b2: from b1
  store.lds.4 %a, u1 true, %j
  ret
})",
     R"(  br b1
b1: from b0, b1
  %4 = u1 phi u1 true, %9
  %5 = i32 phi %1, %7
  %6 = i32 phi i32 0, %10
  %7 = i32 add %5, i32 3
  %8 = u1 ult %7, %2
  %9 = u1 and %8, %4
  %10 = i32 select %4, %7, %6
  %11 = uniform u1 host_any %9
  cond_br %11, b1, b2
b2: from b1
  store.lds.4 %3, u1 true, %10
  ret
}
)"},
    {"a branch that all lanes take stays", R"(  %w = uniform i32 input.workgroup_id_x
  %k = uniform u1 eq %w, i32 0
  cond_br %k, b1, b2
b1: from b0
  store.lds.4 %a, %m, %x
  br b2
b2: from b0, b1
  ret
})",
     R"(  %5 = uniform i32 input.workgroup_id_x
  %6 = uniform u1 eq %5, i32 0
  cond_br %6, b1, b2
b1: from b0
  store.lds.4 %4, %3, %2
  br b2
b2: from b0, b1
  ret
}
)"},
    {"a barrier where only some lanes come", R"(  cond_br %m, b1, b2
b1: from b0
  barrier
  br b2
b2: from b0, b1
  ret
})",
     nullptr},
    {"a sample and an export of the lanes that come", R"(  cond_br %m, b1, b2
b1: from b0
  %t = i32 image_sample.2d.zero.mask1 %image, u1 true, %x, %id
  export.mrt0.compressed u1 true, %t, %x
  br b2
b2: from b0, b1
  store.lds.4 %a, u1 true, %x
  ret
})",
     R"(  %5 = i32 image_sample.2d.zero.mask1 %image, %3, %2, %1
  export.mrt0.compressed %3, %5, %2
  store.lds.4 %4, u1 true, %2
  ret
}
)"},
    {"a sample that asks its quad where only some lanes come", R"(  cond_br %m, b1, b2
b1: from b0
  %t = i32 image_sample_implicit.2d.mask1 %image, u1 true, %x, %id
  store.lds.4 %a, u1 true, %t
  br b2
b2: from b0, b1
  ret
})",
     nullptr},
    {"another lane's value where only some lanes come", R"(  cond_br %m, b1, b2
b1: from b0
  %s = i32 host_shuffle %x, i32 3
  store.lds.4 %a, u1 true, %s
  br b2
b2: from b0, b1
  ret
})",
     nullptr},
    {"a tuple that leaves a loop", R"(  br b1
b1: from b0, b1
  %i = i32 phi %a, %j
  %t = i32x2 load.lds.4 %i, u1 true
  %j = i32 extract.0 %t
  %c = u1 ult %j, %x
  cond_br %c, b1, b2
b2: from b1
  %e = i32 extract.1 %t
  store.lds.4 %a, u1 true, %e
  ret
})",
     nullptr},
};

class LinearizeCases : public testing::TestWithParam<LinearizeCase> {};

TEST_P(LinearizeCases, Becomes) {
  auto f = ir::parse(ir::testing::with_image(std::string(kLinearizeBegin) + GetParam().before));
  ASSERT_TRUE(f) << f.error().to_string();
  const auto ok = ir::verify(*f);
  ASSERT_TRUE(ok) << ok.error().to_string();
  const auto done = linearize(*f);
  if (!GetParam().after) {
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::unsupported);
    return;
  }
  ASSERT_TRUE(done) << done.error().to_string();
  dead_code(*f);
  const auto after = ir::verify(*f);
  EXPECT_TRUE(after) << after.error().to_string();
  const std::string text = ir::print(*f);
  const size_t shl = text.find("shl");
  EXPECT_EQ(text.substr(text.find('\n', shl) + 1), ir::testing::with_image(GetParam().after)) << text;
}

INSTANTIATE_TEST_SUITE_P(Cases, LinearizeCases, testing::ValuesIn(kLinearizeCases), [](const auto& test) {
  std::string name = test.param.name;
  for (char& ch : name)
    if (!isalnum(static_cast<unsigned char>(ch))) ch = '_';
  return name;
});

} // namespace
} // namespace lanewise::passes
