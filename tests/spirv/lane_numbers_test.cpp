// Which work-item sits in which lane, in whole workgroups and in those that the grid cuts.
#include <cstring>

#include <fmt/format.h>

#include "container/guest_abi.hpp"
#include "ir/builder.hpp"
#include "ir/interpreter.hpp"
#include "ir/verifier.hpp"
#include "spirv/module_builder.hpp"
#include "support.hpp"

namespace lanewise::spirv {
namespace {

using ir::Builder;
using ir::Function;
using ir::Input;
using ir::Space;
using ir::Type;
using ir::Value;

using Extent = std::array<uint32_t, 3>;

constexpr uint64_t base = 0x10000;
constexpr uint32_t lane_number_packet_at = 1 << 20, slots_of_group = 1024;

/// Every lane, on or off, writes what it is: x, y, z in ten bits each, bit 31 if it is on.
Function numbers(unsigned wave_size, const Extent& groups) {
  Function f(wave_size);
  f.blocks.resize(1);
  Builder b(f);
  b.block = ir::Block{0};
  const auto group = [&](Input i) { return b.input(i); };
  const Value row =
      b.add(b.mul(group(Input::workgroup_id_z), b.i32(groups[1])), group(Input::workgroup_id_y));
  const Value number = b.add(b.mul(row, b.i32(groups[0])), group(Input::workgroup_id_x));
  const Value wave = b.mul(b.input(Input::wave_in_group), b.i32(wave_size));
  const Value slot = b.add(b.add(b.mul(number, b.i32(slots_of_group)), wave), b.lane_id());
  const Value y = b.shl(b.input(Input::local_id_y), b.i32(10)),
              z = b.shl(b.input(Input::local_id_z), b.i32(20));
  const Value id = b.or_(b.or_(b.input(Input::local_id_x), y), z);
  const Value on = b.select(b.input(Input::initial_exec), b.i32(1u << 31), b.i32(0));
  const Value address = b.add(b.i64(base), b.zext(b.mul(slot, b.i32(4)), Type::i64));
  b.store(address, b.u1(true), b.or_(id, on), {});
  f.append(ir::Block{0}, ir::Op::ret, {});
  return f;
}

/// What all lanes of a wave have in common is the same in each of them, called uniform or not.
TEST(LaneNumbers, WhatAWaveHasNeedNotBeCalledUniform) {
  const auto text = [](const char* uniform) {
    return fmt::format(R"(function "f" wave32 lds 0 scratch 0 {{
b0:
  %p = {0}i64 input.kernarg_ptr
  %g = {0}i32 input.workgroup_id_x
  %w = {0}i32 input.wave_in_group
  %l = i32 lane_id
  %m = u1 ult %l, i32 7
  %b = {0}i32 ballot %m
  %x = i32 add %l, %g
  %y = i32 xor %x, %w
  %z = i32 xor %y, %b
  %o = i32 shl %l, i32 2
  %o64 = i64 zext %o
  %a = i64 add %p, %o64
  store.global.4 %a, u1 true, %z
  ret
}})",
                       uniform);
  };
  for (const unsigned host_lanes : {1u, 8u, 32u}) {
    const LoweringOptions options{
        .seating = {.wave_size = 32, .host_lanes = host_lanes, .workgroup = {32, 1, 1}}, .partial = {}};
    std::vector<uint8_t> seen[2];
    for (const bool uniform : {false, true}) {
      const auto lowered = lower_waves(test::parse(text(uniform ? "uniform " : "")), options);
      ASSERT_TRUE(lowered) << lowered.error().to_string();
      const auto sound = ir::verify(*lowered);
      ASSERT_TRUE(sound) << sound.error().to_string();
      ir::FlatMemory memory(base, 128);
      const auto done = ir::interpret(
          *lowered,
          {.grid = {32, 1, 1}, .workgroup = {32, 1, 1}, .kernarg_ptr = base, .host_invocations = host_lanes},
          memory);
      ASSERT_TRUE(done) << done.error().to_string();
      seen[uniform] = memory.bytes;
    }
    EXPECT_EQ(seen[0], seen[1]) << host_lanes;
    EXPECT_EQ(seen[0][4 * 9], (9 ^ 0x7f)) << host_lanes;
  }
}

struct Shape {
  Extent grid, block;
  [[nodiscard]] Extent groups() const {
    Extent n{};
    for (unsigned d = 0; d < 3; ++d) n[d] = (grid[d] + block[d] - 1) / block[d];
    return n;
  }
};

