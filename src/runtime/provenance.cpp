#include "runtime/provenance.hpp"

#include "support/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace lanewise::runtime {
namespace {

using translate::Origin;
using translate::Origins;
using Kind = Origin::Kind;

std::string at(const translate::CallSlot& slot) { return fmt::format("pc 0x{:x}", slot.pc); }

/// Expressions in the order of their numbers: operands come first.
class Evaluator {
 public:
  Evaluator(const Origins& origins, const Invocation& invocation, const GuestMemory& memory,
            const Parameters* parameters)
      : origins_(origins), invocation_(invocation), memory_(memory), parameters_(parameters) {}

  /// Numbers of the parts of two expressions, ascending.
  void collect(uint32_t a, uint32_t b) {
    const uint32_t top = std::max(a, b);
    std::vector<bool> part(top + 1);
    part[a] = part[b] = true;
    for (uint32_t n = top; n > 0; --n)
      if (part[n])
        for (const uint32_t o : origins_[n].of) part[o] = true;
    parts_.clear();
    for (uint32_t n = 1; n <= top; ++n)
      if (part[n]) parts_.push_back(n);
    values_.assign(top + 1, 0);
  }

  Expected<uint64_t> run(uint32_t lo, uint32_t hi, const std::map<uint64_t, uint32_t>& choice) {
    for (const uint32_t n : parts_) {
      const auto v = value(origins_[n], choice);
      if (!v) return std::unexpected(v.error());
      values_[n] = *v;
    }
    return values_[lo] | uint64_t{values_[hi]} << 32;
  }

 private:
  Expected<uint32_t> value(const Origin& o, const std::map<uint64_t, uint32_t>& choice) const {
    const auto of = [&](unsigned n) { return values_[o.of[n]]; };
    const auto high = [](uint64_t v) { return static_cast<uint32_t>(v >> 32); };
    const auto low = [](uint64_t v) { return static_cast<uint32_t>(v); };
    const auto pair = [&](unsigned l, unsigned h) { return of(l) | uint64_t{of(h)} << 32; };
    switch (o.kind) {
    case Kind::number: return low(o.value);
    case Kind::image_lo: return low(invocation_.image_base + o.value);
    case Kind::image_hi: return high(invocation_.image_base + o.value);
    case Kind::kernarg_lo: return low(invocation_.kernarg_address);
    case Kind::kernarg_hi: return high(invocation_.kernarg_address);
    case Kind::user_data: return user_data(o.value);
    case Kind::load: return load(pair(0, 1) + o.value + of(2));
    case Kind::buffer: return load_buffer(o);
    case Kind::sum_lo: return of(0) + of(1);
    case Kind::sum_hi: return high(pair(0, 2) + pair(1, 3));
    case Kind::difference_lo: return of(0) - of(1);
    case Kind::difference_hi: return high(pair(0, 2) - pair(1, 3));
    case Kind::shift_left: return low(uint64_t{of(0)} << (o.value & 31));
    case Kind::and_: return of(0) & of(1);
    case Kind::either: return choice.at(o.value) == 0 ? of(0) : of(1);
    case Kind::index: return choice.at(o.value);
    case Kind::parameter: return parameter(o.value);
    }
    return 0u;
  }

  Expected<uint32_t> parameter(uint64_t reg) const {
    if (parameters_)
      if (const auto known = parameters_->find(static_cast<uint32_t>(reg)); known != parameters_->end())
        return known->second;
    return fail(
        ErrorKind::unsupported,
        fmt::format("the callee calls or returns through its caller's s{}, which the host does not know",
                    reg));
  }

  Expected<uint32_t> user_data(uint64_t dword) const {
    uint32_t v = 0;
    if (4 * dword + 4 > invocation_.kernarg.size())
      return fail(ErrorKind::call, fmt::format("user data dword {} is missing", dword));
    std::memcpy(&v, invocation_.kernarg.data() + 4 * dword, 4);
    return v;
  }

  Expected<uint32_t> load(uint64_t address) const {
    address &= ~uint64_t{3};
    const uint64_t offset = address - invocation_.kernarg_address;
    if (offset < invocation_.kernarg.size() && invocation_.kernarg.size() - offset >= 4)
      return user_data(offset / 4);
    uint32_t v = 0;
    if (!memory_.read_value(address, v))
      return fail(ErrorKind::input,
                  fmt::format("a call target is read from unmapped address 0x{:x}", address));
    return v;
  }

