// Small programs whose results are known.
#include "ir/interpreter.hpp"
#include "ir/parser.hpp"

#include <gtest/gtest.h>

namespace lanewise::ir {
namespace {

constexpr uint64_t kBase = 0x1000;

struct Run {
  std::string error;
  std::vector<uint32_t> words;
};

Run run(std::string_view body, unsigned wave = 32,
        InterpreterDispatch d = {.grid = {32, 1, 1}, .workgroup = {32, 1, 1}},
        std::string_view sizes = "lds 256 scratch 16") {
  const auto f = parse("function \"f\" wave" + std::to_string(wave) + " " + std::string(sizes) + " {\n" +
                       std::string(body) + "}");
  if (!f) return {f.error().to_string(), {}};
  FlatMemory memory(kBase, 1024);
  const auto result = interpret(*f, d, memory);
  Run r{result ? "" : result.error().to_string(), {}};
  for (size_t i = 0; i + 4 <= memory.bytes.size(); i += 4) {
    uint64_t word = 0;
    memory.load(kBase + i, 4, word);
    r.words.push_back(static_cast<uint32_t>(word));
  }
  return r;
}

// b0 defines %at, the address of this lane's word in memory.
constexpr const char* kAt = R"(b0:
  %id = i32 input.local_id_x
  %group = uniform i32 input.workgroup_id_x
  %m = u1 input.initial_exec
  %lane = i32 lane_id
  %o = i32 shl %id, i32 2
  %g = uniform i32 shl %group, i32 7
  %og = i32 add %o, %g
  %o64 = i64 zext %og
  %at = i64 add %o64, i64 0x1000
)";

TEST(Interpreter, LanesAndMasks) {
  const auto r = run(std::string(kAt) + R"(
  %c = u1 ult %lane, i32 5
  %w = uniform i32 ballot %c
  %n = uniform i32 popcount %w
  %r = i32 select %c, %w, %n
  store.global.4 %at, %m, %r
  ret
)");
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.words[4], 31u);
  EXPECT_EQ(r.words[5], 5u);
}

TEST(Interpreter, PartialWorkgroupAndInactiveLanes) {
  const auto r = run(std::string(kAt) + "  store.global.4 %at, %m, i32 7\n  ret\n", 32,
                     {.grid = {40, 1, 1}, .workgroup = {32, 1, 1}});
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.words[39], 7u);
  EXPECT_EQ(r.words[40], 0u);
}

TEST(Interpreter, LoopWithPhis) {
  const auto r = run(std::string(kAt) + R"(
  br b1
b1: from b0, b1
  %i = uniform i32 phi i32 0, %i1
  %a = i32 phi i32 0, %b
  %b = i32 phi %id, %a
  %i1 = uniform i32 add %i, i32 1
  %again = uniform u1 ult %i1, i32 4
  cond_br %again, b1, b2
b2: from b1
  store.global.4 %at, %m, %b
  ret
)");
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.words[9], 0u); // swapped three times
}

TEST(Interpreter, BarrierBetweenWaves) {
  const auto r = run(std::string(kAt) + R"(
  %back = i32 sub i32 252, %o
  store.lds.4 %o, %m, %id
  barrier
  %r = i32 load.lds.4 %back, %m
  store.global.4 %at, %m, %r
  ret
)",
                     32, {.grid = {64, 1, 1}, .workgroup = {64, 1, 1}});
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.words[0], 63u);
  EXPECT_EQ(r.words[63], 0u);
}

/// Each lane stores a word of LDS and loads its neighbour's, with or without a fence between.
TEST(Interpreter, LanesApartShowWhereAFenceIsMissing) {
  const auto last = [](std::string_view between, LaneOrder order, std::string_view neighbour) {
    const auto r = run(std::string(kAt) + "  store.lds.4 %o, %m, %lane\n" + std::string(between) +
                           "  %n = i32 xor %o, i32 " + std::string(neighbour) +
                           "\n  %v = i32 load.lds.4 %n, %m\n  store.global.4 %at, %m, %v\n  ret\n",
                       32, {.grid = {32, 1, 1}, .workgroup = {32, 1, 1}, .order = order});
    EXPECT_EQ(r.error, "");
    return std::vector<uint32_t>(r.words.begin() + 4, r.words.begin() + 8);
  };
  using enum LaneOrder;
  const std::vector<uint32_t> right{5, 4, 7, 6}, ascending_wrong{0, 4, 0, 6}, descending_wrong{5, 0, 7, 0};
  EXPECT_EQ(last("", together, "4"), right);
  EXPECT_EQ(last("", ascending, "4"), ascending_wrong);
  EXPECT_EQ(last("", descending, "4"), descending_wrong);
  for (const LaneOrder order : {together, ascending, descending}) {
    EXPECT_EQ(last("  wave_fence\n", order, "4"), right);
    EXPECT_EQ(last("  barrier\n", order, "4"), right); // lanes that run alone wait at it
  }
}