std::vector<uint32_t> run(const Function& f, const Shape& s, unsigned host_invocations) {
  ir::FlatMemory memory(base, lane_number_packet_at + 64);
  std::memcpy(memory.bytes.data() + lane_number_packet_at + guest_abi::packet::grid_size_x, s.grid.data(),
              sizeof s.grid);
  const ir::InterpreterDispatch d{.grid = s.grid,
                                  .workgroup = s.block,
                                  .dispatch_ptr = base + lane_number_packet_at,
                                  .host_invocations = host_invocations,
                                  .max_instructions = 1 << 24};
  if (auto ok = ir::interpret(f, d, memory); !ok) ADD_FAILURE() << ok.error().to_string();
  std::vector<uint32_t> words(lane_number_packet_at / 4);
  std::memcpy(words.data(), memory.bytes.data(), lane_number_packet_at);
  return words;
}

/// Lanes of the first wave of the last workgroup as text: "x,y,z", '-' for a lane that is off.
std::string last_group(const std::vector<uint32_t>& words, const Shape& s, unsigned lanes) {
  const Extent n = s.groups();
  const size_t at = size_t{n[0] * n[1] * n[2] - 1} * slots_of_group;
  std::string text;
  for (unsigned lane = 0; lane < lanes; ++lane) {
    const uint32_t w = words[at + lane];
    text += w >> 31 ? fmt::format("{},{},{} ", w & 1023, w >> 10 & 1023, w >> 20 & 1023) : "- ";
  }
  return text;
}

TEST(LaneNumbers, CountOverTheItemsOfACutWorkgroup) {
  struct Row {
    Shape shape;
    std::string_view first_lanes; ///< of the last workgroup
  };
  const Row rows[] = {
      {{{8, 1, 1}, {8, 1, 1}}, "0,0,0 1,0,0 2,0,0 3,0,0 4,0,0 5,0,0 6,0,0 7,0,0 - - "},
      {{{11, 1, 1}, {8, 1, 1}}, "0,0,0 1,0,0 2,0,0 - - - - - - - "},
      {{{4, 2, 1}, {4, 2, 1}}, "0,0,0 1,0,0 2,0,0 3,0,0 0,1,0 1,1,0 2,1,0 3,1,0 - - "},
      {{{7, 5, 1}, {4, 3, 1}}, "0,0,0 1,0,0 2,0,0 0,1,0 1,1,0 2,1,0 - - - - "}, // 3 x 2 are left
      {{{5, 6, 1}, {4, 3, 1}}, "0,0,0 0,1,0 0,2,0 - - - - - - - "},             // 1 x 3
      {{{3, 3, 3}, {2, 2, 2}}, "0,0,0 - - - - - - - - - "},
      {{{5, 4, 3}, {3, 2, 2}}, "0,0,0 1,0,0 0,1,0 1,1,0 - - - - - - "}, // 2 x 2 x 1
      {{{5, 1, 5}, {3, 1, 3}}, "0,0,0 1,0,0 0,0,1 1,0,1 - - - - - - "},
  };
  for (const Row& row : rows)
    EXPECT_EQ(last_group(run(numbers(32, row.shape.groups()), row.shape, 0), row.shape, 10), row.first_lanes);
}

const Shape shapes[] = {
    {{64, 1, 1}, {64, 1, 1}}, {{200, 1, 1}, {96, 1, 1}}, {{11, 5, 1}, {8, 4, 1}},
    {{33, 7, 1}, {16, 6, 1}}, {{7, 130, 1}, {5, 60, 1}}, {{1023, 1, 1}, {1024, 1, 1}},
    {{13, 11, 6}, {7, 5, 4}}, {{3, 3, 90}, {2, 3, 80}},  {{1, 70, 1}, {1, 40, 1}},
    {{1, 1, 70}, {1, 1, 40}}, {{90, 3, 1}, {31, 3, 1}},  {{5, 1, 50}, {3, 1, 40}},
};

TEST(LaneNumbers, AreTheSameOnHostInvocations) {
  for (const Shape& s : shapes)
    for (const unsigned wave_size : {32u, 64u}) {
      const Function f = numbers(wave_size, s.groups());
      const auto expected = run(f, s, 0);
      for (const unsigned host_lanes : {1u, 8u, 32u}) {
        LoweringOptions options{.seating = {wave_size, host_lanes, s.block}};
        for (unsigned d = 0; d < 3; ++d) options.partial[d] = s.grid[d] % s.block[d] != 0;
        const auto lowered = lower_waves(f, options);
        ASSERT_TRUE(lowered) << lowered.error().to_string();
        ASSERT_EQ(expected, run(*lowered, s, host_lanes))
            << fmt::format("grid {},{},{} block {},{},{} wave{} on {}", s.grid[0], s.grid[1], s.grid[2],
                           s.block[0], s.block[1], s.block[2], wave_size, host_lanes);
      }
    }
}

