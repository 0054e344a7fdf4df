// What is live at each point: a program beside its curve.
#include "analysis/pressure.hpp"

#include "ir/parser.hpp"
#include "ir/verifier.hpp"
#include "passes/passes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lanewise::analysis {
namespace {

ir::Function parsed(const std::string& body) {
  auto f = ir::parse("function \"t\" wave32 lds 4096 scratch 0 {\n" + body + "}\n");
  if (!f) {
    ADD_FAILURE() << f.error().to_string();
    return ir::Function();
  }
  passes::uniformity(*f);
  const auto ok = ir::verify(*f);
  EXPECT_TRUE(ok) << ok.error().to_string();
  return std::move(*f);
}

/// One number for each point, blocks apart.
std::string text_of(const PressureCurve& curve, uint32_t LiveWords::* kind) {
  std::string text;
  for (size_t b = 0; b + 1 < curve.begin.size(); ++b) {
    if (b != 0) text += " | ";
    for (size_t p = curve.begin[b]; p < curve.begin[b + 1]; ++p)
      text += fmt::format("{}{}", p == curve.begin[b] ? "" : " ", curve.points[p].*kind);
  }
  return text;
}

struct Case {
  const char* name;
  const char* body;
  const char *per_lane, *masks, *uniform;
};

constexpr Case kCases[] = {
    {"a value lives from its definition to its last use", R"(
b0:
  %a = i32 lane_id
  %b = i32 add %a, i32 1
  %c = i32 add %a, %b
  store.lds.4 %c, u1 true, %c
  ret
)",
     "0 1 2 1 0 0", "0 0 0 0 0 0", "0 0 0 0 0 0"},
    {"nobody needs it: it counts for nothing, and keeps nothing alive", R"(
b0:
  %a = i32 lane_id
  %b = i32 mul %a, %a
  %c = i32 add %b, %a
  ret
)",
     "0 0 0 0 0", "0 0 0 0 0", "0 0 0 0 0"},
    {"masks and uniform values apart; an address is two words", R"(
b0:
  %p = uniform i64 input.kernarg_ptr
  %e = u1 input.initial_exec
  %x = i32 load.global.4 %p, %e
  store.global.4 %p, %e, %x
  ret
)",
     "0 0 0 1 0 0", "0 0 1 1 0 0", "0 2 2 2 0 0"},
    {"half of a loaded pair dies when the other half is all that is read", R"(
b0:
  %p = uniform i64 input.kernarg_ptr
  %t = i32x2 load.global.4 %p, u1 true
  %l = i32 extract.0 %t
  %h = i32 extract.1 %t
  store.lds.4 %l, u1 true, %l
  store.lds.4 %h, u1 true, %h
  ret
)",
     "0 0 0 0 0 0 0 0", "0 0 0 0 0 0 0 0", "0 2 2 2 2 1 0 0"},
    {"parts under other names: no word twice", R"(
b0:
  %i = i32 lane_id
  %j = i32 add %i, i32 1
  %w = i64 pack64 %i, %j
  %d = f64 bitcast %w
  %b = i64 bitcast %d
  %l = i32 lo32 %b
  store.lds.4 %l, u1 true, %l
  ret
)",
     "0 1 1 1 1 1 1 0 0", "0 0 0 0 0 0 0 0 0", "0 0 0 0 0 0 0 0 0"},
    {"live through a loop that does not name it", R"(
b0:
  %p = uniform i64 input.kernarg_ptr
  %a = i32 lane_id
  br b1
b1: from b0, b1
  %n = uniform i32 phi i32 0, %m
  %m = uniform i32 add %n, i32 1
  %c = uniform u1 ult %m, i32 9
  cond_br %c, b1, b2
b2: from b1
  store.lds.4 %a, u1 true, %a
  ret
)",
     "0 0 1 1 | 1 1 1 1 1 | 1 0 0", "0 0 0 0 | 0 0 0 0 0 | 0 0 0", "0 0 0 0 | 1 1 1 2 1 | 0 0 0"},
    {"each way of a branch keeps what it reads; a phi takes over from its operands", R"(
b0:
  %i = i32 lane_id
  %j = i32 add %i, i32 1
  %k = i32 add %i, i32 2
  %w = uniform i32 input.workgroup_id_x
  %c = uniform u1 eq %w, i32 0
  cond_br %c, b1, b2
b1: from b0
  %x = i32 mul %j, %j
  br b2
b2: from b0, b1
  %r = i32 phi %k, %x
  store.lds.4 %r, u1 true, %r
  ret
)",
     "0 1 2 2 2 2 2 | 1 1 1 | 1 1 0 0", "0 0 0 0 0 0 0 | 0 0 0 | 0 0 0 0", "0 0 0 0 1 1 0 | 0 0 0 | 0 0 0 0"},
};

TEST(Pressure, Curves) {
  for (const Case& c : kCases) {
    const ir::Function f = parsed(c.body);
    const PressureCurve curve = pressure_curve(f);
    EXPECT_EQ(text_of(curve, &LiveWords::per_lane), c.per_lane) << c.name;
    EXPECT_EQ(text_of(curve, &LiveWords::masks), c.masks) << c.name;
    EXPECT_EQ(text_of(curve, &LiveWords::uniform), c.uniform) << c.name;
  }
}

TEST(Pressure, ACalleeCountsOnTopOfWhatIsLiveAcrossItsCall) {
  const ir::Function main = parsed(R"(
b0:
  %a = i32 lane_id
  %t = uniform i32 call i64 0, %a
  %r = i32 call_vector.imm0x100 %t
  %s = i32 add %a, %r
  store.lds.4 %s, u1 true, %s
  ret
)");
  const ir::Function callee = parsed(R"(
b0:
  %x = i32 param_vector.imm0x100
  %y = i32 mul %x, %x
  %z = i32 mul %y, %x
  call_return %z
)");
  ASSERT_FALSE(main.blocks.empty() || callee.blocks.empty());
  EXPECT_EQ(pressure_curve(main).most().per_lane, 2u);
  EXPECT_EQ(pressure_curve(callee).most().per_lane, 2u);
  ir::Program program{main, {}};
  program.callees.push_back({.function = callee, .params = {}, .results = {}});
  EXPECT_EQ(most_live(program).per_lane, 3u); // %a, and %x and %y of the callee
}

/// A thousand blocks in a row, a value that lives through all of them, and a loop around them.
TEST(Pressure, LongWays) {
  std::string body = "b0:\n  %a = i32 lane_id\n  br b1\n";
  constexpr unsigned blocks = 1000;
  for (unsigned b = 1; b <= blocks; ++b)
    body += fmt::format(
        "b{0}: from b{1}{3}\n  %i{0} = i32 lane_id\n  store.lds.4 %i{0}, u1 true, %i{0}\n  br b{2}\n", b,
        b - 1, b + 1, b == 1 ? fmt::format(", b{}", blocks + 1) : "");
  body +=
      fmt::format("b{0}: from b{1}\n  %w = uniform i32 input.workgroup_id_x\n  %c = uniform u1 eq %w, i32 0\n"
                  "  cond_br %c, b1, b{2}\nb{2}: from b{0}\n  store.lds.4 %a, u1 true, %a\n  ret\n",
                  blocks + 1, blocks, blocks + 2);
  const ir::Function f = parsed(body);
  const PressureCurve curve = pressure_curve(f);
  EXPECT_EQ(curve.most().per_lane, 2u);
  for (uint32_t b = 1; b <= blocks; ++b) ASSERT_EQ(curve.at({b}, 0).per_lane, 1u) << b;
}

} // namespace
} // namespace lanewise::analysis
