#include "v3d/machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace lanewise::v3d {

namespace {

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

// Small whole numbers and moderate floats, so that loops end and conditions go both ways.
std::uint32_t plausible(std::uint64_t h) {
  const auto low = static_cast<std::uint32_t>(h);
  if ((h >> 32 & 3) == 0) {
    return low & 7;
  }
  const float x = static_cast<float>(low & 0xffff) / 16384.0f - 2.0f;
  return std::bit_cast<std::uint32_t>(x);
}

} // namespace

Lanes undefined() {
  Lanes l;
  l.undef_low = l.undef_high = all_lanes;
  return l;
}

Machine::Machine(Gpu gpu, const std::vector<Uniform>& uniforms, const RunOptions& options,
                 std::uint32_t temps)
    : gpu_(gpu), uniforms_(uniforms), options_(options), temps_(temps, undefined()) {
  rf_.fill(undefined());
  acc_.fill(undefined());
  rtop_ = undefined();
  // Payload: what the hardware leaves in the first registers.
  for (unsigned r = 0; r < 4; ++r) {
    rf_[r] = made_up(100 + r);
  }
  for (unsigned l = 0; l < lane_count; ++l) {
    msf_[l] = static_cast<std::uint8_t>(hash(7, l) % 5 == 0 ? 0 : 15);
  }
}

std::uint64_t Machine::hash(std::uint64_t a, std::uint64_t b, std::uint64_t c) const {
  return mix(mix(mix(options_.seed * 0x9e3779b97f4a7c15ull + a) + b * 0xd6e8feb86659fd93ull) + c);
}

Lanes Machine::made_up(std::uint64_t what) const {
  Lanes r;
  for (unsigned l = 0; l < lane_count; ++l) {
    r.v[l] = plausible(hash(what, l, 3));
  }
  return r;
}

std::uint32_t Machine::uniform_value(std::uint32_t uniform) const {
  const Uniform& u = uniforms_[uniform];
  if (u.is_literal) {
    return u.value;
  }
  if (u.text == spill_offset_uniform) {
    return spill_region;
  }
  if (u.text == spill_size_uniform) {
    return spill_region_size / 4;
  }
  std::uint64_t h = 0;
  for (const char c : u.text) {
    h = mix(h + static_cast<unsigned char>(c) + 1);
  }
  return plausible(hash(h));
}

Lanes Machine::read(const Reg& r) const {
  switch (r.kind) {
  case Reg::temp: return temps_[r.index];
  case Reg::rf: return rf_[r.index];
  case Reg::acc: return acc_[r.index];
  case Reg::imm: {
    Lanes l;
    l.v.fill(small_immediate(r.index));
    return l;
  }
  default: return undefined(); // an operand that nobody looks at
  }
}

void Machine::write(const Reg& r, const Lanes& v) {
  switch (r.kind) {
  case Reg::temp: temps_[r.index] = v; break;
  case Reg::rf: rf_[r.index] = v; break;
  case Reg::acc: acc_[r.index] = v; break;
  default: break;
  }
}

Machine::Pending Machine::compute(const Alu& a, std::uint32_t uniform) {
  Pending p;
  p.alu = a;
  p.uniform = uniform;
  if (a.op == Op::nop) {
    return p;
  }
  p.active = true;
  std::array<Lanes, 2> in{};
  for (unsigned n = 0; n < source_count(a); ++n) {
    in[n] = read(a.src[n].reg);
  }
  p.value = evaluate(a, in, p.carry);
  if (a.cond != Cond::none) {
    const bool is_a = a.cond == Cond::ifa || a.cond == Cond::ifna;
    const Flags& flags = is_a ? a_ : b_;
    const bool negate = a.cond == Cond::ifna || a.cond == Cond::ifnb;
    p.enabled = static_cast<Mask>(negate ? ~flags.bits : flags.bits);
    p.enabled_undef = flags.undef;
  }
  if (has(a.op, vpm_store)) {
    ++vpm_stores_;
    trace.effects.push_back(
        {EffectKind::vpm_store, {static_cast<std::uint32_t>(a.op)}, {in[0], in[1]}, all_lanes});
  }
  return p;
}

