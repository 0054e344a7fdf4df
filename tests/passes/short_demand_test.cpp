// Demand found on short ways, against that of all values: of values asked for one by one, and by a look at
// the uses of a phi.
#include "masked_program.hpp"
#include "pass_variants.hpp"

#include "analysis/demand_proof.hpp"
#include "analysis/lane_demand.hpp"
#include "ir/interpreter.hpp"
#include "ir/printer.hpp"
#include "passes/passes.hpp"
#include "passes/pipeline.hpp"
#include "passes/read_inside.hpp"
#include "spirv/wave_lowering.hpp"

#include <gtest/gtest.h>

#include <iostream>
#include <optional>
#include <random>

namespace lanewise::passes {
namespace {

using analysis::LaneDemand;
using analysis::MaskAlgebra;
using analysis::UniformValues;

/// Random programs at invocation level, as `diverge` finds them.
template <class Check>
void for_each_lowered(uint64_t count, const Check& check) {
  const uint64_t first = tests::first_random_seed();
  for (uint64_t seed = first; seed < first + tests::random_programs(count); ++seed)
    for (const unsigned host_lanes : {32u, 8u}) {
      ir::Function f = tests::masked_program(seed, tests::kOutput, tests::Statements::of_compute);
      ASSERT_TRUE(run(f, {}));
      auto lowered = spirv::lower_waves(f, {.seating = {32, host_lanes, {29, 1, 1}}});
      ASSERT_TRUE(lowered) << lowered.error().to_string();
      simplify(*lowered);
      dead_code(*lowered);
      check(*lowered, seed, host_lanes);
      if (testing::Test::HasFailure()) return;
    }
}

template <class Visit>
void for_each_phi(const ir::Function& f, const Visit& visit) {
  for (uint32_t b = 0; b < f.blocks.size(); ++b)
    for (const ir::Value v : f.blocks[b].instructions)
      if (f[v].op == ir::Op::phi) visit(ir::Block{b}, v);
}

/// In whichever order values are asked for, the answers fit together, and mostly are those of all values:
/// what loads of nobody ask for counts here, and what gets too large is called larger than it is.
TEST(AskedDemand, IsProved) {
  unsigned asked = 0, same = 0;
  for_each_lowered(20, [&](const ir::Function& f, uint64_t seed, unsigned) {
    MaskAlgebra masks(f);
    const analysis::Users users(f);
    const LaneDemand all(f, masks, UniformValues::lane_by_lane);
    std::vector<ir::Value> order;
    for (const uint32_t b : masks.order())
      for (const ir::Value v : f.blocks[b].instructions) order.push_back(v);
    for (const bool backwards : {false, true}) {
      if (backwards) std::ranges::reverse(order);
      LaneDemand some(f, masks, UniformValues::lane_by_lane, users);
      for (const ir::Value v : order) {
        some.ask_for(v);
        ++asked;
        same += some.demand(v) == all.demand(v);
      }
      const auto proof = analysis::prove_demand(f, masks, some, {});
      EXPECT_EQ(proof.proved, proof.total());
      for (const auto& failure : proof.failures)
        ADD_FAILURE() << "seed " << seed << ", %" << failure.value.index << ": " << failure.what << '\n'
                      << ir::print(f);
      if (testing::Test::HasFailure()) return;
    }
  });
  std::cout << same << " of " << asked << " the same\n";
  EXPECT_GT(same, asked / 2);
}

std::optional<std::vector<uint8_t>> demand_memory_after(const ir::Function& f, unsigned host_lanes) {
  ir::FlatMemory memory(tests::kOutput, tests::kOutputBytes);
  const ir::InterpreterDispatch d{.grid = {29, 1, 1},
                                  .workgroup = {29, 1, 1},
                                  .host_invocations = host_lanes,
                                  .max_instructions = 1 << 24};
  if (!ir::interpret(f, d, memory)) return {};
  return std::move(memory.bytes);
}

/// With the phi's operand another value outside the mask.
ir::Function changed_outside(ir::Function f, ir::Value phi, ir::Block join, unsigned edge, ir::Value mask) {
  auto& before = f[f[join].predecessors[edge]].instructions;
  const ir::Value operands[] = {mask, f.operand(phi, edge),
                                f.constant(f[phi].type, f[phi].type == ir::Type::u1 ? 1 : 77)};
  before.insert(before.end() - 1, f.create(ir::Op::select, operands, f[phi].type));
  f.operands(phi)[edge] = before[before.size() - 2];
  return f;
}

/// What is read inside a mask only may be anything outside.
TEST(ReadInside, NobodyTellsOtherValues) {
  unsigned asked = 0, inside = 0;
  std::mt19937_64 random(1);
  for_each_lowered(60, [&](const ir::Function& f, uint64_t seed, unsigned host_lanes) {
    const auto expected = demand_memory_after(f, host_lanes);
    ASSERT_TRUE(expected);
    MaskAlgebra masks(f);
    const analysis::Users users(f);
    ReadInside read_inside(f, masks);
    std::vector<ir::Value> all_masks;
    for (const ir::BasicBlock& b : f.blocks)
      for (const ir::Value v : b.instructions)
        if (f[v].type == ir::Type::u1) all_masks.push_back(v);
    for_each_phi(f, [&](ir::Block join, ir::Value phi) {
      if (masks.is_loop_header(join) || !masks.reachable(join) || f[phi].uniform) return;
      for (unsigned e = 0; e < f[join].predecessors.size(); ++e)
        for (const ir::Value m : all_masks) {
          // Made before the join.
          if (!masks.dominates({masks.block_of(m)}, join) || masks.block_of(m) == join.index) continue;
          ++asked;
          if (!read_inside(phi, join, e, masks.formula(m), users)) continue;
          ++inside;
          if (random() % 4 != 0) continue; // some of them are enough
          const ir::Function changed = changed_outside(f, phi, join, e, m);
          EXPECT_TRUE(demand_memory_after(changed, host_lanes) == expected)
              << "seed " << seed << ", %" << phi.index << " by edge " << e << " in %" << m.index << '\n'
              << ir::print(f) << ir::print(changed);
          if (testing::Test::HasFailure()) return;
        }
    });
  });
  std::cout << inside << " of " << asked << " inside\n";
  EXPECT_GT(inside, asked / 200);
}

} // namespace
} // namespace lanewise::passes
