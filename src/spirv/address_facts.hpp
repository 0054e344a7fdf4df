// What is known of the addresses in a function, worked out when first asked for.
#pragma once

#include <vector>

#include "analysis/lane_tables.hpp"
#include "spirv/emit.hpp"

namespace lanewise::spirv {

class AddressFacts {
 public:
  /// `lds_bytes` are those of the module; `lds_in_words`: its LDS is an array of 32-bit words.
  AddressFacts(const ir::Function& f, const EmitOptions& options, uint32_t lds_bytes, bool lds_in_words)
      : f_(f), options_(options), lds_bytes_(lds_bytes), lds_in_words_(lds_in_words),
        tables_(f, options.seating.host_lanes, options.seating.waves()) {}

  /// Low bits that are known to be 0, up to 3 (alignment.hpp).
  [[nodiscard]] unsigned low_zeros(ir::Value v) const;
  /// A number that the value never exceeds (bounds.hpp).
  [[nodiscard]] uint64_t bound(ir::Value v) const;
  /// All bytes of a load or store are known to be in LDS.
  [[nodiscard]] bool inside_lds(ir::Value access) const;

  /// An address in whole words of LDS, as another value and words behind it; no base if it is not such a sum.
  struct Split {
    ir::Value base;
    uint32_t words = 0;
  };
  [[nodiscard]] Split split_lds(ir::Value access) const;

 private:
  const ir::Function& f_;
  const EmitOptions& options_;
  uint32_t lds_bytes_;
  bool lds_in_words_;
  mutable std::vector<uint8_t> low_zeros_;
  mutable std::vector<uint64_t> bounds_;
  mutable analysis::LaneTables tables_;
};

/// Bytes that a load or store covers.
[[nodiscard]] unsigned access_size(const ir::Function& f, ir::Value access);

} // namespace lanewise::spirv
