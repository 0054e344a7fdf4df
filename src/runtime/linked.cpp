#include "runtime/linked.hpp"

#include "container/guest_abi.hpp"
#include "link/inline_calls.hpp"
#include "support/limits.hpp"
#include "translate/registers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace lanewise::runtime {
namespace {

using translate::CallSlot;

std::string at(std::string_view name, const CallSlot& slot) {
  return fmt::format("{}, call at pc 0x{:x}", name, slot.pc);
}
std::string at(const PreparedShader& shader, const CallSlot& slot) {
  return at("kernel " + shader.kernel.name, slot);
}

std::string register_name(unsigned r) {
  namespace reg = translate::reg;
  if (r >= reg::vgpr0) return fmt::format("v{}", r - reg::vgpr0);
  if (r == reg::vcc_lo || r == reg::vcc_hi) return "vcc";
  return fmt::format("s{}", r);
}

/// Whether a pair of registers holds the way back when the call is made.
bool holds_link(const translate::Unlinked& program, const CallSlot& slot, uint8_t reg) {
  if (!slot.link) return false;
  if (*slot.link == reg) return true;
  const auto holds = [&](unsigned r, translate::Origin::Kind half) {
    const auto known = std::ranges::find(slot.registers, r, &CallSlot::Register::reg);
    if (known == slot.registers.end()) return false;
    const translate::Origin& o = program.origins[known->origin];
    return o.kind == half && o.value == slot.return_pc;
  };
  return holds(reg, translate::Origin::Kind::image_lo) && holds(reg + 1u, translate::Origin::Kind::image_hi);
}

Expected<void> check_callee(const translate::Unlinked& program, std::string_view name, uint32_t number,
                            const PreparedCallee& callee) {
  const CallSlot& slot = program.slots[number];
  for (const uint8_t link : callee.program.links) {
    if (!slot.link)
      return fail(
          ErrorKind::unsupported,
          fmt::format("the callee returns through s[{}:{}], but the jump passes no way back", link, link + 1),
          at(name, slot));
    if (!holds_link(program, slot, link))
      return fail(ErrorKind::unsupported,
                  fmt::format("the callee returns through s[{}:{}], the call's link is s[{}:{}]", link,
                              link + 1, *slot.link, *slot.link + 1),
                  at(name, slot));
  }
  for (const translate::Preserved& p : program.preserved)
    if (p.slot == number && std::ranges::find(callee.changed, p.reg) != callee.changed.end())
      return fail(
          ErrorKind::unsupported,
          fmt::format("the callee changes {}, which a later call or return relies on", register_name(p.reg)),
          at(name, slot));
  return {};
}

uint32_t first_entry(const PreparedShader& shader, size_t slot) {
  uint32_t first = 0;
  for (size_t s = 0; s < slot; ++s) first += shader.targets[s];
  return first;
}

/// Addresses of the calls that lead to a callee, innermost first.
struct Chain {
  const Chain* caller = nullptr;
  uint64_t address = 0;
};

class Resolver {
 public:
  Resolver(const GuestMemory& memory, CalleeSource& source) : memory_(memory), source_(source) {}

  /// The callee at an address, with what it calls itself. All else but `abi` and `chain` is its caller's.
  Expected<Targets::Target> target(uint64_t address, const translate::CalleeAbi& abi,
                                   const translate::Unlinked& program, const CallSlot& slot,
                                   const Invocation& invocation, const Parameters* parameters,
                                   const Chain* chain) {
    unsigned depth = 0;
    for (const Chain* c = chain; c; c = c->caller, ++depth)
      if (c->address == address)
        return fail(ErrorKind::unsupported, "recursive call through pointers",
                    fmt::format("callee at 0x{:x}", address),
                    "calls are inlined, so recursion cannot be translated");
    if (depth > limits::max_call_depth)
      return fail(ErrorKind::limit, "calls are nested deeper than max_call_depth",
                  fmt::format("callee at 0x{:x}", address));
    auto callee = source_.find(address, abi);
    if (!callee) return std::unexpected(std::move(callee.error()));
    Targets::Target result{address, *callee};
    if ((*callee)->program.slots.empty()) return result;
    const Parameters mine = parameters_of(program, slot, invocation, memory_, parameters);
    const Chain here{chain, address};
    // What a callee knows as its image starts where its entry says.
    Invocation inside = invocation;
    inside.image_base = address - callee_entry;
    return nested(std::move(result), abi, inside, mine, here);
  }

