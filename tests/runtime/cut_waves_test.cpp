// Workgroups that the grid cuts have fewer waves, and the others do not wait for those at barriers.
#include "runtime/compile.hpp"
#include "runtime/dispatch_parts.hpp"
#include "runtime/execute.hpp"
#include "runtime/raw_kernel.hpp"
#include "runtime/vulkan_fixture.hpp"

#include <cstring>

namespace lanewise::runtime {
namespace {

using Size = std::array<uint32_t, 3>;

TEST(DispatchParts, AreTheWholeGrid) {
  constexpr spirv::CutWaves waves{32, 8}; // a wave of 32 lanes on 8 invocations
  const struct {
    Size grid, block;
    spirv::CutWaves cut;
    std::vector<DispatchPart> expected;
  } table[]{
      // the module does not mind, nothing is cut, a cut leaves all waves
      {{100, 1, 1}, {64, 1, 1}, {}, {{{}, {2, 1, 1}, 0}}},
      {{128, 1, 1}, {64, 1, 1}, waves, {{{}, {2, 1, 1}, 16}}},
      {{100, 1, 1}, {64, 1, 1}, waves, {{{}, {2, 1, 1}, 16}}},
      // one wave less, in the last workgroup or the only one
      {{80, 1, 1}, {64, 1, 1}, waves, {{{}, {1, 1, 1}, 16}, {{1, 0, 0}, {1, 1, 1}, 8}}},
      {{20, 1, 1}, {64, 1, 1}, waves, {{{}, {1, 1, 1}, 8}}},
      // three dimensions: 8 x 8 x 2 items are 4 waves, 8 x 4 x 2 and 4 x 8 x 2 are 2, 4 x 4 x 2 one, and the
      // last
      // slice has half of all of them
      {{20, 12, 3},
       {8, 8, 2},
       waves,
       {{{0, 0, 0}, {2, 1, 1}, 32},
        {{2, 0, 0}, {1, 1, 1}, 16},
        {{0, 1, 0}, {2, 1, 1}, 16},
        {{2, 1, 0}, {1, 1, 1}, 8},
        {{0, 0, 1}, {2, 1, 1}, 16},
        {{2, 0, 1}, {1, 1, 1}, 8},
        {{0, 1, 1}, {2, 1, 1}, 8},
        {{2, 1, 1}, {1, 1, 1}, 8}}},
  };
  for (const auto& row : table) EXPECT_EQ(dispatch_parts(row.grid, row.block, row.cut), row.expected);
}

class CutWaves : public VulkanTest {};

TEST_F(CutWaves, BarriersThatEmptyWavesGoAround) {
  auto binary = raw_kernel(swaps_neighbours, one_buffer, 256);
  binary.kernels.at(0).uniform_workgroup_size = false;
  for (const uint32_t items : {2u, 20u, 32u, 34u, 64u, 66u, 96u, 98u, 128u, 130u})
    for (const unsigned subgroup : {0u, 1u}) {
      SCOPED_TRACE(std::to_string(items) + " items, subgroups of " + std::to_string(subgroup));
      Launch launch{
          .binary = &binary, .kernel = &binary.kernels.at(0), .grid = {items, 1, 1}, .block = {64, 1, 1}};
      launch.buffers.push_back({"out", ElementType::u32, std::vector<uint8_t>(size_t{192} * 4)});
      launch.arguments.push_back(Argument::of_buffer(0));
      CompileOptions options = compile_options(launch, *device());
      options.validate = true;
      if (subgroup) options.host.subgroup_size = subgroup, options.host.subgroup_operations = subgroup > 1;
      auto compiled = compile(binary, *launch.kernel, options);
      ASSERT_TRUE(compiled) << compiled.error().to_string();
      EXPECT_EQ(compiled->module.cut.wave_items, items % 64 == 0 ? 0u : 32u);
      auto report = run_on_vulkan(launch, *device(), *compiled, {});
      ASSERT_TRUE(report) << report.error().to_string();
      for (uint32_t i = 0; i < 192; ++i) {
        uint32_t value = 0;
        std::memcpy(&value, launch.buffers[0].contents.data() + size_t{4} * i, 4);
        EXPECT_EQ(value, i < items ? 100 + (i % 64 ^ 1) : 0) << i;
      }
    }
}

} // namespace
} // namespace lanewise::runtime
