// scratch_values and lane_spills: a program beside what they make of it. Trivial phis and folding are left to
// simplify, so it runs behind them.
#include "ir/parser.hpp"
#include "ir/printer.hpp"
#include "ir/verifier.hpp"
#include "passes/passes.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace lanewise::passes {
namespace {

std::string after(std::string_view body) {
  auto f = ir::parse(fmt::format("function \"f\" wave32 lds 64 scratch 64 {{\n{}}}", body));
  if (!f) return f.error().to_string();
  if (const auto ok = ir::verify(*f); !ok) return "before: " + ok.error().to_string();
  scratch_values(*f);
  if (const auto ok = ir::verify(*f); !ok) return "after scratch_values: " + ok.error().to_string();
  lane_spills(*f);
  if (const auto ok = ir::verify(*f); !ok) return "after lane_spills: " + ok.error().to_string();
  uniformity(*f);
  simplify(*f);
  dead_code(*f);
  const std::string text = ir::print(*f);
  return text.substr(text.find('\n') + 1, text.size() - text.find('\n') - 3);
}

TEST(ScratchValues, MaskedStoreIsASelect) {
  EXPECT_EQ(after(R"(b0:
  %1 = u1 input.initial_exec
  %2 = i32 input.local_id_x
  %3 = u1 ult %2, i32 7
  %4 = u1 and %1, %3
  store.scratch.4 i32 8, %1, %2
  store.scratch.4 i32 8, %4, i32 5
  %5 = i32 load.scratch.4 i32 8, u1 true
  store.global.4 i64 16, %1, %5
  ret
)"),
            R"(b0:
  %1 = u1 input.initial_exec
  %2 = i32 input.local_id_x
  %3 = u1 ult %2, i32 7
  %4 = u1 and %1, %3
  %5 = i32 select %1, %2, i32 0
  %6 = i32 select %4, i32 5, %5
  store.global.4 i64 16, %1, %6
  ret
)");
}

TEST(ScratchValues, PiecesOfWords) {
  EXPECT_EQ(after(R"(b0:
  %1 = i32 input.local_id_x
  store.scratch.4 i32 8, u1 true, %1, i32 0x11223344
  store.scratch.1 i32 13, u1 true, i32 0xff
  %2 = i32 load.scratch.2.align2.sext i32 12, u1 true
  %3 = i64 load.scratch.8 i32 8, u1 true
  store.global.8 i64 16, u1 true, %3
  store.global.4 i64 32, u1 true, %2
  ret
)"),
            R"(b0:
  %1 = i32 input.local_id_x
  %2 = i64 pack64 %1, i32 0x1122ff44
  store.global.8 i64 16, u1 true, %2
  store.global.4 i64 32, u1 true, i32 -188
  ret
)");
}

TEST(ScratchValues, AroundALoop) {
  EXPECT_EQ(after(R"(b0:
  %1 = uniform i32 input.workgroup_id_x
  store.scratch.4 i32 0, u1 true, i32 0
  store.scratch.4 i32 4, u1 true, %1
  br b1
b1: from b0, b1
  %2 = i32 load.scratch.4 i32 0, u1 true
  %3 = i32 add %2, i32 3
  store.scratch.4 i32 0, u1 true, %3
  %4 = i32 load.scratch.4 i32 4, u1 true
  %5 = u1 ult %3, %4
  %6 = uniform u1 any %5
  cond_br %6, b1, b2
b2: from b1
  %7 = i32 load.scratch.4 i32 0, u1 true
  store.global.4 i64 16, u1 true, %7
  ret
)"),
            R"(b0:
  %1 = uniform i32 input.workgroup_id_x
  br b1
b1: from b0, b1
  %2 = uniform i32 phi i32 0, %3
  %3 = uniform i32 add %2, i32 3
  %4 = uniform u1 ult %3, %1
  cond_br %4, b1, b2
b2: from b1
  store.global.4 i64 16, u1 true, %3
  ret
)");
}

/// What must not become a value: anything while an address is not known, words that a component straddles,
/// what may be reached through a flat address.
TEST(ScratchValues, WhatStays) {
  for (const char* const program : {
           R"(b0:
  %1 = i32 input.local_id_x
  store.scratch.4 i32 8, u1 true, %1
  store.scratch.4 %1, u1 true, i32 5
  %2 = i32 load.scratch.4 i32 8, u1 true
  store.global.4 i64 16, u1 true, %2
  ret
)",
           R"(b0:
  %1 = i32 input.local_id_x
  store.scratch.4 i32 8, u1 true, %1
  %2 = i32 load.scratch.4.align2 i32 6, u1 true
  store.global.4 i64 16, u1 true, %2
  ret
)",
           R"(b0:
  %1 = i32 input.local_id_x
  %2 = uniform i64 input.kernarg_ptr
  %3 = uniform i64 load.global.8 %2, u1 true
  store.scratch.4 i32 8, u1 true, %1
  store.flat.4 %3, u1 true, i32 5
  %4 = i32 load.scratch.4 i32 8, u1 true
  store.global.4 i64 16, u1 true, %4
  ret
)"}) {
    EXPECT_EQ(after(program), program);
  }
}

/// A VGPR full of SGPRs goes through scratch and a phi.
TEST(LaneSpills, ThroughScratchAndPhi) {
  EXPECT_EQ(after(R"(b0:
  %1 = uniform i32 input.workgroup_id_x
  %2 = uniform i32 input.workgroup_id_y
  %3 = i32 lane_id
  %4 = u1 eq %3, i32 3
  %5 = i32 select %4, %1, i32 0
  %6 = u1 eq %3, i32 4
  %7 = i32 select %6, %2, %5
  store.scratch.4 i32 0, u1 true, %7
  %8 = uniform u1 eq %1, i32 9
  cond_br %8, b1, b2
b1: from b0
  %9 = i32 load.scratch.4 i32 0, u1 true
  %10 = i32 select %4, i32 77, %9
  store.scratch.4 i32 0, u1 true, %10
  br b2
b2: from b0, b1
  %11 = i32 load.scratch.4 i32 0, u1 true
  %12 = uniform i32 read_lane %11, i32 3
  %13 = uniform i32 read_lane %11, i32 4
  store.global.4 i64 16, u1 true, %12
  store.global.4 i64 32, u1 true, %13
  ret
)"),
            R"(b0:
  %1 = uniform i32 input.workgroup_id_x
  %2 = uniform i32 input.workgroup_id_y
  %3 = uniform u1 eq %1, i32 9
  cond_br %3, b1, b2
b1: from b0
  br b2
b2: from b0, b1
  %4 = uniform i32 phi %1, i32 77
  store.global.4 i64 16, u1 true, %4
  store.global.4 i64 32, u1 true, %2
  ret
)");
}

/// One way brings a register that is no spill: it may differ from lane to lane.
TEST(LaneSpills, OtherRegisterStays) {
  const char* const program = R"(b0:
  %1 = uniform i32 input.workgroup_id_x
  %2 = i32 input.local_id_x
  %3 = i32 lane_id
  %4 = u1 eq %3, i32 3
  %5 = i32 select %4, %1, %2
  %6 = uniform u1 eq %1, i32 9
  cond_br %6, b1, b2
b1: from b0
  br b2
b2: from b0, b1
  %7 = i32 phi %5, %2
  %8 = uniform i32 read_lane %7, i32 3
  store.global.4 i64 16, u1 true, %8
  ret
)";
  EXPECT_EQ(after(program), program);
}

} // namespace
} // namespace lanewise::passes
