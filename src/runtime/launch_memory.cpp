#include "runtime/launch_memory.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "container/guest_abi.hpp"
#include "container/kernarg.hpp"
#include "spirv/abi.hpp"
#include "support/limits.hpp"

namespace lanewise::runtime {

namespace {

constexpr uint64_t page = 4096;
constexpr size_t printf_bytes = 64u << 10;
constexpr size_t queue_bytes = 256;
/// amd_queue_t: high halves of the apertures, read by code before code object version 5.
constexpr size_t queue_group_aperture = 0x40, queue_private_aperture = 0x44;
constexpr uint16_t packet_header = 2 | 1 << 8 | 2 << 9 | 2 << 11; // kernel dispatch, barrier, system fences

template <class T>
void put(std::vector<uint8_t>& bytes, size_t offset, T value, size_t size = sizeof(T)) {
  size = std::min(size, sizeof(T));
  if (offset > bytes.size() || bytes.size() - offset < size) return;
  std::memcpy(&bytes[offset], &value, size);
}

/// What get_work_dim() says.
unsigned used_dimensions(const Launch& l) {
  return l.grid[2] > 1 || l.block[2] > 1 ? 3 : l.grid[1] > 1 || l.block[1] > 1 ? 2 : 1;
}

} // namespace

Expected<LaunchMemory> LaunchMemory::plan(const Launch& launch, size_t callee_table_bytes) {
  LaunchMemory m;
  uint64_t low = UINT64_MAX, high = 0;
  for (const auto& s : launch.binary->segments) {
    low = std::min(low, s.address / page * page);
    high = std::max(high, s.address + s.bytes.size());
  }
  if (low > high) low = high = 0;
  if (high - low > limits::max_file_bytes)
    return fail(ErrorKind::limit, fmt::format("the image spans {} bytes (max_file_bytes)", high - low));
  m.image_start_ = low;

  m.regions_.resize(buffers);
  m.regions_[image] = {"code object", std::vector<uint8_t>(high - low), true};
  for (const auto& s : launch.binary->segments)
    std::ranges::copy(s.bytes,
                      m.regions_[image].contents.begin() + static_cast<std::ptrdiff_t>(s.address - low));
  size_t kernarg_bytes = container::kernarg_bytes(*launch.kernel);
  if (!launch.kernel->has_metadata)
    for (const auto& a : launch.arguments) kernarg_bytes += std::max<size_t>(8, a.value.size()) + 8;
  m.regions_[kernarg] = {"kernel arguments", std::vector<uint8_t>(kernarg_bytes), false};
  m.regions_[packet] = {"dispatch packet",
                        std::vector<uint8_t>(guest_abi::packet::bytes + callee_table_bytes), false};
  m.regions_[queue] = {"queue", std::vector<uint8_t>(queue_bytes), false};
  m.regions_[status] = {"status block", std::vector<uint8_t>(sizeof(spirv::StatusBlock)), true};
  const bool prints = std::ranges::any_of(launch.kernel->arguments,
                                          [](auto& a) { return a.value_kind == "hidden_printf_buffer"; });
  m.regions_[printf] = {"printf buffer", std::vector<uint8_t>(prints ? printf_bytes : 0), true};
  if (prints) put(m.regions_[printf].contents, 4, static_cast<uint32_t>(printf_bytes - 8));
  for (const Buffer& b : launch.buffers) m.regions_.push_back({b.name, b.contents, true});
  return m;
}

Expected<void> LaunchMemory::place(const Launch& launch, std::span<const uint64_t> addresses) {
  addresses_.assign(addresses.begin(), addresses.end());
  const container::Kernel& kernel = *launch.kernel;

  std::vector<uint8_t>& bytes = regions_[kernarg].contents;
  uint32_t lds = kernel.descriptor.group_segment_fixed_size;
  size_t next = 0; // where the next argument lies when no metadata says so: natural alignment, in order
  const auto wanted = explicit_arguments(kernel);
  for (size_t i = 0; i < launch.arguments.size(); ++i) {
    const Argument& a = launch.arguments[i];
    const size_t size = a.kind == Argument::Kind::value   ? a.value.size()
                        : a.kind == Argument::Kind::local ? 4
                                                          : 8;
    const size_t align = std::min<size_t>(std::max<size_t>(1, size), 8);
    const size_t at = i < wanted.size() ? wanted[i]->offset : (next + align - 1) / align * align;
    next = at + size;
    switch (a.kind) {
    case Argument::Kind::buffer: put(bytes, at, addresses_[buffers + a.buffer] + a.address); break;
    case Argument::Kind::code: put(bytes, at, image_base() + a.address); break;
    case Argument::Kind::null: put(bytes, at, uint64_t{0}); break;
    case Argument::Kind::value:
      if (at + size <= bytes.size())
        std::ranges::copy(a.value, bytes.begin() + static_cast<std::ptrdiff_t>(at));
      break;
    case Argument::Kind::local:
      lds = (lds + 15) / 16 * 16;
      put(bytes, at, lds);
      lds += a.local_bytes;
      break;
    }
  }
  const uint32_t dynamic_lds = lds_bytes(launch) - kernel.descriptor.group_segment_fixed_size;
  auto filled = container::fill_hidden_arguments(
      kernel, {launch.grid, launch.block, {}, dynamic_lds, addresses_[queue]}, bytes);
  if (!filled) return filled;
  for (const auto& a : kernel.arguments)
    if (a.value_kind == "hidden_printf_buffer") put(bytes, a.offset, addresses_[printf], a.size);

  std::vector<uint8_t>& p = regions_[packet].contents;
  put(p, 0, packet_header);
  put(p, guest_abi::packet::setup, static_cast<uint16_t>(used_dimensions(launch)));
  for (unsigned i = 0; i < 3; ++i) {
    put(p, guest_abi::packet::workgroup_size_x + 2 * i, static_cast<uint16_t>(launch.block[i]));
    put(p, guest_abi::packet::grid_size_x + 4 * i, launch.grid[i]);
  }
  put(p, guest_abi::packet::private_segment_size, kernel.descriptor.private_segment_fixed_size);
  put(p, guest_abi::packet::group_segment_size, lds_bytes(launch));
  put(p, guest_abi::packet::kernarg_address, addresses_[kernarg]);

  put(regions_[queue].contents, queue_group_aperture, guest_abi::shared_aperture_hi);
  put(regions_[queue].contents, queue_private_aperture, guest_abi::private_aperture_hi);

  for (size_t b = 0; b < launch.buffers.size(); ++b)
    for (const Buffer::Pointer& p : launch.buffers[b].pointers) {
      if (p.buffer != Buffer::Pointer::image && p.buffer >= launch.buffers.size())
        return fail(ErrorKind::call, "a pointer to a buffer that does not exist", launch.buffers[b].name);
      const uint64_t base =
          p.buffer == Buffer::Pointer::image ? image_base() : addresses_[buffers + p.buffer];
      put(regions_[buffers + b].contents, p.offset, base + p.addend);
    }

  std::vector<uint8_t>& i = regions_[image].contents;
  for (uint64_t word : launch.binary->pointers) {
    const uint64_t at = word - image_start_;
    if (word < image_start_ || at > i.size() || i.size() - at < 8) continue;
    uint64_t value = 0;
    std::memcpy(&value, &i[at], 8);
    put(i, at, value + image_base());
  }
  return {};
}

} // namespace lanewise::runtime
