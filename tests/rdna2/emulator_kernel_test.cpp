// Whole kernels: code objects that clang made (tests/data/emulator), with what the host computes.
#include "container/load.hpp"
#include "rdna2/emulator.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>
#include <zstd.h>

namespace lanewise::rdna2 {
namespace {

std::vector<uint8_t> unpack(const std::string& name) {
  std::ifstream in(std::string(LANEWISE_TEST_DATA) + "/emulator/" + name + ".co.zst", std::ios::binary);
  const std::vector<char> packed{std::istreambuf_iterator<char>(in), {}};
  const auto size = ZSTD_getFrameContentSize(packed.data(), packed.size());
  std::vector<uint8_t> bytes(size > (1u << 24) ? 0 : size);
  ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
  return bytes;
}

/// Kernel arguments, one behind the other at their natural alignment.
class Arguments {
 public:
  template <class T>
  Arguments& add(T value) {
    bytes_.resize((bytes_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T));
    const auto* p = reinterpret_cast<const uint8_t*>(&value);
    bytes_.insert(bytes_.end(), p, p + sizeof(T));
    return *this;
  }
  [[nodiscard]] std::vector<uint8_t> bytes() const { return bytes_; }

 private:
  std::vector<uint8_t> bytes_;
};

class EmulatorKernels : public ::testing::TestWithParam<const char*> {
 protected:
  container::ShaderBinary binary;
  Memory memory;

