// Numbers that values never exceed.
#include "spirv/bounds.hpp"

#include "ir/parser.hpp"

#include <gtest/gtest.h>

namespace lanewise::spirv {
namespace {

/// The bound of the last value before `ret`, for waves of 32 lanes in a workgroup of 128.
uint64_t bound_of(const std::string& body) {
  const auto f = ir::parse("function \"f\" wave32 lds 0 scratch 0 {\n" + body + "}\n");
  EXPECT_TRUE(f) << body << f.error().to_string();
  if (!f) return 0;
  const auto known = known_bounds(*f, {.wave_size = 32, .host_lanes = 32, .workgroup = {128, 1, 1}});
  const auto& last = f->blocks.back().instructions;
  return known[last[last.size() - 2].index];
}

TEST(Bounds, Table) {
  struct {
    const char* body;
    uint64_t bound;
  } const table[]{
      {"b0:\n  %1 = i32 host_lane\n  ret\n", 31},
      {"b0:\n  %1 = i32 host_wave\n  ret\n", 3},
      {"b0:\n  %1 = i32 host_wave\n  %2 = i32 shl %1, i32 5\n  %3 = i32 host_lane\n  %4 = i32 add %2, %3\n  "
       "ret\n",
       127},
      {"b0:\n  %1 = i32 host_lane\n  %2 = i32 mul %1, i32 12\n  ret\n", 372},
      {"b0:\n  %1 = i32 host_lane\n  %2 = i32 mul %1, i32 0x10000000\n  ret\n", 0xffff'ffff}, // wraps
      {"b0:\n  %1 = i32 host_lane\n  %2 = i32 sub %1, i32 1\n  ret\n", 0xffff'ffff},
      {"b0:\n  %1 = i32 input.local_id_x\n  %2 = i32 and %1, i32 63\n  %3 = i32 lshr %2, i32 2\n  ret\n", 15},
      {"b0:\n  %1 = i32 input.local_id_x\n  %2 = i32 ubfe %1, i32 3, i32 4\n  ret\n", 15},
      {"b0:\n  %1 = i32 host_lane\n  %2 = i32 xor %1, i32 32\n  ret\n", 63},
      {"b0:\n  %1 = i32 host_lane\n  %2 = i32 shl %1, i32 2\n  %3 = i32 or %2, i32 1024\n  ret\n", 1148},
      {"b0:\n  %1 = i32 host_lane\n  %2 = u1 ult %1, i32 8\n  %3 = i32 select %2, i32 100, %1\n  ret\n", 100},
      {"b0:\n  %1 = i32 input.local_id_x\n  %2 = i32 umin %1, i32 77\n  %3 = i64 zext %2\n  ret\n", 77},
      {"b0:\n  %1 = i64 input.kernarg_ptr\n  %2 = i32 lo32 %1\n  ret\n", 0xffff'ffff},
      // What a loop counts up to: below a constant, or until it meets one. What it keeps in a mask.
      {"b0:\n  br b1\n"
       "b1: from b0, b1\n  %1 = uniform i32 phi i32 0, %2\n  %2 = uniform i32 add %1, i32 4\n"
       "  %3 = uniform u1 ult %2, i32 64\n  cond_br %3, b1, b2\n"
       "b2: from b1\n  %4 = uniform i32 or %1, i32 0\n  ret\n",
       60},
      {"b0:\n  br b1\n"
       "b1: from b0, b1\n  %1 = uniform i32 phi i32 0, %2\n  %2 = uniform i32 add %1, i32 4\n"
       "  %3 = uniform u1 ult %2, i32 64\n  cond_br %3, b1, b2\n"
       "b2: from b1\n  %4 = uniform i32 add %2, i32 1\n  ret\n",
       65},
      {"b0:\n  br b1\n"
       "b1: from b0, b1\n  %1 = uniform i32 phi i32 0, %2\n  %2 = uniform i32 add %1, i32 4\n"
       "  %3 = uniform u1 ult %2, i32 62\n  cond_br %3, b1, b2\n"
       "b2: from b1\n  %4 = uniform i32 add %1, i32 1\n  ret\n",
       61},
      {"b0:\n  br b1\n"
       "b1: from b0, b1\n  %1 = uniform i32 phi i32 0, %2\n  %2 = uniform i32 add %1, i32 4\n"
       "  %3 = uniform u1 ne %2, i32 64\n  cond_br %3, b1, b2\n"
       "b2: from b1\n  %4 = uniform i32 add %1, i32 1\n  ret\n",
       61},
      {"b0:\n  br b1\n"
       "b1: from b0, b1\n  %1 = uniform i32 phi i32 0, %2\n  %2 = uniform i32 add %1, i32 4\n"
       "  %3 = uniform u1 eq %2, i32 64\n  cond_br %3, b2, b1\n"
       "b2: from b1\n  %4 = uniform i32 add %1, i32 1\n  ret\n",
       61},
      // Never met; from behind the end; around the end of all numbers; by another way.
      {"b0:\n  br b1\n"
       "b1: from b0, b1\n  %1 = uniform i32 phi i32 0, %2\n  %2 = uniform i32 add %1, i32 4\n"
       "  %3 = uniform u1 ne %2, i32 62\n  cond_br %3, b1, b2\n"
       "b2: from b1\n  %4 = uniform i32 add %1, i32 1\n  ret\n",
       0xffff'ffff},
      {"b0:\n  br b1\n"
       "b1: from b0, b1\n  %1 = uniform i32 phi i32 68, %2\n  %2 = uniform i32 add %1, i32 4\n"
       "  %3 = uniform u1 ne %2, i32 64\n  cond_br %3, b1, b2\n"
       "b2: from b1\n  %4 = uniform i32 add %1, i32 1\n  ret\n",
       0xffff'ffff},
      {"b0:\n  br b1\n"
       "b1: from b0, b1\n  %1 = uniform i32 phi i32 0, %2\n  %2 = uniform i32 add %1, i32 4\n"
       "  %3 = uniform u1 ult %2, i32 0xfffffffe\n  cond_br %3, b1, b2\n"
       "b2: from b1\n  %4 = uniform i32 add %1, i32 1\n  ret\n",
       0xffff'ffff},
      {"b0:\n  br b1\n"
       "b1: from b0, b1\n  %1 = uniform i32 phi i32 0, %2\n  %2 = uniform i32 add %1, i32 4\n"
       "  %3 = uniform u1 ult %2, i32 64\n  cond_br %3, b2, b1\n"
       "b2: from b1\n  %4 = uniform i32 add %1, i32 1\n  ret\n",
       0xffff'ffff},
      {"b0:\n  br b1\n"
       "b1: from b0, b1\n  %1 = uniform i32 phi i32 0, %2\n  %2 = uniform i32 add %1, i32 4\n"
       "  %3 = uniform u1 ne %1, i32 64\n  cond_br %3, b1, b2\n"
       "b2: from b1\n  %4 = uniform i32 add %1, i32 1\n  ret\n",
       65},
      {"b0:\n  br b1\n"
       "b1: from b0, b1\n  %1 = uniform i32 phi i32 0, %2\n  %2 = uniform i32 add %1, i32 4\n"
       "  %3 = uniform u1 ult %2, i32 64\n  cond_br %3, b1, b2\n"
       "b2: from b1\n  %4 = uniform i32 and %2, i32 60\n  ret\n",
       60},
  };
  for (const auto& row : table) EXPECT_EQ(bound_of(row.body), row.bound) << row.body;
}

} // namespace
} // namespace lanewise::spirv
