// Sources and results of vector instructions (RDNA2 ISA, 6.2 "Operands", 13.3.8 SDWA, 13.3.9 DPP16, 13.3.10
// DPP8).
#include "rdna2/emu_lanes.hpp"

namespace lanewise::rdna2::emu {
namespace {

/// Lane that `lane` reads by a DPP16 control, or -1 outside its row.
int dpp16_source(unsigned control, unsigned lane) {
  const unsigned row = lane & ~15u, i = lane & 15, n = control & 15;
  switch (control >> 4) {
  case 0x0:
  case 0x1:
  case 0x2:
  case 0x3:
  case 0x4:
  case 0x5:
  case 0x6:
  case 0x7:
  case 0x8:
  case 0x9:
  case 0xa:
  case 0xb:
  case 0xc:
  case 0xd:
  case 0xe:
  case 0xf: // quad_perm
    return static_cast<int>((lane & ~3u) + (control >> 2 * (lane & 3) & 3));
  case 0x10: return i + n < 16 ? static_cast<int>(lane + n) : -1;                            // row_shl
  case 0x11: return i >= n ? static_cast<int>(lane - n) : -1;                                // row_shr
  case 0x12: return static_cast<int>(row + ((i + 16 - n) & 15));                             // row_ror
  case 0x14: return static_cast<int>(n == 0 ? row + 15 - i : (lane & ~7u) + 7 - (lane & 7)); // mirrors
  case 0x15: return static_cast<int>(row + n);                                               // row_share
  case 0x16: return static_cast<int>(row + (i ^ n));                                         // row_xmask
  default: return static_cast<int>(lane);
  }
}

uint32_t select_part(uint32_t value, SdwaSel sel, bool sext) {
  unsigned shift = 0, width = 32;
  switch (sel) {
  case SdwaSel::byte0:
  case SdwaSel::byte1:
  case SdwaSel::byte2:
  case SdwaSel::byte3: shift = 8 * static_cast<unsigned>(sel), width = 8; break;
  case SdwaSel::word0: width = 16; break;
  case SdwaSel::word1: shift = 16, width = 16; break;
  case SdwaSel::dword: return value;
  }
  const uint32_t part = value << (32 - width - shift);
  return sext ? static_cast<uint32_t>(static_cast<int32_t>(part) >> (32 - width)) : part >> (32 - width);
}

template <class T>
void apply_sign(const Operand& o, T& value) {
  constexpr T sign = T{1} << (8 * sizeof(T) - 1);
  if (o.abs) value = static_cast<T>(value & ~sign);
  if (o.neg) value = static_cast<T>(value ^ sign);
}

} // namespace

uint32_t Wave::read32(const Operand& o) const {
  switch (o.kind) {
  case OperandKind::sgpr: return o.reg == reg_null ? 0 : sgpr[o.reg];
  case OperandKind::constant: return static_cast<uint32_t>(o.value);
  case OperandKind::special: return static_cast<uint32_t>(read64(o));
  default: return 0;
  }
}

uint64_t Wave::read64(const Operand& o) const {
  switch (o.kind) {
  case OperandKind::sgpr: return pair(o.reg);
  case OperandKind::constant: return o.value;
  case OperandKind::special: break;
  default: return 0;
  }
  switch (o.reg) {
  case 235: return uint64_t{guest_abi::shared_aperture_hi} << 32;
  case 236: return uint64_t{guest_abi::shared_aperture_hi} << 32 | 0xffff'ffff;
  case 237: return uint64_t{guest_abi::private_aperture_hi} << 32;
  case 238: return uint64_t{guest_abi::private_aperture_hi} << 32 | 0xffff'ffff;
  case 251: return vcc() == 0;
  case 252: return exec() == 0;
  case 253: return scc;
  default: return 0;
  }
}

void Vector::permute_dpp(Lanes<uint32_t>& values) {
  Lanes<uint32_t> from = values;
  const uint64_t exec = active;
  const bool eight = in.suffix == Suffix::dpp8;
  for (unsigned l = 0; l < lanes(); ++l) {
    const int source =
        eight ? static_cast<int>((l & ~7u) + (in.dpp8_sel >> 3 * (l & 7) & 7)) : dpp16_source(in.dpp_ctrl, l);
    const bool valid = source >= 0 && static_cast<unsigned>(source) < lanes() &&
                       (in.fetch_inactive || (exec >> source & 1) != 0);
    values[l] = valid ? from[static_cast<unsigned>(source)] : 0;
    if (eight) continue;
    const bool chosen = (in.row_mask >> l / 16 & 1) != 0 && (in.bank_mask >> l / 4 % 4 & 1) != 0;
    if (!chosen || (!valid && !in.bound_ctrl)) active &= ~(uint64_t{1} << l);
  }
}

void Vector::select_sdwa(const Operand& o, Lanes<uint32_t>& values) const {
  each_lane(lanes(), [&](unsigned l) { values[l] = select_part(values[l], o.sel, o.sext); });
}

void Vector::read32(unsigned i, Lanes<uint32_t>& out) {
  const Operand& o = in.src[i];
  if (o.is_vgpr()) {
    const uint32_t* row = wave.v(o.reg);
    each_lane(lanes(), [&](unsigned l) { out[l] = row[l]; });
    if (i == 0 && (in.suffix == Suffix::dpp16 || in.suffix == Suffix::dpp8)) permute_dpp(out);
  } else {
    const uint32_t value = wave.read32(o);
    each_lane(lanes(), [&](unsigned l) { out[l] = value; });
  }
  if ((step.modified >> i & 1) == 0) return;
  if (in.suffix == Suffix::sdwa) select_sdwa(o, out);
  if ((o.abs || o.neg) && !is_16bit(step.info->src[i]))
    each_lane(lanes(), [&](unsigned l) { apply_sign(o, out[l]); });
}

void Vector::source64(unsigned i, Lanes<uint64_t>& out) {
  const Operand& o = in.src[i];
  if (o.is_vgpr()) {
    const uint32_t *lo = wave.v(o.reg), *hi = wave.v(o.reg + 1u);
    each_lane(lanes(), [&](unsigned l) { out[l] = lo[l] | uint64_t{hi[l]} << 32; });
  } else {
    const uint64_t value = wave.read64(o);
    each_lane(lanes(), [&](unsigned l) { out[l] = value; });
  }
  if (o.abs || o.neg) each_lane(lanes(), [&](unsigned l) { apply_sign(o, out[l]); });
}

void Vector::source16(unsigned i, Lanes<uint16_t>& out) {
  const Operand& o = in.src[i];
  Lanes<uint32_t> words;
  const uint32_t* p = source32(i, words);
  // An inline constant has its value in the low half; op_sel reads zeros above it.
  const unsigned shift = (in.op_sel >> i & 1) != 0 ? 16 : 0;
  each_lane(lanes(), [&](unsigned l) { out[l] = static_cast<uint16_t>(p[l] >> shift); });
  if (o.abs || o.neg) each_lane(lanes(), [&](unsigned l) { apply_sign(o, out[l]); });
}

void Vector::write_sdwa(uint32_t* row, const uint32_t* values) const {
  unsigned shift = 0, width = 32;
  switch (in.dst_sel) {
  case SdwaSel::byte0:
  case SdwaSel::byte1:
  case SdwaSel::byte2:
  case SdwaSel::byte3: shift = 8 * static_cast<unsigned>(in.dst_sel), width = 8; break;
  case SdwaSel::word0: width = 16; break;
  case SdwaSel::word1: shift = 16, width = 16; break;
  case SdwaSel::dword: break;
  }
  const uint32_t field = width == 32 ? ~0u : ((1u << width) - 1) << shift;
  each_active(active, [&](unsigned l) {
    const uint32_t part = values[l] << shift & field;
    uint32_t rest = 0;
    if (in.dst_unused == 2) rest = row[l] & ~field;
    if (in.dst_unused == 1 && shift + width < 32 && (part >> (shift + width - 1) & 1) != 0)
      rest = ~0u << (shift + width); // sign extension goes upwards only
    row[l] = part | rest;
  });
}

void Vector::write32(const uint32_t* values, unsigned slot) {
  uint32_t* row = wave.v(in.dst[slot].reg);
  if (in.suffix == Suffix::sdwa && slot == 0) return write_sdwa(row, values);
  const uint32_t* on = wave.expand(active);
  each_lane(lanes(), [&](unsigned l) { row[l] = (values[l] & on[l]) | (row[l] & ~on[l]); });
}

void Vector::write64(const uint64_t* values, unsigned slot) {
  uint32_t *lo = wave.v(in.dst[slot].reg), *hi = wave.v(in.dst[slot].reg + 1u);
  const uint32_t* on = wave.expand(active);
  each_lane(lanes(),
            [&](unsigned l) { lo[l] = (static_cast<uint32_t>(values[l]) & on[l]) | (lo[l] & ~on[l]); });
  each_lane(lanes(),
            [&](unsigned l) { hi[l] = (static_cast<uint32_t>(values[l] >> 32) & on[l]) | (hi[l] & ~on[l]); });
}

void Vector::write16(const uint16_t* values) {
  uint32_t* row = wave.v(in.dst[0].reg);
  if (in.suffix == Suffix::sdwa) {
    Lanes<uint32_t> wide;
    each_lane(lanes(), [&](unsigned l) { wide[l] = values[l]; });
    return write_sdwa(row, wide.at);
  }
  const uint32_t* on = wave.expand(active);
  const unsigned shift = (in.op_sel >> 3 & 1) != 0 ? 16 : 0;
  const uint32_t field = 0xffffu << shift;
  each_lane(lanes(), [&](unsigned l) {
    const uint32_t m = on[l] & field;
    row[l] = (uint32_t{values[l]} << shift & m) | (row[l] & ~m);
  });
}

} // namespace lanewise::rdna2::emu
