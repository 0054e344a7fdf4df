// Reads little-endian numbers out of untrusted bytes.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

namespace lanewise::container {

static_assert(std::endian::native == std::endian::little, "containers are read in place, little-endian");

using Bytes = std::span<const uint8_t>;

[[nodiscard]] inline bool starts_with(Bytes bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

/// The number at an offset, or nothing when the bytes end before it does.
template <std::integral T>
[[nodiscard]] std::optional<T> read_at(Bytes bytes, uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// `size` bytes at an offset, or nothing when they are not all there.
[[nodiscard]] inline std::optional<Bytes> slice(Bytes bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || bytes.size() - offset < size) return std::nullopt;
  return bytes.subspan(offset, size);
}

} // namespace lanewise::container
