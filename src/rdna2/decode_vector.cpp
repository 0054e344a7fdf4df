// VOP1, VOP2, VOPC with their SDWA and DPP suffixes, VOP3, VOP3P and VINTRP (RDNA2 ISA, 13.3 and 13.4).
#include "rdna2/decode_state.hpp"

namespace lanewise::rdna2::detail {
namespace {

/// Destination of VOP1, VOP2 and VOPC, the mask results and operands that live in VCC or EXEC included.
Problem short_destination(DecodeState& s, const OpcodeInfo& row, unsigned vdst) {
  Instruction& out = s.out;
  for (unsigned i = 0; i < 2; ++i) {
    if (row.dst[i] != OperandType::mask) continue;
    const bool exec = row.writes_state(State::exec);
    if (Problem p = s.sgpr(out.dst[i], exec ? code_exec : code_vcc, s.width(OperandType::mask))) return p;
  }
  if (row.src[2] == OperandType::mask)
    if (Problem p = s.sgpr(out.src[2], code_vcc, s.width(OperandType::mask))) return p;
  if (row.dst[0] == OperandType::none || row.dst[0] == OperandType::mask) return nullptr;
  if (row.has(OpcodeFlag::sgpr_dst)) return s.sgpr(out.dst[0], vdst, s.width(row.dst[0]));
  return s.vgpr(out.dst[0], vdst, s.width(row.dst[0]));
}

/// Negate and absolute value have a meaning for floating-point operands, and for the values that
/// v_cndmask_b32 and (but in SDWA, where it sign-extends) v_mov_b32 move.
bool has_float_modifiers(const DecodeState& s, const OpcodeInfo& row, unsigned i) {
  if (is_float(row.src[i])) return true;
  if (row.src[i] == OperandType::f16x2)
    return s.out.suffix == Suffix::dpp16; // v_dot2c_f32_f16, v_pk_fmac_f16
  return row.has(OpcodeFlag::float_moves) && row.src[i] == OperandType::b32 &&
         !(row.encoding == Encoding::vop1 && s.out.suffix == Suffix::sdwa);
}

void float_modifiers(DecodeState& s, const OpcodeInfo& row, unsigned i, bool neg, bool abs) {
  if (!has_float_modifiers(s, row, i)) return;
  Operand& o = s.out.src[i];
  o.neg = neg;
  o.abs = abs;
}

Problem sdwa_source(DecodeState& s, const OpcodeInfo& row, unsigned i, unsigned code, uint32_t fields,
                    bool scalar) {
  Operand& o = s.out.src[i];
  if (scalar && (code == code_literal || code == code_lds_direct))
    return "SDWA has no literal and no LDS_DIRECT";
  if (Problem p = scalar ? s.scalar_source(o, code, row.src[i]) : s.vgpr(o, code, s.width(row.src[i])))
    return p;
  const unsigned sel = bits(fields, 2, 0);
  if (sel > unsigned(SdwaSel::dword)) return "SDWA selector is reserved";
  o.sel = SdwaSel(sel);
  float_modifiers(s, row, i, bit(fields, 4), bit(fields, 5));
  o.sext = !has_float_modifiers(s, row, i) && bit(fields, 3);
  return nullptr;
}

Problem decode_sdwa(DecodeState& s, const OpcodeInfo& row, unsigned vsrc1) {
  if (!row.has(OpcodeFlag::sdwa)) return "opcode has no SDWA form";
  s.out.suffix = Suffix::sdwa;
  uint32_t w;
  if (Problem p = s.take_word(w)) return p;
  if (Problem p = sdwa_source(s, row, 0, bits(w, 7, 0), bits(w, 21, 16), bit(w, 23))) return p;
  if (row.src[1] != OperandType::none)
    if (Problem p = sdwa_source(s, row, 1, vsrc1, bits(w, 29, 24), bit(w, 31))) return p;

  if (row.encoding == Encoding::vopc) {
    if (!row.writes_state(State::exec) && bit(w, 15))
      return s.sgpr(s.out.dst[0], bits(w, 14, 8), s.width(OperandType::mask));
    return nullptr;
  }
  const unsigned dst_sel = bits(w, 10, 8), dst_unused = bits(w, 12, 11);
  if (dst_sel > unsigned(SdwaSel::dword) || dst_unused > 2) return "SDWA selector is reserved";
  s.out.dst_sel = SdwaSel(dst_sel);
  s.out.dst_unused = uint8_t(dst_unused);
  s.out.clamp = bit(w, 13);
  if (is_float(row.dst[0]) || row.dst[0] == OperandType::f16x2) s.out.omod = uint8_t(bits(w, 15, 14));
  return nullptr;
}

/// dpp_ctrl values that gfx10 knows (RDNA2 ISA, 13.3.9).
bool is_dpp_control(unsigned ctrl) {
  if (ctrl <= 0xff) return true;                                     // quad_perm
  if (ctrl == 0x100 || ctrl == 0x110 || ctrl == 0x120) return false; // shifts by 0
  return ctrl <= 0x12f || ctrl == 0x140 || ctrl == 0x141 || (ctrl >= 0x150 && ctrl <= 0x16f);
}

Problem decode_dpp16(DecodeState& s, const OpcodeInfo& row, unsigned vsrc1) {
  if (!row.has(OpcodeFlag::dpp)) return "opcode has no DPP form";
  Instruction& out = s.out;
  out.suffix = Suffix::dpp16;
  uint32_t w;
  if (Problem p = s.take_word(w)) return p;
  if (Problem p = s.vgpr(out.src[0], bits(w, 7, 0), 1)) return p;
  float_modifiers(s, row, 0, bit(w, 20), bit(w, 21));
  if (row.src[1] != OperandType::none) {
    if (Problem p = s.vgpr(out.src[1], vsrc1, 1)) return p;
    float_modifiers(s, row, 1, bit(w, 22), bit(w, 23));
  }
  out.dpp_ctrl = uint16_t(bits(w, 16, 8));
  if (!is_dpp_control(out.dpp_ctrl)) return "DPP control is reserved";
  out.fetch_inactive = bit(w, 18);
  out.bound_ctrl = bit(w, 19);
  out.bank_mask = uint8_t(bits(w, 27, 24));
  out.row_mask = uint8_t(bits(w, 31, 28));
  return nullptr;
}

Problem decode_dpp8(DecodeState& s, const OpcodeInfo& row, unsigned vsrc1, bool fetch_inactive) {
  if (!row.has(OpcodeFlag::dpp)) return "opcode has no DPP form";
  Instruction& out = s.out;
  out.suffix = Suffix::dpp8;
  out.fetch_inactive = fetch_inactive;
  uint32_t w;
  if (Problem p = s.take_word(w)) return p;
  if (Problem p = s.vgpr(out.src[0], bits(w, 7, 0), 1)) return p;
  if (row.src[1] != OperandType::none)
    if (Problem p = s.vgpr(out.src[1], vsrc1, 1)) return p;
  out.dpp8_sel = bits(w, 31, 8);
  return nullptr;
}

/// src0 of VOP1, VOP2 and VOPC, or the suffix word it stands for, and src1.
Problem short_sources(DecodeState& s, const OpcodeInfo& row, unsigned src0, unsigned vsrc1) {
  switch (src0) {
  case code_sdwa: return decode_sdwa(s, row, vsrc1);
  case code_dpp16: return decode_dpp16(s, row, vsrc1);
  case code_dpp8: return decode_dpp8(s, row, vsrc1, false);
  case code_dpp8_fi: return decode_dpp8(s, row, vsrc1, true);
  default: break;
  }
  if (Problem p = s.source(s.out.src[0], src0, row.src[0])) return p;
  if (row.src[1] == OperandType::none) return nullptr;
  return s.vgpr(s.out.src[1], vsrc1, s.width(row.src[1]));
}

/// Operands that can only be vector registers whatever the width of their field.
Problem check_vector_only(const DecodeState& s) {
  switch (s.out.opcode) {
  case Opcode::v_readfirstlane_b32:
  case Opcode::v_readlane_b32:
    return s.out.src[0].is_vgpr() || s.out.src[0].code == 254 ? nullptr : "lane source is no vector register";
  case Opcode::v_permlane16_b32:
  case Opcode::v_permlanex16_b32:
  case Opcode::v_swap_b32:
  case Opcode::v_swaprel_b32:
  case Opcode::v_movrels_b32:
  case Opcode::v_movrelsd_b32:
  case Opcode::v_movrelsd_2_b32: return s.out.src[0].is_vgpr() ? nullptr : "source is no vector register";
  default: return nullptr;
  }
}

/// op_sel bits that mean something: one for each source, bit 3 for the destination; v_permlane has two
/// modifiers there instead.
unsigned op_sel_mask(const OpcodeInfo& row) {
  if (row.has(OpcodeFlag::cross_lane)) return 3;
  unsigned mask = 8;
  for (unsigned i = 0; i < 3; ++i)
    if (row.src[i] != OperandType::none && !row.tied(i)) mask |= 1u << i;
  return mask;
}

/// A source of VOP3: masks are scalar registers, 128 bits are vector registers.
Problem vop3_source(DecodeState& s, Operand& o, unsigned code, OperandType type) {
  if (code == code_lds_direct && &o != s.out.src.data()) return "LDS_DIRECT can only be src0";
  if (Problem p = s.source(o, code, type)) return p;
  if (type == OperandType::mask && !o.is_sgpr()) return "mask is no scalar register";
  return type == OperandType::b128 && !o.is_vgpr() ? "source is no vector register" : nullptr;
}

/// Lane selectors are scalar.
Problem check_scalar_only(const DecodeState& s) {
  switch (s.out.opcode) {
  case Opcode::v_readlane_b32: return s.out.src[1].is_vgpr() ? "lane selector is a vector register" : nullptr;
  case Opcode::v_writelane_b32:
  case Opcode::v_permlane16_b32:
  case Opcode::v_permlanex16_b32: {
    const unsigned first = s.out.opcode == Opcode::v_writelane_b32 ? 0 : 1;
    return s.out.src[first].is_vgpr() || s.out.src[first + 1].is_vgpr()
               ? "scalar operand is a vector register"
               : nullptr;
  }
  default: return nullptr;
  }
}

void fill_swap(DecodeState& s) {
  s.out.dst[1] = s.out.src[0];
  s.out.src[1] = s.out.dst[0];
}

/// VOP3's form of interpolation: attribute in src0, register in src1 (RDNA2 ISA, V_INTERP_P1LL_F16).
Problem vop3_interp(DecodeState& s, const OpcodeInfo& row, uint32_t w, uint32_t w1) {
  Instruction& out = s.out;
  out.attribute = uint8_t(bits(w1, 5, 0));
  out.attribute_channel = uint8_t(bits(w1, 7, 6));
  const unsigned src1 = bits(w1, 17, 9);
  if (out.opcode == Opcode::v_interp_mov_f32) {
    if (src1 > 2) return "interpolation parameter is reserved";
    out.src[0] = {.kind = OperandKind::constant, .dwords = 1, .code = uint16_t(src1), .value = src1};
  } else {
    if (src1 < code_vgpr) return "source is no vector register";
    if (Problem p = s.vgpr(out.src[0], src1 - code_vgpr, 1)) return p;
    float_modifiers(s, row, 0, bit(w1, 30), bit(w, 9));
    if (row.src[2] != OperandType::none && !row.tied(2)) {
      const unsigned src2 = bits(w1, 26, 18);
      if (src2 < code_vgpr) return "source is no vector register";
      if (Problem p = s.vgpr(out.src[2], src2 - code_vgpr, 1)) return p;
      out.src[2].neg = bit(w1, 31);
      out.src[2].abs = bit(w, 10);
    }
  }
  const bool half = row.vop3 >= 0x300; // p1ll, p1lv, p2_f16
  out.op_sel = uint8_t((half && bit(w1, 8) ? 1 : 0) |
                       (out.opcode == Opcode::v_interp_p2_f16 ? bits(w, 14, 14) << 3 : 0));
  fill_tied(s, row);
  return nullptr;
}

} // namespace

Problem decode_vop1(DecodeState& s, const OpcodeInfo& row) {
  const uint32_t w = s.out.words[0];
  if (row.src[0] == OperandType::none) return nullptr;
  if (Problem p = short_destination(s, row, bits(w, 24, 17))) return p;
  if (row.has(OpcodeFlag::swap)) {
    if (Problem p = s.source(s.out.src[0], bits(w, 8, 0), row.src[0])) return p;
    if (Problem p = check_vector_only(s)) return p;
    fill_swap(s);
    return nullptr;
  }
  if (Problem p = short_sources(s, row, bits(w, 8, 0), 0)) return p;
  return check_vector_only(s);
}

Problem decode_vop2(DecodeState& s, const OpcodeInfo& row) {
  const uint32_t w = s.out.words[0];
  if (Problem p = short_destination(s, row, bits(w, 24, 17))) return p;
  const unsigned src0 = bits(w, 8, 0), vsrc1 = bits(w, 16, 9);
  if (row.has(OpcodeFlag::madmk) || row.has(OpcodeFlag::madak)) {
    const bool madmk = row.has(OpcodeFlag::madmk);
    if (Problem p = s.source(s.out.src[0], src0, row.src[0])) return p;
    if (Problem p = s.vgpr(s.out.src[madmk ? 2 : 1], vsrc1, 1)) return p;
    return s.literal(s.out.src[madmk ? 1 : 2], row.src[1]);
  }
  if (Problem p = short_sources(s, row, src0, vsrc1)) return p;
  fill_tied(s, row);
  return nullptr;
}

Problem decode_vopc(DecodeState& s, const OpcodeInfo& row) {
  const uint32_t w = s.out.words[0];
  if (Problem p = short_destination(s, row, 0)) return p;
  return short_sources(s, row, bits(w, 8, 0), bits(w, 16, 9));
}

Problem decode_vop3(DecodeState& s, const OpcodeInfo& row) {
  Instruction& out = s.out;
  const uint32_t w = out.words[0];
  uint32_t w1;
  if (Problem p = s.take_word(w1)) return p;
  if (row.src[0] == OperandType::none) return nullptr;

  const unsigned vdst = bits(w, 7, 0);
  const bool has_sdst = row.dst[1] == OperandType::mask; // VOP3B: sdst where abs and op_sel are
  if (row.writes_state(State::exec)) {
    if (Problem p = s.sgpr(out.dst[0], code_exec, s.width(OperandType::mask))) return p;
  } else if (row.dst[0] == OperandType::mask || row.has(OpcodeFlag::sgpr_dst)) {
    if (Problem p = s.sgpr(out.dst[0], vdst, s.width(row.dst[0]))) return p;
  } else if (Problem p = s.vgpr(out.dst[0], vdst, s.width(row.dst[0]))) {
    return p;
  }
  if (has_sdst)
    if (Problem p = s.sgpr(out.dst[1], bits(w, 14, 8), s.width(OperandType::mask))) return p;

  out.clamp = row.has(OpcodeFlag::clamp) && bit(w, 15);
  if (row.has(OpcodeFlag::omod)) out.omod = uint8_t(bits(w1, 28, 27));
  if (row.has(OpcodeFlag::interp)) return vop3_interp(s, row, w, w1);
  if (row.has(OpcodeFlag::op_sel)) out.op_sel = uint8_t(bits(w, 14, 11) & op_sel_mask(row));

  for (unsigned i = 0; i < 3; ++i) {
    if (row.src[i] == OperandType::none || row.tied(i)) continue;
    Operand& o = out.src[i];
    if (Problem p = vop3_source(s, o, bits(w1, 9 * i + 8, 9 * i), row.src[i])) return p;
    float_modifiers(s, row, i, bit(w1, 29 + i), !has_sdst && bit(w, 8 + i));
  }
  if (row.src[3] == OperandType::mask) // v_div_fmas
    if (Problem p = s.sgpr(out.src[3], code_vcc, s.width(OperandType::mask))) return p;
  fill_tied(s, row);
  if (Problem p = check_vector_only(s)) return p;
  return check_scalar_only(s);
}

Problem decode_vop3p(DecodeState& s, const OpcodeInfo& row) {
  Instruction& out = s.out;
  const uint32_t w = out.words[0];
  uint32_t w1;
  if (Problem p = s.take_word(w1)) return p;
  if (Problem p = s.vgpr(out.dst[0], bits(w, 7, 0), s.width(row.dst[0]))) return p;
  const bool mix = row.has(OpcodeFlag::mix);
  if (row.has(OpcodeFlag::op_sel)) {
    out.op_sel = uint8_t(bits(w, 13, 11) & op_sel_mask(row));
    out.op_sel_hi = uint8_t((bits(w1, 28, 27) | bits(w, 14, 14) << 2) & op_sel_mask(row));
  }
  out.clamp = row.has(OpcodeFlag::clamp) && bit(w, 15);
  for (unsigned i = 0; i < 3; ++i) {
    if (row.src[i] == OperandType::none) continue;
    Operand& o = out.src[i];
    const bool half = mix && bit(out.op_sel_hi, i);
    if (Problem p = vop3_source(s, o, bits(w1, 9 * i + 8, 9 * i), half ? OperandType::f16 : row.src[i]))
      return p;
    if (!mix && !row.has(OpcodeFlag::neg_mods)) continue;
    o.neg = bit(w1, 29 + i);
    o.abs = bit(w, 8 + i);
  }
  return nullptr;
}

Problem decode_vintrp(DecodeState& s, const OpcodeInfo& row) {
  Instruction& out = s.out;
  const uint32_t w = out.words[0];
  if (Problem p = s.vgpr(out.dst[0], bits(w, 25, 18), 1)) return p;
  out.attribute = uint8_t(bits(w, 15, 10));
  out.attribute_channel = uint8_t(bits(w, 9, 8));
  const unsigned vsrc = bits(w, 7, 0);
  if (out.opcode == Opcode::v_interp_mov_f32) {
    if (vsrc > 2) return "interpolation parameter is reserved";
    out.src[0] = {.kind = OperandKind::constant, .dwords = 1, .code = uint16_t(vsrc), .value = vsrc};
    return nullptr;
  }
  if (Problem p = s.vgpr(out.src[0], vsrc, 1)) return p;
  fill_tied(s, row);
  return nullptr;
}

} // namespace lanewise::rdna2::detail
