// How far M0 can lead a relative register access (v_movrels_b32 and kin): a bound on M0 by what the scalar
// code in front of it says (`s_bfe_u32`, `s_and_b32`, shifts ..). Without one such a write may change every
// register behind its first, and each of them is merged wherever paths meet.
//
// The bounds are unsigned maxima of scalar registers, a forward analysis over the graph; what grows around a
// loop is unknown.
#pragma once

#include "translate/graph.hpp"

#include <map>

namespace lanewise::translate {

class RelativeReach {
 public:
  RelativeReach() = default;
  /// Costs nothing for programs without relative accesses.
  explicit RelativeReach(const Graph& graph);

  /// Number of registers that a relative access may choose from, the named one included.
  [[nodiscard]] unsigned registers(const rdna2::Instruction& i) const {
    const auto at = reach_.find(i.pc);
    return at == reach_.end() ? 256 : at->second;
  }

 private:
  std::map<uint32_t, unsigned> reach_; ///< by pc, of those below 256
};

} // namespace lanewise::translate
