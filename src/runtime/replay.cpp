#include "runtime/replay.hpp"

#include "container/guest_abi.hpp"
#include "container/kernarg.hpp"
#include "ir/verifier.hpp"
#include "passes/pipeline.hpp"
#include "rdna2/emulator.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::runtime {
namespace {

/// A copy of the capsule's memory that a program may change, and a dispatch packet beside it.
class ReplayMemory final : public DispatchMemory {
 public:
  explicit ReplayMemory(const Capsule& c) {
    for (const Capsule::Region& r : c.memory) regions_[r.address] = r.bytes;
  }
  uint64_t add(std::vector<uint8_t> bytes) override {
    uint64_t end = 0x1000;
    if (!regions_.empty()) end = regions_.rbegin()->first + regions_.rbegin()->second.size();
    const uint64_t address = (end + 0x1ffff) & ~uint64_t{0xffff};
    regions_[address] = std::move(bytes);
    added_.push_back(address);
    return address;
  }
  bool load(uint64_t address, unsigned bytes, uint64_t& value) override {
    const uint8_t* p = find(address, bytes);
    if (!p) return false;
    value = 0;
    std::memcpy(&value, p, bytes);
    return true;
  }
  bool store(uint64_t address, unsigned bytes, uint64_t value) override {
    uint8_t* p = find(address, bytes);
    if (!p) return false;
    std::memcpy(p, &value, bytes);
    return true;
  }
  [[nodiscard]] MemoryAfter take() {
    for (const uint64_t a : added_) regions_.erase(a);
    return std::move(regions_);
  }

 private:
  uint8_t* find(uint64_t address, unsigned count) {
    auto after = regions_.upper_bound(address);
    if (after == regions_.begin()) return nullptr;
    --after;
    const uint64_t offset = address - after->first;
    if (offset > after->second.size() || after->second.size() - offset < count) return nullptr;
    return &after->second[offset];
  }
  MemoryAfter regions_;
  std::vector<uint64_t> added_;
};

std::vector<uint8_t> packet_of(const Capsule& c, const std::vector<uint8_t>& table) {
  std::vector<uint8_t> packet(guest_abi::packet::bytes + table.size());
  for (unsigned i = 0; i < 3; ++i) {
    const auto size = static_cast<uint16_t>(c.block[i]);
    std::memcpy(&packet[guest_abi::packet::workgroup_size_x + 2 * i], &size, 2);
    std::memcpy(&packet[guest_abi::packet::grid_size_x + 4 * i], &c.grid[i], 4);
  }
  std::ranges::copy(table, packet.begin() + guest_abi::packet::bytes);
  return packet;
}

std::string first_difference(const MemoryAfter& a, const MemoryAfter& b) {
  for (const auto& [address, bytes] : a) {
    const auto other = b.find(address);
    if (other == b.end() || other->second.size() != bytes.size())
      return fmt::format("the region at 0x{:x} is missing", address);
    const auto at = std::ranges::mismatch(bytes, other->second);
    if (at.in1 != bytes.end())
      return fmt::format("byte at 0x{:x}: 0x{:02x} and 0x{:02x}",
                         address + static_cast<uint64_t>(at.in1 - bytes.begin()), *at.in1, *at.in2);
  }
  return {};
}

} // namespace

Expected<ReplayedProgram> replay(const Capsule& c) {
  auto shader = prepare(c.binary, c.kernel());
  if (!shader) return std::unexpected(std::move(shader.error()));
  ReplayedProgram p{.shader = *shader};
  if (!c.bound && !p.shader->program.slots.empty()) return p;
  auto targets = resolve(*p.shader, c.invocation(), CapsuleMemory(c));
  if (!targets) return std::unexpected(std::move(targets.error()));
  p.targets = std::move(*targets);
  p.sets = sets_of(p.targets);
  auto linked = link_function(*p.shader, p.sets);
  if (!linked) return std::unexpected(std::move(linked.error()));
  p.linked = std::move(*linked);
  return p;
}

