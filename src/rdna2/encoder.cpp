#include "rdna2/encoder.hpp"

#include "rdna2/decode_state.hpp"
#include "rdna2/decoder.hpp"

namespace lanewise::rdna2 {
namespace {

using namespace detail;

class Encoder {
 public:
  explicit Encoder(const Instruction& instruction) : i(instruction), row(info(instruction.opcode)) {}

  EncodedWords encode() {
    emit_format();
    if (i.nsa_count > 1) emit_addresses();
    for (const Operand& o : i.src) {
      if (!o.is_constant() || o.code != code_literal) continue;
      push(uint32_t(o.dwords == 2 && row.src[&o - i.src.data()] == OperandType::f64 ? o.value >> 32
                                                                                    : o.value));
      break;
    }
    return out;
  }

 private:
  void push(uint64_t word) { out.words[out.count++] = uint32_t(word); }
  static uint32_t code(const Operand& o) { return o.code; }
  static uint32_t reg(const Operand& o) { return o.reg; }
  static uint32_t at(bool value, unsigned position) { return uint32_t(value) << position; }

  void emit_format();
  void scalar_memory();
  void vop12c();
  void vop3();
  void vop3_interp();
  void vop3p();
  void suffix_word();
  void interpolation();
  void local_data();
  void buffer();
  void image();
  void flat();
  void export_target();
  void emit_addresses();

