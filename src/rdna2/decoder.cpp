#include "rdna2/decoder.hpp"

#include "rdna2/decode_state.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace lanewise::rdna2 {
namespace detail {
namespace {

constexpr uint16_t tuple_sizes = 0x808b; // bits n-1 for n = 1, 2, 4, 8, 16

constexpr CodeClass classify(unsigned code) {
  if (code < 128) return CodeClass::sgpr;
  if (code <= 208 || (code >= 240 && code <= 248)) return CodeClass::constant;
  if ((code >= 235 && code <= 239) || (code >= code_vccz && code <= 254)) return CodeClass::special;
  return code == code_literal ? CodeClass::literal : CodeClass::reserved;
}

/// Tuples are aligned (pairs to 2, longer ones to 4), lie within SGPRs and VCC or within the trap
/// registers, and NULL stands for any number.
constexpr uint16_t tuples_from(unsigned reg) {
  if (reg == code_null) return tuple_sizes;
  const unsigned last = reg < 108 ? 107 : reg < code_m0 ? 123 : reg == code_m0 ? code_m0 : 127;
  uint16_t sizes = 0;
  for (unsigned n = 1; n <= 16; n *= 2)
    if (reg % std::min(n, 4u) == 0 && reg + n - 1 <= last) sizes = uint16_t(sizes | 1u << (n - 1));
  return sizes & tuple_sizes;
}

constexpr CodeTables make_code_tables() {
  constexpr float floats[9] = {0.5f, -0.5f, 1.0f, -1.0f, 2.0f, -2.0f, 4.0f, -4.0f, 0.0f};
  constexpr uint16_t halves[9] = {0x3800, 0xb800, 0x3c00, 0xbc00, 0x4000, 0xc000, 0x4400, 0xc400, 0x3118};
  CodeTables t;
  for (unsigned code = 0; code < 256; ++code) t.kind[code] = classify(code);
  for (unsigned reg = 0; reg < 128; ++reg) t.tuples[reg] = tuples_from(reg);
  for (unsigned code = 128; code <= 208; ++code) {
    const int value = code <= 192 ? int(code) - 128 : 192 - int(code);
    t.as_32[code - 128] = t.as_16[code - 128] = uint32_t(value);
    t.as_64[code - 128] = uint64_t(int64_t(value));
  }
  for (unsigned i = 0; i < 9; ++i) {
    t.as_32[112 + i] = std::bit_cast<uint32_t>(floats[i]);
    t.as_16[112 + i] = halves[i];
    t.as_64[112 + i] = std::bit_cast<uint64_t>(double(floats[i]));
  }
  // code 248 is 1 / (2 pi), rounded for each width
  t.as_32[120] = 0x3e22f983;
  t.as_64[120] = 0x3fc45f306dc9c882;
  return t;
}

using FormatDecoder = Problem (*)(DecodeState&, const OpcodeInfo&);

/// How the top nine bits of a word lead to its format, and where the opcode number is.
struct FormatEntry {
  FormatDecoder decode = nullptr;
  Encoding encoding{};
  uint8_t shift = 0;
  uint16_t mask = 0;
  bool split_opcode = false; ///< more opcode bits elsewhere, see opcode_number
};

constexpr FormatEntry format_of(unsigned top) {
  const unsigned six = top >> 3;
  if (top < 0x100) {
    if (top >> 2 == 0x3f) return {decode_vop1, Encoding::vop1, 9, 0xff};
    if (top >> 2 == 0x3e) return {decode_vopc, Encoding::vopc, 17, 0xff};
    return {decode_vop2, Encoding::vop2, 25, 0x3f};
  }
  if (top >> 7 == 2) {
    if (top == 0x17d) return {decode_sop1, Encoding::sop1, 8, 0xff};
    if (top == 0x17e) return {decode_sopc, Encoding::sopc, 16, 0x7f};
    if (top == 0x17f) return {decode_sopp, Encoding::sopp, 16, 0x7f};
    if (top >> 5 == 0xb) return {decode_sopk, Encoding::sopk, 23, 0x1f};
    return {decode_sop2, Encoding::sop2, 23, 0x7f};
  }
  switch (six) {
  case 0x32: return {decode_vintrp, Encoding::vintrp, 16, 3};
  case 0x33: return top == 0x198 ? FormatEntry{decode_vop3p, Encoding::vop3p, 16, 0x7f} : FormatEntry{};
  case 0x35: return {decode_vop3, Encoding::vop3, 16, 0x3ff};
  case 0x36: return {decode_ds, Encoding::ds, 18, 0xff};
  case 0x37: return {decode_flat, Encoding::flat, 18, 0x7f, true};
  case 0x38: return {decode_mubuf, Encoding::mubuf, 18, 0x7f, true};
  case 0x3a: return {decode_mtbuf, Encoding::mtbuf, 16, 7, true};
  case 0x3c: return {decode_mimg, Encoding::mimg, 18, 0x7f, true};
  case 0x3d: return {decode_smem, Encoding::smem, 18, 0xff};
  case 0x3e: return {decode_exp, Encoding::exp, 0, 0};
  default: return {};
  }
}

constexpr std::array<FormatEntry, 512> encoding_formats = [] {
  std::array<FormatEntry, 512> t;
  for (unsigned i = 0; i < 512; ++i) t[i] = format_of(i);
  return t;
}();

/// Opcode bits apart from the main field: MUBUF bit 25, MTBUF bit 53, MIMG bit 0; FLAT's segment bits
/// choose the encoding.
void complete_opcode(const DecodeState& s, uint32_t w, Encoding& encoding, unsigned& number) {
  switch (encoding) {
  case Encoding::mubuf: number |= bits(w, 25, 25) << 7; break;
  case Encoding::mtbuf:
    if (s.words > 1) number |= bits(s.word(1), 21, 21) << 3;
    break;
  case Encoding::mimg: number |= bits(w, 0, 0) << 7; break;
  default: { // flat
    constexpr Encoding segments[4] = {Encoding::flat, Encoding::scratch, Encoding::global, Encoding::exp};
    encoding = segments[bits(w, 15, 14)];
    if (encoding == Encoding::exp) number = 1; // segment 3: no such opcode
    break;
  }
  }
}

Problem decode_instruction(DecodeState& s) {
  const uint32_t w = s.word(0);
  s.out.size = 4;
  s.out.words[0] = w;
  const FormatEntry& format = encoding_formats[w >> 23];
  if (format.decode == nullptr) return "no such format";
  Encoding encoding = format.encoding;
  unsigned number = (w >> format.shift) & format.mask;
  if (format.split_opcode) complete_opcode(s, w, encoding, number);
  const uint16_t opcode = opcode_numbers[unsigned(encoding)][number];
  if (opcode == no_opcode) return "no such opcode";
  s.out.opcode = Opcode(opcode);
  s.out.encoding = encoding;
  return format.decode(s, opcode_table[opcode]);
}

const Instruction blank{};

/// Decodes at `pc`, which lies within `code`, into a default-constructed instruction.
Problem decode_at(std::span<const uint8_t> code, size_t pc, WaveSize wave, Instruction& out) {
  out.pc = uint32_t(pc);
  DecodeState s{code.data() + pc, uint32_t(std::min<size_t>((code.size() - pc) / 4, 5)), wave, out};
  return s.words == 0 ? truncated : decode_instruction(s);
}

std::unexpected<Error> failure(std::span<const uint8_t> code, size_t pc, Problem problem) {
  if (problem == truncated) return fail(ErrorKind::input, problem, fmt::format("pc {:#x}", pc));
  uint32_t w;
  std::memcpy(&w, code.data() + pc, 4);
  return fail(ErrorKind::input, fmt::format("word {:#010x} is no gfx1030 instruction", w),
              fmt::format("pc {:#x}", pc), problem);
}

} // namespace

constexpr CodeTables code_tables = make_code_tables();

void fill_tied(DecodeState& s, const OpcodeInfo& row) {
  using enum OpcodeFlag;
  if (!row.has(tied_src0 | tied_src1 | tied_src2 | tied_src3)) return;
  for (unsigned i = 0; i < 4; ++i)
    if (row.tied(i)) s.out.src[i] = s.out.dst[0];
}

} // namespace detail

using namespace detail;

Expected<Instruction> decode(std::span<const uint8_t> code, uint32_t pc, WaveSize wave) {
  if (pc >= code.size())
    return fail(ErrorKind::input, "program counter is outside the program", fmt::format("pc {:#x}", pc));
  Expected<Instruction> result(std::in_place);
  if (Problem p = decode_at(code, pc, wave, *result)) return failure(code, pc, p);
  return result;
}

size_t decode_append(std::span<const uint8_t> code, WaveSize wave, std::vector<Instruction>& out) {
  size_t pc = 0;
  out.reserve(out.size() + code.size() / 6 + 1);
  while (pc < code.size()) {
    out.push_back(blank); // copying is cheaper than initialising field by field
    if (decode_at(code, pc, wave, out.back())) {
      out.pop_back();
      break;
    }
    pc += out.back().size;
  }
  return pc;
}

Expected<std::vector<Instruction>> decode_program(std::span<const uint8_t> code, WaveSize wave) {
  std::vector<Instruction> program;
  const size_t end = decode_append(code, wave, program);
  if (end == code.size()) return program;
  Instruction bad;
  return failure(code, end, decode_at(code, end, wave, bad));
}

} // namespace lanewise::rdna2
