// Random machine words for tests: every opcode in every form, the other bits at random.
#pragma once

#include "rdna2/encoder.hpp"
#include "rdna2/opcode_info.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <random>
#include <vector>

namespace lanewise::rdna2::test {

/// One opcode in one word format, with one kind of suffix.
struct Form {
  Opcode opcode{};
  Encoding encoding{};
  Suffix suffix = Suffix::none;
};

/// All forms that the opcode table has.
inline std::vector<Form> all_forms() {
  std::vector<Form> forms;
  for (unsigned k = 0; k < opcode_count; ++k) {
    const OpcodeInfo& row = info(Opcode(k));
    forms.push_back({Opcode(k), row.encoding, Suffix::none});
    if (row.vop3 >= 0 && row.encoding != Encoding::vop3)
      forms.push_back({Opcode(k), Encoding::vop3, Suffix::none});
    if (row.has(OpcodeFlag::sdwa)) forms.push_back({Opcode(k), row.encoding, Suffix::sdwa});
    if (row.has(OpcodeFlag::dpp)) {
      forms.push_back({Opcode(k), row.encoding, Suffix::dpp16});
      forms.push_back({Opcode(k), row.encoding, Suffix::dpp8});
    }
  }
  return forms;
}

/// Bits of the first word that choose format and opcode.
inline uint32_t opcode_mask(Encoding encoding) {
  switch (encoding) {
  case Encoding::sop1: return 0xff80ff00;
  case Encoding::sop2:
  case Encoding::sopk: return 0xff800000;
  case Encoding::vop1: return 0xfe01fe00;
  case Encoding::vop2: return 0xfe000000;
  case Encoding::vopc: return 0xfffe0000;
  case Encoding::vintrp: return 0xfc030000;
  case Encoding::smem:
  case Encoding::ds:
  case Encoding::mubuf: return 0xfffc0000;
  case Encoding::mtbuf: return 0xfc070000;
  case Encoding::mimg: return 0xfdfc0001;
  case Encoding::flat:
  case Encoding::global:
  case Encoding::scratch: return 0xfffcc000;
  case Encoding::exp: return 0xfc000000;
  default: return 0xffff0000; // sopc, sopp, vop3, vop3p
  }
}

/// Five words that begin with the form; those after the instruction's end are random too.
inline std::array<uint32_t, 5> random_words(const Form& form, std::mt19937_64& random) {
  Instruction seed;
  seed.opcode = form.opcode;
  seed.encoding = form.encoding;
  const EncodedWords skeleton = encode(seed);
  const uint32_t fixed = opcode_mask(form.encoding);
  std::array<uint32_t, 5> w;
  for (uint32_t& word : w) word = uint32_t(random());
  w[0] = (skeleton.words[0] & fixed) | (w[0] & ~fixed);
  if (form.encoding == Encoding::mtbuf) w[1] = (skeleton.words[1] & 1u << 21) | (w[1] & ~(1u << 21));
  if (form.suffix == Suffix::sdwa) w[0] = (w[0] & ~0x1ffu) | 0xf9;
  if (form.suffix == Suffix::dpp16) w[0] = (w[0] & ~0x1ffu) | 0xfa;
  if (form.suffix == Suffix::dpp8) w[0] = (w[0] & ~0x1ffu) | (random() % 2 ? 0xe9 : 0xea);
  return w;
}

inline std::vector<uint8_t> to_bytes(const uint32_t* words, size_t count) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < count; ++i)
    for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(uint8_t(words[i] >> shift));
  return bytes;
}

} // namespace lanewise::rdna2::test