Expected<MemoryAfter> replay_on_emulator(const Capsule& c, uint64_t max_instructions) {
  rdna2::Memory memory;
  for (const Capsule::Region& r : c.memory) {
    // Buffers of the emulator start at multiples of 16.
    const uint64_t skip = r.address % 16;
    if (auto ok = memory.map(r.address - skip, r.bytes.size() + skip, r.name, r.writable); !ok)
      return std::unexpected(std::move(ok.error()));
    std::ranges::copy(r.bytes, memory.at(r.address).begin());
  }
  const rdna2::Dispatch dispatch{.grid = c.grid,
                                 .block = c.block,
                                 .kernarg = c.kernarg,
                                 .dynamic_lds_bytes = c.dynamic_lds_bytes,
                                 .max_instructions = max_instructions};
  if (auto done = rdna2::run(c.binary, c.kernel(), memory, dispatch); !done)
    return std::unexpected(std::move(done.error()));
  MemoryAfter after;
  for (const Capsule::Region& r : c.memory) {
    const auto bytes = memory.at(r.address).first(r.bytes.size());
    after[r.address].assign(bytes.begin(), bytes.end());
  }
  return after;
}

ir::InterpreterDispatch interpreter_dispatch(const Capsule& c, DispatchMemory& memory,
                                             const std::vector<uint8_t>& callee_table) {
  ir::InterpreterDispatch d{.grid = c.grid, .workgroup = c.block};
  d.dispatch_ptr = memory.add(packet_of(c, callee_table));
  d.queue_ptr = memory.add(std::vector<uint8_t>(256));
  d.kernarg_ptr = c.kernarg_address;
  uint64_t unused = 0;
  if (!c.kernarg.empty() && !memory.load(c.kernarg_address, 1, unused)) d.kernarg_ptr = memory.add(c.kernarg);
  d.image_base = c.image_base;
  d.dynamic_lds_bytes = c.dynamic_lds_bytes;
  return d;
}

Expected<MemoryAfter> replay_on_interpreter(const Capsule& c, const ReplayedProgram& p,
                                            const ir::Function& function, unsigned host_lanes) {
  std::vector<uint8_t> table;
  if (!p.shader->program.slots.empty()) {
    auto made = callee_table(*p.shader, p.sets, p.targets);
    if (!made) return std::unexpected(std::move(made.error()));
    table = std::move(*made);
  }
  ReplayMemory memory(c);
  ir::InterpreterDispatch d = interpreter_dispatch(c, memory, table);
  d.host_invocations = host_lanes;
  if (auto done = ir::interpret(function, d, memory); !done) return std::unexpected(std::move(done.error()));
  return memory.take();
}

Expected<std::vector<ReplayStep>> replay_check(const Capsule& c) {
  if (!c.has_dispatch())
    return fail(ErrorKind::call,
                c.bound ? "the capsule is a dispatch as bind() saw it, without grid and buffers"
                        : "the capsule is a registration, without a dispatch",
                {},
                "it can be linked and compiled, not run; record() of a library and lanewise run --capsule "
                "make capsules that run");
  auto program = replay(c);
  if (!program) return std::unexpected(std::move(program.error()));
  auto reference = replay_on_emulator(c);
  if (!reference) return std::unexpected(std::move(reference.error()));
  std::vector<ReplayStep> steps{{"emulator", false, {}}};
  const auto compare = [&](std::string name, const ir::Function& f, unsigned host_lanes) {
    ReplayStep step{std::move(name), false, {}};
    if (auto after = replay_on_interpreter(c, *program, f, host_lanes); !after)
      step.text = after.error().to_string();
    else
      step.text = first_difference(*reference, *after);
    step.failed = !step.text.empty();
    steps.push_back(std::move(step));
  };
  CompileOptions options = c.compile_options();
  options.verify = options.validate = true;
  options.observe = [&](std::string_view point, const ir::Function& f,
                        unsigned host_lanes) -> Expected<void> {
    compare(fmt::format("interpreter {}", point), f, host_lanes);
    return {};
  };
  if (auto compiled = compile_program({program->linked, {}}, c.kernel(), options); !compiled)
    steps.push_back({"recompilation", true, compiled.error().to_string()});
  return steps;
}

} // namespace lanewise::runtime
