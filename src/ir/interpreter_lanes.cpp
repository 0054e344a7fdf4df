// Operations that read other lanes.
#include "ir/interpreter_wave.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::ir::interpreter {

uint64_t Wave::ballot(Place m) const {
  uint64_t word = 0;
  for (unsigned lane = 0; lane < p_.lanes; ++lane)
    if (is_active(lane)) word |= read(m, lane) << lane;
  return word;
}

void Wave::push(const Code& c) {
  std::vector<uint64_t> result(p_.lanes);
  for (unsigned lane = 0; lane < p_.lanes; ++lane) {
    if (read(c, 2, lane)) result[read(c, 1, lane) % p_.lanes] = read(c, 0, lane);
  }
  for (unsigned lane = 0; lane < p_.lanes; ++lane) write(c, lane, result[lane]);
}

bool Wave::lanes(const Code& c) {
  const auto each = [&](auto compute) {
    for (unsigned lane = 0; lane < count(c); ++lane) write(c, lane, compute(lane));
    return true;
  };
  switch (c.op) {
  case Op::lane_id:
  case Op::host_lane: return each([](unsigned lane) { return uint64_t{lane}; });
  case Op::host_wave: return each([&](unsigned) { return uint64_t{index_}; });
  case Op::ballot:
  case Op::host_ballot: {
    const uint64_t word = ballot(operand(c, 0));
    return each([&](unsigned) { return word; });
  }
  case Op::any:
  case Op::host_any: {
    const uint64_t word = ballot(operand(c, 0));
    return each([&](unsigned) { return uint64_t{word != 0}; });
  }
  case Op::lane_bit: return each([&](unsigned lane) { return read(c, 0, lane) >> lane & 1; });
  case Op::mbcnt:
    return each([&](unsigned lane) {
      const unsigned first = c.imm ? 32 : 0;
      const uint64_t below = lane <= first ? 0 : low_bits(std::min(lane - first, 32u));
      return static_cast<uint64_t>(std::popcount(read(c, 0, lane) & below));
    });
  case Op::read_lane:
  case Op::host_broadcast: {
    const uint64_t v = read(c, 0, static_cast<unsigned>(read(c, 1, first_active()) % p_.lanes));
    return each([&](unsigned) { return v; });
  }
  case Op::read_first: {
    const uint64_t active = ballot(operand(c, 1));
    const uint64_t v = read(c, 0, active ? static_cast<unsigned>(std::countr_zero(active)) : 0);
    return each([&](unsigned) { return v; });
  }
  case Op::permute:
  case Op::host_shuffle:
    return each(
        [&](unsigned lane) { return read(c, 0, static_cast<unsigned>(read(c, 1, lane) % p_.lanes)); });
  case Op::push: push(c); return true;
  case Op::dpp: {
    const LanePattern pattern = LanePattern::unpack(c.imm);
    return each([&](unsigned lane) {
      const int source = pattern.source(lane);
      return source < 0 || source >= static_cast<int>(p_.lanes) ? 0
                                                                : read(c, 0, static_cast<unsigned>(source));
    });
  }
  default: return false;
  }
}

} // namespace lanewise::ir::interpreter
