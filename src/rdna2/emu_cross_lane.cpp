// Vector instructions that read or write other lanes, relative moves and swaps (RDNA2 ISA, 12.8 and 12.12).
#include "rdna2/emu_lanes.hpp"

namespace lanewise::rdna2::emu {
namespace {

// These two look at EXEC at most to choose a lane; they run whatever it is.
Flow read_first_lane(Wave& w, const Step& s) {
  const Operand& o = s.in.src[0];
  const uint64_t exec = w.exec();
  const unsigned lane = exec == 0 ? 0 : static_cast<unsigned>(std::countr_zero(exec));
  w.write32(s.in.dst[0], o.is_vgpr() ? w.v(o.reg)[lane] : w.read32(o));
  return Flow::next;
}
Flow read_lane(Wave& w, const Step& s) {
  const Operand& o = s.in.src[0];
  const unsigned lane = w.read32(s.in.src[1]) % w.lanes;
  w.write32(s.in.dst[0], o.is_vgpr() ? w.v(o.reg)[lane] : w.read32(o));
  return Flow::next;
}
Flow write_lane(Wave& w, const Step& s) {
  w.v(s.in.dst[0].reg)[w.read32(s.in.src[1]) % w.lanes] = w.read32(s.in.src[0]);
  return Flow::next;
}

// Rows are 16 lanes; `cross` reads from the other row of a pair. op_sel bit 0 is "fetch inactive", bit 1
// "bound control": what a lane gets whose source is off.
template <bool cross>
Flow permute_row(Wave& w, const Step& s) {
  const bool fetch_inactive = (s.in.op_sel & 1) != 0, bound_control = (s.in.op_sel & 2) != 0;
  const uint64_t select = w.read32(s.in.src[1]) | uint64_t{w.read32(s.in.src[2])} << 32, exec = w.exec();
  const uint32_t* from = w.v(s.in.src[0].reg);
  uint32_t* to = w.v(s.in.dst[0].reg);
  Lanes<uint32_t> old;
  each_lane(w.lanes, [&](unsigned l) { old[l] = from[l]; });
  each_active(exec, [&](unsigned l) {
    const unsigned row = cross ? (l & ~15u) ^ 16 : l & ~15u;
    const unsigned source = row + static_cast<unsigned>(select >> 4 * (l & 15) & 15);
    if (fetch_inactive || (exec >> source & 1) != 0)
      to[l] = old[source];
    else if (bound_control)
      to[l] = 0;
  });
  return Flow::next;
}

// ThreadMask has a one for each lane before this one; in wave32 its high half is 0.
template <unsigned half>
Flow masked_count(Wave& w, const Step& s) {
  Vector x(w, s);
  Lanes<uint32_t> a, b, out;
  const uint32_t* p = x.source32(0, a);
  const uint32_t* q = x.source32(1, b);
  for (unsigned l = 0; l < x.lanes(); ++l) {
    const uint64_t before = (uint64_t{1} << l) - 1;
    out[l] = q[l] + static_cast<uint32_t>(std::popcount(p[l] & static_cast<uint32_t>(before >> 32 * half)));
  }
  x.write32(out.at);
  return Flow::next;
}

// Register numbers get M0 added: all of it, or 10 bits each for source and destination.
struct Relative {
  uint64_t source, target;
};
bool relative_registers(Wave& w, const Step& s, Relative& r) {
  const OpcodeInfo& row = *s.info;
  const bool split = s.in.opcode == Opcode::v_movrelsd_2_b32;
  const uint32_t m0 = w.m0();
  r.source = s.in.src[0].reg + (row.has(OpcodeFlag::relative_src) ? uint64_t{split ? m0 & 0x3ff : m0} : 0);
  r.target =
      s.in.dst[0].reg + (row.has(OpcodeFlag::relative_dst) ? uint64_t{split ? m0 >> 16 & 0x3ff : m0} : 0);
  const bool vector_source = s.in.src[0].is_vgpr();
  if ((!vector_source || r.source < 256) && r.target < 256) return true;
  (void)w.fail(ErrorKind::input, "relative vector register is out of range");
  return false;
}

Flow move_relative(Wave& w, const Step& s) {
  Relative r{};
  if (!relative_registers(w, s, r)) return Flow::fault;
  Step moved = s;
  if (s.in.src[0].is_vgpr()) moved.in.src[0].reg = static_cast<uint16_t>(r.source);
  moved.in.dst[0].reg = static_cast<uint16_t>(r.target);
  return lane32_1<[](uint32_t a) { return a; }>(w, moved);
}

Flow swap_registers(Wave& w, unsigned a, unsigned b) {
  uint32_t *p = w.v(a), *q = w.v(b);
  each_active(w.exec(), [&](unsigned l) { std::swap(p[l], q[l]); });
  return Flow::next;
}
Flow swap(Wave& w, const Step& s) { return swap_registers(w, s.in.dst[0].reg, s.in.src[0].reg); }
// Both register numbers are relative, with the split M0 of v_movrelsd_2.
Flow swap_relative(Wave& w, const Step& s) {
  const uint64_t a = s.in.dst[0].reg + uint64_t{w.m0() >> 16 & 0x3ff},
                 b = s.in.src[0].reg + uint64_t{w.m0() & 0x3ff};
  if (a >= 256 || b >= 256) return w.fail(ErrorKind::input, "relative vector register is out of range");
  return swap_registers(w, static_cast<unsigned>(a), static_cast<unsigned>(b));
}

} // namespace

void add_lanes(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler h) { t[static_cast<unsigned>(o)] = h; };
  set(v_readfirstlane_b32, read_first_lane);
  set(v_readlane_b32, read_lane);
  set(v_writelane_b32, write_lane);
  set(v_permlane16_b32, permute_row<false>);
  set(v_permlanex16_b32, permute_row<true>);
  set(v_mbcnt_lo_u32_b32, masked_count<0>);
  set(v_mbcnt_hi_u32_b32, masked_count<1>);
  for (Opcode o : {v_movreld_b32, v_movrels_b32, v_movrelsd_b32, v_movrelsd_2_b32}) set(o, move_relative);
  set(v_swap_b32, swap);
  set(v_swaprel_b32, swap_relative);
}

} // namespace lanewise::rdna2::emu
