// The cross-lane operations of a wave that is spread over L copies of S' invocations.
#pragma once

#include <map>
#include <optional>

#include "ir/builder.hpp"
#include "spirv/seating.hpp"

namespace lanewise::spirv {

/// One value for each copy, or a single one if the value is uniform.
using Copies = std::span<const ir::Value>;

class LaneOps {
 public:
  /// `body` is where instructions go now; what depends on the lane's number alone goes to the prologue of the
  /// entry block, once.
  LaneOps(ir::Function& f, const Seating& s, ir::Builder& body);

  [[nodiscard]] const std::vector<ir::Value>& prologue() const { return prologue_; }
  [[nodiscard]] ir::Builder& prologue_builder() { return early_; }

  [[nodiscard]] ir::Value lane(unsigned copy); ///< i32: the lane's number in the wave
  [[nodiscard]] ir::Value wave();              ///< i32: the wave's number in the workgroup

  [[nodiscard]] ir::Value ballot(Copies m);
  [[nodiscard]] ir::Value any(Copies m);
  [[nodiscard]] ir::Value lane_bit(ir::Value word, unsigned copy);
  [[nodiscard]] ir::Value mbcnt(ir::Value word, bool upper, unsigned copy);
  [[nodiscard]] ir::Value read_lane(Copies v, ir::Value lane);
  [[nodiscard]] ir::Value read_first(Copies v, Copies m);
  [[nodiscard]] ir::Value permute(Copies v, ir::Value lane);
  /// Result of each copy.
  [[nodiscard]] std::vector<ir::Value> push(Copies v, Copies lane, Copies m);
  [[nodiscard]] ir::Value dpp(Copies v, ir::LanePattern pattern, unsigned copy);

 private:
  [[nodiscard]] unsigned copies() const { return s_.copies(); }
  [[nodiscard]] bool alone() const { return s_.host_lanes == 1; }
  [[nodiscard]] ir::Value host_lane();
  [[nodiscard]] ir::Value host_bit();               ///< 1 << (host_lane & 31)
  [[nodiscard]] ir::Value lane_mask(unsigned copy); ///< 1 << (lane & 31)
  [[nodiscard]] ir::Value below(unsigned copy);     ///< ones below bit (lane & 31)
  [[nodiscard]] ir::Value upper_host_lane();        ///< host_lane >= 32
  [[nodiscard]] ir::Value at(Copies v, unsigned copy) const { return v.size() == 1 ? v[0] : v[copy]; }
  /// choices[index], by a tree over the bits of index.
  [[nodiscard]] ir::Value pick(ir::Builder& b, Copies choices, ir::Value index);
  [[nodiscard]] ir::Value half_of_word(ir::Value word, unsigned copy);
  [[nodiscard]] ir::Value ballot_half(Copies m, unsigned half);
  [[nodiscard]] ir::Value host_predicate(uint64_t mask);
  [[nodiscard]] ir::Value host_table(const std::vector<uint8_t>& invocations);
  [[nodiscard]] ir::Value in_host_order(ir::Value v, const std::vector<uint8_t>& invocations, uint64_t mask);

  Seating s_;
  std::vector<ir::Value> prologue_;
  ir::Builder early_;
  ir::Builder& b_;
  std::map<uint64_t, ir::Value> predicates_;
  std::map<std::vector<uint8_t>, ir::Value> tables_;
  std::map<std::pair<int, unsigned>, ir::Value> cached_;
  template <class F>
  ir::Value once(int what, unsigned copy, F make);
};

} // namespace lanewise::spirv
