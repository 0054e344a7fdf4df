// diverge, case by case: a program at invocation level beside how many regions and loops diverge.
#include "passes/diverge.hpp"

#include "../ir/image_text.hpp"

#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "passes/passes.hpp"

#include <gtest/gtest.h>

namespace lanewise::passes {
namespace {

struct DivergeCase {
  const char* name;
  const char* body; ///< behind the common beginning, which ends in block b0
  unsigned regions, loops;
  friend void PrintTo(const DivergeCase& c, std::ostream* out) { *out << c.name; }
};

/// %e: lanes of the wave; %m: inside %e; %n: inside %m.
constexpr const char* kBegin = R"(function "t" wave32 lds 4096 scratch 0 {
b0:
  %id = i32 host_lane
  %wg = uniform i32 input.workgroup_id_x
  %e = u1 ult %id, i32 29
  %x = i32 mul %id, i32 7
  %y = i32 xor %x, i32 5
  %c = u1 ult %x, %y
  %m = u1 and %e, %c
  %d = u1 eq %x, i32 5
  %n = u1 and %m, %d
  %a = i32 shl %id, i32 2
)";

constexpr DivergeCase kCases[] = {
    {"a write that the lanes outside do not get", R"(
  %any = uniform u1 host_any %m
  cond_br %any, b1, b2
b1: from b0
  %w = i32 add %x, i32 1
  %s = i32 select %m, %w, %y
  store.lds.4 %a, %m, %s
  br b2
b2: from b0, b1
  %r = i32 phi %y, %s
  store.lds.4 %a, %e, %r
  ret
})",
     1, 0},
    {"a write that nobody reads in the lanes outside", R"(
  %any = uniform u1 host_any %m
  cond_br %any, b1, b2
b1: from b0
  %w = i32 add %x, i32 1
  br b2
b2: from b0, b1
  %r = i32 phi %y, %w
  store.lds.4 %a, %n, %r
  ret
})",
     1, 0},
    {"lanes outside get what they had, or are not read", R"(
  %u = i32 select %e, %y, %x
  %any = uniform u1 host_any %m
  cond_br %any, b1, b2
b1: from b0
  %w = i32 add %x, i32 1
  %s = i32 select %m, %w, %u
  br b2
b2: from b0, b1
  %r = i32 phi %y, %s
  store.lds.4 %a, %e, %r
  ret
})",
     1, 0},
    {"lanes outside get another number, and are read", R"(
  %u = i32 select %e, %y, %x
  %any = uniform u1 host_any %m
  cond_br %any, b1, b2
b1: from b0
  %w = i32 add %x, i32 1
  %s = i32 select %m, %w, %u
  br b2
b2: from b0, b1
  %r = i32 phi %y, %s
  store.lds.4 %a, u1 true, %r
  ret
})",
     0, 0},
    {"a write that lanes outside get and read", R"(
  %any = uniform u1 host_any %m
  cond_br %any, b1, b2
b1: from b0
  %w = i32 add %x, i32 1
  br b2
b2: from b0, b1
  %r = i32 phi %y, %w
  store.lds.4 %a, %e, %r
  ret
})",
     0, 0},
    {"a store in lanes outside", R"(
  %any = uniform u1 host_any %m
  cond_br %any, b1, b2
b1: from b0
  store.lds.4 %a, %e, %x
  br b2
b2: from b0, b1
  ret
})",
     0, 0},
    {"another lane's value", R"(
  %any = uniform u1 host_any %m
  cond_br %any, b1, b2
b1: from b0
  %z = i32 xor %id, i32 1
  %w = i32 host_shuffle %x, %z
  store.lds.4 %a, %m, %w
  br b2
b2: from b0, b1
  ret
})",
     0, 0},
    {"a barrier inside", R"(
  %any = uniform u1 host_any %m
  cond_br %any, b1, b2
b1: from b0
  barrier
  br b2
b2: from b0, b1
  ret
})",
     0, 0},
    {"a ballot of lanes inside, and one of lanes outside", R"(
  %any = uniform u1 host_any %m
  cond_br %any, b1, b2
b1: from b0
  %b = uniform i64 host_ballot %n
  %l = uniform i32 lo32 %b
  store.lds.4 %a, %m, %l
  br b2
b2: from b0, b1
  %any2 = uniform u1 host_any %m
  cond_br %any2, b3, b4
b3: from b2
  %b2 = uniform i64 host_ballot %e
  %l2 = uniform i32 lo32 %b2
  store.lds.4 %a, %m, %l2
  br b4
b4: from b2, b3
  ret
})",
     1, 0},
    {"a scalar that lanes outside miss", R"(
  %any = uniform u1 host_any %m
  cond_br %any, b1, b2
b1: from b0
  %k = uniform i32 add %wg, i32 1
  br b2
b2: from b0, b1
  %r = uniform i32 phi %wg, %k
  store.lds.4 %a, %e, %r
  ret
})",
     0, 0},
    {"regions in each other", R"(
  %any = uniform u1 host_any %m
  cond_br %any, b1, b4
b1: from b0
  store.lds.4 %a, %m, %x
  %any2 = uniform u1 host_any %n
  cond_br %any2, b2, b3
b2: from b1
  store.lds.4 %a, %n, %y
  br b3
b3: from b1, b2
  br b4
b4: from b0, b3
  ret
})",
     2, 0},
    {"a loop until no lane is left", R"(
  br b1
b1: from b0, b1
  %in = u1 phi %m, %stay
  %v = i32 phi %x, %s
  %w = i32 add %v, i32 3
  %s = i32 select %in, %w, %v
  store.lds.4 %a, %in, %s
  %k = u1 ult %s, i32 99
  %stay = u1 and %in, %k
  %any = uniform u1 host_any %stay
  cond_br %any, b1, b2
b2: from b1
  store.lds.4 %a, %e, %s
  ret
})",
     0, 1},
    {"a loop that keeps the lanes that left, and EXEC after it", R"(
  br b1
b1: from b0, b1
  %in = u1 phi %m, %stay
  %left = u1 phi u1 false, %gone
  %v = i32 phi %x, %s
  %w = i32 add %v, i32 3
  %s = i32 select %in, %w, %v
  %k = u1 ult %s, i32 99
  %nk = u1 not %k
  %leaves = u1 and %in, %nk
  %gone = u1 or %left, %leaves
  %ngone = u1 not %gone
  %stay = u1 and %in, %ngone
  %any = uniform u1 host_any %stay
  cond_br %any, b1, b2
b2: from b1
  %exec = u1 or %in, %gone
  store.lds.4 %a, %exec, %s
  ret
})",
     0, 1},
    {"a scalar counts the turns and is read after the loop", R"(
  br b1
b1: from b0, b1
  %in = u1 phi %m, %stay
  %i = uniform i32 phi i32 0, %i2
  %i2 = uniform i32 add %i, i32 1
  %k = u1 ult %i2, %id
  %stay = u1 and %in, %k
  %any = uniform u1 host_any %stay
  cond_br %any, b1, b2
b2: from b1
  store.lds.4 %a, %e, %i2
  ret
})",
     0, 0},
    {"a scalar counts the turns for the lanes inside only", R"(
  br b1
b1: from b0, b1
  %in = u1 phi %m, %stay
  %i = uniform i32 phi i32 0, %i2
  %i2 = uniform i32 add %i, i32 1
  store.lds.4 %a, %in, %i2
  %k = u1 ult %i2, %id
  %stay = u1 and %in, %k
  %any = uniform u1 host_any %stay
  cond_br %any, b1, b2
b2: from b1
  ret
})",
     0, 1},
    {"lanes revive", R"(
  br b1
b1: from b0, b1
  %in = u1 phi %m, %stay
  %i = uniform i32 phi i32 0, %i2
  %i2 = uniform i32 add %i, i32 1
  store.lds.4 %a, %in, %i2
  %r = i32 xor %id, %i2
  %k = u1 ult %r, i32 7
  %stay = u1 and %e, %k
  %any = uniform u1 host_any %stay
  cond_br %any, b1, b2
b2: from b1
  ret
})",
     0, 0},
    {"a write that goes on in lanes that are out", R"(
  br b1
b1: from b0, b1
  %in = u1 phi %m, %stay
  %v = i32 phi %x, %w
  %w = i32 add %v, i32 3
  %k = u1 ult %w, i32 99
  %stay = u1 and %in, %k
  %any = uniform u1 host_any %stay
  cond_br %any, b1, b2
b2: from b1
  store.lds.4 %a, %e, %w
  ret
})",
     0, 0},
    {"a store in lanes that are out", R"(
  br b1
b1: from b0, b1
  %in = u1 phi %m, %stay
  %v = i32 phi %x, %w
  %w = i32 add %v, i32 3
  store.lds.4 %a, %e, %w
  %k = u1 ult %w, i32 99
  %stay = u1 and %in, %k
  %any = uniform u1 host_any %stay
  cond_br %any, b1, b2
b2: from b1
  ret
})",
     0, 0},
    {"a loop inside changes nothing in lanes outside", R"(
  %any = uniform u1 host_any %m
  cond_br %any, b1, b3
b1: from b0
  %s = i32 select %m, %x, i32 -1
  br b2
b2: from b1, b2
  %v = i32 phi %s, %w
  %t = uniform i32 phi i32 0, %u
  %k = i32 add %v, i32 3
  %w = i32 select %m, %k, %v
  %u = uniform i32 add %t, i32 1
  %go = uniform u1 ult %u, i32 5
  cond_br %go, b2, b3
b3: from b0, b2
  %r = i32 phi i32 -1, %w
  store.lds.4 %a, %e, %r
  ret
})",
     1, 0},
    {"a loop inside changes what lanes outside had", R"(
  %any = uniform u1 host_any %m
  cond_br %any, b1, b3
b1: from b0
  %s = i32 select %m, %x, i32 -1
  br b2
b2: from b1, b2
  %v = i32 phi %s, %w
  %t = uniform i32 phi i32 0, %u
  %k = i32 add %v, i32 3
  %w = i32 select %e, %k, %v
  %u = uniform i32 add %t, i32 1
  %go = uniform u1 ult %u, i32 5
  cond_br %go, b2, b3
b3: from b0, b2
  %r = i32 phi i32 -1, %w
  store.lds.4 %a, %e, %r
  ret
})",
     0, 0},
    {"a value that changes with the turns is kept in lanes outside", R"(
  %any = uniform u1 host_any %m
  cond_br %any, b1, b3
b1: from b0
  br b2
b2: from b1, b2
  %v = i32 phi %x, %w
  %t = uniform i32 phi i32 0, %u
  %w = i32 select %m, %y, %t
  %u = uniform i32 add %t, i32 1
  %go = uniform u1 ult %u, i32 5
  cond_br %go, b2, b3
b3: from b0, b2
  %r = i32 phi %x, %w
  store.lds.4 %a, %e, %r
  ret
})",
     0, 0},
    {"a sample with explicit level and an export of the lanes inside", R"(
  %any = uniform u1 host_any %m
  cond_br %any, b1, b2
b1: from b0
  %w = i32 image_sample.2d.zero.mask1 %image, %m, %x, %y
  export.mrt0.compressed %m, %w, %w
  br b2
b2: from b0, b1
  ret
})",
     1, 0},
    {"an export of other lanes too", R"(
  %any = uniform u1 host_any %m
  cond_br %any, b1, b2
b1: from b0
  export.mrt0.compressed %e, %x, %y
  br b2
b2: from b0, b1
  ret
})",
     0, 0},
    {"a sample that asks its neighbours", R"(
  %any = uniform u1 host_any %m
  cond_br %any, b1, b2
b1: from b0
  %w = i32 image_sample_implicit.2d.mask1 %image, %m, %x, %y
  export.mrt0.compressed %m, %w, %w
  br b2
b2: from b0, b1
  ret
})",
     0, 0},
};

