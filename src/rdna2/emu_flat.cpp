// FLAT, GLOBAL and SCRATCH memory (RDNA2 ISA, chapter 9 and 12.17 to 12.19).
#include "rdna2/emu_access.hpp"

namespace lanewise::rdna2::emu {
namespace {

bool absent(const Operand& o) { return o.is_none() || (o.is_sgpr() && o.reg == reg_null); }

/// Addresses of a FLAT or GLOBAL instruction: a 64-bit VGPR pair, or an SGPR pair plus a 32-bit VGPR.
class Addresses {
 public:
  Addresses(const Wave& w, const Step& s) {
    const Operand &vaddr = s.in.src[0], &saddr = s.in.src[1];
    base_ = static_cast<uint64_t>(int64_t{s.in.imm});
    stride_ = s.info->has(OpcodeFlag::addtid) ? 4 : 0;
    const bool scalar = !absent(saddr);
    if (scalar) base_ += w.read64(saddr);
    if (vaddr.is_vgpr()) low_ = w.v(vaddr.reg);
    if (vaddr.is_vgpr() && !scalar) high_ = w.v(vaddr.reg + 1u);
  }
  [[nodiscard]] uint64_t operator()(unsigned lane) const {
    uint64_t address = base_ + uint64_t{stride_} * lane;
    if (low_ != nullptr) address += low_[lane];
    if (high_ != nullptr) address += uint64_t{high_[lane]} << 32;
    return address;
  }

 private:
  uint64_t base_ = 0;
  unsigned stride_ = 0;
  const uint32_t *low_ = nullptr, *high_ = nullptr;
};

// Each space turns a lane's address into a place; false: fault.
struct Global {
  Addresses addresses;
  Global(Wave& w, const Step& s) : addresses(w, s) {}
  bool locate(Wave& w, unsigned lane, unsigned bytes, bool write, Place& place) const {
    place = {locate_global(w, addresses(lane), bytes, write, static_cast<int>(lane))};
    return place.p != nullptr;
  }
};

// The high half of the address tells LDS and scratch apart from global memory.
struct Flat {
  Addresses addresses;
  Flat(Wave& w, const Step& s) : addresses(w, s) {}
  bool locate(Wave& w, unsigned lane, unsigned bytes, bool write, Place& place) const {
    const uint64_t address = addresses(lane);
    const auto high = static_cast<uint32_t>(address >> 32), low = static_cast<uint32_t>(address);
    if (high == guest_abi::private_aperture_hi)
      return locate_scratch(w, low, bytes, static_cast<int>(lane), place);
    place = {high == guest_abi::shared_aperture_hi
                 ? locate_lds(w, low, bytes, static_cast<int>(lane))
                 : locate_global(w, address, bytes, write, static_cast<int>(lane))};
    return place.p != nullptr;
  }
};

struct Scratch {
  uint32_t base;
  const uint32_t* offsets = nullptr;
  Scratch(Wave& w, const Step& s) : base(static_cast<uint32_t>(s.in.imm)) {
    if (!absent(s.in.src[1])) base += w.read32(s.in.src[1]);
    if (s.in.src[0].is_vgpr()) offsets = w.v(s.in.src[0].reg);
  }
  bool locate(Wave& w, unsigned lane, unsigned bytes, bool, Place& place) const {
    const uint32_t offset = base + (offsets != nullptr ? offsets[lane] : 0);
    return locate_scratch(w, offset, bytes, static_cast<int>(lane), place);
  }
};

bool refuse_lds(Wave& w, const Step& s) {
  if (!s.in.lds) return false;
  (void)w.fail(ErrorKind::unsupported, "loads from memory to LDS are not supported");
  return true;
}

template <class Space>
Flow load(Wave& w, const Step& s) {
  if (refuse_lds(w, s)) return Flow::fault;
  const Space space(w, s);
  const unsigned bytes = s.info->access.bytes;
  for (uint64_t rest = w.exec(); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    Place place;
    if (!space.locate(w, lane, bytes, false, place)) return Flow::fault;
    put_loaded(w, s, lane, bytes, fetch(place, bytes));
  }
  return Flow::next;
}

template <class Space>
Flow store_lanes(Wave& w, const Step& s) {
  const Space space(w, s);
  const unsigned bytes = s.info->access.bytes;
  for (LanesInTurn turn(w); turn.any();) {
    const unsigned lane = turn.take();
    Place place;
    if (!space.locate(w, lane, bytes, true, place)) return Flow::fault;
    store(place, bytes, stored_data(w, s, s.in.src[2].reg, lane, bytes));
  }
  return Flow::next;
}

// The data registers hold the operand, then the comparand of a compare-and-swap.
template <class Space, class T>
Flow atomic(Wave& w, const Step& s) {
  const Space space(w, s);
  AtomicFunction<T> f;
  if constexpr (sizeof(T) == 4)
    f = atomic32(s.in.opcode);
  else
    f = atomic64(s.in.opcode);
  const unsigned reg = s.in.src[2].reg;
  const bool compares = s.in.src[2].dwords > sizeof(T) / 4;
  const auto value = [&](unsigned r, unsigned lane) {
    uint64_t out = w.v(r)[lane];
    if constexpr (sizeof(T) == 8) out |= uint64_t{w.v(r + 1)[lane]} << 32;
    return static_cast<T>(out);
  };
  for (LanesInTurn turn(w); turn.any();) {
    const unsigned lane = turn.take();
    Place place;
    if (!space.locate(w, lane, sizeof(T), true, place)) return Flow::fault;
    if (reinterpret_cast<uintptr_t>(place.p) % sizeof(T) != 0 || place.skew != 0)
      return w.fail(ErrorKind::input, "atomic access is not aligned", static_cast<int>(lane));
    if (place.step != 4 && sizeof(T) == 8)
      return w.fail(ErrorKind::unsupported, "64-bit atomics in scratch are not supported",
                    static_cast<int>(lane));
    const T compare = compares ? value(reg + sizeof(T) / 4, lane) : T{0};
    const T old = read_modify_write<T>(place.p, f, value(reg, lane), compare, w);
    if (s.in.dst[0].is_none()) continue;
    w.v(s.in.dst[0].reg)[lane] = static_cast<uint32_t>(old);
    if constexpr (sizeof(T) == 8) w.v(s.in.dst[0].reg + 1u)[lane] = static_cast<uint32_t>(old >> 32);
  }
  return Flow::next;
}

template <class Space>
Handler handler_for(Opcode opcode) {
  switch (info(opcode).access.kind) {
  case Access::Kind::load: return load<Space>;
  case Access::Kind::store: return store_lanes<Space>;
  case Access::Kind::atomic:
    if (atomic32(opcode) != nullptr) return atomic<Space, uint32_t>;
    if (atomic64(opcode) != nullptr) return atomic<Space, uint64_t>;
    return nullptr;
  default: return nullptr;
  }
}

} // namespace

void add_flat(HandlerTable& t) {
  for (unsigned i = 0; i < opcode_count; ++i) {
    const auto opcode = static_cast<Opcode>(i);
    switch (opcode_table[i].encoding) {
    case Encoding::flat: t[i] = handler_for<Flat>(opcode); break;
    case Encoding::global: t[i] = handler_for<Global>(opcode); break;
    case Encoding::scratch: t[i] = handler_for<Scratch>(opcode); break;
    default: break;
    }
  }
}

} // namespace lanewise::rdna2::emu
