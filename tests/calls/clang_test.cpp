// What clang makes of calls: functions that are not inlined, pointers in constant tables and in arguments,
// recursion.
#include "container/load.hpp"
#include "kernel.hpp"
#include "pointer_launch.hpp"
#include "runtime/vulkan_device.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

namespace lanewise::calls {
namespace {

constexpr const char* source = R"(
typedef unsigned uint;
#define GLOBAL __attribute__((address_space(1)))
#define KERNEL __attribute__((amdgpu_kernel)) void
#define FUNCTION __attribute__((noinline)) static uint
FUNCTION add3(uint x) { return x + 3; }
FUNCTION mul5(uint x) { return x * 5; }
FUNCTION square(uint x) { return x * x; }
FUNCTION deep(uint x) { return add3(mul5(x)) ^ square(x); }
FUNCTION factorial(uint x) { return x < 2 ? 1 : x * factorial(x - 1) ^ factorial(x / 2); }
typedef uint (*Function)(uint);
static const Function table[4] = {add3, mul5, square, deep};
static uint id(void) { return __builtin_amdgcn_workitem_id_x(); }
KERNEL noinline_calls(GLOBAL uint *out) { out[id()] = deep(id()) + add3(id()); }
KERNEL through_table(GLOBAL uint *out, uint which) { out[id()] = table[which & 3](id()); }
KERNEL through_argument(GLOBAL uint *out, Function f) { out[id()] = f(id()) + 1; }
KERNEL in_a_loop(GLOBAL uint *out, Function f, uint n) {
  uint x = id();
  for (uint i = 0; i < n; ++i) x = f(x) ^ i;
  out[id()] = x;
}
KERNEL by_lane(GLOBAL uint *out) { out[id()] = table[id() & 3](id()); }
KERNEL recursive(GLOBAL uint *out) { out[id()] = factorial(id() & 7); }
)";

uint32_t add3(uint32_t x) { return x + 3; }
uint32_t mul5(uint32_t x) { return x * 5; }
uint32_t square(uint32_t x) { return x * x; }
uint32_t deep(uint32_t x) { return add3(mul5(x)) ^ square(x); }
constexpr uint32_t (*functions[])(uint32_t) = {add3, mul5, square, deep};
constexpr const char* names[] = {"add3", "mul5", "square", "deep"};

class Clang : public testing::TestWithParam<std::tuple<unsigned, const char*>> {
 protected:
  static runtime::VulkanDevice* device() {
    static auto opened = runtime::VulkanDevice::open({});
    return opened ? opened->get() : nullptr;
  }

  void SetUp() override {
    if (!std::filesystem::exists("/usr/bin/clang-19")) GTEST_SKIP() << "clang-19 is not installed";
    const auto& [wave, level] = GetParam();
    const auto base = std::filesystem::temp_directory_path() / fmt::format("lanewise-clang-{}", getpid());
    std::filesystem::create_directories(base);
    std::ofstream(base / "a.c") << source;
    const std::string command = fmt::format(
        "clang-19 -target amdgcn-amd-amdhsa -mcpu=gfx1030 {} {} -nogpulib {}/a.c -o {}/a.co 2>{}/errors",
        level, wave == 64 ? "-mwavefrontsize64" : "", base.string(), base.string(), base.string());
    const bool compiled = std::system(command.c_str()) == 0;
    auto loaded = container::load_file(base / "a.co");
    std::filesystem::remove_all(base);
    if (!compiled) GTEST_SKIP() << "clang-19 cannot compile for gfx1030";
    ASSERT_TRUE(loaded) << loaded.error().to_string();
    binary_ = std::move(*loaded);
  }

  runtime::Launch launch(const char* kernel) {
    runtime::Launch l = launch_of(binary_);
    l.kernel = binary_.find_kernel(kernel);
    EXPECT_NE(l.kernel, nullptr);
    return l;
  }
  static runtime::Argument number(uint32_t n) {
    std::vector<uint8_t> bytes(4);
    std::memcpy(bytes.data(), &n, 4);
    return runtime::Argument::of_bytes(bytes);
  }
  runtime::Argument function(const char* name) {
    for (const container::Symbol& s : binary_.symbols)
      if (s.name == name) return runtime::Argument::of_code(s.address);
    ADD_FAILURE() << "no function " << name;
    return {};
  }