Expected<ir::Function> parsed(const std::string& text) {
  auto f = ir::parse(text);
  if (f)
    if (const auto ok = ir::verify(*f); !ok) return std::unexpected(ok.error());
  return f;
}

class DivergeCases : public testing::TestWithParam<DivergeCase> {};

TEST_P(DivergeCases, DivergeOrNot) {
  auto f = parsed(ir::testing::with_image(std::string(kBegin) + (GetParam().body + 1)));
  ASSERT_TRUE(f) << f.error().to_string();
  const auto result = diverge(*f, {.reconverges = true});
  EXPECT_EQ(result.regions, GetParam().regions);
  EXPECT_EQ(result.loops, GetParam().loops);
  const auto after = ir::verify(*f);
  EXPECT_TRUE(after) << after.error().to_string();
  auto again = parsed(ir::testing::with_image(std::string(kBegin) + (GetParam().body + 1)));
  const auto proved = diverge(*again, {.reconverges = true, .prove = true}).proof;
  for (const auto& failure : proved.failures) ADD_FAILURE() << failure.what;
}

INSTANTIATE_TEST_SUITE_P(Cases, DivergeCases, testing::ValuesIn(kCases), [](const auto& test) {
  std::string name = test.param.name;
  for (char& ch : name)
    if (!isalnum(static_cast<unsigned char>(ch))) ch = '_';
  return name;
});

