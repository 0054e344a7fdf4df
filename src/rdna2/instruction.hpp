// A decoded RDNA2 instruction, independent of the word format it came in.
//
// One `Opcode` stands for one meaning: v_add_f32 is the same opcode as VOP2, VOP3, SDWA or DPP. Operands
// appear at fixed places whatever the encoding, and operands that the text leaves implicit (vcc of
// v_cndmask_b32, the old destination of v_fmac_f32, the constant of v_fmamk_f32) are written out, so that
// the emulator and the translator have one case per opcode.
//
//   format              dst                         src
//   SOP1/2/K/C, SMEM    sdst                        ssrc0, ssrc1 | sbase, soffset
//   VOP1/2/3/3P/C       vdst [, sdst]               src0, src1, src2
//   DS                  vdst (if it returns)        addr, data0, data1
//   MUBUF, MTBUF        vdata (if it returns)       vaddr, srsrc, soffset, vdata (stores and atomics)
//   FLAT/GLOBAL/SCRATCH vdst (if it returns)        vaddr, saddr, vdata
//   MIMG                vdata (if it returns)       vaddr, srsrc, ssamp, vdata (stores and atomics)
//   EXP                 -                           four VGPRs (none where the mask bit is off)
//
// An operand slot the instruction does not use has kind `none`; slots keep their places.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace lanewise::rdna2 {

enum class WaveSize : uint8_t { wave32 = 32, wave64 = 64 };

/// Word format the instruction was found in (RDNA2 ISA, section 13 "Microcode Formats").
enum class Encoding : uint8_t {
  sop1, sop2, sopk, sopc, sopp, smem, vop1, vop2, vopc, vop3, vop3p, vintrp, ds, mubuf, mtbuf, mimg,
  flat, global, scratch, exp,
};

/// Extra dword behind a VOP1/VOP2/VOPC word that changes how src0 (and src1) are read.
enum class Suffix : uint8_t { none, sdwa, dpp16, dpp8 };

enum class OperandKind : uint8_t {
  none,
  sgpr,      ///< `reg` is the scalar register file index: 0..105 SGPRs, 106/107 VCC, 108..123 TTMP, 124 M0,
             ///< 125 NULL, 126/127 EXEC
  vgpr,      ///< `reg` is 0..255
  constant,  ///< inline constant or literal; `value` holds the bits, already formed for the operand's type
  special,   ///< `reg` is the source code 235..239 (apertures, pops_exiting_wave_id), 251 VCCZ, 252 EXECZ,
             ///< 253 SCC, 254 LDS_DIRECT
};

/// Sub-dword selection of SDWA (RDNA2 ISA, 13.3.8).
enum class SdwaSel : uint8_t { byte0, byte1, byte2, byte3, word0, word1, dword };

struct Operand {
  OperandKind kind = OperandKind::none;
  uint8_t dwords = 0;  ///< registers read or written, 1..16; wave masks: 1 in wave32, 2 in wave64
  uint16_t reg = 0;    ///< see OperandKind
  uint16_t code = 0;   ///< raw source code (0..511 as in SRC0), for the disassembler
  bool neg = false;    ///< VOP3/SDWA/DPP negate; for VOP3P: neg_lo
  bool abs = false;    ///< VOP3/SDWA/DPP absolute value; for VOP3P: neg_hi
  bool sext = false;   ///< SDWA sign extension
  SdwaSel sel = SdwaSel::dword;
  uint64_t value = 0;  ///< constant bits in the operand's own type (f16 inline 1.0 is 0x3c00)

  [[nodiscard]] bool is_none() const { return kind == OperandKind::none; }
  [[nodiscard]] bool is_vgpr() const { return kind == OperandKind::vgpr; }
  [[nodiscard]] bool is_sgpr() const { return kind == OperandKind::sgpr; }
  [[nodiscard]] bool is_constant() const { return kind == OperandKind::constant; }
};

/// One X per opcode; see opcodes.def for the columns.
enum class Opcode : uint16_t {
#define LANEWISE_OPCODE(name, ...) name,
#include "rdna2/opcodes.def"
#undef LANEWISE_OPCODE
  count_,
};

struct Instruction {
  uint32_t pc = 0; ///< byte offset from the start of the program's code
  Opcode opcode{};
  Encoding encoding{};
  Suffix suffix = Suffix::none;
  uint8_t size = 0; ///< bytes, literal and suffix included: 4..20

  std::array<Operand, 2> dst{};
  std::array<Operand, 4> src{};

  /// simm16 (sign-extended), memory offset (sign-extended where the format says so), waitcnt, hwreg, target.
  int32_t imm = 0;

  // VOP3 / SDWA
  bool clamp = false;
  uint8_t omod = 0;                          ///< 0 none, 1 *2, 2 *4, 3 /2
  uint8_t op_sel = 0;                        ///< bit i: source i (bit 3: destination) uses the high half
  uint8_t op_sel_hi = 0;                     ///< VOP3P: source half for the high lane of the result
  SdwaSel dst_sel = SdwaSel::dword;
  uint8_t dst_unused = 0;                    ///< SDWA: 0 pad with zero, 1 sign-extend, 2 preserve

  // DPP (RDNA2 ISA, 13.3.9 and 13.3.10)
  uint16_t dpp_ctrl = 0;                     ///< dpp16 control, 9 bits
  uint32_t dpp8_sel = 0;                     ///< dpp8: eight 3-bit lane selectors
  uint8_t row_mask = 0xf, bank_mask = 0xf;
  bool bound_ctrl = false;                   ///< true: lanes without a source read 0 (bit BC = 1)
  bool fetch_inactive = false;

  // memory
  bool glc = false, slc = false, dlc = false, lds = false, gds = false, tfe = false, lwe = false;
  bool offen = false, idxen = false;         ///< MUBUF, MTBUF
  uint8_t offset0 = 0, offset1 = 0;          ///< DS with two addresses; also the halves of `imm` for others
  uint8_t format = 0;                        ///< MTBUF unified format

  // MIMG
  uint8_t dmask = 0, dim = 0;
  bool unorm = false, r128 = false, a16 = false, d16 = false;
  uint8_t nsa_count = 0;                     ///< address VGPRs given one by one, 0 = consecutive from vaddr
  std::array<uint8_t, 13> nsa{};

  // EXP
  uint8_t exp_target = 0, exp_enable = 0;
  bool exp_done = false, exp_compressed = false, exp_valid_mask = false;

  // VINTRP
  uint8_t attribute = 0, attribute_channel = 0;

  /// Raw words, `size / 4` of them.
  std::array<uint32_t, 5> words{};
};

} // namespace lanewise::rdna2
