#include "spirv/seating.hpp"

#include <bit>

#include <fmt/format.h>

namespace lanewise::spirv {

Expected<void> check(const Seating& s) {
  constexpr uint32_t largest = 1024; // work-items of a workgroup on RDNA2
  if (s.wave_size != 32 && s.wave_size != 64)
    return fail(ErrorKind::call, fmt::format("a wave has 32 or 64 lanes, not {}", s.wave_size));
  if (!std::has_single_bit(s.host_lanes) || s.host_lanes > s.wave_size)
    return fail(ErrorKind::call,
                fmt::format("a wave of {} lanes cannot sit on {} invocations", s.wave_size, s.host_lanes), {},
                "a power of two up to the wave size");
  if (s.independent && s.host_lanes != s.wave_size)
    return fail(ErrorKind::call, "independent lanes have an invocation each");
  for (const uint32_t n : s.workgroup)
    if (n == 0 || n > largest)
      return fail(ErrorKind::call,
                  fmt::format("workgroup size {}x{}x{}", s.workgroup[0], s.workgroup[1], s.workgroup[2]), {},
                  fmt::format("1 to {} work-items", largest));
  if (uint64_t{s.workgroup[0]} * s.workgroup[1] * s.workgroup[2] > largest)
    return fail(ErrorKind::call, fmt::format("workgroup of {} work-items", s.items()), {},
                fmt::format("at most {}", largest));
  return {};
}

unsigned choose_host_lanes(unsigned wave_size, unsigned subgroup_size, bool has_subgroup_operations) {
  if (!has_subgroup_operations || !std::has_single_bit(subgroup_size) || subgroup_size > wave_size) return 1;
  return subgroup_size;
}

} // namespace lanewise::spirv
