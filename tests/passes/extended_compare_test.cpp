// Comparisons of extended values, with each other and with constants at all edges: what folding makes of them
// gives what the interpreter says of the comparison as it stands.
#include "ir/interpreter.hpp"
#include "ir/parser.hpp"
#include "passes/passes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>

namespace lanewise::passes {
namespace {

constexpr std::array<uint32_t, 8> kDwords{0,          1,          4,          0x7ffffffe,
                                          0x7fffffff, 0x80000000, 0x80000001, 0xffffffff};
constexpr std::array<uint64_t, 13> kConstants{0,
                                              1,
                                              4,
                                              0x7fffffff,
                                              0x80000000,
                                              0xffffffff,
                                              0x1'0000'0000,
                                              0x7fff'ffff'ffff'ffff,
                                              0x8000'0000'0000'0000,
                                              0xffff'ffff'7fff'ffff,
                                              0xffff'ffff'8000'0000,
                                              0xffff'ffff'8000'0001,
                                              0xffff'ffff'ffff'ffff};
constexpr uint64_t kBase = 0x10000;

/// Lane k reads dwords k % 8 and k / 8 and stores the comparison's result behind them.
std::string program(std::string_view comparison) {
  return fmt::format(R"(function "f" wave64 lds 0 scratch 0 {{
b0: @0x0
  %i = i32 input.local_id_x
  %p = uniform i64 input.kernarg_ptr
  %i1 = i32 and %i, i32 7
  %i2 = i32 lshr %i, i32 3
  %o1 = i32 shl %i1, i32 2
  %o2 = i32 shl %i2, i32 2
  %e1 = i64 zext %o1
  %e2 = i64 zext %o2
  %a1 = i64 add %p, %e1
  %a2 = i64 add %p, %e2
  %x = i32 load.global.4 %a1, u1 true
  %y = i32 load.global.4 %a2, u1 true
  %sx = i64 sext %x
  %sy = i64 sext %y
  %zx = i64 zext %x
  %zy = i64 zext %y
  %c = u1 {}
  %r = i32 select %c, i32 1, i32 2
  %o3 = i32 shl %i, i32 2
  %e3 = i64 zext %o3
  %a3 = i64 add %p, %e3
  %a4 = i64 add %a3, i64 32
  store.global.4 %a4, u1 true, %r
  ret
}}
)",
                     comparison);
}

std::array<uint32_t, 64> run_on_lanes(const ir::Function& f) {
  ir::FlatMemory memory(kBase, 32 + 256);
  std::memcpy(memory.bytes.data(), kDwords.data(), sizeof kDwords);
  const auto ran = ir::interpret(
      f, {.grid = {64, 1, 1}, .workgroup = {64, 1, 1}, .kernarg_ptr = kBase, .dispatch_ptr = kBase}, memory);
  EXPECT_TRUE(ran) << ran.error().to_string();
  std::array<uint32_t, 64> results;
  std::memcpy(results.data(), memory.bytes.data() + 32, sizeof results);
  return results;
}

TEST(ExtendedCompare, FoldsToWhatItIs) {
  std::vector<std::string> comparisons;
  for (const char* op : {"eq", "ne", "ult", "ule", "slt", "sle"}) {
    for (const char* x : {"%sx", "%zx"}) {
      for (const char* y : {"%sy", "%zy"}) comparisons.push_back(fmt::format("{} {}, {}", op, x, y));
      for (const uint64_t c : kConstants) {
        comparisons.push_back(fmt::format("{} {}, i64 {:#x}", op, x, c));
        comparisons.push_back(fmt::format("{} i64 {:#x}, {}", op, c, x));
      }
    }
  }
  unsigned narrowed = 0;
  for (const std::string& comparison : comparisons) {
    const auto f = ir::parse(program(comparison));
    ASSERT_TRUE(f) << f.error().to_string();
    ir::Function g = *f;
    simplify(g);
    dead_code(g);
    EXPECT_EQ(run_on_lanes(*f), run_on_lanes(g)) << comparison;
    bool wide = false;
    for (const ir::Value v : g.blocks[0].instructions)
      wide = wide || (g[v].type == ir::Type::u1 && g[g.operand(v, 0)].type == ir::Type::i64);
    narrowed += !wide;
  }
  // All but the mixed ones, and unsigned comparisons of sext with the six constants that no sext(x) is, on
  // either side.
  const unsigned mixed = 6 * 2, between = 2 * 6 * 2;
  EXPECT_EQ(narrowed, comparisons.size() - mixed - between);
}

} // namespace
} // namespace lanewise::passes
