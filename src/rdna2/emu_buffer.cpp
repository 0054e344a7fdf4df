// Untyped buffer memory (MUBUF): loads, stores and atomics.
#include "rdna2/emu_buffer.hpp"

namespace lanewise::rdna2::emu {

BufferDescriptor::BufferDescriptor(const Wave& w, unsigned reg) {
  const uint32_t word1 = w.sgpr[reg + 1], word3 = w.sgpr[reg + 3];
  base = w.sgpr[reg] | uint64_t{word1 & 0xffff} << 32;
  stride = word1 >> 16 & 0x3fff;
  swizzled = word1 >> 31 != 0;
  records = w.sgpr[reg + 2];
  for (unsigned i = 0; i < 4; ++i) select[i] = word3 >> 3 * i & 7;
  format = word3 >> 12 & 0x7f;
  index_stride = 8u << (word3 >> 21 & 3);
  add_thread_id = (word3 >> 23 & 1) != 0;
  bounds_rule = word3 >> 28 & 3;
}

BufferAccess::BufferAccess(Wave& wave, const Step& step)
    : descriptor(wave, step.in.src[1].reg), wave_(wave), in_(step.in), soffset_(wave.read32(step.in.src[2])) {
  unsigned reg = in_.src[0].reg;
  if (in_.idxen) index_ = wave.v(reg++);
  if (in_.offen) offset_ = wave.v(reg);
}

// OOB_SELECT. SOFFSET lies outside of a structured check and narrows a raw one. Sums do not wrap.
bool BufferAccess::out_of_range(uint64_t index, uint64_t offset, unsigned payload) const {
  const BufferDescriptor& d = descriptor;
  switch (d.bounds_rule) {
  case 0: return index >= d.records || offset + payload > d.stride;
  case 1: return index >= d.records;
  case 2: return d.records == 0;
  default: break;
  }
  if (d.swizzled && d.stride != 0) return index >= d.records || offset + payload > d.stride;
  return offset + payload + soffset_ > d.records;
}

// Swizzled memory interleaves `index_stride` records in elements of 4 bytes.
uint64_t BufferAccess::linear(uint64_t index, uint64_t offset) const {
  const BufferDescriptor& d = descriptor;
  if (!d.swizzled) return d.base + soffset_ + offset + d.stride * index;
  const uint64_t high = index / d.index_stride, low = index % d.index_stride;
  return d.base + soffset_ + (high * d.stride + (offset & ~uint64_t{3})) * d.index_stride + low * 4 +
         offset % 4;
}

bool BufferAccess::locate_linear(uint64_t address, unsigned bytes, unsigned lane, bool write, uint8_t*& p) {
  const uint64_t into = address - guest_abi::scratch_base;
  if (address >= guest_abi::scratch_base && into < wave_.scratch.size() &&
      bytes <= wave_.scratch.size() - into) {
    p = wave_.scratch.data() + into;
    return true;
  }
  p = locate_global(wave_, address, bytes, write, static_cast<int>(lane));
  return p != nullptr;
}

bool BufferAccess::locate(unsigned lane, unsigned extra, unsigned bytes, unsigned payload, bool write,
                          Place& place) {
  uint64_t index = index_ != nullptr ? index_[lane] : 0;
  if (descriptor.add_thread_id) index += lane;
  const uint64_t offset = uint64_t{static_cast<uint32_t>(in_.imm)} + (offset_ != nullptr ? offset_[lane] : 0);
  place = {};
  if (out_of_range(index, offset, payload)) return true;
  const uint64_t first = offset + extra;
  if (!descriptor.swizzled) return locate_linear(linear(index, first), bytes, lane, write, place.p);
  // Elements lie apart: all of them must exist, the first one is where the access starts.
  place.skew = first & 3;
  place.step = 4 * descriptor.index_stride;
  const uint64_t start = first & ~uint64_t{3};
  for (uint64_t at = start; at < first + bytes; at += 4) {
    uint8_t* p = nullptr;
    if (!locate_linear(linear(index, at), 4, lane, write, p)) return false;
    if (at == start) place.p = p;
  }
  return true;
}

namespace {

bool refuse(Wave& w, const Step& s) {
  if (!s.in.lds && !s.in.tfe) return false;
  (void)w.fail(ErrorKind::unsupported, s.in.lds ? "loads from memory to LDS are not supported"
                                                : "texture fail enable is not supported");
  return true;
}

Flow load_from_buffer(Wave& w, const Step& s) {
  if (refuse(w, s)) return Flow::fault;
  BufferAccess access(w, s);
  const unsigned bytes = s.info->access.bytes;
  for (uint64_t rest = w.exec(); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    Words words;
    for (unsigned at = 0; at < bytes; at += 4) {
      Place place;
      const unsigned part = bytes < 4 ? bytes : 4;
      if (!access.locate(lane, at, part, at + part, false, place)) return Flow::fault;
      words.at[at / 4] = fetch(place, part).at[0];
    }
    put_loaded(w, s, lane, bytes, words);
  }
  return Flow::next;
}

Flow store_lanes(Wave& w, const Step& s) {
  BufferAccess access(w, s);
  const unsigned bytes = s.info->access.bytes;
  for (LanesInTurn turn(w); turn.any();) {
    const unsigned lane = turn.take();
    const Words words = stored_data(w, s, s.in.src[3].reg, lane, bytes);
    for (unsigned at = 0; at < bytes; at += 4) {
      Place place;
      const unsigned part = bytes < 4 ? bytes : 4;
      if (!access.locate(lane, at, part, at + part, true, place)) return Flow::fault;
      store(place, part, {{words.at[at / 4]}});
    }
  }
  return Flow::next;
}

template <class T>
Flow atomic_in_buffer(Wave& w, const Step& s) {
  BufferAccess access(w, s);
  AtomicFunction<T> f;
  if constexpr (sizeof(T) == 4)
    f = atomic32(s.in.opcode);
  else
    f = atomic64(s.in.opcode);
  const unsigned reg = s.in.src[3].reg;
  const bool compares = s.in.src[3].dwords > sizeof(T) / 4;
  const auto value = [&](unsigned r, unsigned lane) {
    uint64_t out = w.v(r)[lane];
    if constexpr (sizeof(T) == 8) out |= uint64_t{w.v(r + 1)[lane]} << 32;
    return static_cast<T>(out);
  };
  for (LanesInTurn turn(w); turn.any();) {
    const unsigned lane = turn.take();
    Place place;
    if (!access.locate(lane, 0, sizeof(T), sizeof(T), true, place)) return Flow::fault;
    T old = 0;
    if (place.p != nullptr) {
      if (reinterpret_cast<uintptr_t>(place.p) % sizeof(T) != 0 || place.skew != 0)
        return w.fail(ErrorKind::input, "atomic access is not aligned", static_cast<int>(lane));
      if (place.step != 4 && sizeof(T) == 8)
        return w.fail(ErrorKind::unsupported, "64-bit atomics in swizzled memory are not supported",
                      static_cast<int>(lane));
      const T compare = compares ? value(reg + sizeof(T) / 4, lane) : T{0};
      old = read_modify_write<T>(place.p, f, value(reg, lane), compare, w);
    }
    if (s.in.dst[0].is_none()) continue;
    w.v(s.in.dst[0].reg)[lane] = static_cast<uint32_t>(old);
    if constexpr (sizeof(T) == 8) w.v(s.in.dst[0].reg + 1u)[lane] = static_cast<uint32_t>(old >> 32);
  }
  return Flow::next;
}

} // namespace

void add_buffer(HandlerTable& t) {
  for (unsigned i = 0; i < opcode_count; ++i) {
    const OpcodeInfo& row = opcode_table[i];
    if (row.encoding != Encoding::mubuf || row.has(OpcodeFlag::formatted)) continue;
    const auto opcode = static_cast<Opcode>(i);
    switch (row.access.kind) {
    case Access::Kind::load: t[i] = load_from_buffer; break;
    case Access::Kind::store: t[i] = store_lanes; break;
    case Access::Kind::atomic:
      if (atomic32(opcode) != nullptr)
        t[i] = atomic_in_buffer<uint32_t>;
      else if (atomic64(opcode) != nullptr)
        t[i] = atomic_in_buffer<uint64_t>;
      break;
    default: break;
    }
  }
}

} // namespace lanewise::rdna2::emu
