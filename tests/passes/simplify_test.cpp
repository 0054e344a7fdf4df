// Every folding rule: IR text and the expression that its %r becomes.
#include "../ir/expression.hpp"
#include "passes/passes.hpp"

namespace lanewise::passes {
namespace {

struct SimplifyCase {
  const char* text;
  const char* expression;
};

void check(std::span<const SimplifyCase> cases, unsigned wave = 32) {
  for (const SimplifyCase& c : cases) {
    EXPECT_EQ(ir::testing::simplified(
                  c.text, [](ir::Function& f) { simplify(f); }, wave),
              c.expression)
        << c.text;
  }
}

TEST(Simplify, Arithmetic) {
  const SimplifyCase cases[] = {
      {"%r = i32 add %a, i32 0", "a"},
      {"%1 = i32 add %a, i32 3\n %r = i32 add %1, i32 4", "add(a, 7)"},
      {"%1 = i32 add i32 3, %a\n %r = i32 add i32 -3, %1", "a"},
      {"%1 = i32 sub i32 0, %b\n %r = i32 add %a, %1", "sub(a, b)"},
      {"%1 = i32 sub %a, %b\n %r = i32 add %b, %1", "a"},
      {"%r = i32 add i32 0xffffffff, i32 2", "1"},
      {"%r = i32 sub %a, %a", "0"},
      {"%r = i32 sub %a, i32 5", "add(a, -5)"},
      {"%1 = i32 sub i32 0, %b\n %r = i32 sub %a, %1", "add(a, b)"},
      {"%1 = i32 add %a, %b\n %r = i32 sub %1, %a", "b"},
      {"%1 = i32 add %a, i32 2\n %r = i32 sub i32 9, %1", "sub(7, a)"},
      {"%r = i32 mul %a, i32 0", "0"},
      {"%r = i32 mul %a, i32 8", "shl(a, 3)"},
      {"%1 = i32 mul %a, i32 3\n %r = i32 mul %1, i32 5", "mul(a, 15)"},
      {"%r = i32 mul %a, i32 -1", "sub(0, a)"},
      {"%r = i32 mul_hi_u %a, i32 16", "lshr(a, 28)"},
      {"%r = i32 mul_hi_u %a, i32 1", "0"},
      {"%r = i32 mul_hi_s i32 -1, i32 -1", "0"},
      {"%r = i32 add_c %a, %b, u1 false", "add(a, b)"},
      {"%r = i32 add_c %a, i32 4, u1 true", "add(a, 5)"},
      {"%r = u1 carry %a, i32 0, u1 false", "false"},
      {"%r = u1 carry %a, i32 -1, u1 true", "true"},
      {"%r = i32 sub_c %a, %b, u1 false", "sub(a, b)"},
      {"%r = u1 borrow %a, %b, u1 false", "ult(a, b)"},
      {"%r = u1 borrow %a, %b, u1 true", "ule(a, b)"},
      {"%r = i32 umin %a, i32 0", "0"},
      {"%r = i32 umax %a, i32 0", "a"},
      {"%r = i32 smin %a, i32 0x7fffffff", "a"},
      {"%1 = i32 umin %a, i32 9\n %r = i32 umin %1, i32 5", "umin(a, 5)"},
      {"%r = i32 popcount i64 -1", "64"},
      {"%r = i32 find_msb i32 0", "-1"},
      {"%1 = i32 bit_reverse %a\n %r = i32 bit_reverse %1", "a"},
  };
  check(cases);
}

TEST(Simplify, SixtyFourBitArithmeticInHalves) {
  const SimplifyCase cases[] = {
      {"%1 = i32 lo32 %l\n %2 = i32 hi32 %l\n %3 = i32 lo32 %k\n %4 = i32 hi32 %k\n"
       "%5 = i32 add %1, %3\n %6 = u1 carry %1, %3, u1 false\n %7 = i32 add_c %2, %4, %6\n %r = i64 pack64 "
       "%5, %7",
       "add(l, k)"},
      {"%1 = i32 lo32 %l\n %2 = i32 hi32 %l\n %5 = i32 add %1, %a\n %6 = u1 carry %1, %a, u1 false\n"
       "%7 = i32 add_c i32 0, %2, %6\n %r = i64 pack64 %5, %7",
       "add(l, zext:i64(a))"},
      {"%1 = i32 lo32 %l\n %2 = i32 hi32 %l\n %5 = i32 add %1, i32 -8\n %6 = u1 carry %1, i32 -8, u1 false\n"
       "%7 = i32 add_c %2, i32 -1, %6\n %r = i64 pack64 %5, %7",
       "add(l, -8)"},
      {"%1 = i32 lo32 %l\n %2 = i32 hi32 %l\n %3 = i32 lo32 %k\n %4 = i32 hi32 %k\n"
       "%5 = i32 sub %1, %3\n %6 = u1 borrow %1, %3, u1 false\n %7 = i32 sub_c %2, %4, %6\n %r = i64 pack64 "
       "%5, %7",
       "sub(l, k)"},
      {"%1 = i64 pack64 %a, %b\n %2 = i64 add %1, %l\n %3 = i32 lo32 %l\n %4 = i32 add %a, %3\n %5 = i32 "
       "hi32 %2\n"
       "%r = i64 pack64 %4, %5",
       "add(l, pack64(a, b))"},
      {"%1 = i64 pack64 %a, %b\n %2 = i64 add %1, i64 0x700000005\n %3 = i32 add %a, i32 5\n %4 = i32 hi32 "
       "%2\n"
       "%5 = i64 pack64 %3, %4\n %6 = i64 add %5, %l\n %7 = i32 lo32 %l\n %8 = i32 add %7, %3\n %9 = i32 "
       "hi32 %6\n"
       "%r = i64 pack64 %8, %9",
       "add(l, add(pack64(a, b), 0x700000005))"},
      {"%1 = i64 pack64 %a, %b\n %2 = i64 add %1, i64 0x700000005\n %3 = i32 add %a, i32 6\n %4 = i32 hi32 "
       "%2\n"
       "%r = i64 pack64 %3, %4",
       "pack64(add(a, 6), hi32(add(pack64(a, b), 0x700000005)))"},
      {"%1 = i32 lo32 %l\n %2 = i32 hi32 %l\n %r = i64 pack64 %1, %2", "l"},
      {"%1 = i64 pack64 %a, %b\n %r = i32 hi32 %1", "b"},
      {"%r = i64 pack64 %a, i32 0", "zext:i64(a)"},
      {"%1 = i32 ashr %a, i32 31\n %r = i64 pack64 %a, %1", "sext:i64(a)"},
      {"%1 = i64 zext %a\n %r = i32 hi32 %1", "0"},
      {"%1 = i64 sext %a\n %r = u1 slt %1, i64 4", "slt(a, 4)"},
      {"%1 = i64 sext %a\n %r = u1 sle i64 -9, %1", "sle(-9, a)"},
      {"%1 = i64 sext %a\n %r = u1 slt %1, i64 0x80000000", "true"},
      {"%1 = i64 sext %a\n %r = u1 ult %1, i64 -9", "ult(a, -9)"},
      {"%1 = i64 sext %a\n %r = u1 ult %1, i64 0x80000000", "ult(sext:i64(a), 0x80000000)"},
      {"%1 = i64 sext %a\n %r = u1 eq %1, i64 -9", "eq(a, -9)"},
      {"%1 = i64 sext %a\n %r = u1 ne %1, i64 0x80000000", "true"},
      {"%1 = i64 zext %a\n %r = u1 slt %1, i64 4", "ult(a, 4)"},
      {"%1 = i64 zext %a\n %r = u1 slt %1, i64 -1", "false"},
      {"%1 = i64 zext %a\n %2 = i64 zext %b\n %r = u1 sle %1, %2", "ule(a, b)"},
      {"%1 = i64 sext %a\n %2 = i64 sext %b\n %r = u1 ult %1, %2", "ult(a, b)"},
      {"%1 = i64 sext %a\n %r = i32 hi32 %1", "ashr(a, 31)"},
      {"%1 = i64 lshr %l, i64 40\n %r = i32 lo32 %1", "lshr(hi32(l), 8)"},
      {"%1 = i64 shl %l, i64 32\n %r = i32 hi32 %1", "lo32(l)"},
      {"%1 = i64 pack64 %a, %b\n %2 = i64 and %1, i64 0xff000000ff\n %r = i32 hi32 %2", "and(b, 255)"},
      {"%1 = i32 lo32 %l\n %2 = i32 hi32 %l\n %3 = i32 select %m, %1, %a\n %4 = i32 select %m, %2, %b\n"
       "%r = i64 pack64 %3, %4",
       "select(m, l, pack64(a, b))"},
  };
  check(cases);
}

TEST(Simplify, BitsAndShifts) {
  const SimplifyCase cases[] = {
      {"%r = i32 and %a, i32 -1", "a"},
      {"%1 = i32 and %a, i32 0xff\n %r = i32 and %1, i32 0xf0f", "and(a, 15)"},
      {"%1 = i32 not %a\n %r = i32 and %a, %1", "0"},
      {"%1 = i32 or %a, %b\n %r = i32 and %1, %a", "a"},
      {"%1 = i32 and %a, %b\n %r = i32 xor %a, %1", "and(a, not(b))"},
      {"%r = i32 xor %a, i32 -1", "not(a)"},
      {"%1 = i32 xor %a, %b\n %r = i32 xor %1, %a", "b"},
      {"%1 = i32 not %a\n %r = i32 not %1", "a"},
      {"%1 = i32 lshr %a, i32 8\n %r = i32 and %1, i32 0xff", "ubfe(a, 8, 8)"},
      {"%1 = i32 shl %a, i32 24\n %r = i32 ashr %1, i32 24", "sbfe(a, 0, 8)"},
      {"%1 = i32 shl %a, i32 4\n %r = i32 lshr %1, i32 12", "ubfe(a, 8, 20)"},
      {"%1 = i32 lshr %a, i32 4\n %r = i32 shl %1, i32 4", "and(a, -16)"},
      {"%1 = i32 shl %a, i32 3\n %r = i32 shl %1, i32 4", "shl(a, 7)"},
      {"%1 = i32 lshr %a, i32 20\n %r = i32 lshr %1, i32 20", "0"},
      {"%1 = i32 ashr %a, i32 20\n %r = i32 ashr %1, i32 20", "ashr(a, 31)"},
      {"%1 = i32 and %b, i32 31\n %r = i32 shl %a, %1", "shl(a, b)"},
      {"%r = i32 shl %a, i32 33", "shl(a, 1)"},
      {"%r = i32 ubfe %a, i32 3, i32 0", "0"},
      {"%r = i32 ubfe %a, i32 0, i32 5", "and(a, 31)"},
      {"%r = i32 ubfe %a, i32 24, i32 8", "lshr(a, 24)"},
      {"%r = i32 sbfe %a, i32 24, i32 12", "ashr(a, 24)"},
      {"%1 = i32 ubfe %a, i32 4, i32 8\n %r = i32 ubfe %1, i32 2, i32 10", "ubfe(a, 6, 6)"},
      {"%r = i32 sbfe i32 0xf0, i32 4, i32 4", "-1"},
      {"%r = i32 byte_perm %a, %b, i32 0x07060504", "a"},
      {"%r = i32 byte_perm %a, %b, i32 0x03020100", "b"},
      {"%r = i32 byte_perm %a, %b, i32 0x06050403", "or(lshr(b, 24), shl(a, 8))"},
      {"%r = i32 byte_perm %a, %b, i32 0x0c0c0c05", "ubfe(a, 8, 8)"},
      {"%r = i32 byte_perm %a, %b, i32 0x0d0d0d0c", "-256"},
      {"%r = i32 byte_perm %a, %b, i32 0x00010203", "byte_perm(0, b, 0x10203)"},
      {"%r = i32 byte_perm %a, %a, i32 0x07020504", "a"},
      {"%r = i32 byte_perm %a, %a, i32 0x04010607", "byte_perm(0, a, 0x10203)"},
      {"%r = i32 byte_perm i32 0x80, i32 0x8000, i32 0x0408090c", "0x80ff0000"},
  };
  check(cases);
}

TEST(Simplify, Conversions) {
  const SimplifyCase cases[] = {
      {"%1 = i16 trunc %a\n %r = i32 zext %1", "and(a, 65535)"},
      {"%1 = i8 trunc %a\n %r = i32 sext %1", "sbfe(a, 0, 8)"},
      {"%1 = i16 trunc %a\n %2 = i64 zext %1\n %r = i16 trunc %2", "trunc:i16(a)"},
      {"%1 = i32 bitcast %x\n %r = f32 bitcast %1", "x"},
      {"%r = i32 trunc %l", "lo32(l)"},
      {"%1 = i32 bitcast %x\n %2 = i32 xor %1, i32 0x80000000\n %r = f32 bitcast %2", "fneg(x)"},
      {"%1 = i32 bitcast %x\n %2 = i32 and %1, i32 0x7fffffff\n %r = f32 bitcast %2", "fabs(x)"},
      {"%1 = f32 fneg %x\n %2 = f32 fneg %1\n %r = f32 fabs %2", "fabs(x)"},
      {"%1 = i32 and %a, i32 0xffff\n %r = i16 trunc %1", "trunc:i16(a)"},
      {"%r = i32 sext u1 true", "-1"},
      {"%r = i32 extract.0 %a", "a"},
  };
  check(cases);
}

TEST(Simplify, Comparisons) {
  const SimplifyCase cases[] = {
      {"%r = u1 eq %a, %a", "true"},
      {"%r = u1 ult %a, i32 0", "false"},
      {"%r = u1 ult %a, i32 1", "eq(a, 0)"},
      {"%r = u1 ult i32 0, %a", "ne(a, 0)"},
      {"%r = u1 ule %a, i32 -1", "true"},
      {"%r = u1 slt %a, i32 0x80000000", "false"},
      {"%1 = u1 slt %a, %b\n %r = u1 not %1", "sle(b, a)"},
      {"%1 = u1 fcmp.l %x, %y\n %r = u1 not %1", "fcmp.egu(x, y)"},
      {"%1 = i32 select %m, i32 1, i32 0\n %r = u1 ne %1, i32 0", "m"},
      {"%1 = i32 select %m, i32 1, i32 0\n %r = u1 eq %1, i32 0", "not(m)"},
      {"%1 = i32 select %m, i32 1, i32 2\n %r = u1 eq %1, i32 3", "false"},
      {"%1 = i32 zext %m\n %r = u1 eq %1, i32 1", "m"},
      {"%1 = i32 sext %m\n %r = u1 ne %1, i32 -1", "not(m)"},
      {"%1 = i32 add %a, i32 3\n %r = u1 eq %1, i32 10", "eq(a, 7)"},
      {"%1 = i32 sub %a, %b\n %r = u1 ne %1, i32 0", "ne(a, b)"},
      {"%1 = i32 xor %a, %b\n %r = u1 eq %1, i32 0", "eq(a, b)"},
      {"%1 = i64 pack64 %a, %b\n %r = u1 eq %1, i64 0", "eq(or(a, b), 0)"},
      {"%r = u1 eq %m, u1 false", "not(m)"},
      {"%1 = i16 trunc %a\n %2 = i32 zext %1\n %r = u1 eq %2, i32 0x12345", "eq(and(a, 65535), 0x12345)"},
  };
  check(cases);
}

TEST(Simplify, Selects) {
  const SimplifyCase cases[] = {
      {"%r = i32 select u1 false, %a, %b", "b"},
      {"%r = i32 select %m, %a, %a", "a"},
      {"%1 = u1 not %m\n %r = i32 select %1, %a, %b", "select(m, b, a)"},
      {"%1 = i32 select %m, %a, %b\n %r = i32 select %m, %c, %1", "select(m, c, b)"},
      {"%1 = i32 select %m, %a, %b\n %r = i32 select %m, %1, %c", "select(m, a, c)"},
      {"%1 = u1 and %m, %n\n %2 = i32 select %1, %a, %b\n %r = i32 select %m, %c, %2", "select(m, c, b)"},
      {"%1 = u1 and %m, %n\n %2 = i32 select %n, %a, %b\n %r = i32 select %1, %2, %c",
       "select(and(m, n), a, c)"},
      {"%1 = u1 not %n\n %2 = u1 and %m, %1\n %3 = i32 select %n, %a, %b\n %r = i32 select %2, %3, %c",
       "select(and(m, not(n)), b, c)"},
      {"%r = u1 select %m, %n, u1 false", "and(m, n)"},
      {"%r = u1 select %m, u1 true, %n", "or(m, n)"},
      {"%r = u1 select %m, u1 false, u1 true", "not(m)"},
  };
  check(cases);
}

TEST(Simplify, Masks) {
  const SimplifyCase cases[] = {
      // decided in all lanes of the mask
      {"%1 = i32 select %m, i32 7, %a\n %2 = u1 ult %1, i32 3\n %r = u1 and %m, %2", "false"},
      {"%1 = i32 select %m, i32 2, %a\n %2 = u1 ult %1, i32 3\n %r = u1 and %2, %m", "m"},
      {"%1 = i32 select %m, i32 2, %a\n %3 = i32 select %m, i32 2, %b\n %2 = u1 ne %1, %3\n %r = u1 and %2, "
       "%m",
       "false"},
      {"%1 = i32 select %n, i32 7, %a\n %2 = u1 ult %1, i32 3\n %r = u1 and %m, %2",
       "and(m, ult(select(n, 7, a), 3))"},
      {"%1 = i32 select %m, %b, i32 7\n %2 = u1 ult %1, i32 3\n %r = u1 and %m, %2",
       "and(m, ult(select(m, b, 7), 3))"},
      {"%1 = uniform i32 ballot %m\n %r = u1 lane_bit %1", "m"},
      {"%1 = u1 lane_bit %s\n %r = uniform i32 ballot %1", "s"},
      {"%1 = uniform i32 ballot %m\n %2 = uniform i32 ballot %n\n %3 = uniform i32 and %1, %2\n %r = u1 "
       "lane_bit %3",
       "and(m, n)"},
      {"%1 = uniform i32 ballot %m\n %2 = uniform i32 and %1, %s\n %r = u1 lane_bit %2",
       "and(m, lane_bit(s))"},
      {"%1 = uniform i32 ballot %m\n %2 = uniform i32 not %1\n %r = u1 lane_bit %2", "not(m)"},
      {"%1 = uniform i32 ballot %m\n %2 = uniform i32 ballot %n\n %3 = uniform i32 and %1, %2\n"
       "%r = uniform u1 ne %3, i32 0",
       "any(and(m, n))"},
      {"%1 = uniform i32 ballot %m\n %r = uniform u1 eq %1, i32 0", "not(any(m))"},
      {"%1 = uniform i32 ballot %m\n %r = uniform u1 eq %1, i32 -1", "not(any(not(m)))"},
      {"%1 = uniform i32 ballot %m\n %2 = uniform i32 ballot %n\n %3 = uniform i32 select %u, %1, %2\n"
       "%r = u1 lane_bit %3",
       "select(u, m, n)"},
      {"%r = uniform u1 any u1 true", "true"},
      {"%1 = u1 lane_bit %s\n %r = uniform u1 any %1", "ne(s, 0)"},
      {"%r = uniform i32 ballot u1 true", "-1"},
      {"%r = u1 lane_bit i32 8", "eq(lane_id, 3)"},
      {"%r = u1 lane_bit i32 0xff", "ult(lane_id, 8)"},
      {"%1 = u1 and %m, %n\n %2 = u1 xor %1, %m\n %3 = u1 or %2, %1\n %r = i32 select %3, %a, %b",
       "select(m, a, b)"},
      {"%1 = u1 and %m, %n\n %r = u1 xor %m, %1", "and(m, not(n))"},
      {"%1 = u1 not %m\n %2 = u1 and %1, %n\n %r = u1 or %m, %2", "or(m, n)"},
  };
  check(cases);
  const SimplifyCase cases64[] = {
      {"%1 = uniform i64 ballot %m\n %2 = uniform i32 lo32 %1\n %3 = uniform i32 hi32 %1\n"
       "%4 = uniform i64 pack64 %2, %3\n %r = u1 lane_bit %4",
       "m"},
      {"%1 = uniform i64 ballot %m\n %r = uniform u1 ne %1, i64 0", "any(m)"},
      {"%r = u1 lane_bit i64 -1", "true"},
      {"%1 = i32 mbcnt.lo i32 -1\n %2 = i32 add %1, i32 0\n %3 = i32 mbcnt.hi i32 -1\n %r = i32 add %3, %2",
       "lane_id"},
      {"%r = i32 mbcnt.hi i32 -1", "mbcnt.hi(-1)"},
  };
  check(cases64, 64);
}

TEST(Simplify, FlushingWhereNothingIsDenormal) {
  const char* scaled = "%1 = u1 fcmp.g f32 1.1754944e-38, %x\n %2 = i32 select %1, i32 32, i32 0\n";
  const auto text = [&](const char* rest) { return std::string(scaled) + rest; };
  const std::string root = text("%3 = f32 fldexp %x, %2\n %r = f32 fsqrt.flush_in.flush_out %3"),
                    too_little = text("%4 = i32 lshr %2, i32 1\n %5 = i32 select %1, i32 22, i32 0\n"
                                      "%3 = f32 fldexp %x, %5\n %r = f32 fsqrt.flush_in.flush_out %3"),
                    of_another = text("%3 = f32 fldexp %y, %2\n %r = f32 fsqrt.flush_in.flush_out %3"),
                    others = "%1 = u1 fcmp.l f32 1.1754944e-38, %x\n %2 = i32 select %1, i32 32, i32 0\n"
                             "%3 = f32 fldexp %x, %2\n %r = f32 fsqrt.flush_in.flush_out %3";
  const SimplifyCase cases[] = {
      {"%r = f32 fsqrt.flush_in.flush_out %x", "fsqrt.flush_in(x)"},
      {"%r = f32 frcp.flush_in.flush_out %x", "frcp.flush_in.flush_out(x)"},
      {"%1 = f32 ffrexp_mant %x\n %r = f32 frcp.flush_in.flush_out %1", "frcp(ffrexp_mant(x))"},
      {"%1 = f32 ffrexp_mant %x\n %2 = f32 fneg %1\n %r = f32 frcp.flush_in.flush_out %2",
       "frcp(fneg(ffrexp_mant(x)))"},
      {"%1 = f32 fadd.flush_out %x, %y\n %r = f32 fsin.flush_in.flush_out %1",
       "fsin.flush_out(fadd.flush_out(x, y))"},
      {"%1 = f32 fadd %x, %y\n %r = f32 fsin.flush_in %1", "fsin.flush_in(fadd(x, y))"},
      {"%1 = f32 u2f %a\n %r = f32 flog2.flush_in.flush_out %1", "flog2(u2f:f32(a))"},
      {"%1 = f32 select %m, f32 1, f32 1e-45\n %r = f32 fexp2.flush_in %1",
       "fexp2.flush_in(select(m, 1, 1e-45))"},
      {root.c_str(), "fsqrt(fldexp(x, select(fcmp.g(1.1754944e-38, x), 32, 0)))"},
      {too_little.c_str(), "fsqrt.flush_in(fldexp(x, select(fcmp.g(1.1754944e-38, x), 22, 0)))"},
      {of_another.c_str(), "fsqrt.flush_in(fldexp(y, select(fcmp.g(1.1754944e-38, x), 32, 0)))"},
      {others.c_str(), "fsqrt.flush_in(fldexp(x, select(fcmp.l(1.1754944e-38, x), 32, 0)))"},
  };
  check(cases);
}

TEST(Simplify, Lanes) {
  const SimplifyCase cases[] = {
      {"%1 = i32 mbcnt.lo i32 -1\n %2 = i32 mbcnt.hi i32 -1\n %r = i32 add %1, %2", "lane_id"},
      {"%r = uniform i32 read_lane %s, i32 3", "s"},
      {"%1 = i32 lane_id\n %r = uniform i32 read_lane %1, i32 35", "3"},
      {"%1 = i32 lane_id\n %2 = u1 eq %1, i32 3\n %3 = u1 eq %1, i32 4\n %4 = i32 select %2, %s, %a\n"
       "%5 = i32 select %3, %t, %4\n %r = uniform i32 read_lane %5, i32 3",
       "s"},
      {"%1 = i32 lane_id\n %2 = u1 eq %1, i32 3\n %3 = i32 select %2, %s, %a\n %r = uniform i32 read_lane "
       "%3, i32 5",
       "read_lane(a, 5)"},
      {"%r = uniform i32 read_first %s, %m", "s"},
      {"%r = uniform i32 read_first %a, u1 true", "read_lane(a, 0)"},
      {"%r = i32 permute %a, i32 7", "read_lane(a, 7)"},
      {"%r = i32 dpp.row_xmask.0x1 %s", "s"},
      {"%r = i32 dpp.row_shl.0x1 %s", "dpp.row_shl.0x1(s)"},
      {"%r = i32 dpp.quad_perm.0xe4 %a", "a"},
      {"%r = i32 load.lds.4 %a, u1 false", "0"},
  };
  check(cases);
}

TEST(Simplify, EqualOperationsBecomeOne) {
  const SimplifyCase cases[] = {
      {"%1 = i32 add %a, %b\n %2 = i32 add %b, %a\n %r = i32 sub %1, %2", "0"},
      {"%1 = uniform i32 load.global.4.invariant %q, u1 true\n %2 = uniform i32 load.global.4.invariant %q, "
       "u1 true\n"
       "%r = u1 eq %1, %2",
       "true"},
  };
  check(cases);
}

} // namespace
} // namespace lanewise::passes
