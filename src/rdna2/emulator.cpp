// Dispatches: how a kernel's machine state begins, and how waves and workgroups take turns.
#include "rdna2/emulator.hpp"

#include "container/guest_abi.hpp"
#include "container/kernarg.hpp"
#include "rdna2/disassembler.hpp"
#include "rdna2/emu_machine.hpp"
#include "support/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

namespace lanewise::rdna2 {
namespace emu {

Flow run_wave(Wave& w, uint64_t quantum) {
  const Launch& launch = *w.launch;
  for (; quantum != 0; --quantum) {
    const Step* step = w.code != nullptr ? w.code->find(w.pc) : nullptr;
    if (step == nullptr) {
      w.code = nullptr;
      for (const auto& code : launch.code)
        if (code->holds(w.pc)) w.code = code.get();
      if (w.code == nullptr) w.code = w.launch->buffer_code(w.pc);
      if (w.code == nullptr) return w.fail(ErrorKind::input, "the wave jumped outside the code");
      auto decoded = w.code->decode_at(w.pc);
      if (!decoded) return w.fail(decoded.error().kind, decoded.error().what);
      step = *decoded;
    }
    w.next_pc = w.pc + step->in.size;
    const Flow flow = step->handler(w, *step);
    if (flow == Flow::fault) return flow;
    ++w.instructions;
    w.lane_instructions += static_cast<unsigned>(std::popcount(w.exec()));
    if (flow == Flow::next) {
      w.pc = w.next_pc;
      continue;
    }
    if (flow == Flow::jump) continue;
    w.pc = w.next_pc;
    return flow;
  }
  return Flow::yield;
}

CodeCache* Launch::buffer_code(uint64_t pc) {
  const std::lock_guard lock(buffers_lock);
  for (const auto& known : buffers)
    if (known->holds(pc)) return known.get();
  const Memory::Buffer* buffer = memory->find(pc);
  if (buffer == nullptr) return nullptr;
  buffers.push_back(std::make_unique<CodeCache>(std::span<const uint8_t>(buffer->bytes, buffer->size),
                                                buffer->address, static_cast<WaveSize>(lanes)));
  return buffers.back().get();
}

unsigned Launch::buffer_vgprs_touched() {
  const std::lock_guard lock(buffers_lock);
  unsigned touched = 0;
  for (const auto& known : buffers) touched = std::max(touched, known->vgprs_touched());
  return touched;
}

Error describe_fault(const Wave& w) {
  const Launch& launch = *w.launch;
  std::string where = fmt::format("kernel {}, workgroup {},{},{}, wave {}", launch.kernel->name,
                                  w.group->id[0], w.group->id[1], w.group->id[2], w.index);
  if (w.fault.lane >= 0) where += fmt::format(", lane {}", w.fault.lane);
  where += fmt::format(", pc 0x{:x}", w.pc - launch.image);
  if (const Step* step = w.code != nullptr ? w.code->find(w.pc) : nullptr)
    where += ": " + disassemble(step->in, static_cast<WaveSize>(w.lanes));
  return {w.fault.kind, w.fault.what, where, {}};
}

namespace {

/// What the bytes of LDS and scratch hold at first, by other_turns. As floats these are tiny, huge and near
/// 1: a number that makes no difference beside the others of one program does in another choice.
uint8_t first_contents(unsigned other_turns) {
  constexpr std::array<uint8_t, 4> others{0xa5, 0x5a, 0xa5, 0x3f};
  return other_turns == 0 ? 0 : others[other_turns % others.size()];
}

constexpr uint64_t quantum = 1u << 16; // instructions before another wave of the workgroup gets its turn
constexpr uint64_t dynamic_stack_bytes = 16384;

/// Everything a workgroup needs while it runs; kept for the next one of the same host thread.
struct Bench {
  Group group;
  std::deque<Wave> waves;
};

// The user SGPRs in hardware order, then the workgroup's ids (LLVM AMDGPU usage, "Initial Kernel Execution
// State").
void init_scalars(Wave& w, const Group& group, unsigned wave_count) {
  const Launch& launch = *w.launch;
  const container::KernelDescriptor& d = launch.kernel->descriptor;
  unsigned next = 0;
  const auto put = [&](uint32_t value) { w.set(next++, value); };
  const auto put64 = [&](uint64_t value) {
    put(static_cast<uint32_t>(value)), put(static_cast<uint32_t>(value >> 32));
  };
  if (d.user.private_segment_buffer) {
    put(guest_abi::scratch_rsrc_word0);
    put(guest_abi::scratch_rsrc_word1);
    put(guest_abi::scratch_rsrc_word2);
    put(guest_abi::scratch_rsrc_word3(w.lanes));
  }
  if (d.user.dispatch_ptr) put64(launch.packet);
  if (d.user.queue_ptr) put64(launch.queue);
  if (d.user.kernarg_segment_ptr) put64(launch.kernarg);
  if (d.user.dispatch_id) put64(0);
  if (d.user.flat_scratch_init) put64(guest_abi::scratch_base);
  if (d.user.private_segment_size) put(static_cast<uint32_t>(launch.scratch_bytes));
  const auto kernarg = std::as_const(*launch.memory).at(launch.kernarg);
  for (unsigned k = 0; k < d.user.kernarg_preload_length; ++k) {
    const std::size_t at = 4 * (std::size_t{d.user.kernarg_preload_offset} + k);
    uint32_t value = 0;
    if (at + 4 <= kernarg.size()) std::memcpy(&value, kernarg.data() + at, 4);
    put(value);
  }
  next = std::max<unsigned>(next, d.user.count);
  if (d.workgroup_id_x) put(group.id[0]);
  if (d.workgroup_id_y) put(group.id[1]);
  if (d.workgroup_id_z) put(group.id[2]);
  if (d.workgroup_info) put((w.index == 0 ? 1u << 31 : 0u) | wave_count);
  if (d.scratch_enabled) put(0); // every wave has scratch of its own behind the same address
}

// Work-items go to lanes in the order of their flat index in the (maybe partial) workgroup. Lanes behind the
// last one are off and count on (docs/lane-contract.md).
void init_vectors(Wave& w, const Group& group) {
  const unsigned ids = w.launch->kernel->descriptor.workitem_id_vgprs;
  const uint64_t count = uint64_t{group.size[0]} * group.size[1] * group.size[2];
  const auto& block = w.launch->dispatch->block;
  const unsigned last = block[2] > 1 ? 2 : block[1] > 1 ? 1 : 0; // the dimension that does not wrap
  uint64_t exec = 0;
  for (unsigned lane = 0; lane < w.lanes; ++lane) {
    const uint64_t flat = uint64_t{w.index} * w.lanes + lane;
    if (flat < count) exec |= uint64_t{1} << lane;
    uint64_t rest = flat;
    for (unsigned d = 0; d <= last; ++d) {
      if (d < ids) w.v(d)[lane] = static_cast<uint32_t>(d == last ? rest : rest % group.size[d]);
      rest /= group.size[d];
    }
    for (unsigned d = last + 1; d < ids; ++d) w.v(d)[lane] = 0;
  }
  w.set_mask(reg_exec, exec);
}

uint32_t initial_mode(const container::KernelDescriptor& d) {
  const container::FloatMode& f = d.float_mode;
  return f.round_32 | f.round_16_64 << 2 | f.denorm_32 << 4 | f.denorm_16_64 << 6 |
         (d.dx10_clamp ? 1u << 8 : 0u) | (d.ieee ? 1u << 9 : 0u);
}

void init_wave(Wave& w, Launch& launch, Group& group, unsigned index, unsigned wave_count) {
  std::vector<uint32_t> vgprs = std::move(w.vgprs);
  std::vector<uint8_t> scratch = std::move(w.scratch);
  w = Wave{};
  w.lanes = launch.lanes;
  w.vgprs = std::move(vgprs);
  // Rows that no instruction decoded so far writes are still clear.
  unsigned dirty = 3;
  for (const auto& code : launch.code) dirty = std::max(dirty, code->vgprs_touched());
  dirty = std::max(dirty, launch.buffer_vgprs_touched());
  const uint32_t nothing = launch.other_turns != 0 ? ~guest_abi::uninitialised : guest_abi::uninitialised;
  if (w.vgprs.size() != std::size_t{256} * w.lanes)
    w.vgprs.assign(std::size_t{256} * w.lanes, nothing);
  else
    std::fill_n(w.vgprs.begin(), std::size_t{dirty} * w.lanes, nothing);
  w.scratch = std::move(scratch);
  w.scratch.assign(launch.scratch_bytes * w.lanes, first_contents(launch.other_turns));
  w.launch = &launch;
  w.group = &group;
  w.index = index;
  w.pc = launch.entry;
  w.flat_scratch = guest_abi::scratch_base;
  w.mode.bits = initial_mode(launch.kernel->descriptor);
  init_scalars(w, group, wave_count);
  init_vectors(w, group);
}

/// Runs all waves of a workgroup, turn by turn, each until it ends, waits at a barrier or has had its share.
/// A barrier opens when every wave that has not ended waits at it.
std::optional<Error> run_waves(std::deque<Wave>& waves, unsigned count, const Launch& launch) {
  unsigned running = count;
  const unsigned other = launch.other_turns;
  while (running != 0) {
    unsigned waiting = 0;
    for (unsigned i = 0; i < count; ++i) {
      Wave& w = waves[other != 0 ? count - 1 - i : i];
      if (w.done) continue;
      if (w.waiting) {
        ++waiting;
        continue;
      }
      switch (run_wave(w, other != 0 ? other : quantum)) {
      case Flow::end: w.done = true, --running; break;
      case Flow::barrier: w.waiting = true, ++waiting; break;
      case Flow::fault: return describe_fault(w);
      default:
        if (w.instructions >= launch.max_instructions) {
          (void)w.fail(ErrorKind::limit,
                       fmt::format("a wave ran {} instructions without an end (max_emulated_instructions)",
                                   w.instructions));
          return describe_fault(w);
        }
        break;
      }
    }
    if (waiting == running)
      for (unsigned i = 0; i < count; ++i) waves[i].waiting = false;
  }
  return std::nullopt;
}

std::optional<Error> run_group(Bench& bench, Launch& launch, uint64_t number, RunStatistics& statistics) {
  const Dispatch& dispatch = *launch.dispatch;
  Group& group = bench.group;
  uint64_t rest = number;
  for (unsigned d = 0; d < 3; ++d) {
    const uint32_t groups =
        dispatch.grid[d] / dispatch.block[d] + (dispatch.grid[d] % dispatch.block[d] != 0 ? 1 : 0);
    group.id[d] = static_cast<uint32_t>(rest % groups);
    rest /= groups;
    group.size[d] = std::min(dispatch.block[d], dispatch.grid[d] - group.id[d] * dispatch.block[d]);
  }
  group.lds.assign(launch.lds_bytes, first_contents(launch.other_turns));
  const uint64_t items = uint64_t{group.size[0]} * group.size[1] * group.size[2];
  const auto count = static_cast<unsigned>((items + launch.lanes - 1) / launch.lanes);
  while (bench.waves.size() < count) bench.waves.emplace_back();
  for (unsigned i = 0; i < count; ++i) init_wave(bench.waves[i], launch, group, i, count);
  auto failed = run_waves(bench.waves, count, launch);
  statistics.workgroups += 1;
  statistics.waves += count;
  for (unsigned i = 0; i < count; ++i) {
    statistics.instructions += bench.waves[i].instructions;
    statistics.lane_instructions += bench.waves[i].lane_instructions;
  }
  return failed;
}

Expected<void> check_shape(const container::Kernel& kernel, const Dispatch& dispatch) {
  const auto wrong = [&](std::string what, std::string hint = {}) {
    return fail(ErrorKind::call, std::move(what), fmt::format("kernel {}", kernel.name), std::move(hint));
  };
  uint64_t items = 1;
  for (unsigned d = 0; d < 3; ++d) {
    if (dispatch.grid[d] == 0 || dispatch.block[d] == 0)
      return wrong("a dimension of the grid or the block is 0");
    if (dispatch.block[d] > 1024)
      return wrong(fmt::format("a block of {} work-items is too large", dispatch.block[d]));
    items *= dispatch.block[d];
  }
  const uint32_t most = std::min<uint32_t>(kernel.max_flat_workgroup_size, 1024);
  if (items > most)
    return wrong(fmt::format("a block of {} work-items is too large", items),
                 fmt::format("the kernel allows {}", most));
  if (kernel.required_workgroup_size && *kernel.required_workgroup_size != dispatch.block) {
    const auto& want = *kernel.required_workgroup_size;
    return wrong("the block is not the one the kernel was compiled for",
                 fmt::format("it wants {},{},{}", want[0], want[1], want[2]));
  }
  const uint64_t lds = uint64_t{kernel.descriptor.group_segment_fixed_size} + dispatch.dynamic_lds_bytes;
  if (lds > limits::max_lds_bytes)
    return wrong(fmt::format("{} bytes of LDS are more than a workgroup has (max_lds_bytes)", lds));
  if (kernel.descriptor.private_segment_fixed_size > limits::max_scratch_bytes)
    return fail(ErrorKind::limit,
                fmt::format("{} bytes of scratch for each lane (max_scratch_bytes)",
                            kernel.descriptor.private_segment_fixed_size),
                fmt::format("kernel {}", kernel.name));
  return {};
}

// hsa_kernel_dispatch_packet_t, as a kernel may read it.
std::array<uint8_t, guest_abi::packet::bytes> make_packet(const Launch& launch,
                                                          const container::LaunchShape& shape) {
  namespace at = guest_abi::packet;
  std::array<uint8_t, at::bytes> packet{};
  const auto put = [&](uint32_t offset, auto value) {
    std::memcpy(packet.data() + offset, &value, sizeof(value));
  };
  const unsigned dimensions = shape.grid[2] > 1 ? 3 : shape.grid[1] > 1 ? 2 : 1;
  put(0, static_cast<uint16_t>(2 << 0 | 1 << 8)); // type: kernel dispatch; barrier bit
  put(at::setup, static_cast<uint16_t>(dimensions));
  put(at::workgroup_size_x, static_cast<uint16_t>(shape.block[0]));
  put(at::workgroup_size_y, static_cast<uint16_t>(shape.block[1]));
  put(at::workgroup_size_z, static_cast<uint16_t>(shape.block[2]));
  put(at::grid_size_x, shape.grid[0]);
  put(at::grid_size_y, shape.grid[1]);
  put(at::grid_size_z, shape.grid[2]);
  put(at::private_segment_size, static_cast<uint32_t>(launch.scratch_bytes));
  put(at::group_segment_size, launch.lds_bytes);
  put(at::kernel_object, launch.entry);
  put(at::kernarg_address, launch.kernarg);
  return packet;
}

/// Buffers that live as long as one dispatch.
class Transient {
 public:
  explicit Transient(Memory& memory) : memory_(memory) {}
  ~Transient() {
    for (const uint64_t a : addresses_) memory_.release(a);
  }
  Transient(const Transient&) = delete;
  Transient& operator=(const Transient&) = delete;
  uint64_t make(std::size_t bytes, const char* name) {
    addresses_.push_back(memory_.allocate(bytes, name));
    return addresses_.back();
  }