TEST(Interpreter, AtomicsReturnTheOldValueLaneByLane) {
  const auto r = run(std::string(kAt) + R"(
  %r = i32 atomic.add.lds.4 i32 0, %m, i32 2
  store.global.4 %at, %m, %r
  ret
)");
  EXPECT_EQ(r.words[31], 62u);
}

TEST(Interpreter, TuplesFlatAndScratch) {
  const auto r = run(std::string(kAt) + R"(
  store.flat.4 i64 0x200000000000c, %m, %id
  store.flat.4 i64 0x1000000000010, %m, i32 5
  %s = i32 load.scratch.4 i32 12, %m
  %t = i32x2 load.lds.4 i32 12, %m
  %l = i32 extract.1 %t
  %r = i32 add %s, %l
  store.flat.4 %at, %m, %r
  ret
)");
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.words[3], 8u);
}

TEST(Interpreter, CrossLane) {
  const auto r = run(std::string(kAt) + R"(
  %next = i32 add %lane, i32 1
  %a = i32 permute %id, %next
  %b = i32 dpp.row_shr.0x1 %id
  %odd = i32 and %lane, i32 1
  %is = u1 eq %odd, i32 1
  %c = i32 push %id, i32 3, %is
  %d = uniform i32 read_first %id, %is
  %e = i32 mbcnt.lo i32 0xff
  %1 = i32 shl %a, i32 24
  %2 = i32 shl %b, i32 16
  %3 = i32 shl %c, i32 8
  %4 = i32 shl %d, i32 4
  %5 = i32 or %1, %2
  %6 = i32 or %3, %4
  %7 = i32 or %5, %6
  %8 = i32 or %7, %e
  store.global.4 %at, %m, %8
  ret
)");
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.words[3], 0x04021f13u);
  EXPECT_EQ(r.words[16], 0x11000018u);
}

TEST(Interpreter, BufferRangeRules) {
  // 16 records of stride 8 at 0x1000: index 3 offset 4 is inside, index 16 and offset 8 are not.
  const auto r = run(R"(b0:
  %a = i32 buffer_load.global.4.idxen i32 0x1000, i32 0x80000, i32 16, i32 0, i32 16, i32 4, i32 0, u1 true
  buffer_store.global.4.idxen i32 0x1000, i32 0x80000, i32 16, i32 0, i32 3, i32 4, i32 0, u1 true, i32 77
  buffer_store.global.4.idxen i32 0x1000, i32 0x80000, i32 16, i32 0, i32 3, i32 8, i32 0, u1 true, i32 78
  buffer_store.global.4.offen i32 0x1000, i32 0, i32 12, i32 0x30000000, i32 0, i32 8, i32 0, u1 true, i32 79
  buffer_store.global.4.offen i32 0x1000, i32 0, i32 12, i32 0x30000000, i32 0, i32 8, i32 4, u1 true, i32 80
  ret
)");
  EXPECT_EQ(r.error, "");
  EXPECT_EQ(r.words[7], 77u);
  EXPECT_EQ(r.words[8], 0u);
  EXPECT_EQ(r.words[2], 79u);
  EXPECT_EQ(r.words[3], 0u);
}

TEST(Interpreter, ErrorsSayWhere) {
  EXPECT_EQ(run("b0:\n  %1 = uniform i32 load.global.4 i64 0x2000, u1 true @0x24\n  ret\n").error,
            "function f, pc 0x24, load, workgroup 0,0,0, wave 0, lane 0: 4 bytes at 0x2000 are outside "
            "global memory");
  EXPECT_EQ(run("b0:\n  store.scratch.4 i32 14, u1 true, i32 1\n  ret\n").error,
            "function f, pc 0x0, store, workgroup 0,0,0, wave 0, lane 0: 4 bytes at 0xe are outside scratch");
  EXPECT_EQ(run("b0:\n  trap.bad_return @0x8\n").error,
            "function f, pc 0x8, trap, workgroup 0,0,0, wave 0: trap: bad_return");
  EXPECT_EQ(run("b0:\n  br b1\nb1: from b0, b1\n  br b1\n", 32, {.max_instructions = 1000}).error,
            "function f: the program runs longer than InterpreterDispatch::max_instructions");
}

} // namespace
} // namespace lanewise::ir
