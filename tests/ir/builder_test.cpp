// The builder folds on the way, and cheaply.
#include "ir/builder.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"

#include <gtest/gtest.h>

namespace lanewise::ir {
namespace {

TEST(Builder, ConstantsAndIdentitiesMakeNoInstructions) {
  Function f;
  Builder b(f, f.add_block());
  const Value x = b.input(Input::local_id_x);
  EXPECT_EQ(b.add(b.i32(2), b.i32(3)), b.i32(5));
  EXPECT_EQ(b.add(x, b.i32(0)), x);
  EXPECT_EQ(b.add(b.i32(0), x), x);
  EXPECT_EQ(b.lane_bit(b.ballot(b.u1(true))), b.u1(true));
  EXPECT_EQ(b.lo32(b.pack64(x, b.i32(7))), x);
  EXPECT_EQ(b.fadd(b.f32(1.5f), b.f32(2.0f), {}), b.f32(3.5f));
  EXPECT_EQ(b.extract(x, 0), x);
  b.ret();
  EXPECT_TRUE(verify(f));
}

/// a[i + 2] = a[i] + a[i + 1] in halves: rules that followed every operand would take 2^60 steps.
TEST(Builder, ChainsOfHalvesStayCheap) {
  Function f;
  Builder b(f, f.add_block());
  struct Halves {
    Value lo, hi;
  };
  const auto sum = [&](Halves x, Halves y, bool add) {
    const Value none = b.u1(false);
    const Value lo = add ? b.add(x.lo, y.lo) : b.sub(x.lo, y.lo);
    const Value c = add ? b.carry(x.lo, y.lo, none) : b.borrow(x.lo, y.lo, none);
    return Halves{lo, add ? b.add_c(x.hi, y.hi, c) : b.sub_c(x.hi, y.hi, c)};
  };
  for (const bool add : {true, false}) {
    Halves x{b.input(Input::local_id_x), b.input(Input::local_id_y)};
    Halves y{b.input(Input::local_id_z), b.lane_id()};
    const uint32_t before = f.value_count();
    for (unsigned i = 0; i < 60; ++i) {
      const Halves z = sum(x, y, add);
      b.pack64(z.lo, z.hi);
      x = y;
      y = z;
    }
    EXPECT_LT(f.value_count() - before, 60u * 16);
  }
  b.ret();
  EXPECT_TRUE(verify(f));
}

TEST(Builder, LinksBlocksAndPutsPhisFirst) {
  Function f(64);
  Builder b(f, f.add_block());
  const Block loop = f.add_block(), end = f.add_block();
  b.br(loop);
  b.block = loop;
  const Value next = b.add(b.lane_id(), b.i32(1));
  const Value phi = b.phi(Type::i32, loop);
  f.set_operands(phi, std::array{b.i32(0), next});
  f[phi].uniform = false;
  b.cond_br(b.any(b.ult(phi, next)), loop, end);
  b.block = end;
  b.trap(TrapReason::fell_off_end);
  const auto ok = verify(f);
  EXPECT_TRUE(ok) << ok.error().to_string() << print(f);
}

} // namespace
} // namespace lanewise::ir
