// Inside of the decoder: the instruction being decoded and how operand fields become operands.
#pragma once

#include "rdna2/opcode_info.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace lanewise::rdna2::detail {

/// Source codes (RDNA2 ISA, "Scalar and vector source operands").
inline constexpr unsigned code_vcc = 106, code_m0 = 124, code_null = 125, code_exec = 126;
inline constexpr unsigned code_zero = 128; ///< inline constant 0, the first one
inline constexpr unsigned code_dpp8 = 233, code_dpp8_fi = 234, code_sdwa = 249, code_dpp16 = 250;
inline constexpr unsigned code_vccz = 251, code_lds_direct = 254, code_literal = 255;
inline constexpr unsigned code_vgpr = 256; ///< nine-bit fields: the first vector register

/// What a source code 0..255 stands for.
enum class CodeClass : uint8_t { sgpr, constant, special, literal, reserved };

struct CodeTables {
  std::array<CodeClass, 256> kind{};
  // bit n-1 set: a tuple of n registers may start at this scalar register
  std::array<uint16_t, 128> tuples{};
  // bits of inline constants for codes 128..255
  std::array<uint32_t, 128> as_32{}; ///< integers and 32-bit floats
  std::array<uint32_t, 128> as_16{}; ///< 16-bit floats
  std::array<uint64_t, 128> as_64{}; ///< 64-bit integers and floats
};
extern const CodeTables code_tables;

/// Decoding returns null or what is wrong, a text with static storage.
using Problem = const char*;
/// Compared by address, so one object for all files: equal literals need not be.
inline constexpr char truncated_text[] = "instruction is truncated";
inline constexpr Problem truncated = truncated_text;

/// One instruction on its way from words to `Instruction`.
struct DecodeState {
  const uint8_t* code; ///< the instruction's first byte
  uint32_t words;      ///< 32-bit words from `code` to the end of the program
  WaveSize wave;
  Instruction& out;
  bool has_literal = false;
  uint32_t literal_bits = 0;

  [[nodiscard]] uint32_t word(unsigned i) const {
    uint32_t w;
    std::memcpy(&w, code + size_t{4} * i, 4);
    return w;
  }

  /// Takes the next word into the instruction.
  [[nodiscard]] Problem take_word(uint32_t& w) {
    const unsigned i = out.size / 4;
    if (i >= words) return truncated;
    w = out.words[i] = word(i);
    out.size = uint8_t(out.size + 4);
    return nullptr;
  }

  [[nodiscard]] unsigned width(OperandType type) const { return dwords(type, wave); }

  [[nodiscard]] Problem vgpr(Operand& o, unsigned reg, unsigned count) const {
    o.kind = OperandKind::vgpr;
    o.dwords = uint8_t(count);
    o.reg = uint16_t(reg);
    o.code = uint16_t(code_vgpr + reg);
    return reg + count > 256 ? "vector register tuple runs past v255" : nullptr;
  }

  /// A tuple's low register bits, which must be 0, are ignored as the hardware and LLVM do.
  [[nodiscard]] Problem sgpr(Operand& o, unsigned reg, unsigned count) const {
    if (count > 1 && (reg < code_vcc || (reg >= 108 && reg < code_m0))) reg &= ~((count == 2 ? 2u : 4u) - 1);
    o.kind = OperandKind::sgpr;
    o.dwords = uint8_t(count);
    o.reg = o.code = uint16_t(reg);
    if (reg >= 128 || ((code_tables.tuples[reg] >> (count - 1)) & 1) == 0)
      return "scalar register tuple is not one that gfx1030 has";
    return nullptr;
  }

  [[nodiscard]] Problem literal(Operand& o, OperandType type) {
    if (!has_literal) {
      if (Problem p = take_word(literal_bits)) return p;
      has_literal = true;
    }
    o.kind = OperandKind::constant;
    o.dwords = uint8_t(width(type));
    o.code = code_literal;
    // A 64-bit float takes the literal as its high half; integers extend it by their signedness.
    o.value = type == OperandType::f64   ? uint64_t(literal_bits) << 32
              : type == OperandType::i64 ? uint64_t(int64_t(int32_t(literal_bits)))
                                         : literal_bits;
    return nullptr;
  }