 private:
  Memory& memory_;
  std::vector<uint64_t> addresses_;
};

Expected<void> prepare_memory(Launch& launch, Transient& transient) {
  const container::Kernel& kernel = *launch.kernel;
  const Dispatch& dispatch = *launch.dispatch;
  Memory& memory = *launch.memory;
  auto image = memory.load(*launch.binary);
  if (!image) return std::unexpected(image.error());
  launch.image = *image;
  launch.entry = kernel.entry + *image;
  for (const container::Segment& s : launch.binary->segments)
    if (s.executable)
      launch.code.push_back(std::make_unique<CodeCache>(std::span<const uint8_t>(s.bytes), s.address + *image,
                                                        static_cast<WaveSize>(launch.lanes)));
  const std::size_t needed = container::kernarg_bytes(kernel);
  if (needed > limits::max_kernarg_bytes)
    return fail(ErrorKind::limit, fmt::format("{} bytes of kernel arguments (max_kernarg_bytes)", needed));
  launch.kernarg = transient.make(std::max(needed, dispatch.kernarg.size()), "the kernel's arguments");
  launch.queue = transient.make(256, "the queue");
  launch.packet = transient.make(guest_abi::packet::bytes, "the dispatch packet");
  const container::LaunchShape shape{.grid = dispatch.grid,
                                     .block = dispatch.block,
                                     .dynamic_lds_bytes = dispatch.dynamic_lds_bytes,
                                     .queue_address = launch.queue};
  const std::span<uint8_t> kernarg = memory.at(launch.kernarg);
  std::copy(dispatch.kernarg.begin(), dispatch.kernarg.end(), kernarg.begin());
  if (auto done = container::fill_hidden_arguments(kernel, shape, kernarg); !done) return done;
  const auto packet = make_packet(launch, shape);
  std::copy(packet.begin(), packet.end(), memory.at(launch.packet).begin());
  return {};
}

Expected<RunStatistics> run_groups(Launch& launch) {
  const Dispatch& dispatch = *launch.dispatch;
  uint64_t groups = 1;
  for (unsigned d = 0; d < 3; ++d)
    groups *= dispatch.grid[d] / dispatch.block[d] + (dispatch.grid[d] % dispatch.block[d] != 0 ? 1 : 0);
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const auto threads = dispatch.compares != nullptr
                           ? 1u
                           : static_cast<unsigned>(std::min<uint64_t>(
                                 groups, dispatch.threads != 0 ? dispatch.threads : cores));
  std::atomic<uint64_t> next = 0;
  std::atomic<bool> stop = false;
  std::mutex results;
  RunStatistics total;
  std::optional<std::pair<uint64_t, Error>> failure; // of the lowest workgroup that failed
  // Groups start in the order of their ids, so that one may wait for another with a lower id.
  const auto work = [&] {
    Bench bench;
    RunStatistics mine;
    for (uint64_t group = next++; group < groups && !stop; group = next++) {
      auto error = run_group(bench, launch, dispatch.other_turns != 0 ? groups - 1 - group : group, mine);
      if (!error) continue;
      stop = true;
      const std::lock_guard lock(results);
      if (!failure || group < failure->first) failure = {group, std::move(*error)};
    }
    const std::lock_guard lock(results);
    total.waves += mine.waves;
    total.workgroups += mine.workgroups;
    total.instructions += mine.instructions;
    total.lane_instructions += mine.lane_instructions;
  };
  {
    std::vector<std::jthread> others; // joined at the end of this block
    try {
      for (unsigned i = 1; i < threads; ++i) others.emplace_back(work);
    } catch (const std::system_error&) {
      // The threads that could be had, and this one, run all groups.
    }
    work();
  }
  if (failure) return std::unexpected(failure->second);
  return total;
}

} // namespace
} // namespace emu

Expected<RunStatistics> run(const container::ShaderBinary& binary, const container::Kernel& kernel,
                            Memory& memory, const Dispatch& dispatch) {
  if (auto fits = emu::check_shape(kernel, dispatch); !fits) return std::unexpected(fits.error());
  emu::Launch launch{.binary = &binary, .kernel = &kernel, .memory = &memory, .dispatch = &dispatch};
  const container::KernelDescriptor& d = kernel.descriptor;
  launch.lanes = d.wave32 ? 32 : 64;
  launch.lds_bytes = d.group_segment_fixed_size + dispatch.dynamic_lds_bytes;
  launch.scratch_bytes = (uint64_t{d.private_segment_fixed_size} + 3) / 4 * 4;
  if (d.uses_dynamic_stack) launch.scratch_bytes += emu::dynamic_stack_bytes;
  launch.other_turns = dispatch.other_turns;
  launch.compares = dispatch.compares;
  launch.max_instructions = dispatch.max_instructions != 0
                                ? std::min(dispatch.max_instructions, limits::max_emulated_instructions)
                                : limits::max_emulated_instructions;
  emu::Transient transient(memory);
  if (auto ready = emu::prepare_memory(launch, transient); !ready) return std::unexpected(ready.error());
  return emu::run_groups(launch);
}

} // namespace lanewise::rdna2