void Machine::apply(const Pending& p) {
  if (!p.active) {
    return;
  }
  const Alu& a = p.alu;
  if (writes_flags(a)) {
    Mask z = 0, n = 0;
    for (unsigned l = 0; l < lane_count; ++l) {
      z |= static_cast<Mask>((p.value.v[l] == 0) << l);
      n |= static_cast<Mask>((p.value.v[l] >> 31) << l);
    }
    const std::array<Mask, 3> kinds{z, n, p.carry};
    if (a.push != Push::none) {
      b_ = a_;
      a_ = {kinds[static_cast<std::size_t>(a.push) - 1], p.value.undef()};
    } else {
      const auto code = static_cast<unsigned>(a.update) - 1;
      const Mask k = kinds[code / 4];
      const Mask value = code % 2 == 0 ? k : static_cast<Mask>(~k);
      // and*: A & flag; nor*: not (A | flag), where the second of each pair inverts the flag.
      const bool is_nor = code % 4 >= 2;
      const Mask operand = is_nor ? static_cast<Mask>(~value) : value;
      a_.bits = is_nor ? static_cast<Mask>(~(a_.bits | operand)) : static_cast<Mask>(a_.bits & operand);
      a_.undef |= p.value.undef();
    }
  }
  if (a.op == Op::setmsf) {
    Effect e{EffectKind::msf, {}, {p.value}, static_cast<Mask>(p.enabled & ~p.enabled_undef)};
    trace.effects.push_back(e);
    for (unsigned l = 0; l < lane_count; ++l) {
      if ((p.enabled >> l & 1) != 0) {
        msf_[l] = static_cast<std::uint8_t>(p.value.v[l] & 15);
      }
    }
  }
  if (a.dst.kind == Reg::magic) {
    write_peripheral(p);
    return;
  }
  if (a.dst.kind == Reg::null || a.dst.kind == Reg::none) {
    return;
  }
  Lanes d = read(a.dst);
  const std::uint32_t keep = a.pack == Pack::none ? 0u : a.pack == Pack::l ? 0xffff0000u : 0xffffu;
  for (unsigned l = 0; l < lane_count; ++l) {
    if ((p.enabled >> l & 1) != 0) {
      d.v[l] = (d.v[l] & keep) | (p.value.v[l] & ~keep);
    }
  }
  if (a.pack != Pack::h) {
    d.undef_low =
        static_cast<Mask>((d.undef_low & ~p.enabled) | (p.value.undef_low & p.enabled) | p.enabled_undef);
  }
  if (a.pack != Pack::l) {
    d.undef_high =
        static_cast<Mask>((d.undef_high & ~p.enabled) | (p.value.undef_high & p.enabled) | p.enabled_undef);
  }
  write(a.dst, d);
}

void Machine::write_peripheral(const Pending& p) {
  const auto address = static_cast<std::uint8_t>(p.alu.dst.index);
  if (is_tmu_write(address)) {
    tmu_write(p);
    return;
  }
  Effect e{EffectKind::tlb, {address}, {p.value}, static_cast<Mask>(p.enabled & ~p.enabled_undef)};
  if (takes_uniform(address)) {
    e.tag.push_back(p.uniform);
  }
  trace.effects.push_back(std::move(e));
}

void Machine::configure_tmu(std::uint32_t uniform) { configs_.push_back(uniform); }

void Machine::tmu_write(const Pending& p) {
  const auto address = static_cast<std::uint8_t>(p.alu.dst.index);
  parameters_.push_back({address, p.value, p.enabled, p.enabled_undef});
  if (address == magic::tmua || address == magic::tmuau) {
    general(address == magic::tmuau ? p.uniform : ~0u);
  } else if (is_tmu_trigger(address)) {
    texture();
  }
}

// The coordinates may come in any order before the last; the effect lists them by address.
void Machine::texture() {
  std::ranges::stable_sort(parameters_, {}, &Parameter::address);
  Effect e{EffectKind::tmu, {}, {}, all_lanes};
  unsigned words = 0;
  std::uint64_t h = 0;
  for (std::size_t n = 0; n < configs_.size(); ++n) {
    const Uniform& u = uniforms_[configs_[n]];
    if (n == 0) {
      words = static_cast<unsigned>(std::popcount(u.returned));
    }
    e.tag.push_back(uniform_value(configs_[n]));
    h = hash(h, e.tag.back());
  }
  Mask undef = 0;
  for (const Parameter& q : parameters_) {
    e.tag.push_back(q.address);
    e.values.push_back(q.value);
    undef |= q.value.undef();
  }
  trace.effects.push_back(std::move(e));
  if (configs_.empty() || words == 0) {
    trace.faults.emplace_back("texture lookup without configuration or without returned words");
  }
  for (unsigned w = 0; w < words; ++w) {
    Lanes r;
    for (unsigned l = 0; l < lane_count; ++l) {
      std::uint64_t k = h + w;
      for (const Parameter& q : parameters_) {
        k = hash(k, q.address, q.value.v[l]);
      }
      const std::uint32_t x = plausible(hash(k, 1)), y = plausible(hash(k, 2));
      r.v[l] = x ^ y >> 16;
    }
    r.undef_low = r.undef_high = undef;
    fifo_.push_back(r);
  }
  trace.max_outstanding = std::max(trace.max_outstanding, static_cast<unsigned>(fifo_.size()));
  parameters_.clear();
  configs_.clear();
}