  void SetUp() override {
    auto loaded = container::load(unpack(GetParam()));
    ASSERT_TRUE(loaded) << loaded.error().to_string();
    binary = std::move(*loaded);
  }
  template <class T>
  uint64_t buffer(std::size_t count, const char* name) {
    return memory.allocate(count * sizeof(T), name);
  }
  template <class T>
  std::span<T> view(uint64_t address) {
    const auto bytes = memory.at(address);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  Expected<RunStatistics> run(const char* name, Dispatch dispatch) {
    const container::Kernel* kernel = binary.find_kernel(name);
    if (kernel == nullptr) return fail(ErrorKind::call, "no such kernel", name);
    return rdna2::run(binary, *kernel, memory, dispatch);
  }
  void expect_runs(const char* name, const Dispatch& dispatch) {
    auto done = run(name, dispatch);
    ASSERT_TRUE(done) << done.error().to_string();
    EXPECT_GT(done->instructions, 0u);
  }
};

// 1000 work-items in groups of 96: both the last group and its last wave are partial.
TEST_P(EmulatorKernels, Saxpy) {
  constexpr unsigned n = 1000;
  const uint64_t y = buffer<float>(n, "y"), x = buffer<float>(n, "x");
  std::vector<float> want(n);
  for (unsigned i = 0; i < n; ++i) {
    view<float>(x)[i] = 0.37f * static_cast<float>(i), view<float>(y)[i] = 1.0f / static_cast<float>(i + 1);
    want[i] = std::fma(3.25f, view<float>(x)[i], view<float>(y)[i]);
  }
  expect_runs(
      "saxpy",
      {.grid = {n, 1, 1}, .block = {96, 1, 1}, .kernarg = Arguments().add(y).add(x).add(3.25f).bytes()});
  for (unsigned i = 0; i < n; ++i) ASSERT_EQ(view<float>(y)[i], want[i]) << i;
}

TEST_P(EmulatorKernels, LoopsThatLanesLeaveOneByOne) {
  constexpr unsigned n = 500;
  const uint64_t out = buffer<uint32_t>(n, "out");
  expect_runs("collatz", {.grid = {n, 1, 1}, .block = {64, 1, 1}, .kernarg = Arguments().add(out).bytes()});
  for (unsigned i = 0; i < n; ++i) {
    uint32_t v = i + 1, c = 0;
    for (; v != 1; ++c) v = v % 2 != 0 ? 3 * v + 1 : v / 2;
    ASSERT_EQ(view<uint32_t>(out)[i], c) << i;
  }
}

TEST_P(EmulatorKernels, ReductionThroughDynamicLdsAndAtomics) {
  constexpr unsigned n = 4096;
  const uint64_t out = buffer<uint32_t>(1, "out"), in = buffer<uint32_t>(n, "in");
  uint32_t want = 0;
  for (unsigned i = 0; i < n; ++i) want += view<uint32_t>(in)[i] = i * 2654435761u;
  expect_runs("reduce", {.grid = {n, 1, 1},
                         .block = {256, 1, 1},
                         .kernarg = Arguments().add(out).add(in).add(0u).bytes(),
                         .dynamic_lds_bytes = 1024});
  EXPECT_EQ(view<uint32_t>(out)[0], want);
}

TEST_P(EmulatorKernels, WorkItemIdsOfPartialGroups) {
  constexpr std::array<uint32_t, 3> grid{13, 7, 3}, block{4, 3, 2};
  const uint64_t out = buffer<uint32_t>(grid[0] * grid[1] * grid[2], "out");
  expect_runs("ids", {.grid = grid, .block = block, .kernarg = Arguments().add(out).bytes()});
  for (uint32_t z = 0; z < grid[2]; ++z)
    for (uint32_t y = 0; y < grid[1]; ++y)
      for (uint32_t x = 0; x < grid[0]; ++x) {
        const uint32_t size = std::min(block[0], grid[0] - x / block[0] * block[0]);
        const uint32_t want = x % 4 + 10 * (y % 3) + 100 * (z % 2) + 1000 * (x / 4) + 10000 * (y / 3) +
                              100000 * (z / 2) + 1000000 * size + 10000000 * 4;
        ASSERT_EQ(view<uint32_t>(out)[x + grid[0] * (y + grid[1] * z)], want) << x << ' ' << y << ' ' << z;
      }
}

TEST_P(EmulatorKernels, CallsAndPrivateMemory) {
  constexpr unsigned n = 200;
  const uint64_t out = buffer<uint32_t>(n, "out");
  expect_runs("calls", {.grid = {n, 1, 1}, .block = {64, 1, 1}, .kernarg = Arguments().add(out).bytes()});
  for (unsigned i = 0; i < n; ++i)
    ASSERT_EQ(view<uint32_t>(out)[i], (i * (i & 7) + 1) + 1000 * (i * (i * 3 & 7) + 1)) << i;
}

TEST_P(EmulatorKernels, DoublesDivideExactly) {
  constexpr unsigned n = 1024;
  const uint64_t out = buffer<double>(n, "out"), a = buffer<double>(n, "a"), b = buffer<double>(n, "b");
  std::mt19937_64 random(1);
  for (unsigned i = 0; i < n; ++i)
    view<double>(a)[i] = std::bit_cast<double>(random()),
    view<double>(b)[i] = std::bit_cast<double>(random());
  expect_runs(
      "divide64",
      {.grid = {n, 1, 1}, .block = {64, 1, 1}, .kernarg = Arguments().add(out).add(a).add(b).bytes()});
  for (unsigned i = 0; i < n; ++i) {
    const double want = view<double>(a)[i] / view<double>(b)[i], got = view<double>(out)[i];
    if (std::isnan(want))
      ASSERT_TRUE(std::isnan(got));
    else
      ASSERT_EQ(std::bit_cast<uint64_t>(got), std::bit_cast<uint64_t>(want)) << i;
  }
}

TEST_P(EmulatorKernels, ConstantData) {
  constexpr unsigned n = 64;
  const uint64_t out = buffer<uint32_t>(n, "out");
  expect_runs("constants", {.grid = {n, 1, 1}, .block = {64, 1, 1}, .kernarg = Arguments().add(out).bytes()});
  constexpr uint32_t table[] = {3, 1, 4, 1, 5, 9, 2, 6};
  for (unsigned i = 0; i < n; ++i) ASSERT_EQ(view<uint32_t>(out)[i], table[i & 7]);
}

TEST_P(EmulatorKernels, RunsRepeatExactly) {
  const uint64_t out = buffer<uint32_t>(500, "out");
  const Dispatch d{.grid = {500, 1, 1}, .block = {64, 1, 1}, .kernarg = Arguments().add(out).bytes()};
  const auto first = run("collatz", d), second = run("collatz", d);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->instructions, second->instructions);
  EXPECT_EQ(first->lane_instructions, second->lane_instructions);
}

TEST_P(EmulatorKernels, EndlessKernelsEnd) {
  const uint64_t out = buffer<uint32_t>(1, "out");
  auto done = run("endless", {.kernarg = Arguments().add(out).bytes(), .max_instructions = 100000});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::limit);
  EXPECT_NE(done.error().to_string().find("max_emulated_instructions"), std::string::npos);
}

TEST_P(EmulatorKernels, FaultsSayWhere) {
  const uint64_t out = buffer<uint32_t>(128, "out");
  auto done =
      run("stray", {.grid = {128, 1, 1}, .block = {128, 1, 1}, .kernarg = Arguments().add(out).bytes()});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::input);
  const std::string text = done.error().to_string();
  for (const char* part :
       {"kernel stray", "workgroup 0,0,0", "lane 6", "pc 0x", "_store_dword", "writes 4 bytes at 0x"})
    EXPECT_NE(text.find(part), std::string::npos) << part << " in " << text;
}

TEST_P(EmulatorKernels, TrapsAreErrors) {
  const uint64_t out = buffer<uint32_t>(1, "out");
  auto done = run("traps", {.kernarg = Arguments().add(out).bytes()});
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().what.find("trapped"), std::string::npos) << done.error().to_string();
}

TEST_P(EmulatorKernels, WrongShapesAreErrors) {
  for (const Dispatch& d : {Dispatch{.grid = {0, 1, 1}}, Dispatch{.block = {2048, 1, 1}},
                            Dispatch{.block = {1024, 1024, 1}}, Dispatch{.dynamic_lds_bytes = 1u << 20}}) {
    auto done = run("saxpy", d);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().kind, ErrorKind::call) << done.error().to_string();
  }
}

INSTANTIATE_TEST_SUITE_P(Clang19, EmulatorKernels, ::testing::Values("w32", "w64", "w32_O0", "w32_v5"));

} // namespace
} // namespace lanewise::rdna2
