#include "rdna2/emu_access.hpp"

#include <fmt/format.h>

namespace lanewise::rdna2::emu {

namespace {

std::string outside(const Memory& memory, uint64_t address, unsigned bytes, bool write) {
  std::string text = fmt::format("{} {} bytes at 0x{:x}", write ? "writes" : "reads", bytes, address);
  if (const Memory::Buffer* b = memory.below(address)) {
    const uint64_t into = address - b->address;
    if (into < b->size && write && !b->writable)
      return text + fmt::format(", in read-only memory ({})", b->name);
    if (into < b->size) return text + fmt::format(", over the end of {} ({} bytes)", b->name, b->size);
    if (into - b->size < 4096)
      return text + fmt::format(", outside every buffer ({} bytes behind {})", into - b->size, b->name);
  }
  return text + ", outside every buffer";
}

} // namespace

uint8_t* locate_global_slow(Wave& w, uint64_t address, unsigned bytes, bool write, int lane) {
  const Memory::Buffer* b = w.launch->memory->find(address);
  if (b == nullptr || !b->holds(address, bytes) || (write && !b->writable)) {
    (void)w.fail(ErrorKind::input, outside(*w.launch->memory, address, bytes, write), lane);
    return nullptr;
  }
  w.hot = b;
  return b->bytes + (address - b->address);
}

uint8_t* locate_lds(Wave& w, uint64_t offset, unsigned bytes, int lane) {
  std::vector<uint8_t>& lds = w.group->lds;
  if (bytes <= lds.size() && offset <= lds.size() - bytes) return lds.data() + offset;
  (void)w.fail(ErrorKind::input,
               fmt::format("accesses {} bytes at LDS offset 0x{:x}, the workgroup has {} bytes", bytes,
                           offset, lds.size()),
               lane);
  return nullptr;
}

bool locate_scratch(Wave& w, uint64_t offset, unsigned bytes, int lane, Place& place) {
  const uint64_t size = w.launch->scratch_bytes;
  if (bytes > size || offset > size - bytes) {
    (void)w.fail(
        ErrorKind::input,
        fmt::format("accesses {} bytes at scratch offset 0x{:x}, a lane has {} bytes", bytes, offset, size),
        lane);
    return false;
  }
  place.step = 4 * w.lanes;
  place.skew = offset & 3;
  place.p = w.scratch.data() + offset / 4 * place.step + 4u * static_cast<unsigned>(lane);
  return true;
}

Words fetch(const Place& place, unsigned bytes) {
  Words out;
  if (place.p == nullptr) return out;
  if (place.skew == 0 && bytes % 4 == 0) {
    for (unsigned k = 0; k < bytes / 4; ++k) out.at[k] = load_host<uint32_t>(place.p + k * place.step);
    return out;
  }
  if (place.skew + bytes <= 4 && bytes <= 2) {
    out.at[0] =
        bytes == 1 ? load_host<uint8_t>(place.p + place.skew) : load_host<uint16_t>(place.p + place.skew);
    return out;
  }
  for (unsigned b = 0; b < bytes; ++b) {
    const unsigned q = place.skew + b;
    out.at[b / 4] |= uint32_t{place.p[q / 4 * place.step + q % 4]} << 8 * (b % 4);
  }
  return out;
}

void store(const Place& place, unsigned bytes, const Words& words) {
  if (place.p == nullptr) return;
  if (place.skew == 0 && bytes % 4 == 0) {
    for (unsigned k = 0; k < bytes / 4; ++k) store_host<uint32_t>(place.p + k * place.step, words.at[k]);
    return;
  }
  if (place.skew + bytes <= 4 && bytes <= 2) {
    if (bytes == 1)
      store_host<uint8_t>(place.p + place.skew, static_cast<uint8_t>(words.at[0]));
    else
      store_host<uint16_t>(place.p + place.skew, static_cast<uint16_t>(words.at[0]));
    return;
  }
  for (unsigned b = 0; b < bytes; ++b) {
    const unsigned q = place.skew + b;
    place.p[q / 4 * place.step + q % 4] = static_cast<uint8_t>(words.at[b / 4] >> 8 * (b % 4));
  }
}

void put_loaded(Wave& w, const Step& s, unsigned lane, unsigned bytes, const Words& words) {
  const unsigned reg = s.in.dst[0].reg;
  if (bytes >= 4) {
    for (unsigned k = 0; k < bytes / 4; ++k) w.v(reg + k)[lane] = words.at[k];
    return;
  }
  uint32_t value = words.at[0];
  if (s.info->has(OpcodeFlag::sign_extend)) {
    const unsigned shift = 32 - 8 * bytes;
    value = static_cast<uint32_t>(static_cast<int32_t>(value << shift) >> shift);
  }
  uint32_t& target = w.v(reg)[lane];
  if (s.info->has(OpcodeFlag::d16))
    target = (target & 0xffff0000) | (value & 0xffff);
  else if (s.info->has(OpcodeFlag::d16_hi))
    target = (target & 0xffff) | value << 16;
  else
    target = value;
}

Words stored_data(const Wave& w, const Step& s, unsigned reg, unsigned lane, unsigned bytes) {
  Words out;
  for (unsigned k = 0; k < (bytes + 3) / 4; ++k) out.at[k] = w.v(reg + k)[lane];
  if (s.info->has(OpcodeFlag::d16_hi)) out.at[0] >>= 16;
  return out;
}

} // namespace lanewise::rdna2::emu
