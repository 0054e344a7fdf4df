#include "container/shader_binary.hpp"

#include <algorithm>
#include <cstring>

namespace lanewise::container {
namespace {

constexpr uint32_t s_code_end = 0xbf9f0000;

/// Words of padding at the end are no code.
std::span<const uint8_t> without_padding(std::span<const uint8_t> code) {
  code = code.first(code.size() & ~std::size_t{3});
  for (uint32_t word; code.size() >= 4; code = code.first(code.size() - 4)) {
    std::memcpy(&word, code.data() + code.size() - 4, 4);
    if (word != s_code_end) break;
  }
  return code;
}

/// Code of unknown size: up to the next function or kernel.
std::span<const uint8_t> code_from(const ShaderBinary& binary, uint64_t address) {
  auto code = binary.at(address);
  const auto end_before = [&](uint64_t next) {
    if (next > address && next - address < code.size()) code = code.first(next - address);
  };
  const auto kernel = std::ranges::upper_bound(binary.kernels, address, {}, &Kernel::entry);
  if (kernel != binary.kernels.end()) end_before(kernel->entry);
  auto symbol = std::ranges::upper_bound(binary.symbols, address, {}, &Symbol::address);
  symbol = std::ranges::find(symbol, binary.symbols.end(), Symbol::Kind::function, &Symbol::kind);
  if (symbol != binary.symbols.end()) end_before(symbol->address);
  return without_padding(code);
}

} // namespace

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

std::span<const uint8_t> ShaderBinary::code_of(const Kernel& kernel) const {
  if (kernel.code_size == 0) return code_from(*this, kernel.entry);
  const auto code = at(kernel.entry);
  return code.first(std::min<uint64_t>(kernel.code_size, code.size()) & ~uint64_t{3});
}

std::span<const uint8_t> ShaderBinary::code_of(const Symbol& function) const {
  if (function.size == 0) return code_from(*this, function.address);
  const auto code = at(function.address);
  return code.first(std::min<uint64_t>(function.size, code.size()) & ~uint64_t{3});
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
