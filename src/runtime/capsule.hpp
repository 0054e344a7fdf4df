// A registration or dispatch as one file: code, ABI, invocation data, the memory that was read, options. What
// fails here can be mailed and replayed elsewhere (docs/capsules.md).
#pragma once

#include "runtime/compile.hpp"
#include "runtime/guest_memory.hpp"
#include "runtime/launch_memory.hpp"
#include "runtime/provenance.hpp"

#include <mutex>
#include <string>
#include <vector>

namespace lanewise::runtime {

struct Capsule {
  struct Region {
    std::string name;
    uint64_t address = 0;
    std::vector<uint8_t> bytes;
    bool writable = true;
  };
  std::string producer;           ///< version and build of the library that wrote it
  std::string note;               ///< free text, such as the error that made somebody record it
  container::ShaderBinary binary; ///< with one kernel
  // Options of compilation.
  std::array<uint32_t, 3> block{1, 1, 1};
  WaveSeating seating = WaveSeating::automatic;
  uint32_t subgroup_size = 32;
  bool subgroup_operations = true;
  uint32_t dynamic_lds_bytes = 0;
  std::array<bool, 3> partial_workgroups{true, true, true};
  // The dispatch: what bind() saw if `bound`, else the capsule is a registration. It can be run if `grid` is
  // not zero.
  bool bound = false;
  std::array<uint32_t, 3> grid{0, 0, 0};
  std::vector<uint8_t> kernarg;
  uint64_t kernarg_address = 0, image_base = 0;
  std::vector<Region> memory; ///< sorted by address, apart

  [[nodiscard]] const container::Kernel& kernel() const { return binary.kernels.front(); }
  [[nodiscard]] bool has_dispatch() const { return bound && grid[0] != 0; }
  [[nodiscard]] Invocation invocation() const { return {kernarg, kernarg_address, image_base}; }
  [[nodiscard]] CompileOptions compile_options() const;
};

/// Version of the format that serialize() writes. Older ones are read as long as they stand in
/// docs/capsules.md.
inline constexpr uint32_t capsule_version = 1;

[[nodiscard]] std::vector<uint8_t> serialize(const Capsule& capsule);
/// Errors: input (no capsule, damaged), unsupported (another format version, by name).
[[nodiscard]] Expected<Capsule> deserialize_capsule(std::span<const uint8_t> bytes);

/// The capsule's memory. Nothing writes it.
class CapsuleMemory final : public GuestMemory {
 public:
  explicit CapsuleMemory(const Capsule& capsule) : capsule_(&capsule) {}
  [[nodiscard]] std::optional<Extent> extent(uint64_t address) const override;
  [[nodiscard]] bool read(uint64_t address, std::span<uint8_t> out) const override;
  [[nodiscard]] uint64_t write_version(uint64_t, uint64_t) const override { return 1; }

 private:
  const Capsule* capsule_;
};

/// Passes reads on and keeps what was read, for a capsule. Extents become what was read around them.
class RecordingMemory final : public GuestMemory {
 public:
  explicit RecordingMemory(const GuestMemory& memory) : memory_(&memory) {}
  [[nodiscard]] std::optional<Extent> extent(uint64_t address) const override {
    return memory_->extent(address);
  }
  [[nodiscard]] bool read(uint64_t address, std::span<uint8_t> out) const override;
  [[nodiscard]] uint64_t write_version(uint64_t, uint64_t) const override { return 0; }
  /// What was read, joined where it touches.
  [[nodiscard]] std::vector<Capsule::Region> regions() const;

 private:
  const GuestMemory* memory_;
  mutable std::mutex lock_;
  mutable std::vector<Capsule::Region> reads_;
};

/// The registration of a kernel.
[[nodiscard]] Capsule capsule_of(const container::ShaderBinary& binary, const container::Kernel& kernel,
                                 const CompileOptions& options);
/// A launch whose memory has been placed, with all its buffers.
[[nodiscard]] Capsule capsule_of(const Launch& launch, const LaunchMemory& memory);

} // namespace lanewise::runtime