// Words of a general access by the type field of its configuration: 2..4 are vectors, the others one word.
void Machine::general(std::uint32_t config) {
  const Parameter address = parameters_.back();
  std::vector<Parameter> data(parameters_.begin(), parameters_.end() - 1);
  parameters_.clear();
  const std::uint32_t type = config & 7;
  const unsigned width = type >= 2 && type <= 4 ? type : 1;
  const unsigned op = config >> 3 & 15;
  const bool is_load = data.empty();
  const bool per_quad = (config & 0x80u) == 0;
  bool is_spill = false;
  Mask enabled = static_cast<Mask>(address.enabled & ~address.enabled_undef);
  for (unsigned l = 0; l < lane_count; ++l) {
    is_spill = is_spill || ((enabled >> l & 1) != 0 && address.value.v[l] - spill_region < spill_region_size);
  }
  if (is_spill && (address.value.undef() & enabled) != 0) {
    trace.faults.emplace_back("spill address is undefined in some lane");
  }
  (void)per_quad;
  if (is_spill && !is_load && data.size() != width) {
    trace.faults.emplace_back("a spill stores another number of words than its type has");
  }
  if (!is_spill) {
    Effect e{is_load ? EffectKind::tmu : EffectKind::tmu_store, {config}, {address.value}, enabled};
    for (const Parameter& d : data) {
      e.values.push_back(d.value);
    }
    trace.effects.push_back(std::move(e));
  }
  for (unsigned w = 0; !is_load && w < data.size(); ++w) {
    for (unsigned l = 0; l < lane_count; ++l) {
      if ((address.enabled >> l & 1) != 0) {
        // A lane whose data was not written under the same condition would store what the FIFO held.
        const bool bad = (data[w].enabled >> l & 1) == 0 || (data[w].enabled_undef >> l & 1) != 0;
        const unsigned halves = (data[w].value.undef_low >> l & 1u) | (data[w].value.undef_high >> l & 1u)
                                                                          << 1;
        memory_[address.value.v[l] + 4 * w] = data[w].value.v[l];
        memory_undef_[address.value.v[l] + 4 * w] = static_cast<std::uint8_t>(bad ? 3 : halves);
      }
    }
  }
  if (!is_load && op == 15) {
    return;
  }
  const unsigned words = is_load ? width : 1;
  for (unsigned w = 0; w < words; ++w) {
    Lanes r;
    for (unsigned l = 0; l < lane_count; ++l) {
      const std::uint32_t at = address.value.v[l] + 4 * w;
      const auto it = memory_.find(at);
      r.v[l] = it != memory_.end() ? it->second : plausible(hash(0x6d656d, at));
      const unsigned bad = it != memory_.end() ? memory_undef_[at] : is_spill ? 3u : 0u;
      r.undef_low |= static_cast<Mask>((bad & 1) << l);
      r.undef_high |= static_cast<Mask>((bad >> 1) << l);
    }
    const auto off = static_cast<Mask>(address.value.undef() | ~address.enabled | address.enabled_undef);
    r.undef_low |= off;
    r.undef_high |= off;
    fifo_.push_back(r);
  }
  trace.max_outstanding = std::max(trace.max_outstanding, static_cast<unsigned>(fifo_.size()));
}

Lanes Machine::pop_tmu() {
  if (fifo_.empty()) {
    trace.faults.emplace_back("ldtmu without a result to come");
    return undefined();
  }
  const Lanes r = fifo_.front();
  fifo_.pop_front();
  return r;
}

Lanes Machine::next_varying(Lanes& c) {
  c = made_up(5000 + varyings_);
  return made_up(9000 + varyings_++);
}

void Machine::thread_switch() {
  acc_.fill(undefined());
  rtop_ = undefined();
  if (!parameters_.empty() || !configs_.empty()) {
    trace.faults.emplace_back("thread switch inside a TMU sequence");
  }
}

std::optional<bool> Machine::branch(const Branch& b) {
  if (++branches_ > options_.max_branches) {
    return std::nullopt;
  }
  bool taken = true;
  bool unsure = false;
  if (b.cond != BranchCond::always) {
    Mask live = all_lanes;
    for (unsigned l = 0; b.msfign != Msfign::none && l < lane_count; ++l) {
      if (msf_[l] == 0) {
        live &= static_cast<Mask>(~(1u << l));
      }
    }
    const bool per_lane_0 = b.cond == BranchCond::a0 || b.cond == BranchCond::na0;
    unsure = (a_.undef & (per_lane_0 ? Mask{1} : live)) != 0;
    const Mask set = a_.bits & live;
    const Mask clear = static_cast<Mask>(~a_.bits) & live;
    switch (b.cond) {
    case BranchCond::a0: taken = (a_.bits & 1) != 0; break;
    case BranchCond::na0: taken = (a_.bits & 1) == 0; break;
    case BranchCond::alla: taken = clear == 0; break;
    case BranchCond::anyna: taken = clear != 0; break;
    case BranchCond::anya: taken = set != 0; break;
    case BranchCond::allna: taken = set == 0; break;
    default: break;
    }
  }
  const std::size_t n = trace.unsure.size();
  if (options_.follow != nullptr && n < options_.follow->size() && (*options_.follow)[n] >= 0) {
    taken = (*options_.follow)[n] != 0;
  } else if (unsure && options_.follow != nullptr) {
    trace.faults.emplace_back("branch on flags that should be defined");
  }
  trace.unsure.push_back(static_cast<signed char>(unsure ? taken : -1));
  trace.effects.push_back({EffectKind::branch, {taken}, {}, all_lanes});
  return taken;
}

