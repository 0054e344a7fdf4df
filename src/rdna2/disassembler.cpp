#include "rdna2/disassembler.hpp"

#include "rdna2/decode_state.hpp"
#include "rdna2/disassembler_text.hpp"

namespace lanewise::rdna2 {
namespace detail {
namespace {

/// One line being written. Operands are separated by ", "; modifiers follow after a blank.
class LinePrinter {
 public:
  LinePrinter(std::string& out, const Instruction& instruction, WaveSize wave_size)
      : t(out), i(instruction), row(info(instruction.opcode)), wave(wave_size) {}

  void print();

 private:
  void sopk();
  void smem();
  void vector();
  void vop_modifiers();
  void interpolation();
  void ds();
  void buffer();
  void flat();
  void image();
  void export_target();

  void mnemonic();
  void comma() { t.text(first ? " " : ", "), first = false; }
  void operand(const Operand& o, OperandType type) { comma(), t.operand(o, type); }
  void vector_source(unsigned k);
  void flag(bool set, std::string_view name) {
    if (set) t.text(name);
  }
  void number(std::string_view name, int64_t value) { t.text(name), t.decimal(value); }
  void list(std::string_view name, uint32_t value, unsigned count, unsigned width = 1);
  void data();
  void cache_policy();
  void dpp16();
  void sdwa();
  void op_sel();
  void attribute();

