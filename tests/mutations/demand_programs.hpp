// For each rule of lane demand that can be broken: machine code whose output then changes.
#pragma once

#include "analysis/mask_algebra.hpp"

#include <ostream>

namespace lanewise::tests {

struct DemandMutation {
  const char* name;
  analysis::BrokenRule rule;
  /// gfx1030 assembly of one wave32 kernel; % stands for a number that makes labels unique. Behind the common
  /// beginning: v0 work-item, v8 what the output held (the work-item's number, but nobody can know that),
  /// v9 the byte offset of the work-item's word, v1 = 3 * v8 + 1, s[0:1] the output, s8 the workgroup. `put
  /// v` stores, `put_but_for_two v` with 7 in the first two work-items, so that there is a select to look at.
  const char* source;
  friend void PrintTo(const DemandMutation& m, std::ostream* out) { *out << m.name; }
};

inline constexpr const char* kMutationMacros = R"(
.macro put v
  global_store_dword v9, \v, s[0:1]
.endm
.macro all_lanes
  s_mov_b32 exec_lo, -1
.endm
.macro even_lanes
  v_and_b32 v10, 1, v8
  v_cmp_eq_u32 vcc_lo, 0, v10
  s_mov_b32 exec_lo, vcc_lo
.endm
.macro lanes_below n
  v_cmp_gt_u32 vcc_lo, \n, v8
  s_mov_b32 exec_lo, vcc_lo
.endm
.macro put_but_for_two v
  lanes_below 2
  v_mov_b32 \v, 7
  all_lanes
  put \v
.endm
)";

inline constexpr const char* kMutationBegin = R"(
  v_lshlrev_b32 v9, 2, v0
  global_load_dword v8, v9, s[0:1]
  s_waitcnt vmcnt(0)
  v_mad_u32_u24 v1, v8, 3, 1
)";

