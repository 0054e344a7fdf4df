// Clang's offload bundles: several code objects, one a target, in one file.
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lanewise::container {

struct BundleEntry {
  std::string id; ///< "hipv4-amdgcn-amd-amdhsa--gfx1030:xnack-", "host-x86_64-unknown-linux--", ...
  std::span<const uint8_t> bytes; ///< inside the bundle

  /// "gfx1030" of the ID, features left out; empty when it names no AMD processor.
  [[nodiscard]] std::string_view processor() const;
};

[[nodiscard]] bool is_bundle(std::span<const uint8_t> file);
[[nodiscard]] bool is_compressed_bundle(std::span<const uint8_t> file);

/// The entries in the file's order. Errors: input, limit.
[[nodiscard]] Expected<std::vector<BundleEntry>> read_bundle(std::span<const uint8_t> file);

/// The entry for `target`: a processor ("gfx1031") or a whole ID. Empty: gfx1030, else the first RDNA2 one.
/// The error (call when a target was asked for, else input) lists the targets that the bundle has.
[[nodiscard]] Expected<BundleEntry> pick_entry(std::span<const BundleEntry> entries, std::string_view target);

} // namespace lanewise::container
