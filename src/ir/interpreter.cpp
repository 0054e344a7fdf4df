#include "ir/interpreter.hpp"

#include "ir/interpreter_wave.hpp"
#include "ir/verifier.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::ir {
namespace {

using interpreter::Program;
using interpreter::Wave;
using interpreter::Workgroup;

/// How long a wave runs before the next one of its workgroup has its turn: waves may wait for each other by
/// polling memory.
constexpr uint64_t kTurn = 1 << 16;
constexpr uint64_t kMaxWorkgroupItems = 1024;

Expected<void> run_workgroup(const Program& p, Workgroup& group, uint32_t waves, uint64_t& budget) {
  std::vector<Wave> all;
  all.reserve(waves);
  for (uint32_t i = 0; i < waves; ++i) all.emplace_back(p, group, i);
  const auto count = [&](Wave::State s) { return std::ranges::count(all, s, &Wave::state); };
  while (count(Wave::State::ended) != waves) {
    for (Wave& w : all) {
      if (w.state != Wave::State::running) continue;
      uint64_t turn = std::min(kTurn, budget);
      const uint64_t given = turn;
      const auto state = w.run(turn);
      budget -= given - turn;
      if (!state) return std::unexpected(state.error());
    }
    if (budget == 0 && count(Wave::State::ended) != waves) {
      return fail(ErrorKind::limit, "the program runs longer than InterpreterDispatch::max_instructions",
                  "function " + group.function.name);
    }
    // Waves that ended do not count at a barrier.
    if (count(Wave::State::running) == 0) {
      for (Wave& w : all) {
        if (w.state == Wave::State::at_barrier) w.state = Wave::State::running;
      }
    }
  }
  return {};
}

Expected<void> check(const Function& f, const InterpreterDispatch& d) {
  uint64_t items = 1;
  for (unsigned i = 0; i < 3; ++i) {
    if (d.workgroup[i] == 0 || d.grid[i] == 0) return fail(ErrorKind::call, "a dispatch dimension is 0");
    items *= d.workgroup[i];
    if (items > kMaxWorkgroupItems) return fail(ErrorKind::call, "a workgroup has more than 1024 work-items");
  }
  if (d.host_invocations > 64) return fail(ErrorKind::call, "more than 64 host invocations");
  constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
  if (f.scratch_bytes * items > kMaxBytes || uint64_t{f.lds_bytes} + d.dynamic_lds_bytes > kMaxBytes) {
    return fail(ErrorKind::limit, "more than 1 GiB of LDS or scratch in a workgroup");
  }
  for (const BasicBlock& b : f.blocks)
    for (const Value v : b.instructions)
      if (is_unlinked(f[v].op))
        return fail(ErrorKind::unsupported, "the program has calls that are not linked",
                    "function " + f.name);
  return verify(f);
}

} // namespace

bool FlatMemory::load(uint64_t address, unsigned count, uint64_t& value) {
  value = 0;
  const uint64_t at = address - base;
  if (at > bytes.size() || bytes.size() - at < count) return false;
  for (unsigned i = 0; i < count; ++i) value |= uint64_t{bytes[at + i]} << (8 * i);
  return true;
}

bool FlatMemory::store(uint64_t address, unsigned count, uint64_t value) {
  const uint64_t at = address - base;
  if (at > bytes.size() || bytes.size() - at < count) return false;
  for (unsigned i = 0; i < count; ++i) bytes[at + i] = static_cast<uint8_t>(value >> (8 * i));
  return true;
}

bool lanes_may_part(const Function& f) {
  std::vector<bool> read(f.value_count());
  for (const BasicBlock& b : f.blocks)
    for (const Value v : b.instructions)
      for (const Value o : f.operands(v)) read[o.index] = true;
  const auto commutes = [](AtomicOp op) {
    switch (op) {
    case AtomicOp::add:
    case AtomicOp::sub:
    case AtomicOp::smin:
    case AtomicOp::umin:
    case AtomicOp::smax:
    case AtomicOp::umax:
    case AtomicOp::and_:
    case AtomicOp::or_:
    case AtomicOp::xor_: return true;
    default: return false;
    }
  };
  return std::ranges::all_of(f.blocks, [&](const BasicBlock& b) {
    return std::ranges::all_of(b.instructions, [&](Value v) {
      const bool atomic = info(f[v].op).kind == OpKind::atomic;
      return !atomic || (!read[v.index] && commutes(MemoryAccess::unpack(f[v].imm).atomic));
    });
  });
}

Expected<InterpreterResult> interpret(const Function& f, const InterpreterDispatch& d,
                                      InterpreterMemory& memory) {
  if (auto ok = check(f, d); !ok) return std::unexpected(std::move(ok.error()));
  const Program program(f, d.host_invocations ? d.host_invocations : f.wave_size,
                        d.order != LaneOrder::together);
  const auto waves = [&](const std::array<uint32_t, 3>& size) {
    return (size[0] * size[1] * size[2] + f.wave_size - 1) / f.wave_size;
  };
  const auto groups = [&](unsigned i) { return (uint64_t{d.grid[i]} + d.workgroup[i] - 1) / d.workgroup[i]; };
  uint64_t budget = d.max_instructions;
  Workgroup group{f, d, memory};
  for (uint32_t z = 0; z < groups(2); ++z) {
    for (uint32_t y = 0; y < groups(1); ++y) {
      for (uint32_t x = 0; x < groups(0); ++x) {
        group.id = {x, y, z};
        for (unsigned i = 0; i < 3; ++i)
          group.size[i] = std::min(d.workgroup[i], d.grid[i] - group.id[i] * d.workgroup[i]);
        group.lds.assign(size_t{f.lds_bytes} + d.dynamic_lds_bytes, 0);
        // A host workgroup always has all its invocations; what the program at invocation level does about
        // waves that do not exist is part of what is interpreted.
        const uint32_t count = waves(d.host_invocations != 0 ? d.workgroup : group.size);
        if (auto ok = run_workgroup(program, group, count, budget); !ok)
          return std::unexpected(std::move(ok.error()));
      }
    }
  }
  return InterpreterResult{d.max_instructions - budget};
}

} // namespace lanewise::ir
