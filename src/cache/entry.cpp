#include "cache/entry.hpp"

#include "support/limits.hpp"

#include <cstring>
#include <fmt/format.h>
#include <xxhash.h>
#include <zstd.h>

namespace lanewise::cache {
namespace {

/// Little endian, as all hosts are that Lanewise runs on.
struct Header {
  std::array<char, 4> magic{'L', 'W', 'C', '1'};
  uint32_t kind_bytes = 0;
  uint64_t key_bytes = 0, value_bytes = 0;
  uint64_t checksum = 0; ///< XXH3 of the header with 0 here, and of all that follows
};
static_assert(sizeof(Header) == 32);

uint64_t checksum_of(Header header, std::span<const uint8_t> rest) {
  header.checksum = 0;
  const uint64_t seed = XXH3_64bits(&header, sizeof header);
  return XXH3_64bits_withSeed(rest.data(), rest.size(), seed);
}

} // namespace

Hash hash_of(std::string_view key) {
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(key.data(), key.size()));
  Hash hash;
  std::memcpy(hash.data(), canonical.digest, hash.size());
  return hash;
}

std::string hex(const Hash& hash) {
  std::string text;
  for (const uint8_t b : hash) text += fmt::format("{:02x}", b);
  return text;
}

std::vector<uint8_t> pack(std::string_view kind, std::string_view key, std::span<const uint8_t> value) {
  Header header{
      .kind_bytes = static_cast<uint32_t>(kind.size()), .key_bytes = key.size(), .value_bytes = value.size()};
  std::string plain;
  plain.reserve(kind.size() + key.size() + value.size());
  plain.append(kind).append(key).append(reinterpret_cast<const char*>(value.data()), value.size());
  std::vector<uint8_t> bytes(sizeof header + ZSTD_compressBound(plain.size()));
  const size_t size = ZSTD_compress(bytes.data() + sizeof header, bytes.size() - sizeof header, plain.data(),
                                    plain.size(), 3);
  bytes.resize(sizeof header + (ZSTD_isError(size) ? 0 : size));
  header.checksum = checksum_of(header, std::span(bytes).subspan(sizeof header));
  std::memcpy(bytes.data(), &header, sizeof header);
  return bytes;
}

Expected<Entry> unpack(std::span<const uint8_t> bytes) {
  Header header;
  if (bytes.size() < sizeof header) return fail(ErrorKind::input, "entry is truncated");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != Header{}.magic) return fail(ErrorKind::input, "entry has another format");
  const auto packed = bytes.subspan(sizeof header);
  if (header.checksum != checksum_of(header, packed)) return fail(ErrorKind::input, "checksum is wrong");
  const uint64_t most = limits::max_file_bytes;
  if (header.kind_bytes > 64 || header.key_bytes > most || header.value_bytes > most)
    return fail(ErrorKind::input, "lengths are absurd");
  std::string plain(header.kind_bytes + header.key_bytes + header.value_bytes, '\0');
  const size_t size = ZSTD_decompress(plain.data(), plain.size(), packed.data(), packed.size());
  if (ZSTD_isError(size) || size != plain.size())
    return fail(ErrorKind::input, "contents cannot be unpacked");
  Entry entry;
  entry.kind = plain.substr(0, header.kind_bytes);
  entry.key = plain.substr(header.kind_bytes, header.key_bytes);
  entry.value.assign(plain.end() - static_cast<std::ptrdiff_t>(header.value_bytes), plain.end());
  return entry;
}

} // namespace lanewise::cache
