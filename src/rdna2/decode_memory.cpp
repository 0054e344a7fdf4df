// DS, MUBUF, MTBUF, MIMG, FLAT/GLOBAL/SCRATCH and EXP (RDNA2 ISA, 13.5 to 13.9).
#include "rdna2/decode_state.hpp"

#include <algorithm>

namespace lanewise::rdna2::detail {
namespace {

/// Whether the old value of memory, or what was loaded, goes to registers.
bool returns_data(const DecodeState& s, const OpcodeInfo& row) {
  if (row.dst[0] == OperandType::none) return false;
  return !row.has(OpcodeFlag::glc_returns) || s.out.glc;
}

Problem buffer_operands(DecodeState& s, const OpcodeInfo& row, uint32_t w, uint32_t w1) {
  Instruction& out = s.out;
  if (row.src[1] == OperandType::none) return nullptr; // cache invalidations
  out.imm = int32_t(bits(w, 11, 0));
  out.offen = bit(w, 12);
  out.idxen = bit(w, 13);
  out.glc = bit(w, 14);
  out.dlc = bit(w, 15);
  out.slc = bit(w1, 22);
  out.tfe = bit(w1, 23);

  const unsigned vdata = bits(w1, 15, 8);
  const unsigned status = out.tfe && row.access.kind != Access::Kind::atomic ? 1 : 0;
  if (returns_data(s, row) && !out.lds)
    if (Problem p = s.vgpr(out.dst[0], vdata, s.width(row.dst[0]) + status)) return p;
  if (row.src[3] != OperandType::none)
    if (Problem p = s.vgpr(out.src[3], vdata, s.width(row.src[3]) + status)) return p;
  if (out.offen || out.idxen)
    if (Problem p = s.vgpr(out.src[0], bits(w1, 7, 0), out.offen && out.idxen ? 2 : 1)) return p;
  if (Problem p = s.sgpr(out.src[1], 4 * bits(w1, 20, 16), 4)) return p;
  const unsigned soffset = bits(w1, 31, 24);
  if (soffset == code_literal || soffset == code_lds_direct)
    return "buffer offset is no scalar register or constant";
  return s.scalar_source(out.src[2], soffset, OperandType::b32);
}

struct Dimension {
  uint8_t coordinates, gradients;
};
// SQ_RSRC_IMG_1D, 2D, 3D, CUBE, 1D_ARRAY, 2D_ARRAY, 2D_MSAA, 2D_MSAA_ARRAY
constexpr Dimension dimensions[8] = {{1, 2}, {2, 4}, {3, 6}, {3, 4}, {2, 2}, {3, 4}, {3, 4}, {4, 4}};

/// Address registers of an image instruction (RDNA2 ISA, 8.2.4 "VGPR usage").
unsigned image_address_dwords(const OpcodeInfo& row, const Instruction& out) {
  using enum OpcodeFlag;
  if (row.has(bvh)) return (out.a16 ? 8u : 11u) + (out.opcode == Opcode::image_bvh64_intersect_ray ? 1 : 0);
  const Dimension dim = dimensions[out.dim];
  unsigned dwords = row.has(addr_offset) + row.has(addr_bias) + row.has(addr_compare);
  if (row.has(addr_gradient)) {
    // 16-bit gradients go two to a register, each half of the derivatives padded to whole registers
    const unsigned half = dim.gradients / 2u;
    dwords += row.has(g16) ? (half + 1) / 2 * 2 : dim.gradients;
  }
  const unsigned components = (row.has(addr_lod_only) ? 0u : dim.coordinates) +
                              (row.has(addr_lod) || row.has(addr_lod_only) || row.has(addr_clamp) ? 1 : 0);
  return dwords + (out.a16 ? (components + 1) / 2 : components);
}

/// Data registers of an image load, sample or store. An instruction with LWE alone writes one more, which
/// the assembler's notation leaves out.
unsigned image_data_dwords(const OpcodeInfo& row, const Instruction& out) {
  if (row.has(OpcodeFlag::bvh)) return 4;
  unsigned dwords = row.has(OpcodeFlag::gather4) ? 4 : std::max(1u, unsigned(std::popcount(out.dmask)));
  if (out.d16) dwords = (dwords + 1) / 2;
  return dwords + (out.tfe ? 1 : 0);
}

/// An atomic's dmask is its width: one or two dwords, twice that for compare-and-swap.
Problem image_atomic_data(DecodeState& s, const OpcodeInfo& row, unsigned vdata) {
  Instruction& out = s.out;
  const bool pair = row.src[3] == OperandType::b64; // compare-and-swap: new value, then comparand
  if (out.dmask != 1 && out.dmask != 3 && !(pair && out.dmask == 15)) return "image atomic of no such width";
  const unsigned dwords = std::max(unsigned(std::popcount(out.dmask)), pair ? 2u : 1u);
  if (Problem p = s.vgpr(out.src[3], vdata, dwords)) return p;
  return out.glc ? s.vgpr(out.dst[0], vdata, pair ? dwords / 2 : dwords) : nullptr;
}

Problem image_addresses(DecodeState& s, const OpcodeInfo& row, unsigned first, unsigned nsa_words) {
  Instruction& out = s.out;
  const unsigned count = image_address_dwords(row, out);
  if (nsa_words == 0) return s.vgpr(out.src[0], first, count);
  if (Problem p = s.vgpr(out.src[0], first, 1)) return p;
  uint32_t extra[3] = {};
  for (unsigned i = 0; i < nsa_words; ++i)
    if (Problem p = s.take_word(extra[i])) return p;
  if (count > 1 + 4 * nsa_words) return "image address has more registers than the instruction names";
  out.nsa_count = uint8_t(count);
  out.nsa[0] = uint8_t(first);
  for (unsigned i = 1; i < count; ++i) out.nsa[i] = uint8_t(extra[(i - 1) / 4] >> (8 * ((i - 1) % 4)));
  return nullptr;
}

} // namespace

Problem decode_ds(DecodeState& s, const OpcodeInfo& row) {
  Instruction& out = s.out;
  const uint32_t w = out.words[0];
  uint32_t w1;
  if (Problem p = s.take_word(w1)) return p;
  if (out.opcode == Opcode::ds_nop) return nullptr;
  out.imm = int32_t(bits(w, 15, 0));
  out.offset0 = uint8_t(bits(w, 7, 0));
  out.offset1 = uint8_t(bits(w, 15, 8));
  out.gds = bit(w, 17);
  if (row.has(OpcodeFlag::gds_only) && !out.gds) return "opcode exists for GDS only";
  if (row.has(OpcodeFlag::lds_only) && out.gds) return "opcode exists for LDS only";
  if (row.dst[0] != OperandType::none)
    if (Problem p = s.vgpr(out.dst[0], bits(w1, 31, 24), s.width(row.dst[0]))) return p;
  for (unsigned i = 0; i < 3; ++i) // addr, data0, data1
    if (row.src[i] != OperandType::none)
      if (Problem p = s.vgpr(out.src[i], bits(w1, 8 * i + 7, 8 * i), s.width(row.src[i]))) return p;
  return nullptr;
}

Problem decode_mubuf(DecodeState& s, const OpcodeInfo& row) {
  const uint32_t w = s.out.words[0];
  uint32_t w1;
  if (Problem p = s.take_word(w1)) return p;
  // LDS is the destination of plain loads of up to a dword and formatted loads of one component.
  s.out.lds = bit(w, 16) && row.has(OpcodeFlag::to_lds);
  return buffer_operands(s, row, w, w1);
}

Problem decode_mtbuf(DecodeState& s, const OpcodeInfo& row) {
  const uint32_t w = s.out.words[0];
  uint32_t w1;
  if (Problem p = s.take_word(w1)) return p;
  s.out.format = uint8_t(bits(w, 25, 19));
  return buffer_operands(s, row, w, w1);
}

Problem decode_mimg(DecodeState& s, const OpcodeInfo& row) {
  Instruction& out = s.out;
  const uint32_t w = out.words[0];
  uint32_t w1;
  if (Problem p = s.take_word(w1)) return p;
  out.dim = uint8_t(bits(w, 5, 3));
  out.dlc = bit(w, 7);
  out.dmask = uint8_t(bits(w, 11, 8));
  out.unorm = bit(w, 12);
  out.glc = bit(w, 13);
  out.r128 = bit(w, 15);
  out.tfe = bit(w, 16);
  out.lwe = bit(w, 17);
  out.slc = bit(w, 25);
  out.a16 = bit(w1, 30);
  out.d16 = bit(w1, 31) && row.has(OpcodeFlag::d16_bit);

  if (row.has(OpcodeFlag::bvh)) { // fixed by the ISA
    out.dmask = 15;
    out.unorm = out.r128 = true;
    out.dim = 0;
    out.glc = out.slc = out.dlc = out.tfe = out.lwe = false;
  }

  const unsigned vdata = bits(w1, 15, 8);
  if (row.access.kind == Access::Kind::atomic) {
    if (Problem p = image_atomic_data(s, row, vdata)) return p;
  } else {
    Operand& data = row.dst[0] != OperandType::none ? out.dst[0] : out.src[3];
    if (Problem p = s.vgpr(data, vdata, image_data_dwords(row, out))) return p;
  }
  // The descriptor has 8 dwords, but 4 with R128 and for ray intersection.
  const unsigned srsrc = 4 * bits(w1, 20, 16);
  if (Problem p = s.sgpr(out.src[1], srsrc, out.r128 ? 4 : s.width(row.src[1]))) return p;
  if (row.has(OpcodeFlag::sampled))
    if (Problem p = s.sgpr(out.src[2], 4 * bits(w1, 25, 21), 4)) return p;
  return image_addresses(s, row, bits(w1, 7, 0), bits(w, 2, 1));
}

Problem decode_flat(DecodeState& s, const OpcodeInfo& row) {
  Instruction& out = s.out;
  const uint32_t w = out.words[0];
  uint32_t w1;
  if (Problem p = s.take_word(w1)) return p;
  // GLOBAL and SCRATCH: 12 bits, signed; FLAT: 11 bits, unsigned
  const bool is_signed = row.encoding != Encoding::flat;
  out.imm = is_signed ? sign_extend_from(bits(w, 11, 0), 12) : int32_t(bits(w, 10, 0));
  out.dlc = bit(w, 12);
  out.lds = bit(w, 13) && row.has(OpcodeFlag::to_lds);
  out.glc = bit(w, 16);
  out.slc = bit(w, 17);

  if (returns_data(s, row) && !out.lds)
    if (Problem p = s.vgpr(out.dst[0], bits(w1, 31, 24), s.width(row.dst[0]))) return p;
  if (row.src[2] != OperandType::none)
    if (Problem p = s.vgpr(out.src[2], bits(w1, 15, 8), s.width(row.src[2]))) return p;

  const unsigned saddr = bits(w1, 22, 16);
  const bool scratch = row.encoding == Encoding::scratch;
  // 0x7f: scratch with neither address; the offset counts from the wave's scratch base
  const bool has_saddr = row.src[1] != OperandType::none && saddr != code_null && !(scratch && saddr == 0x7f);
  if (has_saddr)
    if (Problem p = s.sgpr(out.src[1], saddr, s.width(row.src[1]))) return p;
  const bool has_vaddr = row.src[0] != OperandType::none && !(scratch && (has_saddr || saddr == 0x7f));
  if (!has_vaddr) return nullptr;
  // beside a scalar base the vector address is a 32-bit offset
  const bool narrow = row.encoding == Encoding::global && has_saddr;
  return s.vgpr(out.src[0], bits(w1, 7, 0), narrow ? 1 : s.width(row.src[0]));
}

Problem decode_exp(DecodeState& s, const OpcodeInfo&) {
  Instruction& out = s.out;
  const uint32_t w = out.words[0];
  uint32_t w1;
  if (Problem p = s.take_word(w1)) return p;
  out.exp_enable = uint8_t(bits(w, 3, 0));
  out.exp_target = uint8_t(bits(w, 9, 4));
  out.exp_compressed = bit(w, 10);
  out.exp_done = bit(w, 11);
  out.exp_valid_mask = bit(w, 12);
  for (unsigned i = 0; i < 4; ++i) {
    if (!bit(out.exp_enable, i)) continue;
    // compressed: two registers of two halves; bits 0-1 and 2-3 of the mask belong to each
    const unsigned field = out.exp_compressed ? i / 2 : i;
    if (Problem p = s.vgpr(out.src[i], bits(w1, 8 * field + 7, 8 * field), 1)) return p;
  }
  return nullptr;
}

} // namespace lanewise::rdna2::detail