void Machine::end() {
  trace.effects.push_back({EffectKind::end, {}, {}, all_lanes});
  if (!fifo_.empty() || !parameters_.empty()) {
    trace.faults.emplace_back("TMU results or parameters are left at the end");
  }
}

namespace {

// Units that work beside each other keep no common order: each is compared by itself.
unsigned channel(EffectKind k) {
  switch (k) {
  case EffectKind::tmu:
  case EffectKind::tmu_store: return 0;
  case EffectKind::tlb:
  case EffectKind::msf: return 1;
  case EffectKind::vpm_store: return 2;
  default: return 3;
  }
}

std::string compare(const Effect& r, const Effect& o) {
  if (r.kind != o.kind || r.tag != o.tag || r.values.size() != o.values.size()) {
    return fmt::format("another kind ({}) or other uniforms", static_cast<int>(o.kind));
  }
  if (r.lanes != o.lanes) {
    return "other lanes take part";
  }
  for (std::size_t v = 0; v < r.values.size(); ++v) {
    const Lanes &a = r.values[v], &b = o.values[v];
    for (unsigned l = 0; l < lane_count; ++l) {
      if ((r.lanes >> l & 1) == 0 || (a.undef() >> l & 1) != 0) {
        continue;
      }
      if ((b.undef() >> l & 1) != 0) {
        return fmt::format("value {} lane {} is undefined", v, l);
      }
      if (a.v[l] != b.v[l]) {
        return fmt::format("value {} lane {}: {:#x} became {:#x}", v, l, a.v[l], b.v[l]);
      }
    }
  }
  return {};
}

std::vector<const Effect*> of_channel(const Trace& t, unsigned c) {
  std::vector<const Effect*> r;
  for (const Effect& e : t.effects) {
    if (channel(e.kind) == c) {
      r.push_back(&e);
    }
  }
  return r;
}

// Lookups do not see each other, and VPM stores go to different places: they may come in any order up to the
// next effect of the channel that is none of these.
bool commutes(EffectKind k) { return k == EffectKind::tmu || k == EffectKind::vpm_store; }

std::size_t find_partner(const Effect& e, std::size_t n, const std::vector<const Effect*>& b,
                         const std::vector<char>& taken) {
  std::size_t first = n, end = n;
  while (first > 0 && commutes(b[first - 1]->kind)) {
    --first;
  }
  while (end < b.size() && commutes(b[end]->kind)) {
    ++end;
  }
  for (std::size_t k = first; k < end; ++k) {
    if (taken[k] == 0 && compare(e, *b[k]).empty()) {
      return k;
    }
  }
  return b.size();
}

} // namespace

std::string compare(const Trace& reference, const Trace& other) {
  if (!other.faults.empty() && reference.faults.empty()) {
    return other.faults.front();
  }
  for (unsigned c = 0; c < 4; ++c) {
    const auto a = of_channel(reference, c), b = of_channel(other, c);
    if (a.size() != b.size()) {
      const Effect& more = a.size() > b.size() ? *a.back() : *b.back();
      return fmt::format("one run has more effects than the other (kind {})", static_cast<int>(more.kind));
    }
    std::vector<char> taken(b.size());
    for (std::size_t n = 0; n < a.size(); ++n) {
      std::string difference;
      std::size_t partner = n;
      if (!commutes(a[n]->kind)) {
        difference = compare(*a[n], *b[n]);
      } else if (taken[n] != 0 || !(difference = compare(*a[n], *b[n])).empty()) {
        partner = find_partner(*a[n], n, b, taken);
        difference = partner == b.size() && difference.empty() ? "has no counterpart"
                     : partner == b.size()                     ? difference
                                                               : "";
      }
      if (!difference.empty()) {
        return fmt::format("effect {} of channel {} (kind {}): {}", n, c, static_cast<int>(a[n]->kind),
                           difference);
      }
      taken[partner] = 1;
    }
  }
  return {};
}

} // namespace lanewise::v3d
