// Loops that the driver is asked to unroll: those that choose registers by their count.
#include "spirv/unrolling.hpp"

#include "support.hpp"

#include <fmt/format.h>

namespace lanewise::spirv {
namespace {

TEST(Unrolling, LoopsThatChooseByTheirCount) {
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
    const auto f = test::parse(text);
    EXPECT_EQ(chooses_by_count(f), (std::vector<bool>{false, row.unrolled, false})) << row.what << '\n'
                                                                                    << text;
  }
}

} // namespace
} // namespace lanewise::spirv
