// The barrier that keeps large scratch out of a slow question of LLVM's.
#include "spirv/scratch_in_frame.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "spirv/support.hpp"

namespace lanewise::spirv {
namespace {

/// `accesses` loads of scratch at addresses that depend on the lane, summed up and stored.
std::string program(unsigned accesses) {
  std::string text = R"(function "f" wave32 lds 0 scratch 64 {
b0: @0x0
  %1 = i32 input.local_id_x
  %2 = uniform i64 input.dispatch_ptr
  %3 = i32 and %1, i32 15
  %4 = i32 shl %3, i32 2
  store.scratch.4 %4, u1 true, %1
  %5 = i32 load.scratch.4 %4, u1 true
)";
  unsigned sum = 5;
  for (unsigned i = 0; i < accesses; ++i, sum += 2)
    text += fmt::format("  %{} = i32 load.scratch.4 %4, u1 true\n  %{} = i32 add %{}, %{}\n", sum + 1,
                        sum + 2, sum, sum + 1);
  return text + fmt::format("  %{0} = i32 shl %1, i32 2\n  %{1} = i64 zext %{0}\n  %{2} = i64 add %2, %{1}\n"
                            "  store.global.4 %{2}, u1 true, %{3}\n  ret\n}}\n",
                            sum + 1, sum + 2, sum + 3, sum);
}

/// The last operations of each block.
std::string ends(const ir::Program& p, size_t count) {
  std::string text;
  for (const ir::BasicBlock& b : p.main.blocks)
    for (size_t i = b.instructions.size() - std::min(count, b.instructions.size()); i < b.instructions.size();
         ++i)
      text += ir::info(p.main[b.instructions[i]].op).name + std::string(" ");
  return text;
}

TEST(ScratchInFrame, OnlyWhereScratchHasManyUsersAndTheProgramOneEnd) {
  constexpr const char* two_ends = R"(  cond_br %1, b1, b2
b1: @0x0
  ret
b2: @0x0
  ret
}
)";
  struct Case {
    const char* name;
    std::string text, end;
  };
  std::string two = program(100);
  two.replace(two.find("  ret"), std::string::npos,
              "  %900 = u1 eq %1, i32 0\n  %901 = uniform u1 any %900\n" + std::string(two_ends));
  two.replace(two.find("cond_br %1"), 10, "cond_br %901");
  for (const Case& c :
       {Case{"few users", program(10), "store ret "}, Case{"many users", program(100), "barrier store ret "},
        Case{"two ends", two, "any cond_br ret ret "}}) {
    ir::Program p{.main = test::parse(c.text)};
    const bool expected = c.end.starts_with("barrier");
    EXPECT_EQ(keep_scratch_in_frame(p), expected) << c.name;
    EXPECT_EQ(ends(p, expected ? 3 : 2), c.end) << c.name;
  }
}

TEST(ScratchInFrame, ChangesNoResult) {
  if (!test::Device::get().device()) GTEST_SKIP() << test::Device::get().reason();
  const auto& device = test::Device::get();
  const unsigned host_lanes = std::min(32u, device.subgroup_size());
  for (const bool in_frame : {false, true}) {
    const auto f = test::parse(program(100));
    const Seating seating{.wave_size = 32, .host_lanes = host_lanes, .workgroup = {32, 1, 1}};
    auto lowered = lower_waves(f, {.seating = seating});
    ASSERT_TRUE(lowered) << lowered.error().to_string();
    ir::Program p{.main = std::move(*lowered)};
    EXPECT_EQ(in_frame, in_frame && keep_scratch_in_frame(p));
    const auto module = emit(p, {.seating = seating, .device = device.traits()});
    ASSERT_TRUE(module) << module.error().to_string();
    EXPECT_EQ(test::validate(module->words), "");
    std::vector<uint32_t> out(32), expected(32);
    for (uint32_t lane = 0; lane < 32; ++lane) expected[lane] = 101 * lane;
    const std::span bytes(reinterpret_cast<uint8_t*>(out.data()), out.size() * 4);
    ASSERT_TRUE(test::run(*module, std::vector<uint8_t>(4), bytes, 1));
    EXPECT_EQ(out, expected);
  }
}

} // namespace
} // namespace lanewise::spirv
