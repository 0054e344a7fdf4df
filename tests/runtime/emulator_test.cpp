// The examples on the emulator and the interpreter: bit for bit what the host computes.
#include "example_kernels.hpp"

#include "runtime/execute.hpp"

namespace lanewise::runtime {
namespace {

struct Case {
  size_t example;
  unsigned wave;
};
void PrintTo(const Case& c, std::ostream* out) { *out << examples()[c.example].file << " wave" << c.wave; }

class Examples : public testing::TestWithParam<Case> {};

TEST_P(Examples, EmulatorAgreesWithTheHost) {
  const Example& e = examples()[GetParam().example];
  auto binary = example_binary(std::string(e.file) + ".w" + std::to_string(GetParam().wave));
  ASSERT_TRUE(binary);
  Launch launch = example_launch(e, *binary);
  auto report = run_on_emulator(launch);
  ASSERT_TRUE(report) << report.error().to_string();
  EXPECT_GT(report->instructions, 0u);
  expect_results(e, launch, "emulator");
}

TEST_P(Examples, InterpreterAgreesWithTheHost) {
  const Example& e = examples()[GetParam().example];
  if (GetParam().example == 0) GTEST_SKIP() << "long";
  auto binary = example_binary(std::string(e.file) + ".w" + std::to_string(GetParam().wave));
  ASSERT_TRUE(binary);
  Launch launch = example_launch(e, *binary);
  auto report = run_on_interpreter(launch);
  ASSERT_TRUE(report) << report.error().to_string();
  expect_results(e, launch, "interpreter");
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (size_t i = 0; i < examples().size(); ++i)
    for (unsigned wave : {32u, 64u}) cases.push_back({i, wave});
  return cases;
}
INSTANTIATE_TEST_SUITE_P(All, Examples, testing::ValuesIn(all_cases()), [](const auto& c) {
  return std::string(examples()[c.param.example].file) + "_wave" + std::to_string(c.param.wave);
});

TEST(Launch, BlocksAndGroups) {
  container::Kernel k;
  k.has_metadata = true;
  k.uniform_workgroup_size = false;
  using Size = std::array<uint32_t, 3>;
  EXPECT_EQ(default_block(k, {4096, 1, 1}, 1), (Size{256, 1, 1}));
  EXPECT_EQ(default_block(k, {5, 1, 1}, 1), (Size{8, 1, 1}));
  EXPECT_EQ(default_block(k, {640, 480, 1}, 2), (Size{32, 8, 1}));
  k.uniform_workgroup_size = true;
  EXPECT_EQ(default_block(k, {48, 1, 1}, 1), (Size{16, 1, 1}));
  k.required_workgroup_size = Size{7, 1, 1};
  EXPECT_EQ(default_block(k, {48, 1, 1}, 1), (Size{7, 1, 1}));
  Launch l;
  l.grid = {100, 0xffffffff, 1};
  l.block = {32, 1024, 1};
  EXPECT_EQ(l.groups(), (Size{4, 0x400000, 1}));
}

TEST(Launch, SizesAreChecked) {
  auto binary = example_binary("matmul.w32");
  ASSERT_TRUE(binary);
  auto error_of = [&](std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block) {
    Launch l = example_launch(examples()[1], *binary);
    l.grid = grid;
    l.block = block;
    auto ok = check_launch(l);
    return ok ? std::string("ok") : ok.error().what;
  };
  EXPECT_EQ(error_of({128, 128, 1}, {16, 16, 1}), "ok");
  EXPECT_EQ(error_of({128, 128, 1}, {16, 8, 1}), "the kernel was compiled for blocks of 16x16x1 only");
  EXPECT_EQ(error_of({128, 0, 1}, {16, 16, 1}), "grid and block must not be empty");
  EXPECT_EQ(error_of({128, 128, 1}, {64, 64, 1}), "a block of 64x64x1 has more than 256 work-items");
}

TEST(Launch, WildPointersAreErrors) {
  auto binary = example_binary("saxpy");
  ASSERT_TRUE(binary);
  Launch l;
  l.binary = binary.get();
  l.kernel = binary->find_kernel("saxpy");
  l.grid = {64, 1, 1};
  l.block = {64, 1, 1};
  l.buffers.push_back({"out", ElementType::f32, std::vector<uint8_t>(64 * 4)});
  l.buffers.push_back({"in", ElementType::f32, std::vector<uint8_t>(8 * 4)});
  l.arguments = {Argument::of_buffer(0), Argument::of_buffer(1), Argument::of_bytes({0, 0, 0, 64})};
  auto emulated = run_on_emulator(l);
  ASSERT_FALSE(emulated);
  EXPECT_NE(emulated.error().to_string().find("saxpy"), std::string::npos) << emulated.error().to_string();
  auto interpreted = run_on_interpreter(l);
  EXPECT_FALSE(interpreted);
}

} // namespace
} // namespace lanewise::runtime
