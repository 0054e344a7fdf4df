// Printer and parser: what is printed reads back, and bad text is an error with its place.
#include "ir/evaluate.hpp"
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/text.hpp"
#include "ir/verifier.hpp"

#include <gtest/gtest.h>

namespace lanewise::ir {
namespace {

constexpr const char* kSample = R"(function "sample \"x\"" wave64 lds 1024 scratch 16 {
b0: @0x10
  %1 = uniform i64 input.kernarg_ptr
  %2 = i32 input.local_id_x @0x14
  %3 = u1 input.initial_exec
  %4 = uniform i32x4 load.global.4.align16.invariant %1, true
  %5 = uniform i32 extract.2 %4
  %6 = f32 bitcast %2
  %7 = f32 fmul.zero.flush_in %6, f32 1.5
  %8 = u1 fcmp.leu.ieee %7, f32 0x7fc00000
  %9 = uniform i64 ballot %8
  %10 = i32 dpp.row_shr.0x3 %2
  %11 = i32 mbcnt.hi i32 -1
  %12 = i32 atomic.cmpswap.lds.4.coherent %10, %8, %2, i32 0x12345678
  store.scratch.2 %10, %3, %11, %12
  %13 = i32 buffer_load.global.1.sext.offen %5, %5, %5, %5, i32 0, %2, i32 0, %3
  barrier
  %14 = uniform u1 ne %9, i64 0
  cond_br %14, b1, b2
b1: from b0, b1
  %15 = f32 phi %7, %16
  %16 = f32 fadd %15, f32 -0
  br b1
b2: from b0 @0x40
  trap.s_trap @0x44
}
)";

std::string typed(std::string_view s) {
  std::string out(s);
  for (size_t at = 0; (at = out.find(", true", at)) != std::string::npos; at += 9)
    out.replace(at, 6, ", u1 true");
  return out;
}

TEST(Text, RoundTrip) {
  const std::string sample = typed(kSample);
  const auto f = parse(sample);
  ASSERT_TRUE(f) << f.error().to_string();
  EXPECT_EQ(print(*f), sample);
  const auto ok = verify(*f);
  EXPECT_TRUE(ok) << ok.error().to_string();
}

TEST(Text, EveryImmediateReadsBack) {
  for (unsigned i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    for (const uint64_t imm : {0ull, 1ull, 2ull, 3ull, 63ull, 255ull, 0x712ull, 0x04040400ull, 0x20040400ull,
                               0x500000003ull, 0x16'3fff'0429ull, ~0ull}) {
      std::string s;
      spell_immediate(s, op, imm);
      EXPECT_EQ(read_immediate(op, s), imm) << name(op) << s;
    }
  }
}

TEST(Text, EveryHalfReadsBack) {
  for (uint64_t bits = 0; bits < 65536; ++bits) {
    std::string s;
    spell_constant(s, Type::f16, bits);
    ASSERT_EQ(read_constant(Type::f16, s), bits) << s;
  }
}

TEST(Text, ConstantsReadBack) {
  const uint64_t patterns[] = {0,
                               1,
                               5,
                               0x7f,
                               0x80,
                               0xff,
                               0x8000,
                               0xffff,
                               0x10000,
                               0x3f80'0000,
                               0x8000'0000,
                               0x7f80'0000,
                               0xffff'ffff,
                               0x3ff0'0000'0000'0000,
                               0x8000'0000'0000'0000,
                               ~0ull};
  for (const Type t :
       {Type::u1, Type::i8, Type::i16, Type::i32, Type::i64, Type::f16, Type::f32, Type::f64}) {
    for (const uint64_t p : patterns) {
      std::string s;
      spell_constant(s, t, truncate(t, p));
      EXPECT_EQ(read_constant(t, s), truncate(t, p)) << name(t) << ' ' << s;
    }
  }
}

TEST(Parser, ErrorsNameThePlace) {
  const std::string head = "function \"f\" wave32 lds 0 scratch 0 {\n";
  const struct {
    std::string text;
    const char* error;
  } cases[] = {
      {"", "1:1: expected 'function'"},
      {"function x", "1:10: expected the function's name in quotes"},
      {"function \"x\" wave16", "1:14: expected wave32 or wave64"},
      {head + "b1:", "2:1: expected block b0 (blocks are numbered in order)"},
      {head + "b0:\n  ret", "3:6: expected '}'"},
      {head + "b0:\n  retreat\n}", "3:3: unknown operation 'retreat'"},
      {head + "b0:\n  add i32 1, i32 2\n}", "3:3: the operation's result needs a name"},
      {head + "b0:\n  %1 = i32 add i32 1, %7\n  ret\n}", "3:23: unknown value %7"},
      {head + "b0:\n  %1 = i33 add i32 1, %7\n}", "3:8: expected a type"},
      {head + "b0:\n  %1 = i32 add i32 1x, %7\n}", "3:20: '1x' is no constant of type i32"},
      {head + "b0:\n  %1 = f32 fadd.sideways f32 1, f32 2\n}", "3:12: 'fadd.sideways' has an unknown suffix"},
      {head + "b0:\n  br b7\n}", "2:1: there is no block b7"},
      {head + "b0:\n  ret\n} more", "4:3: text follows the function"},
      {head + "}", "1:1: the function has no blocks"},
  };
  for (const auto& c : cases) {
    const auto f = parse(c.text);
    ASSERT_FALSE(f) << c.text;
    EXPECT_EQ(f.error().to_string(), c.error) << c.text;
  }
}

TEST(Parser, TruncatedAndDamagedTextNeverCrashes) {
  const std::string sample = typed(kSample);
  for (size_t n = 0; n < sample.size(); ++n) {
    (void)parse(std::string_view(sample).substr(0, n));
    for (const char c : {'%', '"', '\n', 'b', '9', ',', '\0'}) {
      std::string damaged = sample;
      damaged[n] = c;
      if (const auto f = parse(damaged)) (void)verify(*f);
    }
  }
}

} // namespace
} // namespace lanewise::ir
