// Loops that are laid out round by round: those that choose registers by their count.
#include "ir/interpreter.hpp"
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "pass_variants.hpp"
#include "passes/passes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

namespace lanewise::passes {
namespace {

TEST(Unroll, LoopsThatChooseByTheirCount) {
  struct {
    const char* what;
    const char* from; ///< what the count starts at
    const char* step;
    const char* more;   ///< the loop goes on while this holds
    const char* choice; ///< what seven selects ask
    bool last_too;      ///< the eighth asks it too
    bool unrolled;
  } const table[]{
      {"by the count", "i32 0", "i32 1", "ult %next, i32 16", "eq %count, i32 3", true, true},
      {"by what follows from it", "i32 0", "i32 1", "ne %next, i32 16", "eq %part, i32 3", true, true},
      {"seven choices only", "i32 0", "i32 1", "ult %next, i32 16", "eq %count, i32 3", false, false},
      {"by something else too", "i32 0", "i32 1", "ult %next, i32 16", "eq %count, %a", true, false},
      {"by nothing of the loop", "i32 0", "i32 1", "ult %next, i32 16", "eq %a, i32 3", true, false},
      {"too many rounds", "i32 0", "i32 1", "ult %next, i32 65", "eq %count, i32 3", true, false},
      {"as many as may be", "i32 0", "i32 4", "ult %next, i32 256", "eq %count, i32 3", true, true},
      {"from nobody knows where", "%a", "i32 1", "ult %next, i32 16", "eq %count, i32 3", true, false},
      {"in unknown steps", "i32 0", "%a", "ult %next, i32 16", "eq %count, i32 3", true, false},
      {"to an unknown end", "i32 0", "i32 1", "ult %next, %a", "eq %count, i32 3", true, false},
  };
  for (const auto& row : table) {
    std::string selects;
    for (int i = 0; i < 8; ++i)
      selects +=
          fmt::format("  %s{} = i32 select {}, i32 {}, %a\n", i, i < 7 || row.last_too ? "%c" : "%other", i);
    const std::string text = fmt::format(
        "function \"f\" wave32 lds 0 scratch 0 {{\n"
        "b0:\n  %a = i32 input.local_id_x\n  %other = u1 eq %a, i32 9\n  br b1\n"
        "b1: from b0, b1\n  %count = i32 phi {}, %next\n  %next = i32 add %count, {}\n"
        "  %part = i32 and %next, i32 7\n  %c = u1 {}\n{}  %more = u1 {}\n  cond_br %more, b1, b2\n"
        "b2: from b1\n  ret\n}}\n",
        row.from, row.step, row.choice, selects, row.more);
    auto f = ir::parse(text);
    ASSERT_TRUE(f) << f.error().to_string();
    EXPECT_EQ(unroll(*f), row.unrolled) << row.what << '\n' << text;
    if (row.unrolled) EXPECT_EQ(f->blocks.size(), 1u) << ir::print(*f);
  }
}

/// A loop over eight registers that are read and written by its count, with an `if` inside and up to two ways
/// out; what it leaves is read by phis and directly.
std::string random_loop(uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const bool early = below(2) == 0, meets = below(2) == 0, tests_count = below(3) == 0;
  const unsigned step = 1 + below(3), rounds = 1 + below(20), start = below(5);
  const unsigned limit = start + step * rounds;
  std::string t = "function \"f\" wave32 lds 128 scratch 0 divergent {\nb0:\n  %id = i32 host_lane\n"
                  "  %at = i32 shl %id, i32 2\n  %g = i64 zext %at\n";
  for (unsigned k = 0; k < 8; ++k) t += fmt::format("  %s{0} = i32 mul %id, i32 {1}\n", k, 2 * k + 3);
  t += "  br b1\nb1: from b0, b5\n";
  t += fmt::format("  %i = i32 phi i32 {}, %next\n", start);
  for (unsigned k = 0; k < 8; ++k) t += fmt::format("  %r{0} = i32 phi %s{0}, %n{0}\n", k);
  t += "  %last = i32 phi i32 7, %y\n";
  for (unsigned bit = 1; bit <= 4; bit *= 2)
    t += fmt::format("  %i{0} = i32 and %i, i32 {0}\n  %c{0} = u1 ne %i{0}, i32 0\n", bit);
  for (unsigned k = 0; k < 4; ++k)
    t += fmt::format("  %a{0} = i32 select %c1, %r{1}, %r{2}\n", k, 2 * k + 1, 2 * k);
  t +=
      "  %b0 = i32 select %c2, %a1, %a0\n  %b1 = i32 select %c2, %a3, %a2\n  %x = i32 select %c4, %b1, %b0\n";
  t += fmt::format("  %low = i32 and %x, i32 31\n  %leaves = u1 ult %low, i32 {}\n", below(6));
  t += early ? "  cond_br %leaves, b6, b2\n" : "  br b2\n";
  t += fmt::format("b2: from b1\n  %odd = u1 ult %low, i32 {}\n  cond_br %odd, b3, b4\n", 4 + below(24));
  t += "b3: from b2\n  %p = i32 add %x, %i\n  br b5\nb4: from b2\n  %q = i32 xor %x, %last\n  br b5\n"
       "b5: from b3, b4\n  %y = i32 phi %p, %q\n  %w = i32 and %i, i32 7\n";
  for (unsigned k = 0; k < 8; ++k)
    t += fmt::format("  %e{0} = u1 eq %w, i32 {0}\n  %n{0} = i32 select %e{0}, %y, %r{0}\n", k);
  t += fmt::format("  %next = i32 add %i, i32 {}\n", step);
  const unsigned end = tests_count ? limit - step : limit;
  t += fmt::format("  %more = u1 {} {}, i32 {}\n  cond_br %more, b1, b6\n", meets ? "ne" : "ult",
                   tests_count ? "%i" : "%next", end);
  t += early ? "b6: from b1, b5\n  %z = i32 phi %r5, %n5\n" : "b6: from b5\n  %z = i32 phi %n5\n";
  t += "  %u = i32 add %z, %x\n  %v = i32 xor %u, %i\n  br b7\nb7: from b6\n  %o = i32 sub %v, %r2\n"
       "  store.global.4 %g, u1 true, %o\n  ret\n}\n";
  return t;
}

std::vector<uint8_t> memory_after(const ir::Function& f) {
  ir::FlatMemory memory(0, 128);
  const auto done = ir::interpret(f,
                                  {.grid = {32, 1, 1},
                                   .workgroup = {32, 1, 1},
                                   .host_invocations = 32,
                                   .order = ir::LaneOrder::together,
                                   .max_instructions = 1 << 22},
                                  memory);
  EXPECT_TRUE(done) << done.error().to_string();
  return memory.bytes;
}

TEST(Unroll, RandomLoopsComputeTheSame) {
  const uint64_t first = tests::first_random_seed(), count = tests::random_programs(200);
  unsigned straight = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const std::string text = random_loop(seed);
    auto f = ir::parse(text);
    ASSERT_TRUE(f) << f.error().to_string() << text;
    const auto expected = memory_after(*f);
    ASSERT_TRUE(unroll(*f)) << text;
    const auto ok = ir::verify(*f);
    ASSERT_TRUE(ok) << "seed " << seed << ": " << ok.error().to_string() << text << ir::print(*f);
    ASSERT_EQ(memory_after(*f), expected) << "seed " << seed << text << ir::print(*f);
    bool loops = false;
    for (uint32_t b = 0; b < f->blocks.size(); ++b)
      for (unsigned s = 0; s < f->blocks[b].successor_count; ++s)
        loops |= f->blocks[b].successors[s].index <= b;
    straight += !loops;
  }
  EXPECT_EQ(straight, count) << "some loops stay behind their rounds";
}

} // namespace
} // namespace lanewise::passes
