// jump_threading: programs before and after.
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "passes/passes.hpp"

#include "ir/interpreter.hpp"
#include "pass_variants.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <regex>

namespace lanewise::passes {
namespace {

struct ThreadingCase {
  const char* name;
  const char *before, *after; ///< bodies
  friend void PrintTo(const ThreadingCase& c, std::ostream* out) { *out << c.name; }
};

constexpr ThreadingCase kThreadingCases[] = {
    {"LoopWithTwoWaysOut",
     R"(b0:
  %1 = i32 host_lane
  br b1
b1: from b0, b3
  %2 = i32 phi i32 0, %9
  %3 = u1 ult %2, i32 100
  cond_br %3, b2, b3
b2: from b1
  %4 = i32 add %2, %1
  %5 = u1 eq %4, i32 77
  br b3
b3: from b1, b2
  %6 = u1 phi u1 true, %5
  %7 = i32 phi %2, i32 5
  %9 = i32 phi %2, %4
  %8 = u1 not %6
  cond_br %8, b1, b4
b4: from b3
  store.lds.4 i32 0, u1 true, %7
  ret
)",
     R"(b0:
  %1 = i32 host_lane
  br b1
b1: from b0, b2
  %2 = i32 phi i32 0, %4
  %3 = u1 ult %2, i32 100
  cond_br %3, b2, b3
b2: from b1
  %4 = i32 add %1, %2
  %5 = u1 ne %4, i32 77
  cond_br %5, b1, b3
b3: from b2, b1
  %6 = i32 phi i32 5, %2
  store.lds.4 i32 0, u1 true, %6
  ret
)"},
    {"ValuesAreReadWhereBothWaysHaveMet",
     R"(b0:
  %1 = i32 host_lane
  %2 = u1 ult %1, i32 9
  cond_br %2, b1, b2
b1: from b0
  br b2
b2: from b0, b1
  %3 = u1 phi u1 false, %2
  %4 = i32 phi i32 1, i32 2
  cond_br %3, b3, b4
b3: from b2
  store.lds.4 i32 0, u1 true, %4
  br b4
b4: from b2, b3
  store.lds.4 i32 4, u1 true, %4
  ret
)",
     R"(b0:
  %1 = i32 host_lane
  %2 = u1 ult %1, i32 9
  cond_br %2, b1, b3
b1: from b0
  cond_br %2, b2, b3
b2: from b1
  store.lds.4 i32 0, u1 true, i32 2
  br b3
b3: from b1, b2, b0
  %3 = i32 phi i32 2, i32 2, i32 1
  store.lds.4 i32 4, u1 true, %3
  ret
)"},
    {"NotWhereTheJoinDoesMore",
     R"(b0:
  %1 = i32 host_lane
  %2 = u1 ult %1, i32 9
  cond_br %2, b1, b2
b1: from b0
  br b2
b2: from b0, b1
  %3 = u1 phi u1 false, %2
  store.lds.4 i32 0, u1 true, %1
  cond_br %3, b3, b4
b3: from b2
  store.lds.4 i32 4, u1 true, %1
  br b4
b4: from b2, b3
  ret
)",
     nullptr},
};

std::string function_of(const char* body) {
  return "function \"f\" wave32 lds 64 scratch 0 divergent {\n" + std::string(body) + "}\n";
}

std::string tidied(ir::Function f) {
  simplify(f);
  cfg_cleanup(f);
  dead_code(f);
  const auto ok = ir::verify(f);
  EXPECT_TRUE(ok) << ok.error().to_string() << ir::print(f);
  return ir::print(f);
}

class JumpThreading : public testing::TestWithParam<ThreadingCase> {};

TEST_P(JumpThreading, ThreadingCase) {
  auto before = ir::parse(function_of(GetParam().before));
  ASSERT_TRUE(before) << before.error().to_string();
  const std::string unchanged = tidied(*before);
  EXPECT_EQ(jump_threading(*before), GetParam().after != nullptr);
  const auto ok = ir::verify(*before);
  EXPECT_TRUE(ok) << ok.error().to_string() << ir::print(*before);
  const auto after =
      GetParam().after ? ir::parse(function_of(GetParam().after)) : Expected<ir::Function>(*before);
  ASSERT_TRUE(after) << after.error().to_string();
  EXPECT_EQ(tidied(*before), GetParam().after ? tidied(*after) : unchanged);
}

INSTANTIATE_TEST_SUITE_P(Cases, JumpThreading, testing::ValuesIn(kThreadingCases),
                         [](const auto& test) { return std::string(test.param.name); });

