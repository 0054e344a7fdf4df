// What a dispatch has in memory: the code object's image, the kernel arguments, the AQL packet and the
// buffers. An executor asks for the regions, puts them where it likes, and has the pointers between them
// filled in.
#pragma once

#include "runtime/launch.hpp"

namespace lanewise::runtime {

struct Region {
  std::string name;
  std::vector<uint8_t> contents;
  bool writable = true;
};

class LaunchMemory {
 public:
  enum Fixed : size_t {
    image,
    kernarg,
    packet,
    queue,
    status,
    printf,
    buffers
  }; ///< `buffers`: first of Launch::buffers

  /// Plans the memory of a checked launch; buffer contents are copied. `callee_table_bytes` stand behind the
  /// dispatch packet. Error: limit (image too large).
  [[nodiscard]] static Expected<LaunchMemory> plan(const Launch& launch, size_t callee_table_bytes = 0);

  [[nodiscard]] std::span<Region> regions() { return regions_; }
  [[nodiscard]] std::span<const Region> regions() const { return regions_; }
  /// Says where each region lies (16-byte aligned, none at 0) and fills in what depends on it: kernel
  /// arguments, hidden arguments, the packet, relocated words of the image. Errors as
  /// container::fill_hidden_arguments.
  [[nodiscard]] Expected<void> place(const Launch& launch, std::span<const uint64_t> addresses);
  [[nodiscard]] uint64_t address(size_t region) const { return addresses_[region]; }
  /// Where virtual address 0 of the image lies (may be below the region, modulo 2^64).
  [[nodiscard]] uint64_t image_base() const { return addresses_[image] - image_start_; }
  /// Virtual address of the image region's first byte.
  [[nodiscard]] uint64_t image_start() const { return image_start_; }

 private:
  std::vector<Region> regions_;
  std::vector<uint64_t> addresses_;
  uint64_t image_start_ = 0; ///< virtual address of the region's first byte
};

} // namespace lanewise::runtime
