// The memory of a placed launch as GuestMemory. Its contents do not change while it is looked at.
#pragma once

#include "runtime/guest_memory.hpp"
#include "runtime/launch_memory.hpp"
#include "runtime/provenance.hpp"

namespace lanewise::runtime {

class LaunchGuestMemory final : public GuestMemory {
 public:
  /// `memory` is placed and outlives this.
  explicit LaunchGuestMemory(const LaunchMemory& memory) : memory_(&memory) {}
  [[nodiscard]] std::optional<Extent> extent(uint64_t address) const override;
  [[nodiscard]] bool read(uint64_t address, std::span<uint8_t> out) const override;
  [[nodiscard]] uint64_t write_version(uint64_t, uint64_t) const override { return 0; }

 private:
  const LaunchMemory* memory_;
};

/// What a placed launch adds to its prepared shader.
[[nodiscard]] Invocation invocation_of(const LaunchMemory& memory);

} // namespace lanewise::runtime