/// Where lanes may come other ways, what is made new is no longer one for the wave, and neither is what reads
/// it.
TEST(JumpThreadingMarks, ReadersOfNewPhisAreNotUniform) {
  auto f = ir::parse(function_of(R"(b0:
  %1 = uniform i32 input.workgroup_id_x
  %2 = uniform u1 ult %1, i32 9
  cond_br %2, b1, b2
b1: from b0
  %3 = uniform u1 eq %1, i32 3
  br b2
b2: from b0, b1
  %4 = uniform u1 phi u1 true, %3
  %5 = uniform i32 phi i32 5, %1
  cond_br %4, b3, b4
b3: from b2
  %6 = uniform i32 add %5, i32 1
  store.lds.4 i32 0, u1 true, %6
  br b4
b4: from b2, b3
  %7 = uniform i32 phi %5, %6
  %8 = uniform i32 xor %7, i32 3
  store.lds.4 i32 4, u1 true, %8
  ret
)"));
  ASSERT_TRUE(f) << f.error().to_string();
  ASSERT_TRUE(jump_threading(*f));
  const auto ok = ir::verify(*f);
  EXPECT_TRUE(ok) << ok.error().to_string() << ir::print(*f);
}

/// Random programs of one variable with the joins that compilers for AMD make: conditions of two parts, loops
/// with two ways out.
class RandomJoins {
 public:
  explicit RandomJoins(uint64_t seed) : random_(seed) {}

  std::string program() {
    text_ = "function \"f\" wave32 lds 128 scratch 0 divergent {\nb0:\n  %id = i32 host_lane\n  %at = i32 "
            "shl %id, i32 2\n";
    x_ = "%id";
    sequence(3);
    text_ += fmt::format(
        "  store.lds.4 %at, u1 true, {}\n  %g = i64 zext %at\n  store.global.4 %g, u1 true, {}\n  ret\n}}\n",
        x_, x_);
    return in_order(text_);
  }

 private:
  /// Blocks numbered as they stand.
  static std::string in_order(const std::string& text) {
    static const std::regex block("\\bb([0-9]+)\\b"), definition("(^|\n)b([0-9]+):");
    std::map<std::string, size_t> number;
    for (std::sregex_iterator i(text.begin(), text.end(), definition), end; i != end; ++i)
      number.emplace((*i)[2], number.size());
    std::string renamed;
    auto from = text.begin();
    for (std::sregex_iterator i(text.begin(), text.end(), block), end; i != end; ++i) {
      renamed.append(from, text.begin() + i->position());
      renamed += "b" + std::to_string(number.at((*i)[1]));
      from = text.begin() + i->position() + i->length();
    }
    return renamed.append(from, text.end());
  }

  unsigned below(unsigned n) { return static_cast<unsigned>(random_() % n); }
  std::string value() { return fmt::format("%v{}", next_value_++); }
  std::string emit(const std::string& what) {
    const std::string v = value();
    text_ += fmt::format("  {} = {}\n", v, what);
    return v;
  }
  /// Opens a block and says its number.
  unsigned open(unsigned block, const std::string& from) {
    text_ += fmt::format("b{}: from {}\n", block, from);
    return here_ = block;
  }
  std::string condition(const std::string& x) {
    const std::string low = emit(fmt::format("i32 and {}, i32 {}", x, 7 + 8 * below(4)));
    return emit(fmt::format("u1 ult {}, i32 {}", low, 1 + below(12)));
  }
  void arithmetic() {
    static constexpr std::array operations{"add", "xor", "mul", "sub"};
    x_ = emit(fmt::format("i32 {} {}, i32 {}", operations[below(4)], x_, 1 + 2 * below(50)));
  }
  void sequence(unsigned depth) {
    for (unsigned n = 1 + below(3); n != 0; --n) {
      arithmetic();
      if (depth == 0) continue;
      if (below(2) == 0)
        condition_of_two_parts(depth - 1);
      else
        loop_with_two_ways_out(depth - 1);
    }
  }
  void condition_of_two_parts(unsigned depth) {
    const unsigned start = here_, part = next_block_++, join = next_block_++, inside = next_block_++,
                   rest = next_block_++;
    const bool stops = below(2) == 0, negated = below(2) == 0;
    text_ += fmt::format("  cond_br {}, b{}, b{}\n", condition(x_), part, join);
    const std::string before = x_;
    open(part, fmt::format("b{}", start));
    arithmetic();
    const std::string second = condition(x_), after = x_;
    text_ += fmt::format("  br b{}\n", join);
    open(join, fmt::format("b{}, b{}", start, part));
    std::string c = emit(fmt::format("u1 phi u1 {}, {}", stops ? "false" : "true", second));
    x_ = emit(fmt::format("i32 phi {}, {}", before, after));
    const std::string y = x_;
    if (negated) c = emit(fmt::format("u1 not {}", c));
    text_ += fmt::format("  cond_br {}, b{}, b{}\n", c, inside, rest);
    open(inside, fmt::format("b{}", join));
    sequence(depth);
    text_ += fmt::format("  br b{}\n", rest);
    const std::string from = fmt::format("b{}, b{}", join, here_), z = x_;
    open(rest, from);
    x_ = emit(fmt::format("i32 phi {}, {}", y, z));
    x_ = emit(fmt::format("i32 add {}, {}", x_, y)); // read behind, too
  }
  void loop_with_two_ways_out(unsigned depth) {
    const unsigned start = here_, header = next_block_++, body = next_block_++, latch = next_block_++,
                   out = next_block_++;
    const std::string turn = value(), x = value(), turn2 = value(), x2 = value();
    text_ += fmt::format("  br b{}\n", header);
    const std::string before = x_;
    open(header, fmt::format("b{}, b{}", start, latch));
    text_ += fmt::format("  {} = i32 phi i32 0, {}\n  {} = i32 phi {}, {}\n", turn, turn2, x, before, x2);
    const std::string goes = emit(fmt::format("u1 ult {}, i32 {}", turn, 1 + below(4)));
    text_ += fmt::format("  cond_br {}, b{}, b{}\n", goes, body, latch);
    open(body, fmt::format("b{}", header));
    x_ = x;
    sequence(depth);
    const std::string leaves = condition(x_), next = emit(fmt::format("i32 add {}, i32 1", turn)),
                      changed = x_;
    text_ += fmt::format("  br b{}\n", latch);
    const unsigned end = here_;
    open(latch, fmt::format("b{}, b{}", header, end));
    const std::string ends = emit(fmt::format("u1 phi u1 true, {}", leaves));
    text_ += fmt::format("  {} = i32 phi {}, {}\n  {} = i32 phi {}, {}\n", turn2, turn, next, x2, x, changed);
    const std::string stays = emit(fmt::format("u1 not {}", ends));
    text_ += fmt::format("  cond_br {}, b{}, b{}\n", stays, header, out);
    open(out, fmt::format("b{}", latch));
    x_ = x2;
  }

  std::mt19937_64 random_;
  std::string text_, x_;
  unsigned next_value_ = 0, next_block_ = 1, here_ = 0;
};

Expected<std::vector<uint8_t>> threading_memory_after(const ir::Function& f, unsigned lanes,
                                                      ir::LaneOrder order) {
  ir::FlatMemory memory(0, 128);
  const ir::InterpreterDispatch d{.grid = {32, 1, 1},
                                  .workgroup = {32, 1, 1},
                                  .host_invocations = lanes,
                                  .order = order,
                                  .max_instructions = 1 << 22};
  if (auto ok = ir::interpret(f, d, memory); !ok) return std::unexpected(ok.error());
  return memory.bytes;
}

TEST(RandomJoinPrograms, ComputeTheSame) {
  const uint64_t first = tests::first_random_seed(), count = tests::random_programs(300);
  unsigned threaded = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const std::string text = RandomJoins(seed).program();
    auto f = ir::parse(text);
    ASSERT_TRUE(f) << f.error().to_string() << text;
    const auto expected = threading_memory_after(*f, 32, ir::LaneOrder::together);
    ASSERT_TRUE(expected) << expected.error().to_string() << text;
    threaded += jump_threading(*f);
    for (unsigned tidied_up = 0; tidied_up < 2; ++tidied_up) {
      const auto ok = ir::verify(*f);
      ASSERT_TRUE(ok) << "seed " << seed << ": " << ok.error().to_string() << text << ir::print(*f);
      for (const ir::LaneOrder order : {ir::LaneOrder::together, ir::LaneOrder::descending}) {
        const auto got = threading_memory_after(*f, 32, order);
        ASSERT_TRUE(got && *got == *expected) << "seed " << seed << text << ir::print(*f);
      }
      simplify(*f);
      cfg_cleanup(*f);
      dead_code(*f);
    }
  }
  EXPECT_GT(threaded, count / 2);
}

} // namespace
} // namespace lanewise::passes
