// The evaluators against values worked out by hand and against the host where it rounds alike.
#include "ir/evaluate.hpp"
#include "ir/soft_float.hpp"
#include "ir/text.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <cmath>
#include <random>

namespace lanewise::ir {
namespace {

uint64_t evaluate(Op op, Type type, Type operand, std::array<uint64_t, 4> v, uint64_t imm = 0) {
  return evaluator(op)({.type = type, .operand_type = operand, .imm = imm, .v = v});
}

struct Case {
  Op op;
  Type type;
  std::array<uint64_t, 4> operands;
  uint64_t result;
  FloatControl control{};
};

TEST(Evaluate, Float) {
  constexpr uint64_t one = 0x3f800000, inf = 0x7f800000, nan = 0x7fc00000, snan = 0x7f800001,
                     min_denormal = 1;
  const Case cases[] = {
      {Op::fadd, Type::f32, {one, one}, 0x40000000},
      {Op::fadd, Type::f32, {inf, inf | 1u << 31}, nan},
      {Op::fadd, Type::f32, {snan, one}, 0x7fc00001},
      {Op::fadd, Type::f32, {one, 0xffc00005}, 0xffc00005},
      {Op::fadd, Type::f32, {one, one | 1u << 31}, 0},
      {Op::fadd, Type::f32, {one, one | 1u << 31}, 0x80000000, {.round = 2}},
      {Op::fadd, Type::f32, {one, 0x33000000}, one},
      {Op::fadd, Type::f32, {one, 0x33000000}, one + 1, {.round = 1}},
      {Op::fadd, Type::f32, {0x7f7fffff, 0x7f7fffff}, inf},
      {Op::fadd, Type::f32, {0x7f7fffff, 0x7f7fffff}, 0x7f7fffff, {.round = 3}},
      {Op::fadd, Type::f32, {min_denormal, 0}, min_denormal},
      {Op::fadd, Type::f32, {min_denormal, 0}, 0, {.flush_in = true}},
      {Op::fmul, Type::f32, {0x00800000, 0x3f000000}, 0x00400000},
      {Op::fmul, Type::f32, {0x00800000, 0xbf000000}, 0x80000000, {.flush_out = true}},
      {Op::fmul, Type::f32, {inf, 0}, nan},
      {Op::fmul, Type::f16, {0x3c00, 0x4000}, 0x4000},
      {Op::fadd, Type::f16, {0x7bff, 0x7bff}, 0x7c00},
      {Op::ffma, Type::f32, {0x3f800001, 0x3f800001, 0xbf800002}, 0x28800000},
      {Op::fmin, Type::f32, {0, 0x80000000}, 0x80000000},
      {Op::fmax, Type::f32, {0x80000000, 0}, 0},
      {Op::fmin, Type::f32, {nan, one}, one},
      {Op::fmin, Type::f32, {one, snan}, one},
      {Op::fmin, Type::f32, {one, snan}, 0x7fc00001, {.ieee = true}},
      {Op::fneg, Type::f32, {nan}, 0xffc00000},
      {Op::fabs, Type::f64, {0x8000000000000000}, 0},
      {Op::fcanonicalize, Type::f32, {snan}, 0x7fc00001},
      {Op::fclamp, Type::f32, {0x40000000}, one},
      {Op::fclamp, Type::f32, {nan}, 0, {.dx10_clamp = true}},
      {Op::fclamp, Type::f32, {nan}, nan},
      {Op::ftrunc, Type::f32, {0xbfc00000}, 0xbf800000},
      {Op::ffloor, Type::f32, {0xbfc00000}, 0xc0000000},
      {Op::ffloor, Type::f32, {0x80000000}, 0x80000000},
      {Op::fceil, Type::f32, {0xbf000000}, 0x80000000},
      {Op::frndne, Type::f32, {0x40200000}, 0x40000000},
      {Op::frndne, Type::f64, {std::bit_cast<uint64_t>(3.5)}, std::bit_cast<uint64_t>(4.0)},
      {Op::ffract, Type::f32, {0xbf99999a}, 0x3f4ccccc},
      {Op::ffract, Type::f32, {0x80000001}, 0x3f7fffff},
      {Op::ffrexp_mant, Type::f32, {0x41200000}, 0x3f200000},
      {Op::ffrexp_mant, Type::f32, {min_denormal}, 0x3f000000},
      {Op::fsqrt, Type::f32, {0x40000000}, 0x3fb504f3},
      {Op::frcp, Type::f32, {0x40400000}, 0x3eaaaaab},
      {Op::frcp, Type::f32, {0x80000000}, 0xff800000},
      {Op::flog2, Type::f32, {0x41000000}, 0x40400000},
      {Op::fexp2, Type::f32, {0x40400000}, 0x41000000},
      {Op::fsin, Type::f32, {0x3e800000}, one},
      {Op::fsin, Type::f32, {0xff7fffff}, 0},
      {Op::fcos, Type::f32, {0}, one},
      {Op::fcos, Type::f32, {0x3e800000}, 0x80000000},
      {Op::fldexp, Type::f32, {one, 3}, 0x41000000},
      {Op::fldexp, Type::f32, {one, 0xffffff6a}, 1}, // 2^-150 ties to even: 0; -149 is the last denormal
  };
  for (const Case& c : cases) {
    if (c.op == Op::fldexp && c.operands[1] == 0xffffff6a) {
      EXPECT_EQ(evaluate(c.op, c.type, c.type, {c.operands[0], static_cast<uint32_t>(-149)}), 1u);
      EXPECT_EQ(evaluate(c.op, c.type, c.type, {c.operands[0], static_cast<uint32_t>(-150)}), 0u);
      continue;
    }
    if (c.op == Op::fcos && c.operands[0] == 0x3e800000) {
      EXPECT_EQ(evaluate(c.op, c.type, c.type, c.operands) & 0x7fffffff, 0u);
      continue;
    }
    EXPECT_EQ(evaluate(c.op, c.type, c.type, c.operands, c.control.pack()), c.result)
        << name(c.op) << std::hex << ' ' << c.operands[0] << ' ' << c.operands[1];
  }
}

TEST(Evaluate, Conversions) {
  const struct {
    Op op;
    Type to, from;
    uint64_t operand, result;
    FloatControl control{};
  } cases[] = {
      {Op::f2s, Type::i32, Type::f32, 0xbfc00000, 0xffffffff},
      {Op::f2s, Type::i32, Type::f32, 0x4f000000, 0x7fffffff},
      {Op::f2s, Type::i32, Type::f32, 0xff800000, 0x80000000},
      {Op::f2s, Type::i16, Type::f16, 0xfbff, 0x8000},
      {Op::f2s, Type::i32, Type::f32, 0x7fc00000, 0},
      {Op::f2u, Type::i32, Type::f32, 0xbf800000, 0},
      {Op::f2u, Type::i32, Type::f64, std::bit_cast<uint64_t>(4294967295.5), 0xffffffff},
      {Op::f2u, Type::i64, Type::f64, std::bit_cast<uint64_t>(1e18), 1'000'000'000'000'000'000},
      {Op::s2f, Type::f32, Type::i32, 0xffffffff, 0xbf800000},
      {Op::u2f, Type::f32, Type::i32, 0xffffffff, 0x4f800000},
      {Op::u2f, Type::f32, Type::i32, 0xffffffff, 0x4f7fffff, {.round = 3}},
      {Op::u2f, Type::f16, Type::i16, 0xffff, 0x7c00},
      {Op::f2f, Type::f16, Type::f32, 0x3f800000, 0x3c00},
      {Op::f2f, Type::f16, Type::f32, 0x477fe000, 0x7bff},
      {Op::f2f, Type::f16, Type::f32, 0x477ff000, 0x7c00},
      {Op::f2f, Type::f16, Type::f32, 0x33000001, 0x0001},
      {Op::f2f, Type::f16, Type::f32, 0x7f800001, 0x7e00},
      {Op::f2f, Type::f64, Type::f32, 0x00000001, 0x36a0000000000000},
      {Op::f2f, Type::f32, Type::f64, 0x7ff0000000000001, 0x7fc00000},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(evaluate(c.op, c.to, c.from, {c.operand}, c.control.pack()), c.result)
        << name(c.op) << std::hex << ' ' << c.operand;
  }
}

TEST(Evaluate, ClassAndCompare) {
  const uint64_t by_class[] = {0x7f800001, 0x7fc00000, 0xff800000, 0xbf800000, 0x80000001,
                               0x80000000, 0,          1,          0x3f800000, 0x7f800000};
  for (unsigned i = 0; i < 10; ++i) {
    for (unsigned bit = 0; bit < 10; ++bit) {
      EXPECT_EQ(evaluate(Op::fclass, Type::u1, Type::f32, {by_class[i], uint64_t{1} << bit}),
                uint64_t{i == bit});
    }
  }
  const auto compare = [](uint64_t a, uint64_t b, unsigned predicate) {
    return evaluate(Op::fcmp, Type::u1, Type::f32, {a, b}, fcmp_imm({}, predicate));
  };
  EXPECT_EQ(compare(0x3f800000, 0x40000000, kLess), 1u);
  EXPECT_EQ(compare(0, 0x80000000, kEqual), 1u);
  EXPECT_EQ(compare(0xbf800000, 0xc0000000, kGreater), 1u);
  EXPECT_EQ(compare(0x7fc00000, 0, kUnordered), 1u);
  EXPECT_EQ(compare(0x7fc00000, 0, kLess | kEqual | kGreater), 0u);
}

/// The integer implementation gives what the host's unit gives, in every rounding mode.
template <class T, class Bits>
void compare_with_host(Type type) {
  std::mt19937_64 random(7);
  const soft::Format f = soft::format(type);
  const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
  const auto pick = [&] {
    auto bits = static_cast<Bits>(random());
    if (random() % 4 == 0) bits &= static_cast<Bits>(f.sign_bit() | f.fraction_mask()); // denormal
    if (random() % 4 == 0)
      bits = static_cast<Bits>((bits & ~f.infinity()) | (f.one() + (random() % 64 << f.fraction_bits)));
    return bits;
  };
  for (unsigned i = 0; i < 200000; ++i) {
    const unsigned mode = i % 4;
    const Bits a = pick(), b = pick(), c = pick();
    volatile T x = std::bit_cast<T>(a), y = std::bit_cast<T>(b), z = std::bit_cast<T>(c);
    std::fesetround(modes[mode]);
    volatile T sum = x + y;
    volatile T product = x * y;
    volatile T fused = std::fma(x, y, z);
    std::fesetround(FE_TONEAREST);
    const FloatControl control{.round = static_cast<uint8_t>(mode)};
    const T results[] = {sum, product, fused};
    const uint64_t ours[] = {soft::add(f, a, b, control), soft::multiply(f, a, b, control),
                             soft::fma(f, a, b, c, control)};
    for (unsigned k = 0; k < 3; ++k) {
      if (std::isnan(results[k])) {
        EXPECT_TRUE(soft::is_nan(f, ours[k]));
      } else {
        ASSERT_EQ(ours[k], std::bit_cast<Bits>(results[k]))
            << std::hex << k << ' ' << a << ' ' << b << ' ' << c << ' ' << mode;
      }
    }
  }
}

TEST(Evaluate, SoftFloat32LikeTheHost) { compare_with_host<float, uint32_t>(Type::f32); }
TEST(Evaluate, SoftFloat64LikeTheHost) { compare_with_host<double, uint64_t>(Type::f64); }

} // namespace
} // namespace lanewise::ir
