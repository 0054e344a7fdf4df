// The guest's memory as the host program shows it: where call targets and callees are read from.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace lanewise {

/// Implementations must allow calls from several threads at once.
class GuestMemory {
 public:
  virtual ~GuestMemory() = default;

  struct Extent {
    uint64_t address = 0, size = 0;
  };
  /// The mapping that holds an address; none if it is unmapped.
  [[nodiscard]] virtual std::optional<Extent> extent(uint64_t address) const = 0;
  /// Fills `out` from an address on; false (with `out` undefined) if a byte is unmapped.
  [[nodiscard]] virtual bool read(uint64_t address, std::span<uint8_t> out) const = 0;
  /// A number that differs from all earlier ones once a byte of the range was written, mapped or unmapped.
  /// What was read under a number stays valid as long as the number is the same. 0: not known, always read
  /// again.
  [[nodiscard]] virtual uint64_t write_version(uint64_t address, uint64_t size) const = 0;

  template <class T>
  [[nodiscard]] bool read_value(uint64_t address, T& value) const {
    uint8_t bytes[sizeof(T)];
    if (!read(address, bytes)) return false;
    std::memcpy(&value, bytes, sizeof value);
    return true;
  }
};

} // namespace lanewise
