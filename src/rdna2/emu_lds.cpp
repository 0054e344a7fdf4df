// LDS instructions (RDNA2 ISA, chapter 10 and 12.13). Lanes run one after the other, lowest first, which is
// one of the orders that the hardware may choose.
#include "rdna2/emu_access.hpp"

namespace lanewise::rdna2::emu {
namespace {

// Address arithmetic wraps at 32 bits.
uint32_t address(const Wave& w, const Step& s, unsigned lane, uint32_t offset) {
  return w.v(s.in.src[0].reg)[lane] + offset;
}

bool refuse_gds(Wave& w, const Step& s) {
  if (!s.in.gds) return false;
  (void)w.fail(ErrorKind::unsupported, "global data share is not supported");
  return true;
}

Flow read(Wave& w, const Step& s) {
  if (refuse_gds(w, s)) return Flow::fault;
  const unsigned bytes = s.info->access.bytes;
  for (uint64_t rest = w.exec(); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    uint8_t* p =
        locate_lds(w, address(w, s, lane, static_cast<uint32_t>(s.in.imm)), bytes, static_cast<int>(lane));
    if (p == nullptr) return Flow::fault;
    put_loaded(w, s, lane, bytes, fetch({p}, bytes));
  }
  return Flow::next;
}

Flow write(Wave& w, const Step& s) {
  if (refuse_gds(w, s)) return Flow::fault;
  const unsigned bytes = s.info->access.bytes;
  for (LanesInTurn turn(w); turn.any();) {
    const unsigned lane = turn.take();
    uint8_t* p =
        locate_lds(w, address(w, s, lane, static_cast<uint32_t>(s.in.imm)), bytes, static_cast<int>(lane));
    if (p == nullptr) return Flow::fault;
    store({p}, bytes, stored_data(w, s, s.in.src[1].reg, lane, bytes));
  }
  return Flow::next;
}

// read2, write2 and wrxchg2: two elements, whose offsets count elements or 64 of them.
struct Pair {
  unsigned bytes;
  std::array<uint32_t, 2> offset;
  explicit Pair(const Step& s) : bytes(s.info->access.bytes / 2) {
    const uint32_t scale = bytes * (s.info->has(OpcodeFlag::stride64) ? 64 : 1);
    offset = {s.in.offset0 * scale, s.in.offset1 * scale};
  }
};

Flow read2(Wave& w, const Step& s) {
  if (refuse_gds(w, s)) return Flow::fault;
  const Pair pair(s);
  for (uint64_t rest = w.exec(); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    std::array<Words, 2> values;
    for (unsigned i = 0; i < 2; ++i) {
      uint8_t* p = locate_lds(w, address(w, s, lane, pair.offset[i]), pair.bytes, static_cast<int>(lane));
      if (p == nullptr) return Flow::fault;
      values[i] = fetch({p}, pair.bytes);
    }
    const unsigned words = pair.bytes / 4;
    for (unsigned k = 0; k < 2 * words; ++k) w.v(s.in.dst[0].reg + k)[lane] = values[k / words].at[k % words];
  }
  return Flow::next;
}

Flow write2(Wave& w, const Step& s) {
  if (refuse_gds(w, s)) return Flow::fault;
  const Pair pair(s);
  for (LanesInTurn turn(w); turn.any();) {
    const unsigned lane = turn.take();
    for (unsigned i = 0; i < 2; ++i) {
      uint8_t* p = locate_lds(w, address(w, s, lane, pair.offset[i]), pair.bytes, static_cast<int>(lane));
      if (p == nullptr) return Flow::fault;
      store({p}, pair.bytes, stored_data(w, s, s.in.src[1 + i].reg, lane, pair.bytes));
    }
  }
  return Flow::next;
}

Flow exchange2(Wave& w, const Step& s) {
  if (refuse_gds(w, s)) return Flow::fault;
  const Pair pair(s);
  for (LanesInTurn turn(w); turn.any();) {
    const unsigned lane = turn.take();
    std::array<Words, 2> data, old;
    for (unsigned i = 0; i < 2; ++i) data[i] = stored_data(w, s, s.in.src[1 + i].reg, lane, pair.bytes);
    for (unsigned i = 0; i < 2; ++i) {
      uint8_t* p = locate_lds(w, address(w, s, lane, pair.offset[i]), pair.bytes, static_cast<int>(lane));
      if (p == nullptr) return Flow::fault;
      old[i] = fetch({p}, pair.bytes);
      store({p}, pair.bytes, data[i]);
    }
    const unsigned words = pair.bytes / 4;
    for (unsigned k = 0; k < 2 * words; ++k) w.v(s.in.dst[0].reg + k)[lane] = old[k / words].at[k % words];
  }
  return Flow::next;
}

uint64_t value64(const Wave& w, unsigned reg, unsigned lane) {
  return w.v(reg)[lane] | uint64_t{w.v(reg + 1)[lane]} << 32;
}

// Compare-and-store takes the comparand first and the new value second, the other way round than FLAT.
template <class T>
Flow atomic_in_lds(Wave& w, const Step& s) {
  if (refuse_gds(w, s)) return Flow::fault;
  AtomicFunction<T> f;
  if constexpr (sizeof(T) == 4)
    f = atomic32(s.in.opcode);
  else
    f = atomic64(s.in.opcode);
  const std::string_view name = s.info->name;
  const bool compares = name.find("cmpst") != std::string_view::npos;
  for (LanesInTurn turn(w); turn.any();) {
    const unsigned lane = turn.take();
    const uint32_t at = address(w, s, lane, static_cast<uint32_t>(s.in.imm));
    if (at % sizeof(T) != 0)
      return w.fail(ErrorKind::input, "atomic access is not aligned", static_cast<int>(lane));
    uint8_t* p = locate_lds(w, at, sizeof(T), static_cast<int>(lane));
    if (p == nullptr) return Flow::fault;
    std::array<uint64_t, 2> data{};
    for (unsigned i = 0; i < 2; ++i) {
      const Operand& o = s.in.src[1 + i];
      if (o.is_vgpr()) data[i] = sizeof(T) == 8 ? value64(w, o.reg, lane) : w.v(o.reg)[lane];
    }
    if (compares) std::swap(data[0], data[1]);
    const T old = read_modify_write<T>(p, f, static_cast<T>(data[0]), static_cast<T>(data[1]), w);
    if (s.in.dst[0].is_none()) continue;
    w.v(s.in.dst[0].reg)[lane] = static_cast<uint32_t>(old);
    if constexpr (sizeof(T) == 8) w.v(s.in.dst[0].reg + 1u)[lane] = static_cast<uint32_t>(old >> 32);
  }
  return Flow::next;
}

// Each half of the data whose top bit is set replaces its half of memory, top bit cleared.
Flow conditional_exchange(Wave& w, const Step& s) {
  if (refuse_gds(w, s)) return Flow::fault;
  for (LanesInTurn turn(w); turn.any();) {
    const unsigned lane = turn.take();
    uint8_t* p =
        locate_lds(w, address(w, s, lane, static_cast<uint32_t>(s.in.imm)) & ~7u, 8, static_cast<int>(lane));
    if (p == nullptr) return Flow::fault;
    for (unsigned k = 0; k < 2; ++k) {
      const uint32_t data = w.v(s.in.src[1].reg + k)[lane];
      w.v(s.in.dst[0].reg + k)[lane] = load_host<uint32_t>(p + 4 * k);
      if (data >> 31 != 0) store_host<uint32_t>(p + 4 * k, data & 0x7fff'ffff);
    }
  }
  return Flow::next;
}

// Adds (or takes away) the number of active lanes at M0[15:0] + offset; all active lanes get the old value.
template <bool append>
Flow count_lanes(Wave& w, const Step& s) {
  if (refuse_gds(w, s)) return Flow::fault;
  const uint64_t exec = w.exec();
  if (exec == 0) return Flow::next;
  uint8_t* p = locate_lds(w, (w.m0() & 0xffff) + static_cast<uint32_t>(s.in.imm), 4, std::countr_zero(exec));
  if (p == nullptr) return Flow::fault;
  const uint32_t old = load_host<uint32_t>(p), count = static_cast<uint32_t>(std::popcount(exec));
  store_host<uint32_t>(p, append ? old + count : old - count);
  each_active(exec, [&](unsigned lane) { w.v(s.in.dst[0].reg)[lane] = old; });
  return Flow::next;
}

uint8_t* addtid_place(Wave& w, const Step& s, unsigned lane) {
  return locate_lds(w, static_cast<uint32_t>(s.in.imm) + (w.m0() & 0xffff) + 4 * lane, 4,
                    static_cast<int>(lane));
}
Flow read_addtid(Wave& w, const Step& s) {
  if (refuse_gds(w, s)) return Flow::fault;
  for (uint64_t rest = w.exec(); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    const uint8_t* p = addtid_place(w, s, lane);
    if (p == nullptr) return Flow::fault;
    w.v(s.in.dst[0].reg)[lane] = load_host<uint32_t>(p);
  }
  return Flow::next;
}
Flow write_addtid(Wave& w, const Step& s) {
  if (refuse_gds(w, s)) return Flow::fault;
  for (LanesInTurn turn(w); turn.any();) {
    const unsigned lane = turn.take();
    uint8_t* p = addtid_place(w, s, lane);
    if (p == nullptr) return Flow::fault;
    store_host<uint32_t>(p, w.v(s.in.src[1].reg)[lane]);
  }
  return Flow::next;
}

unsigned reverse5(unsigned v) { return (v & 1) << 4 | (v & 2) << 2 | (v & 4) | (v & 8) >> 2 | (v & 16) >> 4; }

// Lane that `lane` reads, in its group of 32 (RDNA2 ISA, DS_SWIZZLE_B32).
unsigned swizzle_source(unsigned offset, unsigned lane) {
  const unsigned i = lane & 31, low = offset & 31, group = lane & 32;
  if (offset >= 0xe000) return group | (reverse5(i) >> std::popcount(low)) | (i & low);
  if (offset >= 0xc000) {
    const unsigned amount = offset >> 5 & 31, rotated = (offset >> 10 & 1) != 0 ? i - amount : i + amount;
    return group | (i & low) | (rotated & ~low & 31);
  }
  if (offset >= 0x8000) return (lane & ~3u) + (offset >> 2 * (lane & 3) & 3);
  return group | (((i & low) | (offset >> 5 & 31)) ^ (offset >> 10 & 31));
}

Flow swizzle(Wave& w, const Step& s) {
  const uint64_t exec = w.exec();
  const uint32_t* from = w.v(s.in.src[0].reg);
  Lanes<uint32_t> out;
  each_active(exec, [&](unsigned lane) {
    const unsigned source = swizzle_source(static_cast<uint32_t>(s.in.imm) & 0xffff, lane);
    out[lane] = (exec >> source & 1) != 0 ? from[source] : 0;
  });
  each_active(exec, [&](unsigned lane) { w.v(s.in.dst[0].reg)[lane] = out[lane]; });
  return Flow::next;
}

// Addresses are lane numbers times 4, modulo the wave.
Flow permute(Wave& w, const Step& s) {
  const uint64_t exec = w.exec();
  Lanes<uint32_t> out{};
  each_active(exec, [&](unsigned lane) {
    const unsigned target = address(w, s, lane, static_cast<uint32_t>(s.in.imm)) / 4 % w.lanes;
    out[target] = w.v(s.in.src[1].reg)[lane];
  });
  each_active(exec, [&](unsigned lane) { w.v(s.in.dst[0].reg)[lane] = out[lane]; });
  return Flow::next;
}

Flow bpermute(Wave& w, const Step& s) {
  const uint64_t exec = w.exec();
  Lanes<uint32_t> out{};
  each_active(exec, [&](unsigned lane) {
    const unsigned source = address(w, s, lane, static_cast<uint32_t>(s.in.imm)) / 4 % w.lanes;
    if ((exec >> source & 1) != 0) out[lane] = w.v(s.in.src[1].reg)[source];
  });
  each_active(exec, [&](unsigned lane) { w.v(s.in.dst[0].reg)[lane] = out[lane]; });
  return Flow::next;
}

} // namespace

void add_lds(HandlerTable& t) {
  using enum Opcode;
  for (unsigned i = 0; i < opcode_count; ++i) {
    const OpcodeInfo& row = opcode_table[i];
    if (row.encoding != Encoding::ds || row.has(OpcodeFlag::gds_only)) continue;
    const bool two = row.has(OpcodeFlag::two_addresses);
    switch (row.access.kind) {
    case Access::Kind::load: t[i] = two ? read2 : read; break;
    case Access::Kind::store: t[i] = two ? write2 : write; break;
    case Access::Kind::atomic:
      if (two)
        t[i] = exchange2;
      else if (atomic32(static_cast<Opcode>(i)) != nullptr)
        t[i] = atomic_in_lds<uint32_t>;
      else if (atomic64(static_cast<Opcode>(i)) != nullptr)
        t[i] = atomic_in_lds<uint64_t>;
      break;
    default: break;
    }
  }
  const auto set = [&](Opcode o, Handler h) { t[static_cast<unsigned>(o)] = h; };
  set(ds_nop, [](Wave&, const Step&) { return Flow::next; });
  set(ds_condxchg32_rtn_b64, conditional_exchange);
  set(ds_append, count_lanes<true>);
  set(ds_consume, count_lanes<false>);
  set(ds_read_addtid_b32, read_addtid);
  set(ds_write_addtid_b32, write_addtid);
  set(ds_swizzle_b32, swizzle);
  set(ds_permute_b32, permute);
  set(ds_bpermute_b32, bpermute);
}

} // namespace lanewise::rdna2::emu
