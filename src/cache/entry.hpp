// One entry's bytes: a header, then zstd(kind, key, value). Nothing in it is believed before the checksum.
#pragma once

#include "support/error.hpp"

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lanewise::cache {

using Hash = std::array<uint8_t, 16>;
[[nodiscard]] Hash hash_of(std::string_view key);
[[nodiscard]] std::string hex(const Hash& hash);

struct Entry {
  std::string kind, key;
  std::vector<uint8_t> value;
};

/// zstd level 3.
[[nodiscard]] std::vector<uint8_t> pack(std::string_view kind, std::string_view key,
                                        std::span<const uint8_t> value);
/// Error: input (another format, wrong checksum, lengths that do not fit).
[[nodiscard]] Expected<Entry> unpack(std::span<const uint8_t> bytes);

} // namespace lanewise::cache