  /// As translate/scalar_memory.cpp: no swizzle, 0 outside.
  Expected<uint32_t> load_buffer(const Origin& o) const {
    const auto word = [&](unsigned n) { return values_[o.of[n]]; };
    const uint64_t base = word(0) | uint64_t{word(1) & 0xffff} << 32, stride = word(1) >> 16 & 0x3fff;
    const uint64_t size = stride == 0 ? word(2) : stride * word(2);
    const uint64_t offset = (o.value + word(4)) & ~uint64_t{3};
    if (offset + 4 > size) return 0u;
    return load(base + offset);
  }

  const Origins& origins_;
  const Invocation& invocation_;
  const GuestMemory& memory_;
  const Parameters* parameters_;
  std::vector<uint32_t> parts_, values_;
};

} // namespace

Expected<uint32_t> count_targets(const translate::Unlinked& program, const translate::CallSlot& slot) {
  const Origins& origins = program.origins;
  const auto lo = origins.choices(slot.target[0]), hi = origins.choices(slot.target[1]);
  if (lo != hi)
    return fail(ErrorKind::unsupported, "the halves of the call target are chosen apart", at(slot),
                origins.text(slot.target[0]) + " and " + origins.text(slot.target[1]));
  uint64_t count = 1;
  for (const auto& [id, outcomes] : lo) {
    count *= outcomes;
    if (count > limits::max_slot_targets)
      return fail(ErrorKind::limit, "the call may lead to more addresses than max_slot_targets", at(slot),
                  origins.text(slot.target[0]));
  }
  return static_cast<uint32_t>(count);
}

bool needs_comparison(const translate::Unlinked& program, const translate::CallSlot& slot, uint32_t targets) {
  return targets > 1 || slot.assumed || program.origins.reads_memory(slot.target[0]) ||
         program.origins.reads_memory(slot.target[1]);
}

Expected<std::vector<uint64_t>> evaluate_targets(const translate::Unlinked& program,
                                                 const translate::CallSlot& slot,
                                                 const Invocation& invocation, const GuestMemory& memory,
                                                 const Parameters* parameters) {
  const Origins& origins = program.origins;
  // The common case: a pair of user data as it is.
  const Origin &lo = origins[slot.target[0]], &hi = origins[slot.target[1]];
  if (lo.kind == Kind::user_data && hi.kind == Kind::user_data &&
      4 * hi.value + 4 <= invocation.kernarg.size() && 4 * lo.value + 4 <= invocation.kernarg.size()) {
    uint32_t l = 0, h = 0;
    std::memcpy(&l, invocation.kernarg.data() + 4 * lo.value, 4);
    std::memcpy(&h, invocation.kernarg.data() + 4 * hi.value, 4);
    return std::vector<uint64_t>{l | uint64_t{h} << 32};
  }
  Evaluator evaluator(origins, invocation, memory, parameters);
  evaluator.collect(slot.target[0], slot.target[1]);
  const auto choices = origins.choices(slot.target[0]);
  std::map<uint64_t, uint32_t> now;
  for (const auto& [id, outcomes] : choices) now[id] = 0;
  std::vector<uint64_t> targets;
  while (true) {
    auto target = evaluator.run(slot.target[0], slot.target[1], now);
    if (!target) {
      target.error().where = at(slot) + (target.error().where.empty() ? "" : ", " + target.error().where);
      return std::unexpected(std::move(target.error()));
    }
    targets.push_back(*target);
    // The next combination, as a number whose digits are the choices.
    auto digit = now.begin();
    for (; digit != now.end() && ++digit->second == choices.at(digit->first); ++digit) digit->second = 0;
    if (digit == now.end()) break;
  }
  return targets;
}

Parameters parameters_of(const translate::Unlinked& program, const translate::CallSlot& slot,
                         const Invocation& invocation, const GuestMemory& memory,
                         const Parameters* parameters) {
  Parameters found;
  Evaluator evaluator(program.origins, invocation, memory, parameters);
  for (const translate::CallSlot::Register& r : slot.registers) {
    if (slot.link && (r.reg == *slot.link || r.reg == *slot.link + 1)) continue;
    if (!program.origins.choices(r.origin).empty() || program.origins.reads_memory(r.origin)) continue;
    evaluator.collect(r.origin, r.origin);
    if (const auto value = evaluator.run(r.origin, r.origin, {}))
      found[r.reg] = static_cast<uint32_t>(*value);
  }
  return found;
}

} // namespace lanewise::runtime