 private:
  Expected<Targets::Target> nested(Targets::Target outer, const translate::CalleeAbi& abi,
                                   const Invocation& invocation, const Parameters& mine, const Chain& chain) {
    const translate::Unlinked& program = outer.callee->program;
    const std::string name = fmt::format("callee at 0x{:x}", outer.address);
    std::vector<CalleePtr> inside;
    for (uint32_t s = 0; s < program.slots.size(); ++s) {
      const CallSlot& slot = program.slots[s];
      const auto in_callee = [&](Error e) {
        e.where = e.where.empty() ? at(name, slot) : fmt::format("{}, {}", at(name, slot), e.where);
        return std::unexpected(std::move(e));
      };
      auto addresses = evaluate_targets(program, slot, invocation, memory_, &mine);
      if (!addresses) return in_callee(std::move(addresses.error()));
      auto found = target(addresses->front(), {abi.wave_size, program.modes[s], abi.vgprs}, program, slot,
                          invocation, &mine, &chain);
      if (!found) return in_callee(std::move(found.error()));
      if (auto ok = check_callee(program, name, s, *found->callee); !ok)
        return std::unexpected(std::move(ok.error()));
      inside.push_back(found->callee);
      outer.nested.push_back(std::move(*found));
    }
    outer.callee = source_.composed(outer.callee, inside);
    return outer;
  }

  const GuestMemory& memory_;
  CalleeSource& source_;
};

class Uncached final : public CalleeSource {
 public:
  explicit Uncached(const GuestMemory& memory) : memory_(memory) {}
  Expected<CalleePtr> find(uint64_t address, const translate::CalleeAbi& abi) override {
    return prepare_callee(memory_, address, abi);
  }

 private:
  const GuestMemory& memory_;
};

} // namespace

Expected<Targets> resolve(const PreparedShader& shader, const Invocation& invocation,
                          const GuestMemory& memory, CalleeSource& source) {
  Targets result;
  Resolver resolver(memory, source);
  const unsigned wave = shader.program.function.wave_size;
  for (size_t s = 0; s < shader.program.slots.size(); ++s) {
    const CallSlot& slot = shader.program.slots[s];
    auto addresses = evaluate_targets(shader.program, slot, invocation, memory);
    if (!addresses) {
      addresses.error().where = fmt::format("kernel {}, {}", shader.kernel.name, addresses.error().where);
      return std::unexpected(std::move(addresses.error()));
    }
    const translate::CalleeAbi abi{wave, shader.program.modes[s],
                                   std::clamp(shader.kernel.descriptor.vgpr_count, 3u, 256u)};
    auto& targets = result.slots.emplace_back();
    std::optional<Error> first;
    bool any = false;
    for (const uint64_t address : *addresses) {
      auto target = resolver.target(address, abi, shader.program, slot, invocation, nullptr, nullptr);
      if (!target && !first) first = target.error();
      any = any || target;
      targets.push_back(target ? std::move(*target) : Targets::Target{address, nullptr});
    }
    if (any && (!first || shader.compared[s])) continue;
    first->where = at(shader, slot) + ", " + first->where;
    return std::unexpected(std::move(*first));
  }
  return result;
}

Expected<Targets> resolve(const PreparedShader& shader, const Invocation& invocation,
                          const GuestMemory& memory) {
  Uncached source(memory);
  return resolve(shader, invocation, memory, source);
}

CalleeSets sets_of(const Targets& targets) {
  CalleeSets sets;
  for (const auto& slot : targets.slots) {
    auto& set = sets.emplace_back();
    for (const Targets::Target& t : slot)
      if (t.callee && std::ranges::none_of(set, [&](const CalleePtr& c) { return c->key == t.callee->key; }))
        set.push_back(t.callee);
  }
  return sets;
}

