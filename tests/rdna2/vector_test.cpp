// Every encoding of LLVM's gfx10 tests that is valid on gfx1030, and every opcode number.
#include "rdna2/vector_file.hpp"

#include "rdna2/decoder.hpp"
#include "rdna2/disassembler.hpp"
#include "rdna2/encoder.hpp"
#include "rdna2/opcode_info.hpp"
#include "rdna2/random_words.hpp"

#include <gtest/gtest.h>

#include <map>

using namespace lanewise;
using namespace lanewise::rdna2;
using namespace lanewise::rdna2::test;

namespace {

/// The listed text is LLVM 22's; where 19 differs, 19's text is what assembles (docs/isa-notes.md).
std::string text_of_llvm19(std::string text) {
  const auto replace = [&](const std::string& from, const std::string& to) {
    if (const size_t at = text.find(from); at != std::string::npos) text.replace(at, from.size(), to);
  };
  replace("offset:swizzle(FFT,31)", "offset:65535");
  if (const size_t comment = text.find("/*Invalid"); comment != std::string::npos) text.resize(comment);
  return text;
}

void check_vectors(const std::string& file, WaveSize wave) {
  const std::vector<Vector> vectors = read_vectors(file);
  ASSERT_EQ(vectors.size(), 31816u);
  unsigned failures = 0;
  for (const Vector& v : vectors) {
    const Expected<Instruction> i = decode(v.bytes, 0, wave);
    const std::string text = i ? normalised(disassemble(*i, wave)) : i.error().to_string();
    if (i && i->size == v.bytes.size() && text == text_of_llvm19(v.text)) continue;
    ADD_FAILURE() << v.text << "\n  we: " << text;
    if (++failures == 20) return;
  }
}

/// Encoding what was decoded changes only bits that the instruction does not use.
void check_encoder(const std::string& file, WaveSize wave) {
  unsigned failures = 0;
  for (const Vector& v : read_vectors(file)) {
    const Expected<Instruction> i = decode(v.bytes, 0, wave);
    if (!i) continue;
    const EncodedWords e = encode(*i);
    const Expected<Instruction> again = decode(to_bytes(e.words.data(), e.count), 0, wave);
    if (again && !has_ignored_bits(*again) && disassemble(*again, wave) == disassemble(*i, wave)) continue;
    ADD_FAILURE() << v.text
                  << "\n  encoded: " << (again ? disassemble(*again, wave) : again.error().to_string());
    if (++failures == 20) return;
  }
}

} // namespace

TEST(Vectors, Wave32) { check_vectors("gfx1030-vectors.w32.xz", WaveSize::wave32); }
TEST(Vectors, Wave64) { check_vectors("gfx1030-vectors.w64.xz", WaveSize::wave64); }
TEST(Vectors, EncodeWave32) { check_encoder("gfx1030-vectors.w32.xz", WaveSize::wave32); }
TEST(Vectors, EncodeWave64) { check_encoder("gfx1030-vectors.w64.xz", WaveSize::wave64); }

TEST(OpcodeTable, HasEveryOpcodeNumber) {
  const std::map<std::string, std::pair<Encoding, Suffix>> formats = {
      {"SOP2", {Encoding::sop2, {}}},
      {"SOPK", {Encoding::sopk, {}}},
      {"SOP1", {Encoding::sop1, {}}},
      {"SOPC", {Encoding::sopc, {}}},
      {"SOPP", {Encoding::sopp, {}}},
      {"SMEM", {Encoding::smem, {}}},
      {"VOP2", {Encoding::vop2, {}}},
      {"VOPC", {Encoding::vopc, {}}},
      {"VOP1", {Encoding::vop1, {}}},
      {"VOP3", {Encoding::vop3, {}}},
      {"VOP3P", {Encoding::vop3p, {}}},
      {"VINTRP", {Encoding::vintrp, {}}},
      {"DS", {Encoding::ds, {}}},
      {"DS_gds", {Encoding::ds, {}}},
      {"FLAT", {Encoding::flat, {}}},
      {"SCRATCH", {Encoding::scratch, {}}},
      {"GLOBAL", {Encoding::global, {}}},
      {"MUBUF", {Encoding::mubuf, {}}},
      {"MTBUF", {Encoding::mtbuf, {}}},
      {"MIMG", {Encoding::mimg, {}}},
      {"VOPC_SDWA", {Encoding::vopc, Suffix::sdwa}},
      {"VOP1_SDWA", {Encoding::vop1, Suffix::sdwa}},
      {"VOP2_SDWA", {Encoding::vop2, Suffix::sdwa}},
      {"VOP1_DPP16", {Encoding::vop1, Suffix::dpp16}},
      {"VOP2_DPP16", {Encoding::vop2, Suffix::dpp16}},
      {"VOP1_DPP8", {Encoding::vop1, Suffix::dpp8}},
      {"VOP2_DPP8", {Encoding::vop2, Suffix::dpp8}}};
  unsigned checked = 0;
  for (const std::string& line : read_lines("gfx1030-opcodes.txt.xz")) {
    char format[32], mnemonic[64];
    unsigned number = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%31s %u %63s", format, &number, mnemonic), 3) << line;
    const auto found = formats.find(format);
    if (found == formats.end()) continue; // EXP: one opcode, numbers are targets
    const auto [encoding, suffix] = found->second;
    // numbers that lead to another format
    if ((encoding == Encoding::sop2 && number >= 96) || (encoding == Encoding::sopk && number >= 30))
      continue;
    if (encoding == Encoding::vop2 && number >= 62) continue;
    std::string name = mnemonic;
    for (const char* ending : {"_e32", "_e64", "_sdwa", "_dpp"})
      if (name.ends_with(ending)) name.resize(name.size() - std::string_view(ending).size());
    const uint16_t opcode = opcode_numbers[unsigned(encoding)][number];
    ASSERT_NE(opcode, no_opcode) << line;
    EXPECT_EQ(opcode_table[opcode].name, name) << line;
    const OpcodeFlag form = suffix == Suffix::sdwa ? OpcodeFlag::sdwa : OpcodeFlag::dpp;
    EXPECT_TRUE(suffix == Suffix::none || opcode_table[opcode].has(form)) << line;
    ++checked;
  }
  EXPECT_GT(checked, 1900u);
}

TEST(OpcodeTable, HasNothingElse) {
  // Beside the enumerated opcodes: ray intersection, ds_nop, exp.
  std::map<std::string, bool> listed = {{"image_bvh_intersect_ray", true},
                                        {"image_bvh64_intersect_ray", true},
                                        {"ds_nop", true},
                                        {"exp", true}};
  for (const std::string& line : read_lines("gfx1030-opcodes.txt.xz")) {
    char format[32], mnemonic[64];
    unsigned number = 0;
    std::sscanf(line.c_str(), "%31s %u %63s", format, &number, mnemonic);
    std::string name = mnemonic;
    for (const char* ending : {"_e32", "_e64", "_sdwa", "_dpp"})
      if (name.ends_with(ending)) name.resize(name.size() - std::string_view(ending).size());
    listed[name] = true;
  }
  for (const OpcodeInfo& row : opcode_table) EXPECT_TRUE(listed.contains(std::string(row.name))) << row.name;
  EXPECT_EQ(find_opcode("v_add_f32"), Opcode::v_add_f32);
  EXPECT_EQ(find_opcode("v_add_f33"), std::nullopt);
}
