// SOP1, SOP2, SOPK, SOPC, SOPP and SMEM (RDNA2 ISA, 13.1 and 13.2).
#include "rdna2/decode_state.hpp"

namespace lanewise::rdna2::detail {
namespace {

Problem destination(DecodeState& s, const OpcodeInfo& row, unsigned reg) {
  if (row.dst[0] == OperandType::none) return nullptr;
  return s.sgpr(s.out.dst[0], reg, s.width(row.dst[0]));
}

void simm_constant(Operand& o, uint32_t simm16, OperandType type) {
  o.kind = OperandKind::constant;
  o.dwords = 1;
  o.value = type == OperandType::u32 ? simm16 : uint32_t(sign_extend_from(simm16, 16));
}

/// A source of the scalar ALU, which has no LDS_DIRECT.
Problem scalar_alu_source(DecodeState& s, Operand& o, unsigned code, OperandType type) {
  return code == code_lds_direct ? "scalar source cannot be LDS_DIRECT" : s.scalar_source(o, code, type);
}

} // namespace

Problem decode_sop1(DecodeState& s, const OpcodeInfo& row) {
  const uint32_t w = s.out.words[0];
  if (Problem p = destination(s, row, bits(w, 22, 16))) return p;
  if (row.src[0] != OperandType::none)
    if (Problem p = scalar_alu_source(s, s.out.src[0], bits(w, 7, 0), row.src[0])) return p;
  if (row.has(OpcodeFlag::relative_src) && !s.out.src[0].is_sgpr()) return "relative source is no register";
  fill_tied(s, row);
  return nullptr;
}

Problem decode_sop2(DecodeState& s, const OpcodeInfo& row) {
  const uint32_t w = s.out.words[0];
  if (Problem p = destination(s, row, bits(w, 22, 16))) return p;
  if (Problem p = scalar_alu_source(s, s.out.src[0], bits(w, 7, 0), row.src[0])) return p;
  return scalar_alu_source(s, s.out.src[1], bits(w, 15, 8), row.src[1]);
}

Problem decode_sopc(DecodeState& s, const OpcodeInfo& row) {
  const uint32_t w = s.out.words[0];
  if (Problem p = scalar_alu_source(s, s.out.src[0], bits(w, 7, 0), row.src[0])) return p;
  return scalar_alu_source(s, s.out.src[1], bits(w, 15, 8), row.src[1]);
}

Problem decode_sopk(DecodeState& s, const OpcodeInfo& row) {
  const uint32_t w = s.out.words[0];
  const uint32_t simm16 = bits(w, 15, 0);
  const bool is_signed = row.has(OpcodeFlag::branch) || row.has(OpcodeFlag::call) ||
                         (row.has(OpcodeFlag::simm_src) && row.src[0] != OperandType::u32);
  s.out.imm = is_signed ? sign_extend_from(simm16, 16) : int32_t(simm16);
  const unsigned sdst = bits(w, 22, 16);
  if (Problem p = destination(s, row, sdst)) return p;

  if (row.has(OpcodeFlag::simm_src)) {
    // s_movk, s_cmovk: the constant alone; s_cmpk, s_addk, s_mulk: the register, then the constant.
    const bool register_first = row.dst[0] == OperandType::none || row.tied(0);
    simm_constant(s.out.src[register_first ? 1 : 0], simm16, row.src[0]);
    if (row.dst[0] == OperandType::none)
      if (Problem p = s.sgpr(s.out.src[0], sdst, s.width(row.src[0]))) return p;
  } else if (s.out.opcode == Opcode::s_setreg_imm32_b32) {
    if (Problem p = s.literal(s.out.src[0], row.src[0])) return p;
  } else if (row.src[0] != OperandType::none && !row.tied(0)) {
    if (Problem p = s.sgpr(s.out.src[0], sdst, s.width(row.src[0]))) return p;
  }
  fill_tied(s, row);
  return nullptr;
}

Problem decode_sopp(DecodeState& s, const OpcodeInfo& row) {
  const uint32_t simm16 = bits(s.out.words[0], 15, 0);
  s.out.imm = row.has(OpcodeFlag::branch) ? sign_extend_from(simm16, 16) : int32_t(simm16);
  return nullptr;
}

Problem decode_smem(DecodeState& s, const OpcodeInfo& row) {
  const uint32_t w = s.out.words[0];
  uint32_t w1;
  if (Problem p = s.take_word(w1)) return p;
  if (Problem p = destination(s, row, bits(w, 12, 6))) return p;
  if (row.src[0] == OperandType::none) return nullptr;
  if (Problem p = s.sgpr(s.out.src[0], 2 * bits(w, 5, 0), s.width(row.src[0]))) return p;
  const unsigned soffset = bits(w1, 31, 25);
  if (soffset != code_null)
    if (Problem p = s.sgpr(s.out.src[1], soffset, 1)) return p;
  s.out.imm = sign_extend_from(bits(w1, 20, 0), 21);
  if (row.access.kind == Access::Kind::none) {
    s.out.offset0 = uint8_t(bits(w, 12, 6)); // s_atc_probe: a number where others have sdata
    return nullptr;
  }
  s.out.dlc = bit(w, 14);
  s.out.glc = bit(w, 16);
  return nullptr;
}

} // namespace lanewise::rdna2::detail