/// Inside, the mask is true: guards go, nested masks lose what surrounds them.
TEST(Diverge, GuardsGo) {
  auto f = parsed(std::string(kBegin) + (kCases[0].body + 1));
  ASSERT_TRUE(f) << f.error().to_string();
  diverge(*f, {.reconverges = true});
  simplify(*f);
  dead_code(*f);
  const std::string text = ir::print(*f);
  EXPECT_EQ(text.substr(text.find("b1:")), R"(b1: from b0
  %8 = i32 add %3, i32 1
  store.lds.4 %7, u1 true, %8
  br b2
b2: from b0, b1
  %9 = i32 phi %4, %8
  store.lds.4 %7, %2, %9
  ret
}
)") << text;
}

/// Without a promise that lanes come together again, no branch diverges in front of an operation among lanes.
TEST(Diverge, OperationsAmongLanesBehind) {
  const std::string text = std::string(kBegin) + R"(  %any = uniform u1 host_any %m
  cond_br %any, b1, b2
b1: from b0
  store.lds.4 %a, %m, %x
  br b2
b2: from b0, b1
  %b = uniform i64 host_ballot %e
  %l = uniform i32 lo32 %b
  store.lds.4 %a, %e, %l
  ret
})";
  for (const bool reconverges : {false, true}) {
    auto f = parsed(text);
    ASSERT_TRUE(f) << f.error().to_string();
    EXPECT_EQ(diverge(*f, {.reconverges = reconverges}).regions, reconverges ? 1u : 0u);
  }
}

} // namespace
} // namespace lanewise::passes
