// What a value is in each lane, where it follows from the lane's number alone.
#pragma once

#include "ir/ir.hpp"

#include <span>
#include <unordered_map>
#include <vector>

namespace lanewise::analysis {

/// Values of programs on invocations that are functions of host_wave and host_lane, as a table. Addresses of
/// sorting networks and transforms take lanes apart in ways that no rule about distances sees; a table shows
/// it.
class LaneTables {
 public:
  /// For `waves` waves on `lanes` invocations each.
  LaneTables(const ir::Function& f, unsigned lanes, unsigned waves) : f_(f), lanes_(lanes), waves_(waves) {}

  /// [wave * lanes + lane]; empty if the value follows from something else too, or from too many operations.
  /// Growth: lanes times waves for each value that one of a few dozen operations leads to.
  [[nodiscard]] std::span<const uint64_t> of(ir::Value v) { return table(v, 0); }
  [[nodiscard]] unsigned lanes() const { return lanes_; }
  [[nodiscard]] unsigned waves() const { return waves_; }

 private:
  static constexpr unsigned kMaxDepth = 24;
  static constexpr size_t kMaxTables = 1024; ///< of a function

  [[nodiscard]] std::span<const uint64_t> table(ir::Value v, unsigned depth);
  [[nodiscard]] std::vector<uint64_t> made(ir::Value v, unsigned depth);

  const ir::Function& f_;
  unsigned lanes_, waves_;
  std::unordered_map<uint32_t, std::vector<uint64_t>> tables_;
};

} // namespace lanewise::analysis
