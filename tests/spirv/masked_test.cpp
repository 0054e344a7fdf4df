// Random guest-like programs on the device, with all passes, none and each alone: what the interpreter makes
// of the program as it was.
#include "passes/masked_program.hpp"
#include "passes/pass_variants.hpp"
#include "passes/passes.hpp"
#include "support.hpp"

#include "ir/interpreter.hpp"
#include "passes/diverge.hpp"

namespace lanewise::spirv {
namespace {

constexpr uint32_t masked_items = 29; ///< lanes 29 to 31 hold no work-item

std::optional<std::vector<uint8_t>> masked_on_device(const ir::Function& f, unsigned host_lanes,
                                                     bool diverges, runtime::DeviceBuffer& output) {
  const Seating seating{32, host_lanes, {masked_items, 1, 1}};
  auto lowered = lower_waves(f, {.seating = seating});
  if (!lowered) return {};
  passes::simplify(*lowered);
  passes::dead_code(*lowered);
  if (diverges && passes::diverge(*lowered, {.reconverges = true}).changed()) {
    passes::simplify(*lowered);
    passes::cfg_cleanup(*lowered);
    passes::dead_code(*lowered);
  }
  const auto m =
      emit(*lowered, {.seating = seating, .device = test::Device::get().traits(), .zero_memory = true});
  if (!m || !test::validate(m->words).empty()) return {};
  auto& device = *test::Device::get().device();
  auto pipeline = runtime::ComputePipeline::create(device, m->words, {.subgroup_size = m->subgroup_size});
  if (!pipeline) return {};
  std::ranges::fill(output.host(), uint8_t{0});
  runtime::DispatchRequest request;
  const std::array parts{runtime::DispatchRequest::Part{&*pipeline, {}, {1, 1, 1}}};
  request.parts = parts;
  const std::array<const runtime::DeviceBuffer*, 1> buffers{&output};
  request.buffers = buffers;
  if (!runtime::dispatch(device, request)) return {};
  return std::vector<uint8_t>(output.host().begin(), output.host().end());
}

void check_masked(uint64_t seed, runtime::DeviceBuffer& output) {
  ir::Function f = tests::masked_program(seed, output.address());
  passes::uniformity(f);
  ir::FlatMemory memory(output.address(), tests::kOutputBytes);
  ASSERT_TRUE(ir::interpret(f, {.grid = {masked_items, 1, 1}, .workgroup = {masked_items, 1, 1}}, memory));
  // One variant in each seating; the seeds go through them all.
  const auto& variants = tests::pass_variants();
  const unsigned wide = test::Device::get().subgroup_size() >= 32 ? 32 : test::Device::get().subgroup_size();
  unsigned turn = 0;
  for (const unsigned host_lanes : {wide, 1u}) {
    const auto& variant = variants[(seed + 7 * turn++) % variants.size()];
    ir::Function g = f;
    ASSERT_TRUE(passes::run(g, {.without = variant.without}));
    const auto got = masked_on_device(g, host_lanes, !variant.leaves_out(passes::kDiverge), output);
    ASSERT_TRUE(got) << "seed " << seed << ", " << variant.name << ", S' " << host_lanes;
    ASSERT_TRUE(*got == memory.bytes)
        << "seed " << seed << ", " << variant.name << ", S' " << host_lanes << '\n'
        << ir::print(f) << ir::print(g);
  }
}

TEST(MaskedPrograms, RunOnTheDevice) {
  if (!test::Device::get().device()) GTEST_SKIP() << test::Device::get().reason();
  auto output = runtime::DeviceBuffer::create(*test::Device::get().device(), tests::kOutputBytes);
  ASSERT_TRUE(output) << output.error().to_string();
  const uint64_t first = tests::first_random_seed(), count = tests::random_programs(4);
  for (uint64_t seed = first; seed < first + count; ++seed) {
    check_masked(seed, *output);
    if (HasFatalFailure()) return;
  }
  std::cout << count << " programs, " << 2 * count << " variants\n";
}

} // namespace
} // namespace lanewise::spirv