  /// Eight bits: a scalar register, constant, literal or special value.
  [[nodiscard]] Problem scalar_source(Operand& o, unsigned code8, OperandType type) {
    switch (code_tables.kind[code8]) {
    case CodeClass::sgpr: return sgpr(o, code8, width(type));
    case CodeClass::constant:
      o.kind = OperandKind::constant;
      o.dwords = uint8_t(width(type));
      o.code = uint16_t(code8);
      o.value = inline_constant(code8, type);
      return nullptr;
    case CodeClass::special:
      o.kind = OperandKind::special;
      o.dwords = uint8_t(width(type));
      o.reg = o.code = uint16_t(code8);
      return code8 == code_lds_direct && o.dwords != 1 ? "LDS_DIRECT is one dword" : nullptr;
    case CodeClass::literal: return literal(o, type);
    case CodeClass::reserved: break;
    }
    return "source operand code is reserved";
  }

  /// Nine bits: as above, or 256 + a vector register.
  [[nodiscard]] Problem source(Operand& o, unsigned code9, OperandType type) {
    if (code9 >= code_vgpr) return vgpr(o, code9 - code_vgpr, width(type));
    return scalar_source(o, code9, type);
  }

  [[nodiscard]] static uint64_t inline_constant(unsigned code8, OperandType type) {
    using enum OperandType;
    const unsigned i = code8 - code_zero;
    if (type == f16 || type == f16x2 || type == i16h) return code_tables.as_16[i];
    return type == b64 || type == i64 || type == u64 || type == f64 ? code_tables.as_64[i]
                                                                    : code_tables.as_32[i];
  }
};

/// A run of bits of a word.
[[nodiscard]] constexpr uint32_t bits(uint32_t word, unsigned high, unsigned low) {
  return (word >> low) & ((2u << (high - low)) - 1);
}
[[nodiscard]] constexpr bool bit(uint32_t word, unsigned i) { return ((word >> i) & 1) != 0; }
[[nodiscard]] constexpr int32_t sign_extend_from(uint32_t value, unsigned width) {
  return int32_t(value << (32 - width)) >> (32 - width);
}

/// Operands with a place in the word are decoded by the format's function; this one adds those that have
/// none: tied sources.
void fill_tied(DecodeState& s, const OpcodeInfo& row);

Problem decode_sop1(DecodeState& s, const OpcodeInfo& row);
Problem decode_sop2(DecodeState& s, const OpcodeInfo& row);
Problem decode_sopk(DecodeState& s, const OpcodeInfo& row);
Problem decode_sopc(DecodeState& s, const OpcodeInfo& row);
Problem decode_sopp(DecodeState& s, const OpcodeInfo& row);
Problem decode_smem(DecodeState& s, const OpcodeInfo& row);
Problem decode_vop1(DecodeState& s, const OpcodeInfo& row);
Problem decode_vop2(DecodeState& s, const OpcodeInfo& row);
Problem decode_vopc(DecodeState& s, const OpcodeInfo& row);
Problem decode_vop3(DecodeState& s, const OpcodeInfo& row);
Problem decode_vop3p(DecodeState& s, const OpcodeInfo& row);
Problem decode_vintrp(DecodeState& s, const OpcodeInfo& row);
Problem decode_ds(DecodeState& s, const OpcodeInfo& row);
Problem decode_mubuf(DecodeState& s, const OpcodeInfo& row);
Problem decode_mtbuf(DecodeState& s, const OpcodeInfo& row);
Problem decode_mimg(DecodeState& s, const OpcodeInfo& row);
Problem decode_flat(DecodeState& s, const OpcodeInfo& row);
Problem decode_exp(DecodeState& s, const OpcodeInfo& row);

} // namespace lanewise::rdna2::detail
