// Where llvm-mc would not make the same bytes from our text.
#include "rdna2/decode_state.hpp"
#include "rdna2/decoder.hpp"
#include "rdna2/disassembler.hpp"
#include "rdna2/disassembler_text.hpp"

#include <bit>

namespace lanewise::rdna2 {
namespace {

using namespace detail;

/// Literals and 16-bit constants whose text means an inline constant, or another one.
bool constants_assemble_back(const Instruction& i, const OpcodeInfo& row) {
  if (i.opcode == Opcode::s_setreg_imm32_b32 || row.has(OpcodeFlag::simm_src)) return true;
  if (row.has(OpcodeFlag::interp)) return i.attribute <= 32 && !bit(i.op_sel, 3);
  for (unsigned k = 0; k < 3; ++k) {
    const Operand& o = i.src[k];
    if (!o.is_constant()) continue;
    const bool modified = o.neg || o.abs;
    if (o.code == code_literal && (row.has(OpcodeFlag::mix) || (modified && row.src[k] == OperandType::f64)))
      return false;
    const bool is_k = (k == 1 && row.has(OpcodeFlag::madmk)) || (k == 2 && row.has(OpcodeFlag::madak));
    if (is_k ? is_16bit(row.src[k]) && o.value > 0xffff : !constant_assembles_back(o, row.src[k]))
      return false;
  }
  return true;
}

/// The assembler knows no tuple of more than two registers that reaches into VCC; the hardware does.
bool registers_assemble_back(const Instruction& i) {
  const auto reaches_vcc = [](const Operand& o, unsigned count) {
    return o.is_sgpr() && count > 2 && o.reg < code_vcc && o.reg + count > code_vcc;
  };
  for (const Operand& o : i.dst)
    if (reaches_vcc(o, o.dwords)) return false;
  for (const Operand& o : i.src)
    if (reaches_vcc(o, o.dwords)) return false;
  // R128 descriptors are written as eight registers
  if (i.encoding == Encoding::mimg && i.r128 && !info(i.opcode).has(OpcodeFlag::bvh))
    return ((code_tables.tuples[i.src[1].reg] >> 7) & 1) != 0 && !reaches_vcc(i.src[1], 8);
  return true;
}

/// More scalar operands than the constant bus carries (RDNA2 ISA, 6.2.1): two, one for 64-bit shifts.
bool fits_constant_bus(const Instruction& i, const OpcodeInfo& row) {
  unsigned seen[5], count = 0;
  const auto add = [&](unsigned key) {
    for (unsigned k = 0; k < count; ++k)
      if (seen[k] == key) return;
    seen[count++] = key;
  };
  for (unsigned k = 0; k < 4; ++k) {
    const Operand& o = i.src[k];
    // LLVM counts the VCC that v_div_fmas implies (slot 3) apart from a VCC_LO that it names.
    if (o.is_sgpr() && o.reg != code_null) add(k == 3 ? 0x1000u | o.reg : o.reg);
    if (o.kind == OperandKind::special || (o.is_constant() && o.code == code_literal)) add(o.code);
  }
  const bool shift64 = row.dst[0] == OperandType::b64 || row.dst[0] == OperandType::i64;
  const bool is_shift = shift64 && row.src[0] == OperandType::u32 && row.src[2] == OperandType::none;
  return count <= (is_shift ? 1 : 2);
}

bool image_assembles(const Instruction& i, const OpcodeInfo& row) {
  const bool multisampled = i.dim >= 6;
  if (row.has(OpcodeFlag::gather4) && (!std::has_single_bit(i.dmask) || (i.d16 && i.tfe))) return false;
  if (row.has(OpcodeFlag::sampled) && multisampled) return false;
  if (row.has(OpcodeFlag::addr_lod) && i.dim == 7) return false;
  if (i.opcode == Opcode::image_msaa_load) return multisampled;
  if (row.src[3] == OperandType::b64 && i.dmask == 1) return false;
  return !i.tfe || row.access.kind == Access::Kind::load;
}

/// Memory instructions that the hardware runs and the assembler refuses.
bool memory_assembles(const Instruction& i, const OpcodeInfo& row) {
  switch (i.encoding) {
  case Encoding::smem: // no loads to M0, EXEC or more than a pair of NULL; buffers have no negative offset
    if (i.dst[0].reg >= code_m0 && (i.dst[0].reg != code_null || i.dst[0].dwords > 2)) return false;
    return i.imm >= 0 || row.src[0] == OperandType::b64;
  case Encoding::mubuf: // DLC of atomics is dropped
    if (row.access.kind == Access::Kind::atomic && i.dlc) return false;
    return !i.tfe || (row.access.kind == Access::Kind::load && !i.lds);
  case Encoding::mtbuf: return !i.tfe;
  case Encoding::exp: { // compressed components come in pairs
    const unsigned t = i.exp_target;
    if (t == 10 || t == 11 || (t > 16 && t < 32 && t != 20)) return false;
    const unsigned low = i.exp_enable & 3u, high = i.exp_enable >> 2;
    return !i.exp_compressed || ((low == 0 || low == 3) && (high == 0 || high == 3));
  }
  case Encoding::mimg: return image_assembles(i, row);
  default: return true;
  }
}

bool alu_assembles(const Instruction& i, const OpcodeInfo& row) {
  if (row.has(OpcodeFlag::jump)) return i.src[0].is_sgpr();
  const bool is_vector = (i.encoding >= Encoding::vop1 && i.encoding <= Encoding::vop3p);
  if (!is_vector) return true;
  if (i.encoding == Encoding::vop3 && row.src[0] == OperandType::none) return false; // v_nop: short form
  if (i.opcode == Opcode::v_pk_fmac_f16 && i.suffix != Suffix::none) return false;   // unknown to LLVM 19
  if (!fits_constant_bus(i, row)) return false;
  if (i.opcode == Opcode::v_readlane_b32 && i.src[1].code == code_literal) return false;
  if (i.src[0].code == code_lds_direct && row.name.find("rev_") != std::string_view::npos) return false;
  const bool modified_move = row.has(OpcodeFlag::float_moves) && row.encoding == Encoding::vop1;
  return !modified_move || (!i.src[0].neg && !i.src[0].abs);
}

} // namespace

std::string words_as_data(const Instruction& instruction) {
  std::string line = ".long ";
  {
    TextWriter t(line);
    for (unsigned k = 0; k < instruction.size / 4u; ++k) {
      if (k != 0) t.text(", ");
      t.hex(instruction.words[k]);
    }
  }
  return line;
}

bool assembles_back(const Instruction& instruction) {
  const OpcodeInfo& row = info(instruction.opcode);
  return simm_assembles_back(instruction) && constants_assemble_back(instruction, row) &&
         memory_assembles(instruction, row) && alu_assembles(instruction, row) &&
         registers_assemble_back(instruction) && !has_ignored_bits(instruction);
}

} // namespace lanewise::rdna2