  TextWriter t;
  const Instruction& i;
  const OpcodeInfo& row;
  WaveSize wave;
  bool first = true;
};

void LinePrinter::mnemonic() {
  t.text(row.name);
  if (i.suffix == Suffix::sdwa) return t.text("_sdwa");
  if (i.suffix != Suffix::none) return t.text("_dpp");
  // A suffix tells apart what has two forms; without operands there is nothing to tell.
  const bool two_forms = row.vop3 >= 0 && row.encoding != Encoding::vop3 && row.src[0] != OperandType::none;
  if (!two_forms) return;
  t.text(i.encoding == Encoding::vop3 ? "_e64" : "_e32");
}

void LinePrinter::list(std::string_view name, uint32_t value, unsigned count, unsigned width) {
  t.text(name);
  t.text("[");
  for (unsigned k = 0; k < count; ++k) {
    if (k != 0) t.text(",");
    t.decimal((value >> (k * width)) & ((1u << width) - 1));
  }
  t.text("]");
}

/// vdata of buffers and images. A returning compare-and-swap shows the registers it reads, of which the
/// result takes the first half.
void LinePrinter::data() {
  if (i.encoding == Encoding::mtbuf) { // the status dword of TFE is not shown
    comma();
    const Operand& o = i.src[3].is_none() ? i.dst[0] : i.src[3];
    return t.vector_register(o.reg, dwords(i.src[3].is_none() ? row.dst[0] : row.src[3], wave));
  }
  if (!i.src[3].is_none())
    operand(i.src[3], row.src[3]);
  else if (!i.dst[0].is_none())
    operand(i.dst[0], row.dst[0]);
}

void LinePrinter::cache_policy() {
  flag(i.glc, " glc");
  flag(i.slc, " slc");
  flag(i.dlc, " dlc");
}

void LinePrinter::sopk() {
  if (i.opcode == Opcode::s_setreg_b32 || i.opcode == Opcode::s_setreg_imm32_b32) {
    comma();
    write_simm(t, i, row);
    comma();
    if (i.opcode == Opcode::s_setreg_imm32_b32) return t.hex(uint32_t(i.src[0].value));
    return t.operand(i.src[0], row.src[0]);
  }
  if (!i.dst[0].is_none())
    operand(i.dst[0], row.dst[0]);
  else if (!i.src[0].is_none())
    operand(i.src[0], row.src[0]);
  comma();
  write_simm(t, i, row);
}

void LinePrinter::smem() {
  if (!i.dst[0].is_none()) operand(i.dst[0], row.dst[0]);
  if (row.src[0] == OperandType::none) return;
  if (i.dst[0].is_none()) {
    comma();
    if (i.offset0 <= 64)
      t.decimal(i.offset0);
    else
      t.hex(i.offset0);
  }
  operand(i.src[0], row.src[0]);
  comma();
  const auto offset = [&] {
    if (i.imm < 0) t.text("-");
    t.hex(uint64_t(std::abs(i.imm)));
  };
  if (i.src[1].is_none() && i.imm == 0) {
    t.text("null");
  } else if (i.src[1].is_none()) {
    offset();
  } else {
    t.operand(i.src[1], row.src[1]);
    if (i.imm != 0) {
      t.text(" offset:");
      offset();
    }
  }
  cache_policy();
}

/// A source with its modifiers: "-v1", "|v1|", "-|v1|", "sext(v1)"; constants negate as "neg(1)".
void LinePrinter::vector_source(unsigned k) {
  const Operand& o = i.src[k];
  comma();
  const bool packed = i.encoding == Encoding::vop3p && !row.has(OpcodeFlag::mix);
  const bool neg = o.neg && !packed, abs = o.abs && !packed;
  const bool neg_call = neg && !abs && o.is_constant();
  if (neg) t.text(neg_call ? "neg(" : "-");
  if (abs) t.text("|");
  if (o.sext) t.text("sext(");
  const bool literal_k = (k == 1 && row.has(OpcodeFlag::madmk)) || (k == 2 && row.has(OpcodeFlag::madak));
  const bool half_mix = row.has(OpcodeFlag::mix) && bit(i.op_sel_hi, k);
  if (literal_k)
    t.hex(o.value);
  else
    t.operand(o, half_mix ? OperandType::f16 : row.src[k]);
  if (neg_call || o.sext) t.text(")");
  if (abs) t.text("|");
}

void LinePrinter::attribute() {
  constexpr std::string_view channels[4] = {".x", ".y", ".z", ".w"};
  comma();
  number("attr", i.attribute);
  t.text(channels[i.attribute_channel & 3]);
}

void LinePrinter::interpolation() {
  operand(i.dst[0], row.dst[0]);
  if (i.opcode == Opcode::v_interp_mov_f32) {
    constexpr std::string_view parameters[3] = {"p10", "p20", "p0"};
    comma();
    t.text(parameters[i.src[0].value % 3]);
  } else {
    vector_source(0);
  }
  attribute();
  if (row.src[2] != OperandType::none && !row.tied(2)) vector_source(2);
  flag(bit(i.op_sel, 0), " high");
}

void LinePrinter::vector() {
  if (row.src[0] == OperandType::none) return;
  if (row.has(OpcodeFlag::interp)) {
    interpolation();
    return vop_modifiers();
  }
  const bool hidden_exec = row.writes_state(State::exec); // v_cmpx
  for (unsigned k = 0; k < 2; ++k)
    if (!i.dst[k].is_none() && !hidden_exec && !(k == 1 && row.has(OpcodeFlag::swap)))
      operand(i.dst[k], row.dst[k]);
  for (unsigned k = 0; k < 3; ++k)
    if (!i.src[k].is_none() && !row.tied(k) && !(k == 1 && row.has(OpcodeFlag::swap))) vector_source(k);
  vop_modifiers();
}

void LinePrinter::op_sel() {
  unsigned sources = 0;
  while (sources < 3 && row.src[sources] != OperandType::none && !row.tied(sources)) ++sources;
  if (i.encoding == Encoding::vop3p) {
    const unsigned all = (1u << sources) - 1;
    unsigned neg_lo = 0, neg_hi = 0;
    for (unsigned k = 0; k < sources; ++k) {
      neg_lo |= unsigned(i.src[k].neg) << k;
      neg_hi |= unsigned(i.src[k].abs) << k;
    }
    const bool mix = row.has(OpcodeFlag::mix);
    if ((i.op_sel & all) != 0) list(" op_sel:", i.op_sel, sources);
    if (row.has(OpcodeFlag::op_sel) && (i.op_sel_hi & all) != (mix ? 0 : all))
      list(" op_sel_hi:", i.op_sel_hi, sources);
    if (neg_lo != 0 && !mix) list(" neg_lo:", neg_lo, sources);
    if (neg_hi != 0 && !mix) list(" neg_hi:", neg_hi, sources);
    return;
  }
  if (row.has(OpcodeFlag::cross_lane)) { // v_permlane: fetch inactive lanes, bound control
    if ((i.op_sel & 3) != 0) list(" op_sel:", i.op_sel, 2);
    return;
  }
  const unsigned all = (1u << sources) - 1;
  if ((i.op_sel & (all | 8)) != 0)
    list(" op_sel:", (i.op_sel & all) | unsigned(bit(i.op_sel, 3)) << sources, sources + 1);
}

void LinePrinter::dpp16() {
  const unsigned c = i.dpp_ctrl;
  if (c <= 0xff)
    list(" quad_perm:", c, 4, 2);
  else if (c <= 0x10f)
    number(" row_shl:", c & 15);
  else if (c <= 0x11f)
    number(" row_shr:", c & 15);
  else if (c <= 0x12f)
    number(" row_ror:", c & 15);
  else if (c == 0x140)
    t.text(" row_mirror");
  else if (c == 0x141)
    t.text(" row_half_mirror");
  else if (c <= 0x15f)
    number(" row_share:", c & 15);
  else
    number(" row_xmask:", c & 15);
  t.text(" row_mask:");
  t.hex(i.row_mask);
  t.text(" bank_mask:");
  t.hex(i.bank_mask);
  flag(i.bound_ctrl, " bound_ctrl:1");
  flag(i.fetch_inactive, " fi:1");
}

void LinePrinter::sdwa() {
  constexpr std::string_view selectors[7] = {"BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3",
                                             "WORD_0", "WORD_1", "DWORD"};
  constexpr std::string_view unused[3] = {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"};
  if (row.encoding != Encoding::vopc) {
    t.text(" dst_sel:");
    t.text(selectors[unsigned(i.dst_sel)]);
    t.text(" dst_unused:");
    t.text(unused[i.dst_unused % 3]);
  }
  t.text(" src0_sel:");
  t.text(selectors[unsigned(i.src[0].sel)]);
  if (row.src[1] == OperandType::none) return;
  t.text(" src1_sel:");
  t.text(selectors[unsigned(i.src[1].sel)]);
}

void LinePrinter::vop_modifiers() {
  constexpr std::string_view output_modifiers[4] = {"", " mul:2", " mul:4", " div:2"};
  if (!row.has(OpcodeFlag::interp)) op_sel();
  flag(i.clamp, " clamp");
  t.text(output_modifiers[i.omod & 3]);
  if (i.suffix == Suffix::sdwa) return sdwa();
  if (i.suffix == Suffix::dpp16) return dpp16();
  if (i.suffix != Suffix::dpp8) return;
  list(" dpp8:", i.dpp8_sel, 8, 3);
  flag(i.fetch_inactive, " fi:1");
}

void LinePrinter::ds() {
  if (!i.dst[0].is_none()) operand(i.dst[0], row.dst[0]);
  for (unsigned k = 0; k < 3; ++k)
    if (!i.src[k].is_none()) operand(i.src[k], row.src[k]);
  if (row.has(OpcodeFlag::two_addresses)) {
    if (i.offset0 != 0) number(" offset0:", i.offset0);
    if (i.offset1 != 0) number(" offset1:", i.offset1);
  } else if (i.opcode == Opcode::ds_swizzle_b32) {
    write_swizzle(t, unsigned(i.imm));
  } else if (i.imm != 0) {
    number(" offset:", i.imm);
  }
  flag(i.gds, " gds");
}

void LinePrinter::buffer() {
  if (row.src[1] == OperandType::none) return;
  data();
  operand(i.src[0], row.src[0]);
  operand(i.src[1], row.src[1]);
  operand(i.src[2], row.src[2]);
  if (i.encoding == Encoding::mtbuf && i.format != 1) {
    const std::string_view format = buffer_format_name(i.format);
    t.text(" format:");
    if (format.empty()) {
      t.decimal(i.format);
    } else {
      t.text("[BUF_FMT_");
      t.text(format);
      t.text("]");
    }
  }
  flag(i.idxen, " idxen");
  flag(i.offen, " offen");
  if (i.imm != 0) number(" offset:", i.imm);
  cache_policy();
  flag(i.tfe, " tfe");
  flag(i.lds, " lds");
}

void LinePrinter::flat() {
  if (!i.dst[0].is_none()) operand(i.dst[0], row.dst[0]);
  if (row.src[0] != OperandType::none) operand(i.src[0], row.src[0]);
  if (!i.src[2].is_none()) operand(i.src[2], row.src[2]);
  if (row.src[1] != OperandType::none) operand(i.src[1], row.src[1]);
  if (i.imm != 0) number(" offset:", i.imm);
  cache_policy();
  flag(i.lds, " lds");
}

void LinePrinter::image() {
  constexpr std::string_view dims[8] = {"1D",       "2D",       "3D",      "CUBE",
                                        "1D_ARRAY", "2D_ARRAY", "2D_MSAA", "2D_MSAA_ARRAY"};
  data();
  if (i.nsa_count == 0) {
    operand(i.src[0], row.src[0]);
  } else {
    comma();
    t.text("[");
    for (unsigned k = 0; k < i.nsa_count; ++k) {
      if (k != 0) t.text(", ");
      t.vector_register(i.nsa[k], 1);
    }
    t.text("]");
  }
  comma();
  const bool bvh = row.has(OpcodeFlag::bvh);
  t.scalar_register(i.src[1].reg, bvh ? 4 : 8); // R128 too is written as eight registers
  if (!i.src[2].is_none()) operand(i.src[2], row.src[2]);
  if (!bvh) {
    if (i.dmask != 0) {
      t.text(" dmask:");
      t.hex(i.dmask);
    }
    t.text(" dim:SQ_RSRC_IMG_");
    t.text(dims[i.dim & 7]);
    flag(i.unorm, " unorm");
  }
  cache_policy();
  if (!bvh) flag(i.r128, " r128");
  flag(i.a16, " a16");
  if (bvh) return;
  flag(i.tfe, " tfe");
  flag(i.lwe, " lwe");
  flag(i.d16, " d16");
}

void LinePrinter::export_target() {
  t.text(" ");
  const unsigned target = i.exp_target;
  if (target < 8)
    number("mrt", target);
  else if (target == 8)
    t.text("mrtz");
  else if (target == 9)
    t.text("null");
  else if (target >= 12 && target <= 16)
    number("pos", target - 12);
  else if (target == 20)
    t.text("prim");
  else if (target >= 32)
    number("param", target - 32);
  else
    number("invalid_target_", target);
  for (unsigned k = 0; k < 4; ++k) {
    t.text(k == 0 ? " " : ", ");
    t.operand(i.src[k], row.src[k]);
  }
  flag(i.exp_done, " done");
  flag(i.exp_compressed, " compr");
  flag(i.exp_valid_mask, " vm");
}

void LinePrinter::print() {
  mnemonic();
  switch (i.encoding) {
  case Encoding::sop1:
  case Encoding::sop2:
  case Encoding::sopc:
    if (!i.dst[0].is_none()) operand(i.dst[0], row.dst[0]);
    for (unsigned k = 0; k < 2; ++k)
      if (!i.src[k].is_none() && !row.tied(k)) operand(i.src[k], row.src[k]);
    return;
  case Encoding::sopk: return sopk();
  case Encoding::sopp:
    if (!row.has(OpcodeFlag::simm) || (i.opcode == Opcode::s_endpgm && i.imm == 0)) return;
    comma();
    return write_simm(t, i, row);
  case Encoding::smem: return smem();
  case Encoding::vop1:
  case Encoding::vop2:
  case Encoding::vopc:
  case Encoding::vop3:
  case Encoding::vop3p:
  case Encoding::vintrp: return vector();
  case Encoding::ds: return ds();
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
} // namespace detail

void disassemble_append(std::string& out, const Instruction& instruction, WaveSize wave) {
  detail::LinePrinter(out, instruction, wave).print();
}

std::string disassemble(const Instruction& instruction, WaveSize wave) {
  std::string line;
  line.reserve(96);
  disassemble_append(line, instruction, wave);
  return line;
}

} // namespace lanewise::rdna2