Expected<void> check_callees(const PreparedShader& shader, const CalleeSets& sets) {
  if (sets.size() != shader.program.slots.size())
    return fail(
        ErrorKind::call,
        fmt::format("callees for {} calls, the shader has {}", sets.size(), shader.program.slots.size()),
        "kernel " + shader.kernel.name);
  size_t bytes = 0;
  for (uint32_t s = 0; s < sets.size(); ++s) {
    const CallSlot& slot = shader.program.slots[s];
    if (sets[s].empty()) return fail(ErrorKind::call, "no callee", at(shader, slot));
    if (sets[s].size() > std::max<size_t>(limits::max_slot_callees, shader.targets[s]))
      return fail(ErrorKind::limit, "more callees than max_slot_callees", at(shader, slot));
    for (const CalleePtr& callee : sets[s]) {
      bytes += callee->code_bytes();
      if (callee->abi.wave_size != shader.program.function.wave_size ||
          callee->abi.mode != shader.program.modes[s])
        return fail(ErrorKind::call, "the callee was prepared for another wave size or MODE",
                    at(shader, slot));
      if (auto ok = check_callee(shader.program, "kernel " + shader.kernel.name, s, *callee); !ok) return ok;
    }
  }
  if (bytes > limits::max_callees_bytes)
    return fail(ErrorKind::limit, fmt::format("{} bytes of callees are more than max_callees_bytes", bytes),
                "kernel " + shader.kernel.name);
  return {};
}

Expected<ir::Function> link_function(const PreparedShader& shader, const CalleeSets& sets) {
  auto program = link_program(shader, sets);
  if (!program) return std::unexpected(std::move(program.error()));
  return program->callees.empty() ? std::move(program->main) : link::composed(*program);
}

Expected<ir::Program> link_program(const PreparedShader& shader, const CalleeSets& sets) {
  if (auto ok = check_callees(shader, sets); !ok) return std::unexpected(std::move(ok.error()));
  if (!shader.callees.empty()) return ir::Program{shader.program.function, shader.callees};
  std::vector<link::SlotCallees> slots;
  for (size_t s = 0; s < sets.size(); ++s) {
    link::SlotCallees& slot = slots.emplace_back();
    for (const CalleePtr& callee : sets[s])
      slot.callees.push_back({&callee->program.function, callee->program.results, callee_entry});
    slot.first_entry = first_entry(shader, s);
    slot.by_address = shader.compared[s];
    slot.entry_count = slot.by_address || sets[s].size() > 1 ? shader.targets[s] : 0;
  }
  ir::Function linked = shader.program.function;
  link::inline_calls(linked, shader.program.interface, slots);
  return ir::Program{std::move(linked), {}};
}

Expected<CompiledKernel> link(const PreparedShader& shader, const CalleeSets& sets,
                              const CompileOptions& options) {
  if (shader.full_waves && options.partial_workgroups != std::array{false, false, false})
    return fail(ErrorKind::call, "the shader was prepared for full waves, the options promise none",
                "kernel " + shader.kernel.name);
  auto program = link_program(shader, sets);
  if (!program) return std::unexpected(std::move(program.error()));
  return compile_program(std::move(*program), shader.kernel, options);
}

size_t callee_table_bytes(const PreparedShader& shader) {
  return size_t{guest_abi::callee_table::entry_bytes} * first_entry(shader, shader.targets.size());
}

Expected<std::vector<uint8_t>> callee_table(const PreparedShader& shader, const CalleeSets& sets,
                                            const Targets& targets) {
  namespace table = guest_abi::callee_table;
  std::vector<uint8_t> bytes(callee_table_bytes(shader));
  uint8_t* entry = bytes.data();
  for (size_t s = 0; s < targets.slots.size(); ++s)
    for (const Targets::Target& t : targets.slots[s]) {
      uint32_t number = UINT32_MAX;
      if (t.callee) {
        const auto found = std::ranges::find_if(
            sets[s], [&](const CalleePtr& c) { return c == t.callee || c->key == t.callee->key; });
        if (found == sets[s].end())
          return fail(ErrorKind::call, "the module was linked without this callee",
                      at(shader, shader.program.slots[s]));
        number = static_cast<uint32_t>(found - sets[s].begin());
      }
      std::memcpy(entry + table::address, &t.address, sizeof t.address);
      std::memcpy(entry + table::callee, &number, sizeof number);
      entry += table::entry_bytes;
    }
  return bytes;
}

} // namespace lanewise::runtime
