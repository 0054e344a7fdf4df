// Random programs: the interpreter before wave lowering, the interpreter after it, and a device agree.
#include "../ir/random_ir.hpp"
#include <cstring>

#include "container/guest_abi.hpp"
#include "support.hpp"

namespace lanewise::spirv {
namespace {

using ir::Function;
using ir::Op;
using ir::Value;
using ir::testing::kMemoryBase;
using ir::testing::kMemoryBytes;
using ir::testing::kWindow;

constexpr uint32_t packet_at = kMemoryBytes - 512; ///< the dispatch packet, behind what programs use

struct Launch {
  uint32_t grid, workgroup;
};

std::vector<uint8_t> initial_memory(const Launch& l) {
  std::vector<uint8_t> bytes(kMemoryBytes);
  for (uint32_t i = 0; i < kWindow; ++i) bytes[i] = static_cast<uint8_t>(i * 37 + (i >> 3));
  const std::array<uint32_t, 3> grid{l.grid, 1, 1};
  std::memcpy(bytes.data() + packet_at + guest_abi::packet::grid_size_x, grid.data(), sizeof grid);
  return bytes;
}

Expected<std::vector<uint8_t>> interpreted(const Function& f, const Launch& l, unsigned host_invocations) {
  ir::FlatMemory memory(kMemoryBase, kMemoryBytes);
  memory.bytes = initial_memory(l);
  const ir::InterpreterDispatch d{.grid = {l.grid, 1, 1},
                                  .workgroup = {l.workgroup, 1, 1},
                                  .dispatch_ptr = kMemoryBase + packet_at,
                                  .host_invocations = host_invocations,
                                  .max_instructions = 1 << 24};
  if (auto ok = ir::interpret(f, d, memory); !ok) return std::unexpected(ok.error());
  return memory.bytes;
}

std::string difference(std::span<const uint8_t> a, std::span<const uint8_t> b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i])
      return "byte " + std::to_string(i) + ": " + std::to_string(a[i]) + ", " + std::to_string(b[i]);
  return "";
}

/// A guest wave on any number of invocations does what it does as a wave.
TEST(WaveLowering, KeepsTheMeaningOfRandomPrograms) {
  const Launch launch{110, 80};
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const unsigned wave_size = seed % 2 ? 64 : 32;
    const Function f = ir::testing::random_function(seed, {.wave_size = wave_size});
    const auto expected = interpreted(f, launch, 0);
    ASSERT_TRUE(expected) << expected.error().to_string();
    for (const unsigned host_lanes : {1u, 8u, wave_size}) {
      const Seating seating{wave_size, host_lanes, {launch.workgroup, 1, 1}};
      const auto lowered = lower_waves(f, {seating, {true, false, false}});
      ASSERT_TRUE(lowered) << lowered.error().to_string();
      const auto got = interpreted(*lowered, launch, host_lanes);
      ASSERT_TRUE(got) << "seed " << seed << ", S' " << host_lanes << ": " << got.error().to_string();
      ASSERT_EQ(difference(*expected, *got), "") << "seed " << seed << ", S' " << host_lanes << "\n"
                                                 << ir::print(f);
    }
  }
}

/// The program as a module: valid for every seating.
TEST(RandomPrograms, AreValidModules) {
  for (uint64_t seed = 100; seed < 120; ++seed) {
    const unsigned wave_size = seed % 2 ? 64 : 32;
    const Function f = ir::testing::random_function(seed, {.wave_size = wave_size, .instructions = 40});
    for (const unsigned host_lanes : {1u, 8u, wave_size}) {
      EmitOptions options;
      options.seating = {wave_size, host_lanes, {80, 1, 1}};
      EXPECT_FALSE(test::build(f, options, seed % 3 == 0).words.empty())
          << "seed " << seed << ", S' " << host_lanes;
      if (HasFailure()) return;
    }
  }
}

/// Runs on the device; the program's addresses are moved to a buffer of it.
std::vector<uint8_t> on_device(Function f, const Launch& l, unsigned host_lanes) {
  auto& device = *test::Device::get().device();
  auto buffer = runtime::DeviceBuffer::create(device, kMemoryBytes);
  if (!buffer) return {};
  std::ranges::copy(initial_memory(l), buffer->host().begin());
  for (const uint64_t offset : {uint64_t{0}, uint64_t{kWindow}})
    f[f.constant(ir::Type::i64, kMemoryBase + offset)].imm = buffer->address() + offset;
  EmitOptions options;
  options.seating = {f.wave_size, host_lanes, {l.workgroup, 1, 1}};
  options.device = test::Device::get().traits();
  options.zero_memory = true;
  const auto m = test::build(f, options);
  auto pipeline = runtime::ComputePipeline::create(device, m.words, {.subgroup_size = m.subgroup_size});
  if (!pipeline) {
    ADD_FAILURE() << pipeline.error().to_string();
    return {};
  }
  runtime::DispatchRequest request;
  request.block.dispatch_ptr = buffer->address() + packet_at;
  const std::array parts{runtime::DispatchRequest::Part{&*pipeline, {}, {l.grid / l.workgroup, 1, 1}}};
  request.parts = parts;
  const std::array<const runtime::DeviceBuffer*, 1> buffers{&*buffer};
  request.buffers = buffers;
  if (const auto done = runtime::dispatch(device, request); !done) {
    ADD_FAILURE() << done.error().to_string();
    return {};
  }
  return {buffer->host().begin(), buffer->host().end()};
}

/// One wave on one invocation runs in the interpreter's order, whatever it does to memory.
TEST(RandomPrograms, RunOnTheDeviceAsInterpreted) {
  if (!test::Device::get().device()) GTEST_SKIP() << test::Device::get().reason();
  for (uint64_t seed = 200; seed < 206; ++seed) {
    const unsigned wave_size = seed % 4 == 3 ? 64 : 32;
    const Launch launch{wave_size, wave_size};
    const Function f =
        ir::testing::random_function(seed, {.wave_size = wave_size, .instructions = 30, .floats = false});
    const auto expected = interpreted(f, launch, 0);
    ASSERT_TRUE(expected) << expected.error().to_string();
    const auto got = on_device(f, launch, 1);
    ASSERT_EQ(got.size(), expected->size());
    ASSERT_EQ(difference(*expected, got), "") << "seed " << seed << "\n" << ir::print(f);
  }
}

} // namespace
} // namespace lanewise::spirv
