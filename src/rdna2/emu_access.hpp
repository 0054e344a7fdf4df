// Memory as the waves' instructions see it: where a lane's access lands, and moving bytes between there and
// registers. Plain accesses are relaxed atomics of their natural size, since workgroups run on several host
// threads; guest programs that race see what they would see on the hardware.
#pragma once

#include "rdna2/emu_lanes.hpp"

#include <cstring>

namespace lanewise::rdna2::emu {

/// Where an access of one lane lands in host memory. Dword `k` of it lies at `p + k * step`; swizzled memory
/// has a step of more than 4 and an access may begin `skew` bytes into a dword. `p` null: the access is
/// dropped, loads give 0 (out of a buffer descriptor's range).
struct Place {
  uint8_t* p = nullptr;
  uint32_t step = 4;
  uint32_t skew = 0;
};

/// Host bytes of a global address; on failure null, with the wave's fault set.
[[nodiscard]] uint8_t* locate_global_slow(Wave& w, uint64_t address, unsigned bytes, bool write, int lane);
[[nodiscard]] inline uint8_t* locate_global(Wave& w, uint64_t address, unsigned bytes, bool write, int lane) {
  const Memory::Buffer* b = w.hot;
  if (b != nullptr && b->holds(address, bytes) && (!write || b->writable))
    return b->bytes + (address - b->address);
  return locate_global_slow(w, address, bytes, write, lane);
}

/// As locate_global, for LDS offsets.
[[nodiscard]] uint8_t* locate_lds(Wave& w, uint64_t offset, unsigned bytes, int lane);

/// Byte `offset` of a lane's scratch; false with the wave's fault set when outside.
[[nodiscard]] bool locate_scratch(Wave& w, uint64_t offset, unsigned bytes, int lane, Place& place);

template <class T>
[[nodiscard]] inline T load_host(const uint8_t* p) {
  if (reinterpret_cast<uintptr_t>(p) % sizeof(T) == 0)
    return __atomic_load_n(reinterpret_cast<const T*>(p), __ATOMIC_RELAXED);
  T value;
  std::memcpy(&value, p, sizeof(T));
  return value;
}
template <class T>
inline void store_host(uint8_t* p, T value) {
  if (reinterpret_cast<uintptr_t>(p) % sizeof(T) == 0)
    __atomic_store_n(reinterpret_cast<T*>(p), value, __ATOMIC_RELAXED);
  else
    std::memcpy(p, &value, sizeof(T));
}

/// Up to 16 bytes of memory in registers' order.
struct Words {
  std::array<uint32_t, 4> at{};
};

[[nodiscard]] Words fetch(const Place& place, unsigned bytes);
void store(const Place& place, unsigned bytes, const Words& words);

/// Puts what a load fetched into the destination registers of a lane: extension and d16 halves.
void put_loaded(Wave& w, const Step& s, unsigned lane, unsigned bytes, const Words& words);
/// The data registers of a store in a lane, starting at `reg`.
[[nodiscard]] Words stored_data(const Wave& w, const Step& s, unsigned reg, unsigned lane, unsigned bytes);

/// A read-modify-write of 4 or 8 bytes. Compare-and-swaps take `compare`.
struct AtomicArguments {
  uint64_t data = 0, compare = 0;
};
template <class T>
using AtomicFunction = T (*)(T old, T data, T compare, const Wave& w);

/// The function of an atomic opcode (global, flat, buffer or LDS); null if it is none of this width.
[[nodiscard]] AtomicFunction<uint32_t> atomic32(Opcode opcode);
[[nodiscard]] AtomicFunction<uint64_t> atomic64(Opcode opcode);

/// Performs it atomically for all host threads and returns the old value. `p` is aligned to T.
template <class T>
[[nodiscard]] T read_modify_write(uint8_t* p, AtomicFunction<T> f, T data, T compare, const Wave& w) {
  T* place = reinterpret_cast<T*>(p);
  T old = __atomic_load_n(place, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(place, &old, f(old, data, compare, w), true, __ATOMIC_SEQ_CST,
                                      __ATOMIC_RELAXED)) {
  }
  return old;
}

} // namespace lanewise::rdna2::emu
