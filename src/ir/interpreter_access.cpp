// Loads, stores and atomics in all address spaces, and through buffer descriptors.
#include "ir/interpreter_wave.hpp"

#include "container/guest_abi.hpp"
#include "ir/soft_float.hpp"
#include "ir/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::ir::interpreter {
namespace {

/// New memory contents of an atomic (RDNA2 ISA, DS and FLAT atomics). `second` is the compare operand.
uint64_t updated(MemoryAccess m, uint64_t old, uint64_t data, uint64_t second) {
  const unsigned bytes = m.bytes, width = bytes * 8;
  const auto sign = [&](uint64_t x) { return sign_extend(x, width); };
  const Type float_type = bytes == 8 ? Type::f64 : Type::f32;
  const auto less = [&](uint64_t a, uint64_t b) {
    return soft::to_double(float_type, a) < soft::to_double(float_type, b);
  };
  switch (m.atomic) {
  case AtomicOp::none: break;
  case AtomicOp::swap: return data;
  case AtomicOp::cmpswap: return old == second ? data : old;
  case AtomicOp::add: return (old + data) & low_bits(width);
  case AtomicOp::sub: return (old - data) & low_bits(width);
  case AtomicOp::rsub: return (data - old) & low_bits(width);
  case AtomicOp::smin: return sign(data) < sign(old) ? data : old;
  case AtomicOp::umin: return std::min(data, old);
  case AtomicOp::smax: return sign(data) > sign(old) ? data : old;
  case AtomicOp::umax: return std::max(data, old);
  case AtomicOp::and_: return old & data;
  case AtomicOp::or_: return old | data;
  case AtomicOp::xor_: return old ^ data;
  case AtomicOp::inc: return old >= data ? 0 : old + 1;
  case AtomicOp::dec: return old == 0 || old > data ? data : old - 1;
  case AtomicOp::csub: return old < data ? 0 : old - data;
  case AtomicOp::fcmpswap:
    return !less(old, second) && !less(second, old) && !soft::is_nan(soft::format(float_type), old) &&
                   !soft::is_nan(soft::format(float_type), second)
               ? data
               : old;
  case AtomicOp::fmin: return less(data, old) ? data : old;
  case AtomicOp::fmax: return less(old, data) ? data : old;
  case AtomicOp::fadd:
    return soft::add(soft::format(float_type), old, data, {.flush_in = m.flush_in, .flush_out = m.flush_out});
  case AtomicOp::mskor: return (old & ~data) | second;
  case AtomicOp::wrap: return old >= data ? old - data : (old + second) & low_bits(width);
  }
  return old;
}

bool is_buffer(Op op) { return op == Op::buffer_load || op == Op::buffer_store || op == Op::buffer_atomic; }

/// Fields of a buffer descriptor (RDNA2 ISA, "Buffer Resource Descriptor").
struct Descriptor {
  uint64_t base, stride;
  uint32_t records, index_stride, check;
  bool swizzle, add_lane;
  Descriptor(uint32_t w0, uint32_t w1, uint32_t w2, uint32_t w3)
      : base(w0 | uint64_t{w1 & 0xffff} << 32), stride(w1 >> 16 & 0x3fff), records(w2),
        index_stride(8u << (w3 >> 21 & 3)), check(w3 >> 28 & 3), swizzle((w1 & 0x8000'0000) != 0),
        add_lane((w3 & 1u << 23) != 0) {}
};

bool read_bytes(const std::vector<uint8_t>& from, uint64_t at, unsigned bytes, uint64_t& value) {
  value = 0;
  if (at > from.size() || from.size() - at < bytes) return false;
  for (unsigned i = 0; i < bytes; ++i) value |= uint64_t{from[at + i]} << (8 * i);
  return true;
}

bool write_bytes(std::vector<uint8_t>& to, uint64_t at, unsigned bytes, uint64_t value) {
  if (at > to.size() || to.size() - at < bytes) return false;
  for (unsigned i = 0; i < bytes; ++i) to[at + i] = static_cast<uint8_t>(value >> (8 * i));
  return true;
}

} // namespace

// RDNA2 ISA, "Buffer Addressing" and "Range checking". Elements of swizzled buffers have 4 bytes.
Wave::Target Wave::buffer_target(const Code& c, MemoryAccess m, unsigned lane, unsigned component) const {
  const auto word = [&](unsigned i) { return static_cast<uint32_t>(read(c, i, lane)); };
  const uint64_t offset = uint64_t{word(5)} + component * m.bytes; // sums do not wrap
  const uint32_t scalar_offset = word(6);
  using namespace guest_abi;
  if (word(0) == scratch_rsrc_word0 && word(1) == scratch_rsrc_word1 && word(2) == scratch_rsrc_word2 &&
      word(3) == scratch_rsrc_word3(group_.function.wave_size)) {
    // The scalar offset counts bytes of the swizzled buffer, where a lane's bytes are spread over the wave's.
    return {Space::scratch, static_cast<uint32_t>(offset + scalar_offset / group_.function.wave_size), true};
  }
  const Descriptor d(word(0), word(1), word(2), word(3));
  const uint64_t index = uint64_t{word(4)} + (d.add_lane ? lane : 0);
  uint64_t within = offset + d.stride * index;
  if (d.swizzle) {
    const uint64_t group = index / d.index_stride, in_group = index % d.index_stride;
    within = (group * d.stride + offset / 4 * 4) * d.index_stride + in_group * 4 + offset % 4;
  }
  const bool structured = index < d.records && offset + m.bytes <= d.stride;
  bool in_range = true;
  switch (d.check) {
  case 0: in_range = structured; break;
  case 1: in_range = index < d.records; break;
  case 2: in_range = d.records != 0; break;
  default: in_range = d.swizzle && d.stride != 0 ? structured : offset + m.bytes + scalar_offset <= d.records;
  }
  return {Space::global, d.base + scalar_offset + within, in_range};
}

Wave::Target Wave::target(const Code& c, MemoryAccess m, unsigned lane, unsigned component) const {
  if (is_buffer(c.op)) return buffer_target(c, m, lane, component);
  const uint64_t base = read(c, 0, lane), step = uint64_t{component} * m.bytes;
  if (m.space == Space::lds || m.space == Space::scratch)
    return {m.space, static_cast<uint32_t>(base + step), true};
  if (m.space == Space::flat) {
    const auto high = static_cast<uint32_t>(base >> 32);
    if (high == guest_abi::shared_aperture_hi) return {Space::lds, static_cast<uint32_t>(base + step), true};
    if (high == guest_abi::private_aperture_hi)
      return {Space::scratch, static_cast<uint32_t>(base + step), true};
  }
  return {Space::global, base + step, true};
}

/// False: outside. LDS reads 0 there, as the hardware does.
bool Wave::load(const Target& t, unsigned lane, unsigned bytes, uint64_t& value) {
  value = 0;
  if (!t.in_range) return true;
  if (t.space == Space::global) return group_.memory.load(t.address, bytes, value);
  if (t.space == Space::lds) {
    (void)read_bytes(group_.lds, t.address, bytes, value);
    return true;
  }
  const uint64_t size = group_.function.scratch_bytes;
  return t.address + bytes <= size && read_bytes(scratch_, lane * size + t.address, bytes, value);
}

bool Wave::store(const Target& t, unsigned lane, unsigned bytes, uint64_t value) {
  if (!t.in_range) return true;
  if (t.space == Space::global) return group_.memory.store(t.address, bytes, value);
  if (t.space == Space::lds) {
    (void)write_bytes(group_.lds, t.address, bytes, value);
    return true;
  }
  const uint64_t size = group_.function.scratch_bytes;
  return t.address + bytes <= size && write_bytes(scratch_, lane * size + t.address, bytes, value);
}

std::unexpected<Error> Wave::outside(const Code& c, const Target& t, unsigned lane, unsigned bytes) const {
  const char* space = t.space == Space::global ? "global memory" : "scratch";
  return fail(ErrorKind::input, fmt::format("{} bytes at {:#x} are outside {}", bytes, t.address, space),
              where(c) + fmt::format(", lane {}", lane));
}

Expected<void> Wave::access_lane(const Code& c, unsigned lane) {
  const MemoryAccess m = MemoryAccess::unpack(c.imm);
  const unsigned active = is_buffer(c.op) ? 7 : 1, data = active + 1;
  const bool on = read(c, active, lane) != 0;
  const OpKind kind = info(c.op).kind;
  if (kind == OpKind::store) {
    for (unsigned i = data; on && i < c.operand_count; ++i) {
      const Target t = target(c, m, lane, i - data);
      if (!store(t, lane, m.bytes, read(c, i, lane) & low_bits(m.bytes * 8u)))
        return outside(c, t, lane, m.bytes);
    }
    return {};
  }
  for (unsigned i = 0; i < c.components; ++i) {
    uint64_t value = 0;
    if (on) {
      const Target t = target(c, m, lane, i);
      if (!load(t, lane, m.bytes, value)) return outside(c, t, lane, m.bytes);
      if (kind == OpKind::atomic) {
        const uint64_t second = c.operand_count > data + 1 ? read(c, data + 1, lane) : 0;
        if (!store(t, lane, m.bytes, updated(m, value, read(c, data, lane), second))) {
          return outside(c, t, lane, m.bytes);
        }
      } else if (m.sign_extend) {
        value = truncate(c.type, static_cast<uint64_t>(sign_extend(value, m.bytes * 8u)));
      }
    }
    values_[c.slot + (c.uniform ? i : i * p_.lanes + lane)] = value;
  }
  return {};
}

Expected<void> Wave::access(const Code& c) {
  const MemoryAccess m = MemoryAccess::unpack(c.imm);
  if (m.format != 0) {
    return fail(ErrorKind::unsupported, fmt::format("typed buffer format {}", m.format), where(c));
  }
  unsigned lanes = p_.lanes;
  if (info(c.op).kind == OpKind::load) lanes = count(c);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if (!is_active(lane)) continue;
    if (auto ok = access_lane(c, lane); !ok) return ok;
  }
  return {};
}

} // namespace lanewise::ir::interpreter