inline constexpr DemandMutation kDemandMutations[] = {
    {"select_forgets_old", analysis::BrokenRule::select_forgets_old, R"(
  lanes_below 8
  v_mov_b32 v1, 7
  all_lanes
  put v1
  s_endpgm)"},
    {"access_forgets_address", analysis::BrokenRule::access_forgets_address, R"(
  v_xor_b32 v2, 4, v9
  ds_write_b32 v9, v1
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v3, v2
  s_waitcnt lgkmcnt(0)
  put_but_for_two v3
  s_endpgm)"},
    {"active_only_where_active", analysis::BrokenRule::active_only_where_active, R"(
  even_lanes
  lanes_below 20
  v_mov_b32 v1, 0x3e8
  put v1
  s_endpgm)"},
    {"read_lane_reads_nothing", analysis::BrokenRule::read_lane_reads_nothing, R"(
  v_readlane_b32 s10, v1, 3
  v_add_nc_u32 v2, s10, v8
  put_but_for_two v2
  s_endpgm)"},
    // The mask is empty in both waves, and lane 0 is not among the lanes that were written in the first.
    {"read_first_skips_lane_0", analysis::BrokenRule::read_first_skips_lane_0, R"(
  v_cmp_lt_u32 vcc_lo, 4, v8
  s_mov_b32 exec_lo, vcc_lo
  v_mov_b32 v1, 7
  lanes_below 2
  v_readfirstlane_b32 s10, v1
  all_lanes
  v_add_nc_u32 v2, s10, v8
  put v2
  s_endpgm)"},
    // The same on the way that is taken because another mask is not empty.
    {"no_mask_is_empty", analysis::BrokenRule::no_mask_is_empty, R"(
  v_mov_b32 v2, v8
  v_cmp_lt_u32 s11, 4, v8
  v_cmp_gt_u32 s12, 2, v8
  s_and_b32 s12, s11, s12
  s_mov_b32 exec_lo, s11
  s_cbranch_execz join%
  v_mov_b32 v1, 7
  s_mov_b32 exec_lo, s12
  v_readfirstlane_b32 s10, v1
  all_lanes
  v_add_nc_u32 v2, s10, v8
join%:
  all_lanes
  put v2
  s_endpgm)"},
    {"dpp_reads_own_lane", analysis::BrokenRule::dpp_reads_own_lane, R"(
  even_lanes
  v_mov_b32 v1, 0x3e8
  v_mov_b32_dpp v3, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf fi:1
  put v3
  s_endpgm)"},
    {"permute_reads_own_lane", analysis::BrokenRule::permute_reads_own_lane, R"(
  v_xor_b32 v2, 4, v9
  even_lanes
  v_mov_b32 v1, 0x3e8
  all_lanes
  ds_bpermute_b32 v3, v2, v1
  s_waitcnt lgkmcnt(0)
  even_lanes
  put v3
  s_endpgm)"},
    {"ballot_reads_nothing", analysis::BrokenRule::ballot_reads_nothing, R"(
  v_cmp_gt_u32 vcc_lo, 8, v8
  s_bcnt1_i32_b32 s10, vcc_lo
  v_add_nc_u32 v2, s10, v8
  put_but_for_two v2
  s_endpgm)"},
    // Of two compares under one EXEC, one may forget EXEC; if both do, nobody remembers it.
    {"both_masks_excused", analysis::BrokenRule::both_masks_excused, R"(
  even_lanes
  v_cmp_gt_u32 vcc_lo, 20, v8
  v_cmp_lt_u32 s10, 3, v8
  s_and_b32 exec_lo, vcc_lo, s10
  v_mov_b32 v1, 0x3e8
  put v1
  s_endpgm)"},
    // Lanes revive and read what they held.
    {"back_edge_same_iteration", analysis::BrokenRule::back_edge_same_iteration, R"(
  v_mov_b32 v3, 0
  s_mov_b32 s20, 0
turn%:
  v_lshrrev_b32 v4, s20, v8
  v_and_b32 v4, 1, v4
  v_cmp_ne_u32 vcc_lo, 0, v4
  s_mov_b32 exec_lo, vcc_lo
  v_add_nc_u32 v3, v3, v1
  v_add_nc_u32 v1, s20, v8
  all_lanes
  s_add_u32 s20, s20, 1
  s_cmp_lt_u32 s20, 6
  s_cbranch_scc1 turn%
  put v3
  s_endpgm)"},
    // The mask of the loop grows by lanes that were not written before it.
    {"loop_phi_unchecked", analysis::BrokenRule::loop_phi_unchecked, R"(
  lanes_below 8
  v_mov_b32 v1, 0x3e8
  s_mov_b32 s10, exec_lo
  all_lanes
  v_and_b32 v2, 1, v8
  v_cmp_eq_u32 s11, 0, v2
  v_mov_b32 v3, 0
  s_mov_b32 s20, 0
turn%:
  s_mov_b32 exec_lo, s10
  v_add_nc_u32 v3, v3, v1
  all_lanes
  s_or_b32 s10, s10, s11
  s_add_u32 s20, s20, 1
  s_cmp_lt_u32 s20, 4
  s_cbranch_scc1 turn%
  put v3
  s_endpgm)"},
    // On the way that is taken, more lanes are read than were written.
    {"wrong_way_into_a_join", analysis::BrokenRule::wrong_way_into_a_join, R"(
  v_cmp_gt_u32 s10, 20, v8
  v_cmp_gt_u32 s11, 8, v8
  s_mov_b32 exec_lo, s11
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc0 other%
  v_mov_b32 v1, 0x3e8
  s_mov_b32 s12, s10
  s_branch join%
other%:
  v_mov_b32 v1, 0x7d0
  s_mov_b32 s12, s11
join%:
  s_mov_b32 exec_lo, s12
  put v1
  s_endpgm)"},
    {"taken_branch_empty", analysis::BrokenRule::taken_branch_empty, R"(
  lanes_below 8
  v_mov_b32 v1, 0x3e8
  s_cbranch_execnz join%
  all_lanes
  v_add_nc_u32 v1, 0x7d0, v8
join%:
  all_lanes
  put v1
  s_endpgm)"},
    {"phi_forgets_an_edge", analysis::BrokenRule::phi_forgets_an_edge, R"(
  s_cmp_eq_u32 s8, 0
  s_cbranch_scc0 one%
  v_mul_u32_u24 v2, v1, v8
  s_branch join%
one%:
  v_mul_u32_u24 v2, v1, v1
join%:
  put_but_for_two v2
  s_endpgm)"},
    // What is read is the neighbour; which lanes were on is known of the lanes two away.
    {"other_pattern_counts", analysis::BrokenRule::other_pattern_counts, R"(
  v_mov_b32 v4, v8
  even_lanes
  v_mov_b32 v1, 0x3e8
  all_lanes
  v_mov_b32_dpp v3, v1 quad_perm:[1,0,3,2] row_mask:0xf bank_mask:0xf
  even_lanes
  v_add_nc_u32_dpp v4, v8, v3 quad_perm:[2,3,0,1] row_mask:0xf bank_mask:0xf
  put v4
  s_endpgm)"},
};

} // namespace lanewise::tests