  const Instruction& i;
  const OpcodeInfo& row;
  EncodedWords out;
};

void Encoder::scalar_memory() {
  push(0x3du << 26 | uint32_t(row.number) << 18 | at(i.glc, 16) | at(i.dlc, 14) |
       (i.dst[0].is_none() ? uint32_t(i.offset0) : reg(i.dst[0])) << 6 | reg(i.src[0]) / 2);
  if (row.src[0] == OperandType::none) return push(0);
  push((i.src[1].is_none() ? code_null : reg(i.src[1])) << 25 | (uint32_t(i.imm) & 0x1fffff));
}

/// SDWA modifiers of one source (bits 16 to 23 for the first).
uint32_t sdwa_fields(const Operand& o) {
  if (o.is_none()) return 0;
  return uint32_t(o.sel) | uint32_t(o.sext) << 3 | uint32_t(o.neg) << 4 | uint32_t(o.abs) << 5 |
         uint32_t(!o.is_vgpr()) << 7;
}

void Encoder::suffix_word() {
  const Operand& a = i.src[0];
  const Operand& b = i.src[1];
  const bool has_b = row.src[1] != OperandType::none;
  const uint32_t src0 = a.is_vgpr() ? reg(a) : code(a);
  if (i.suffix == Suffix::dpp8) return push(src0 | i.dpp8_sel << 8);
  if (i.suffix == Suffix::dpp16)
    return push(src0 | uint32_t(i.dpp_ctrl) << 8 | at(i.fetch_inactive, 18) | at(i.bound_ctrl, 19) |
                at(a.neg, 20) | at(a.abs, 21) | at(has_b && b.neg, 22) | at(has_b && b.abs, 23) |
                uint32_t(i.bank_mask) << 24 | uint32_t(i.row_mask) << 28);
  uint32_t w = src0 | sdwa_fields(a) << 16 | (has_b ? sdwa_fields(b) << 24 : 0);
  if (row.encoding != Encoding::vopc)
    w |= uint32_t(i.dst_sel) << 8 | uint32_t(i.dst_unused) << 11 | at(i.clamp, 13) | uint32_t(i.omod) << 14;
  else if (!row.writes_state(State::exec) && reg(i.dst[0]) != code_vcc) // VCC is what the short form means
    w |= reg(i.dst[0]) << 8 | at(true, 15);
  push(w);
}

void Encoder::vop12c() {
  uint32_t src0 = code(i.src[0]);
  if (i.suffix == Suffix::sdwa) src0 = code_sdwa;
  if (i.suffix == Suffix::dpp16) src0 = code_dpp16;
  if (i.suffix == Suffix::dpp8) src0 = i.fetch_inactive ? code_dpp8_fi : code_dpp8;
  const bool mask_result = i.dst[0].is_none() || row.dst[0] == OperandType::mask;
  const uint32_t vdst = mask_result ? 0 : reg(i.dst[0]);
  // madmk has its second register in src2; SDWA's second source may be scalar
  const Operand& second = row.has(OpcodeFlag::madmk) ? i.src[2] : i.src[1];
  const uint32_t vsrc1 = code(second) & 0xff;
  switch (row.encoding) {
  case Encoding::vop1: push(0x3fu << 25 | vdst << 17 | uint32_t(row.number) << 9 | src0); break;
  case Encoding::vop2: push(uint32_t(row.number) << 25 | vdst << 17 | vsrc1 << 9 | src0); break;
  default: push(0x3eu << 25 | uint32_t(row.number) << 17 | vsrc1 << 9 | src0); break;
  }
  if (i.suffix != Suffix::none) suffix_word();
}

void Encoder::vop3_interp() {
  const bool half = row.vop3 >= 0x300;
  const Operand& a = i.src[0];
  const Operand& c = i.src[2];
  const bool has_c = !c.is_none() && !row.tied(2);
  out.words[0] |= at(a.abs, 9) | at(has_c && c.abs, 10) | (half ? at(bit(i.op_sel, 3), 14) : 0);
  push(uint32_t(i.attribute) | uint32_t(i.attribute_channel) << 6 | at(half && bit(i.op_sel, 0), 8) |
       code(a) << 9 | (has_c ? code(c) << 18 : 0) | uint32_t(i.omod) << 27 | at(a.neg, 30) |
       at(has_c && c.neg, 31));
}

void Encoder::vop3() {
  const bool exec_result = row.writes_state(State::exec);
  uint32_t w = 0x35u << 26 | uint32_t(row.vop3) << 16 | at(i.clamp, 15);
  w |= exec_result ? code_exec : reg(i.dst[0]);
  if (row.dst[1] == OperandType::mask)
    w |= reg(i.dst[1]) << 8;
  else if (!row.has(OpcodeFlag::interp))
    w |= uint32_t(i.op_sel) << 11;
  push(w);
  if (row.has(OpcodeFlag::interp)) return vop3_interp();
  uint32_t w1 = uint32_t(i.omod) << 27;
  for (unsigned k = 0; k < 3; ++k) {
    if (i.src[k].is_none() || row.tied(k)) continue;
    w1 |= code(i.src[k]) << (9 * k) | at(i.src[k].neg, 29 + k);
    out.words[0] |= at(i.src[k].abs, 8 + k);
  }
  push(w1);
}

void Encoder::vop3p() {
  // op_sel_hi of sources that do not exist, or whose halves are not selected, is 1
  uint32_t hi = row.has(OpcodeFlag::op_sel) ? i.op_sel_hi : 7u;
  if (row.src[2] == OperandType::none) hi |= 4;
  uint32_t w = 0x198u << 23 | uint32_t(row.number) << 16 | at(i.clamp, 15) | (hi >> 2) << 14 |
               uint32_t(i.op_sel) << 11 | reg(i.dst[0]);
  uint32_t w1 = (hi & 3) << 27;
  for (unsigned k = 0; k < 3; ++k) {
    w |= at(i.src[k].abs, 8 + k);
    w1 |= code(i.src[k]) << (9 * k) | at(i.src[k].neg, 29 + k);
  }
  push(w);
  push(w1);
}

void Encoder::interpolation() {
  push(0x32u << 26 | reg(i.dst[0]) << 18 | uint32_t(row.number) << 16 | uint32_t(i.attribute) << 10 |
       uint32_t(i.attribute_channel) << 8 | (code(i.src[0]) & 0xff));
}

void Encoder::local_data() {
  const bool has_operands = !i.dst[0].is_none() || !i.src[0].is_none() || !i.src[1].is_none() || i.gds;
  push(0x36u << 26 | uint32_t(row.number) << 18 | at(i.gds, 17) |
       (has_operands ? uint32_t(i.imm) & 0xffff : 0));
  push(reg(i.dst[0]) << 24 | reg(i.src[2]) << 16 | reg(i.src[1]) << 8 | reg(i.src[0]));
}

void Encoder::buffer() {
  const bool typed = i.encoding == Encoding::mtbuf;
  uint32_t w = at(i.offen, 12) | at(i.idxen, 13) | at(i.glc, 14) | at(i.dlc, 15) | (uint32_t(i.imm) & 0xfff);
  w |= typed ? 0x3au << 26 | uint32_t(i.format) << 19 | (row.number & 7u) << 16
             : 0x38u << 26 | (row.number & 0x7fu) << 18 | (uint32_t(row.number) >> 7) << 25 | at(i.lds, 16);
  push(w);
  const Operand& data = i.src[3].is_none() ? i.dst[0] : i.src[3];
  push(code(i.src[2]) << 24 | at(i.tfe, 23) | at(i.slc, 22) |
       (typed ? (uint32_t(row.number) >> 3) << 21 : 0) | reg(i.src[1]) / 4 << 16 | reg(data) << 8 |
       reg(i.src[0]));
}

void Encoder::image() {
  const unsigned nsa_words = i.nsa_count > 1 ? (i.nsa_count + 2u) / 4 : 0;
  push(0x3cu << 26 | at(i.slc, 25) | (row.number & 0x7fu) << 18 | at(i.lwe, 17) | at(i.tfe, 16) |
       at(i.r128, 15) | at(i.glc, 13) | at(i.unorm, 12) | uint32_t(i.dmask) << 8 | at(i.dlc, 7) |
       uint32_t(i.dim) << 3 | nsa_words << 1 | uint32_t(row.number) >> 7);
  const Operand& data = i.src[3].is_none() ? i.dst[0] : i.src[3];
  push(at(i.d16, 31) | at(i.a16, 30) | reg(i.src[2]) / 4 << 21 | reg(i.src[1]) / 4 << 16 | reg(data) << 8 |
       reg(i.src[0]));
}

void Encoder::emit_addresses() {
  for (unsigned k = 1; k < i.nsa_count; k += 4) {
    uint32_t w = 0;
    for (unsigned j = 0; j < 4 && k + j < i.nsa_count; ++j) w |= uint32_t(i.nsa[k + j]) << (8 * j);
    push(w);
  }
}

void Encoder::flat() {
  const uint32_t segment = i.encoding == Encoding::flat ? 0 : i.encoding == Encoding::scratch ? 1 : 2;
  push(0x37u << 26 | uint32_t(row.number) << 18 | at(i.slc, 17) | at(i.glc, 16) | segment << 14 |
       at(i.lds, 13) | at(i.dlc, 12) | (uint32_t(i.imm) & 0xfff));
  const bool neither = segment == 1 && i.src[0].is_none() && i.src[1].is_none();
  const uint32_t saddr = !i.src[1].is_none() ? reg(i.src[1]) : neither ? 0x7f : code_null;
  push(reg(i.dst[0]) << 24 | saddr << 16 | reg(i.src[2]) << 8 | reg(i.src[0]));
}

void Encoder::export_target() {
  push(0x3eu << 26 | at(i.exp_valid_mask, 12) | at(i.exp_done, 11) | at(i.exp_compressed, 10) |
       uint32_t(i.exp_target) << 4 | i.exp_enable);
  uint32_t w = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const unsigned field = i.exp_compressed ? k / 2 : k;
    if (!i.src[k].is_none()) w = (w & ~(0xffu << (8 * field))) | reg(i.src[k]) << (8 * field);
  }
  push(w);
}

void Encoder::emit_format() {
  const uint32_t number = row.number, simm16 = uint16_t(i.imm);
  switch (i.encoding) {
  case Encoding::sop1: return push(0x17du << 23 | reg(i.dst[0]) << 16 | number << 8 | code(i.src[0]));
  case Encoding::sop2:
    return push(2u << 30 | number << 23 | reg(i.dst[0]) << 16 | code(i.src[1]) << 8 | code(i.src[0]));
  case Encoding::sopc: return push(0x17eu << 23 | number << 16 | code(i.src[1]) << 8 | code(i.src[0]));
  case Encoding::sopp: return push(0x17fu << 23 | number << 16 | (row.has(OpcodeFlag::simm) ? simm16 : 0));
  case Encoding::sopk: {
    const Operand& o = i.dst[0].is_none() ? i.src[0] : i.dst[0];
    return push(0xbu << 28 | number << 23 | (o.is_sgpr() ? reg(o) << 16 : 0) | simm16);
  }
  case Encoding::smem: return scalar_memory();
  case Encoding::vop1:
  case Encoding::vop2:
  case Encoding::vopc: return vop12c();
  case Encoding::vop3: return vop3();
  case Encoding::vop3p: return vop3p();
  case Encoding::vintrp: return interpolation();
  case Encoding::ds: return local_data();
  case Encoding::mubuf:
  case Encoding::mtbuf: return buffer();
  case Encoding::mimg: return image();
  case Encoding::flat:
  case Encoding::global:
  case Encoding::scratch: return flat();
  case Encoding::exp: return export_target();
  }
}

} // namespace

EncodedWords encode(const Instruction& instruction) { return Encoder(instruction).encode(); }

bool has_ignored_bits(const Instruction& instruction) {
  const EncodedWords e = encode(instruction);
  return e.words != instruction.words || e.count * 4 != instruction.size;
}

} // namespace lanewise::rdna2
