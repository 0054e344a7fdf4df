// For each rule of diverge that can be broken: machine code whose output then changes.
#pragma once

#include "passes/diverge.hpp"

#include <ostream>

namespace lanewise::tests {

struct DivergeMutation {
  const char* name;
  passes::BrokenDivergeRule rule;
  /// As in demand_programs.hpp, in workgroups of eight: v0 is the work-item of the whole grid, v5 = 1 + (v8 &
  /// 7).
  const char* source;
  friend void PrintTo(const DivergeMutation& m, std::ostream* out) { *out << m.name; }
};

inline constexpr const char* kDivergeBegin = R"(
  v_lshl_add_u32 v0, s8, 3, v0
  v_lshlrev_b32 v9, 2, v0
  global_load_dword v8, v9, s[0:1]
  s_waitcnt vmcnt(0)
  v_mad_u32_u24 v1, v8, 3, 1
  v_and_b32 v5, 7, v8
  v_add_nc_u32 v5, 1, v5
  s_mov_b32 s30, exec_lo
)";

inline constexpr DivergeMutation kDivergeMutations[] = {
    // The ballot inside the region is one of all lanes.
    {"votes_unchecked", passes::BrokenDivergeRule::votes_unchecked, R"(
  even_lanes
  s_mov_b32 s21, exec_lo
  s_cbranch_execz join%
  s_mov_b32 exec_lo, s30
  v_cmp_ne_u32 s22, 5, v8
  s_mov_b32 exec_lo, s21
  v_mov_b32 v1, s22
join%:
  s_mov_b32 exec_lo, s30
  put v1
  s_endpgm)"},
    {"stores_unchecked", passes::BrokenDivergeRule::stores_unchecked, R"(
  v_and_b32 v12, 28, v9
  ds_write_b32 v12, v8
  s_waitcnt lgkmcnt(0)
  s_barrier
  even_lanes
  s_cbranch_execz join%
  s_mov_b32 exec_lo, s30
  ds_write_b32 v12, v1
join%:
  s_mov_b32 exec_lo, s30
  s_waitcnt lgkmcnt(0)
  ds_read_b32 v3, v12
  s_waitcnt lgkmcnt(0)
  put v3
  s_endpgm)"},
    // A scalar counts in the region, and all lanes read it behind.
    {"live_out_unchecked", passes::BrokenDivergeRule::live_out_unchecked, R"(
  s_mov_b32 s20, s8
  even_lanes
  s_cbranch_execz join%
  s_add_u32 s20, s20, 7
  v_mov_b32 v1, 0x3e8
join%:
  s_mov_b32 exec_lo, s30
  v_add_nc_u32 v2, s20, v1
  put v2
  s_endpgm)"},
    // Even lanes come back into the loop as long as any other lane is in it.
    {"loop_may_widen", passes::BrokenDivergeRule::loop_may_widen, R"(
  v_and_b32 v10, 1, v8
  v_cmp_eq_u32 s13, 0, v10
  v_mov_b32 v2, 0
turn%:
  v_add_nc_u32 v2, 1, v2
  v_cmp_lt_u32 s12, v2, v5
  s_or_b32 exec_lo, s12, s13
  s_cmp_lg_u32 s12, 0
  s_cbranch_scc1 turn%
  s_mov_b32 exec_lo, s30
  put v2
  s_endpgm)"},
    // A scalar counts the turns, and all lanes read it behind.
    {"loop_live_out_unchecked", passes::BrokenDivergeRule::loop_live_out_unchecked, R"(
  s_mov_b32 s20, 0
  v_mov_b32 v2, 0
turn%:
  s_add_u32 s20, s20, 1
  v_add_nc_u32 v2, 1, v2
  v_cmp_lt_u32 vcc_lo, v2, v5
  s_and_b32 exec_lo, exec_lo, vcc_lo
  s_cbranch_execnz turn%
  s_mov_b32 exec_lo, s30
  v_lshl_add_u32 v2, v2, 8, s20
  put v2
  s_endpgm)"},
};

} // namespace lanewise::tests
