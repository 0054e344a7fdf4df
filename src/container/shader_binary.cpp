#include "container/shader_binary.hpp"

#include <algorithm>

namespace lanewise::container {

const Kernel* ShaderBinary::find_kernel(std::string_view name) const {
  auto found = std::ranges::find(kernels, name, &Kernel::name);
  return found == kernels.end() ? nullptr : &*found;
}

const Segment* ShaderBinary::segment_at(uint64_t address) const {
  auto after = std::ranges::upper_bound(segments, address, {}, &Segment::address);
  if (after == segments.begin()) return nullptr;
  const Segment& segment = *std::prev(after);
  return address - segment.address < segment.bytes.size() ? &segment : nullptr;
}

std::span<const uint8_t> ShaderBinary::at(uint64_t address) const {
  const Segment* segment = segment_at(address);
  if (!segment) return {};
  return std::span(segment->bytes).subspan(address - segment->address);
}

const Symbol* ShaderBinary::function_at(uint64_t address) const {
  auto after = std::ranges::upper_bound(symbols, address, {}, &Symbol::address);
  while (after != symbols.begin()) {
    --after;
    if (after->kind != Symbol::Kind::function) continue;
    return after->size == 0 || address - after->address < after->size ? &*after : nullptr;
  }
  return nullptr;
}

} // namespace lanewise::container
