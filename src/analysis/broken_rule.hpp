// Faults of lane demand that tests make on purpose.
#pragma once

#include <cstdint>

namespace lanewise::analysis {

/// Rules that a test may break on purpose, to show that the prover and the execution checks notice
/// (tests/analysis/demand_proof_test.cpp, tests/mutations). Nothing else uses them.
enum class BrokenRule : uint8_t {
  none,
  select_forgets_old,       ///< the old value of a select is demanded nowhere
  access_forgets_address,   ///< addresses of LDS are not demanded
  active_only_where_active, ///< an active operand is demanded only in its own lanes
  read_lane_reads_nothing,  ///< read_lane does not demand what it reads
  read_first_skips_lane_0,  ///< read_first of an empty mask is forgotten
  dpp_reads_own_lane,       ///< dpp demands its operand where it is demanded itself
  permute_reads_own_lane,
  ballot_reads_nothing,          ///< ballot and any demand nothing
  both_masks_excused,            ///< both operands of an `and` are demanded only under the other
  back_edge_same_iteration,      ///< formulas cross a back edge unchanged
  loops_left_unquantified,       ///< formulas leave a loop unchanged
  loop_phi_unchecked,            ///< loop masks keep their assumption without the induction step
  wrong_way_into_a_join,         ///< an edge takes the claims of its neighbour
  taken_branch_empty,            ///< a mask is called empty on the edge that is taken because it is not
  phi_forgets_an_edge,           ///< a phi does not pass its demand to its last incoming value
  no_mask_is_empty,              ///< read_first takes every mask for one with a lane
  implicit_level_reads_own_lane, ///< a sample demands its address where it is demanded itself
  export_forgets_who,            ///< the active mask of an export is demanded in its own lanes only
  other_pattern_counts, ///< what is known of the lanes read is taken from a mask that came by another pattern
};

} // namespace lanewise::analysis