  template <class Want>
  static void expect(const char* executor, const runtime::Launch& l,
                     const Expected<runtime::RunReport>& report, Want want) {
    ASSERT_TRUE(report) << executor << ": " << report.error().to_string();
    const auto out = words(l.buffers[0]);
    for (uint32_t i = 0; i < items; ++i) ASSERT_EQ(out[i], want(i)) << executor << ", work-item " << i;
  }

  /// All executors, with callees linked where the kernel has call slots.
  template <class Want>
  void run(const runtime::Launch& l, Want want) {
    auto emulated = l, interpreted = l, vulkan = l;
    expect("emulator", emulated, runtime::run_on_emulator(emulated), want);
    auto shader = runtime::prepare(*l.binary, *l.kernel);
    ASSERT_TRUE(shader) << shader.error().to_string();
    auto memory = placed(l);
    ASSERT_TRUE(memory) << memory.error().to_string();
    auto targets =
        runtime::resolve(**shader, runtime::invocation_of(*memory), runtime::LaunchGuestMemory(*memory));
    ASSERT_TRUE(targets) << targets.error().to_string();
    const auto sets = runtime::sets_of(*targets);
    const auto options = with_callees(**shader, sets);
    auto linked = runtime::link_function(**shader, sets);
    ASSERT_TRUE(linked) << linked.error().to_string();
    expect("interpreter", interpreted, runtime::run_on_interpreter(interpreted, *linked, options), want);
    if (!device()) return;
    auto compile = runtime::compile_options(l, *device());
    compile.verify = compile.validate = true;
    auto compiled = runtime::link(**shader, sets, compile);
    ASSERT_TRUE(compiled) << compiled.error().to_string();
    expect("Vulkan", vulkan, runtime::run_on_vulkan(vulkan, *device(), *compiled, options), want);
  }

  container::ShaderBinary binary_;
};

TEST_P(Clang, FunctionsThatAreNotInlined) {
  run(launch("noinline_calls"), [](uint32_t i) { return deep(i) + add3(i); });
}

TEST_P(Clang, PointersInAConstantTable) {
  for (uint32_t which = 0; which < 4; ++which) {
    SCOPED_TRACE(which);
    auto l = launch("through_table");
    l.arguments.push_back(number(which + 4 * which));
    run(l, [&](uint32_t i) { return functions[which](i); });
  }
}

TEST_P(Clang, PointersInArguments) {
  for (unsigned which = 0; which < 4; ++which) {
    SCOPED_TRACE(names[which]);
    auto l = launch("through_argument");
    l.arguments.push_back(function(names[which]));
    run(l, [&](uint32_t i) { return functions[which](i) + 1; });
  }
}

TEST_P(Clang, PointersInALoop) {
  auto l = launch("in_a_loop");
  l.arguments.push_back(function("square"));
  l.arguments.push_back(number(7));
  run(l, [](uint32_t i) {
    for (uint32_t k = 0; k < 7; ++k) i = square(i) ^ k;
    return i;
  });
}

TEST_P(Clang, PointersThatLanesChooseAreRefused) {
  const auto shader = runtime::prepare(binary_, *binary_.find_kernel("by_lane"));
  ASSERT_FALSE(shader);
  EXPECT_NE(shader.error().to_string().find("it depends on lanes: pc 0x"), std::string::npos)
      << shader.error().to_string();
}

TEST_P(Clang, RecursionIsRefused) {
  const auto shader = runtime::prepare(binary_, *binary_.find_kernel("recursive"));
  ASSERT_FALSE(shader);
  EXPECT_NE(shader.error().to_string().find("recursive call of the function at 0x"), std::string::npos)
      << shader.error().to_string();
  auto l = launch("recursive");
  EXPECT_TRUE(runtime::run_on_emulator(l)); // the reference runs it
}

INSTANTIATE_TEST_SUITE_P(Wave, Clang,
                         testing::Combine(testing::Values(32u, 64u), testing::Values("-O1", "-O2")));

} // namespace
} // namespace lanewise::calls
