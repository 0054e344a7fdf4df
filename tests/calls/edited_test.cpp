// One prepared shader, many dispatches: targets change, and both callees are edited in place.
#include "pointer_launch.hpp"
#include "runtime/vulkan_device.hpp"

#include <gtest/gtest.h>

namespace lanewise::calls {
namespace {

const PointerProgram program{.name = "edited",
                             .source = R"(
  begin
  s_swappc_b64 s[30:31], s[2:3]
  plus 0x100
  s_swappc_b64 s[30:31], s[4:5]
  plus 0x200
  finish
callees%:
f%:
  v_add_nc_u32 v1, 1, v1
  s_setpc_b64 s[30:31]
g%:
  v_add_nc_u32 v1, 2, v1
  s_setpc_b64 s[30:31])",
                             .a = "f",
                             .b = "g"};
constexpr uint32_t add_n = 0x4a020280; ///< v_add_nc_u32 v1, n, v1 for n up to 64
constexpr uint32_t sub_n = 0x4c020280; ///< v_sub_nc_u32 v1, n, v1

class Edited : public testing::TestWithParam<unsigned> {};

TEST_P(Edited, EveryExecutorSeesTheCodeOfItsDispatch) {
  auto assembled = assemble(GetParam(), std::array{program.source});
  if (!assembled) GTEST_SKIP() << assembled.error().to_string();
  static auto device = runtime::VulkanDevice::open({});
  PointerLaunch l = pointer_launch(program, (*assembled)[0], GetParam());
  const uint32_t split = (*assembled)[0].labels.at("callees"), f = (*assembled)[0].labels.at("f") - split,
                 g = (*assembled)[0].labels.at("g") - split;
  const auto shader = runtime::prepare(*l.binary, *l.launch.kernel);
  ASSERT_TRUE(shader) << shader.error().to_string();

  struct Dispatch {
    uint32_t a, b;   ///< offsets in the buffer of callees
    uint32_t f_, g_; ///< first words of the two functions
    uint32_t (*out)(uint32_t i);
  };
  const Dispatch table[] = {
      {f, g, add_n + 1, add_n + 2, [](uint32_t i) { return i + 1 + 0x100 + 2 + 0x200; }},
      {g, f, add_n + 1, add_n + 2, [](uint32_t i) { return i + 2 + 0x100 + 1 + 0x200; }},
      {g, g, add_n + 1, add_n + 2, [](uint32_t i) { return i + 2 + 0x100 + 2 + 0x200; }},
      {f, g, add_n + 9, add_n + 2, [](uint32_t i) { return i + 9 + 0x100 + 2 + 0x200; }},
      {f, g, add_n + 9, sub_n + 5, [](uint32_t i) { return 5 - (i + 9 + 0x100) + 0x200; }},
      {f, f, sub_n + 3, add_n + 2, [](uint32_t i) { return 3 - (3 - i + 0x100) + 0x200; }},
  };
  for (const Dispatch& d : table) {
    l.launch.arguments[1] = runtime::Argument::of_buffer(PointerLaunch::code, d.a);
    l.launch.arguments[2] = runtime::Argument::of_buffer(PointerLaunch::code, d.b);
    auto& code = l.launch.buffers[PointerLaunch::code].contents;
    std::memcpy(&code[f], &d.f_, 4);
    std::memcpy(&code[g], &d.g_, 4);
    auto memory = placed(l.launch);
    ASSERT_TRUE(memory);
    auto targets =
        runtime::resolve(**shader, runtime::invocation_of(*memory), runtime::LaunchGuestMemory(*memory));
    ASSERT_TRUE(targets) << targets.error().to_string();
    const auto sets = runtime::sets_of(*targets);
    const auto options = with_callees(**shader, sets);
    const auto expect = [&](const char* executor, const runtime::Launch& launch, const auto& report) {
      ASSERT_TRUE(report) << executor << ": " << report.error().to_string();
      const auto out = words(launch.buffers[PointerLaunch::out]);
      for (uint32_t i = 0; i < items; ++i) ASSERT_EQ(out[i], d.out(i)) << executor << ", work-item " << i;
    };
    auto emulated = l.launch, interpreted = l.launch;
    const auto on_emulator = runtime::run_on_emulator(emulated);
    expect("emulator", emulated, on_emulator);
    auto function = runtime::link_function(**shader, sets);
    ASSERT_TRUE(function) << function.error().to_string();
    const auto on_interpreter = runtime::run_on_interpreter(interpreted, *function, options);
    expect("interpreter", interpreted, on_interpreter);
    if (!device) continue;
    auto compiled = runtime::link(**shader, sets, runtime::compile_options(l.launch, **device));
    ASSERT_TRUE(compiled) << compiled.error().to_string();
    auto vulkan = l.launch;
    const auto on_vulkan = runtime::run_on_vulkan(vulkan, **device, *compiled, options);
    expect("Vulkan", vulkan, on_vulkan);
  }
}

/// One module with several callees for each slot: the table picks them.
TEST_P(Edited, OneModuleServesAlternatingTargets) {
  auto assembled = assemble(GetParam(), std::array{program.source});
  if (!assembled) GTEST_SKIP() << assembled.error().to_string();
  static auto device = runtime::VulkanDevice::open({});
  PointerLaunch l = pointer_launch(program, (*assembled)[0], GetParam());
  const uint32_t split = (*assembled)[0].labels.at("callees"), f = (*assembled)[0].labels.at("f") - split,
                 g = (*assembled)[0].labels.at("g") - split;
  const auto shader = runtime::prepare(*l.binary, *l.launch.kernel);
  ASSERT_TRUE(shader);
  auto memory = placed(l.launch);
  ASSERT_TRUE(memory);
  auto targets =
      runtime::resolve(**shader, runtime::invocation_of(*memory), runtime::LaunchGuestMemory(*memory));
  ASSERT_TRUE(targets);
  const runtime::CalleePtr first = targets->slots[0][0].callee, second = targets->slots[1][0].callee;
  const runtime::CalleeSets sets{{first, second}, {first, second}};
  auto function = runtime::link_function(**shader, sets);
  ASSERT_TRUE(function) << function.error().to_string();
  Expected<runtime::CompiledKernel> compiled;
  if (device) {
    compiled = runtime::link(**shader, sets, runtime::compile_options(l.launch, **device));
    ASSERT_TRUE(compiled) << compiled.error().to_string();
  }
  for (const auto& [a, b, plus] :
       {std::tuple{f, g, 0x303u}, {g, f, 0x303u}, {f, f, 0x302u}, {g, g, 0x304u}}) {
    l.launch.arguments[1] = runtime::Argument::of_buffer(PointerLaunch::code, a);
    l.launch.arguments[2] = runtime::Argument::of_buffer(PointerLaunch::code, b);
    const auto options = with_callees(**shader, sets);
    auto interpreted = l.launch, vulkan = l.launch;
    const auto on_interpreter = runtime::run_on_interpreter(interpreted, *function, options);
    ASSERT_TRUE(on_interpreter) << on_interpreter.error().to_string();
    EXPECT_EQ(words(interpreted.buffers[0])[7], 7 + plus);
    if (!device) continue;
    const auto on_vulkan = runtime::run_on_vulkan(vulkan, **device, *compiled, options);
    ASSERT_TRUE(on_vulkan) << on_vulkan.error().to_string();
    EXPECT_EQ(words(vulkan.buffers[0]), words(interpreted.buffers[0]));
  }
}

INSTANTIATE_TEST_SUITE_P(Wave, Edited, testing::Values(32u, 64u));

} // namespace
} // namespace lanewise::calls
