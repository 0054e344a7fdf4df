// Guest memory of a host program in a test: mappings with write versions.
#pragma once

#include "lanewise/guest_memory.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <vector>

namespace lanewise::calls {

class HostMemory final : public GuestMemory {
 public:
  void map(uint64_t address, std::vector<uint8_t> bytes) {
    const std::lock_guard guard(lock_);
    mappings_[address] = std::move(bytes);
    ++version_;
  }
  void unmap(uint64_t address) {
    const std::lock_guard guard(lock_);
    mappings_.erase(address);
    ++version_;
  }
  void write(uint64_t address, std::span<const uint8_t> bytes) {
    const std::lock_guard guard(lock_);
    for (auto& [start, mapping] : mappings_)
      if (address >= start && address - start < mapping.size())
        std::ranges::copy(bytes, mapping.begin() + static_cast<std::ptrdiff_t>(address - start));
    ++version_;
  }
  void write_word(uint64_t address, uint32_t word) {
    write(address, {reinterpret_cast<const uint8_t*>(&word), sizeof word});
  }

  [[nodiscard]] std::optional<Extent> extent(uint64_t address) const override {
    const std::lock_guard guard(lock_);
    for (const auto& [start, mapping] : mappings_)
      if (address >= start && address - start < mapping.size()) return Extent{start, mapping.size()};
    return {};
  }
  [[nodiscard]] bool read(uint64_t address, std::span<uint8_t> out) const override {
    const std::lock_guard guard(lock_);
    ++reads_;
    for (const auto& [start, mapping] : mappings_) {
      if (address < start || address - start > mapping.size() ||
          mapping.size() - (address - start) < out.size())
        continue;
      std::ranges::copy_n(mapping.begin() + static_cast<std::ptrdiff_t>(address - start),
                          static_cast<std::ptrdiff_t>(out.size()), out.begin());
      return true;
    }
    return false;
  }
  [[nodiscard]] uint64_t write_version(uint64_t, uint64_t) const override { return version_; }
  [[nodiscard]] uint64_t reads() const { return reads_; }

 private:
  mutable std::mutex lock_;
  std::map<uint64_t, std::vector<uint8_t>> mappings_;
  std::atomic<uint64_t> version_{1};
  mutable std::atomic<uint64_t> reads_{0};
};

} // namespace lanewise::calls
