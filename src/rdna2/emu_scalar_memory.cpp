// Scalar loads (RDNA2 ISA, chapter 7).
#include "rdna2/emu_access.hpp"

namespace lanewise::rdna2::emu {
namespace {

// Offsets are bytes; the two lowest bits of the address are ignored.
uint64_t offset_of(const Wave& w, const Step& s) {
  const Operand& o = s.in.src[1];
  const uint64_t soffset = o.is_none() ? 0 : w.read32(o);
  return soffset + static_cast<uint64_t>(int64_t{s.in.imm});
}

Flow scalar_load(Wave& w, const Step& s) {
  const unsigned dwords = s.info->access.bytes / 4, reg = s.in.dst[0].reg;
  const uint64_t address = (w.read64(s.in.src[0]) + offset_of(w, s)) & ~uint64_t{3};
  const uint8_t* p = locate_global(w, address, 4 * dwords, false, -1);
  if (p == nullptr) return Flow::fault;
  for (unsigned k = 0; k < dwords; ++k) w.set(reg + k, load_host<uint32_t>(p + 4 * k));
  return Flow::next;
}

// Dwords outside the descriptor's range read as 0. The range is NUM_RECORDS bytes, times the stride if any.
Flow buffer_load(Wave& w, const Step& s) {
  const unsigned dwords = s.info->access.bytes / 4, reg = s.in.dst[0].reg, r = s.in.src[0].reg;
  const uint64_t base = w.pair(r) & 0xffff'ffff'ffff;
  const uint64_t stride = w.sgpr[r + 1] >> 16 & 0x3fff;
  const uint64_t range = uint64_t{w.sgpr[r + 2]} * (stride == 0 ? 1 : stride);
  const uint64_t offset = offset_of(w, s) & ~uint64_t{3};
  std::array<uint32_t, 16> values{};
  for (unsigned k = 0; k < dwords; ++k) {
    const uint64_t at = offset + 4 * k;
    if (at >= range || range - at < 4) continue;
    const uint8_t* p = locate_global(w, (base & ~uint64_t{3}) + at, 4, false, -1);
    if (p == nullptr) return Flow::fault;
    values[k] = load_host<uint32_t>(p);
  }
  for (unsigned k = 0; k < dwords; ++k) w.set(reg + k, values[k]);
  return Flow::next;
}

Flow time(Wave& w, const Step& s) {
  w.write64(s.in.dst[0], clock_of(w));
  return Flow::next;
}

} // namespace

void add_scalar_memory(HandlerTable& t) {
  using enum Opcode;
  for (Opcode o : {s_load_dword, s_load_dwordx2, s_load_dwordx4, s_load_dwordx8, s_load_dwordx16})
    t[static_cast<unsigned>(o)] = scalar_load;
  for (Opcode o : {s_buffer_load_dword, s_buffer_load_dwordx2, s_buffer_load_dwordx4, s_buffer_load_dwordx8,
                   s_buffer_load_dwordx16})
    t[static_cast<unsigned>(o)] = buffer_load;
  t[static_cast<unsigned>(s_memtime)] = t[static_cast<unsigned>(s_memrealtime)] = time;
}

} // namespace lanewise::rdna2::emu
