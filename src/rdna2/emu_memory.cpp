// The guest's global address space.
#include "rdna2/emulator.hpp"

#include <fmt/format.h>

#include <cstring>

namespace lanewise::rdna2 {
namespace {

constexpr uint64_t page = 4096;
constexpr uint64_t first_address = 0x0000'0100'0000'0000; // far from null and the apertures
constexpr uint64_t image_gap = 1u << 20;

constexpr uint64_t round_up(uint64_t value, uint64_t to) { return (value + to - 1) / to * to; }

} // namespace

Memory::Memory() : next_(first_address) {}
Memory::~Memory() = default;
Memory::Memory(Memory&&) noexcept = default;
Memory& Memory::operator=(Memory&&) noexcept = default;

uint64_t Memory::allocate(std::size_t bytes, std::string name) {
  // A buffer given by address may lie in the way.
  for (;;) {
    const uint64_t address = next_;
    next_ += round_up(bytes, page) + page;
    if (map(address, bytes, name)) return address;
  }
}

Expected<void> Memory::map(uint64_t address, std::size_t bytes, std::string name, bool writable) {
  const std::string where = fmt::format("{} at 0x{:x}", name, address);
  if (address % 16 != 0) return fail(ErrorKind::call, "a buffer's address is not a multiple of 16", where);
  if (address + bytes < address)
    return fail(ErrorKind::call, "a buffer runs over the end of the address space", where);
  const auto above = buffers_.lower_bound(address);
  if (above != buffers_.end() && above->first - address < std::max<std::size_t>(bytes, 1))
    return fail(ErrorKind::call, fmt::format("a buffer overlaps {}", above->second.name), where);
  if (above != buffers_.begin()) {
    const Buffer& before = std::prev(above)->second;
    if (address - before.address < before.size)
      return fail(ErrorKind::call, fmt::format("a buffer overlaps {}", before.name), where);
  }
  Buffer b{.address = address, .size = bytes, .name = std::move(name), .writable = writable};
  b.storage = std::make_unique<uint8_t[]>(bytes + 64);
  const auto start = reinterpret_cast<uintptr_t>(b.storage.get());
  // The host address agrees with the guest's in its low bits, so that both see the same alignment.
  b.bytes = b.storage.get() + (address - start) % 64;
  buffers_.emplace(address, std::move(b));
  return {};
}

void Memory::release(uint64_t address) { buffers_.erase(address); }

const Memory::Buffer* Memory::below(uint64_t address) const {
  const auto above = buffers_.upper_bound(address);
  return above == buffers_.begin() ? nullptr : &std::prev(above)->second;
}

const Memory::Buffer* Memory::find(uint64_t address) const {
  const Buffer* b = below(address);
  return b != nullptr && b->holds(address, 1) ? b : nullptr;
}

std::span<uint8_t> Memory::at(uint64_t address) {
  const Buffer* b = find(address);
  if (b == nullptr) return {};
  return {b->bytes + (address - b->address), b->size - (address - b->address)};
}
std::span<const uint8_t> Memory::at(uint64_t address) const {
  const Buffer* b = find(address);
  if (b == nullptr) return {};
  return {b->bytes + (address - b->address), b->size - (address - b->address)};
}

Expected<uint64_t> Memory::load(const container::ShaderBinary& binary) {
  if (const auto known = images_.find(&binary); known != images_.end()) return known->second;
  uint64_t lowest = ~uint64_t{0}, end = 0;
  for (const container::Segment& s : binary.segments) {
    if (s.address + s.bytes.size() < s.address)
      return fail(ErrorKind::input, "a segment runs over the address space");
    lowest = std::min(lowest, s.address), end = std::max(end, s.address + s.bytes.size());
  }
  if (binary.segments.empty()) return fail(ErrorKind::input, "the binary has no segments");
  if (end - lowest > uint64_t{1} << 40)
    return fail(ErrorKind::input, "the image's segments lie too far apart");
  const uint64_t base = round_up(next_ + image_gap, image_gap);
  next_ = base + round_up(end - lowest, page) + page;
  const uint64_t displacement = base - lowest / page * page;
  for (const container::Segment& s : binary.segments) {
    // Buffers start at multiples of 16; a segment may not.
    const uint64_t skip = (s.address + displacement) % 16;
    auto done = map(s.address + displacement - skip, s.bytes.size() + skip,
                    fmt::format("image at 0x{:x}", s.address), s.writable);
    if (!done) return std::unexpected(done.error());
    std::memcpy(at(s.address + displacement).data(), s.bytes.data(), s.bytes.size());
  }
  for (const uint64_t pointer : binary.pointers) {
    const std::span<uint8_t> word = at(pointer + displacement);
    if (word.size() < 8) return fail(ErrorKind::input, "a relocated pointer lies outside the image");
    uint64_t value = 0;
    std::memcpy(&value, word.data(), 8);
    value += displacement;
    std::memcpy(word.data(), &value, 8);
  }
  images_.emplace(&binary, displacement);
  return displacement;
}

} // namespace lanewise::rdna2