/// Independent lanes keep the numbers of a whole workgroup, and exactly the grid's items are on.
TEST(LaneNumbers, IndependentLanesAreThoseOfAWholeWorkgroup) {
  for (const Shape& s : shapes)
    for (const unsigned wave_size : {32u, 64u}) {
      LoweringOptions options{.seating = {wave_size, wave_size, s.block, true}};
      for (unsigned d = 0; d < 3; ++d) options.partial[d] = s.grid[d] % s.block[d] != 0;
      const Extent n = s.groups();
      const auto lowered = lower_waves(numbers(wave_size, n), options);
      ASSERT_TRUE(lowered) << lowered.error().to_string();
      const auto words = run(*lowered, s, wave_size);
      for (uint32_t group = 0; group < n[0] * n[1] * n[2]; ++group)
        for (uint32_t lane = 0; lane < slots_of_group; ++lane) {
          const Extent in{group % n[0], group / n[0] % n[1], group / n[0] / n[1]};
          const Extent id{lane % s.block[0], lane / s.block[0] % s.block[1], lane / s.block[0] / s.block[1]};
          bool on = id[2] < s.block[2];
          for (unsigned d = 0; d < 3; ++d) on = on && in[d] * s.block[d] + id[d] < s.grid[d];
          const uint32_t word = words[group * slots_of_group + lane];
          const uint32_t expected = id[0] | id[1] << 10 | id[2] << 20 | 1u << 31;
          ASSERT_EQ(on ? expected : 0, word >> 31 ? word : 0)
              << fmt::format("grid {},{},{} block {},{},{} wave{} group {} lane {}", s.grid[0], s.grid[1],
                             s.grid[2], s.block[0], s.block[1], s.block[2], wave_size, group, lane);
        }
    }
}

/// All quotients that local ids need, with the size of the workgroup known only at run time.
TEST(LaneNumbers, EveryRunTimeWidthDividesExactly) {
  for (uint32_t width = 1; width < 512; width += width < 40 ? 1 : 37) {
    const Shape s{{512 + width, 2, 1}, {512, 2, 1}};
    const Function f = numbers(64, s.groups());
    const auto lowered = lower_waves(f, {.seating = {64, 64, s.block}, .partial = {true, false, false}});
    ASSERT_TRUE(lowered) << lowered.error().to_string();
    ASSERT_EQ(run(f, s, 0), run(*lowered, s, 64)) << width;
  }
}

/// Float operations that number work-items need no execution modes; those of the guest do, numbered so or
/// not.
TEST(LaneNumbers, ModesAreForTheGuestsFloats) {
  const auto modes = [](bool guest_floats) {
    Function f = numbers(32, {1, 1, 1});
    if (guest_floats) {
      const Value end = f.blocks[0].instructions.back();
      f.blocks[0].instructions.pop_back();
      Builder b(f);
      b.block = ir::Block{0};
      const Value x = b.load(Type::f32, b.i64(base), b.u1(true), {});
      b.store(b.i64(base), b.u1(true), b.fadd(x, x, {}), {});
      f.blocks[0].instructions.push_back(end);
    }
    const Seating seating{.wave_size = 32, .host_lanes = 32, .workgroup = {8, 8, 1}};
    const auto lowered = lower_waves(f, {.seating = seating, .partial = {true, true, false}});
    EXPECT_TRUE(lowered);
    EmitOptions options{.seating = seating};
    options.device.floats.round_nearest_even = {true, true, true};
    const auto m = emit(*lowered, options);
    EXPECT_TRUE(m);
    EXPECT_EQ(test::validate(m->words), "");
    unsigned found = 0, divisions = 0;
    for (size_t at = 5; at < m->words.size(); at += m->words[at] >> 16) {
      const auto op = static_cast<spv::Op>(m->words[at] & 0xffff);
      found += op == spv::Op::OpExecutionMode &&
               m->words[at + 2] == static_cast<uint32_t>(spv::ExecutionMode::RoundingModeRTE);
      divisions += op == spv::Op::OpFDiv;
    }
    EXPECT_GT(divisions, 0u);
    return found;
  };
  EXPECT_EQ(modes(false), 0u);
  EXPECT_EQ(modes(true), 1u);
}

} // namespace
} // namespace lanewise::spirv
