// Our decoder and text against llvm-mc and llvm-objdump on random instructions. docs/isa-notes.md explains
// every difference that is let through here.
#include "rdna2/llvm_tools.hpp"

#include "rdna2/decoder.hpp"
#include "rdna2/disassembler.hpp"
#include "rdna2/random_words.hpp"
#include "rdna2/vector_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>

using namespace lanewise;
using namespace lanewise::rdna2;
using namespace lanewise::rdna2::test;

namespace {

constexpr WaveSize waves[2] = {WaveSize::wave32, WaveSize::wave64};

struct Sample {
  Instruction instruction;
  std::string text, hex;
};

std::string hex_of(const Instruction& i) {
  std::string hex;
  char digits[3];
  for (const uint8_t byte : to_bytes(i.words.data(), i.size / 4)) {
    std::snprintf(digits, sizeof digits, "%02x", byte);
    hex += digits;
  }
  return hex;
}

/// Random instructions of every form with no ignored bits, as the assembler would make them.
std::vector<Sample> random_samples(WaveSize wave, unsigned rounds, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<Sample> samples;
  for (unsigned round = 0; round < rounds; ++round) {
    for (const Form& form : all_forms()) {
      const std::array<uint32_t, 5> words = random_words(form, random);
      const Expected<Instruction> raw = decode(to_bytes(words.data(), words.size()), 0, wave);
      if (!raw) continue;
      const EncodedWords e = encode(*raw);
      const Expected<Instruction> i = decode(to_bytes(e.words.data(), e.count), 0, wave);
      if (i && assembles_back(*i)) samples.push_back({*i, disassemble(*i, wave), hex_of(*i)});
    }
  }
  return samples;
}

/// What LLVM 14 assembles in another way (19 is right).
bool differs_in_llvm14(const Instruction& i) {
  const OpcodeInfo& row = info(i.opcode);
  if (i.encoding == Encoding::vop3 && row.writes_state(State::exec)) return true; // sdst 0, not EXEC
  if (i.opcode == Opcode::v_cndmask_b32 && i.suffix == Suffix::sdwa) return true; // drops neg and abs
  // inline floats of packed integers become literals
  return i.encoding == Encoding::vop3p && std::ranges::any_of(i.src, [](const Operand& o) {
           return o.is_constant() && o.code >= 240 && o.code <= 248;
         });
}

void check_round_trip(unsigned version, const std::vector<Sample>& samples, WaveSize wave) {
  std::vector<std::string> lines;
  for (const Sample& s : samples) lines.push_back(s.text);
  const auto assembled = assemble(find_tool("llvm-mc", version), unsigned(wave), lines);
  ASSERT_EQ(assembled.size(), samples.size());
  unsigned failures = 0, same = 0;
  for (size_t k = 0; k < samples.size() && failures < 20; ++k) {
    if (assembled[k] == samples[k].hex) {
      ++same;
      continue;
    }
    if (version == 14 && (!assembled[k] || differs_in_llvm14(samples[k].instruction))) continue;
    ADD_FAILURE() << samples[k].hex << " " << samples[k].text
                  << "\n  llvm-mc: " << assembled[k].value_or("refused");
    ++failures;
  }
  EXPECT_GT(same, samples.size() * 9 / 10);
}

/// Errors of ours where LLVM prints text: operands that the instruction cannot use.
bool is_stricter_on_purpose(const std::string& reason) {
  constexpr std::string_view reasons[] = {
      "DPP control is reserved",
      "LDS_DIRECT can only be src0",
      "LDS_DIRECT is one dword",
      "SDWA has no literal and no LDS_DIRECT",
      "buffer offset is no scalar register or constant",
      "image address has more registers than the instruction names",
      "image atomic of no such width",
      "interpolation parameter is reserved",
      "lane selector is a vector register",
      "lane source is no vector register",
      "mask is no scalar register",
      "relative source is no register",
      "scalar operand is a vector register",
      "scalar register tuple is not one that gfx1030 has",
      "scalar source cannot be LDS_DIRECT",
      "source is no vector register",
      "vector register tuple runs past v255",
  };
  return std::ranges::find(reasons, reason) != std::end(reasons);
}

/// Where the text of what both accept may differ: LLVM shows bits that the instruction does not use.
bool may_differ_in_text(const Instruction& i, const std::string& llvm) {
  return !assembles_back(i) || llvm.find("/*Invalid") != std::string::npos;
}

void compare_sets(const std::vector<std::array<uint32_t, 5>>& groups, WaveSize wave, unsigned& compared) {
  const auto theirs = disassemble_words(19, unsigned(wave), groups);
  if (!theirs) return;
  for (size_t k = 0; k < groups.size(); ++k) {
    const Expected<Instruction> ours = decode(to_bytes(groups[k].data(), 5), 0, wave);
    const std::string llvm = normalised((*theirs)[k].text);
    ++compared;
    if (!ours) {
      EXPECT_TRUE(llvm.empty() || is_stricter_on_purpose(ours.error().hint))
          << ours.error().to_string() << "\n  LLVM: " << llvm;
      continue;
    }
    const std::string text = disassemble(*ours, wave);
    if (llvm.empty()) {
      EXPECT_FALSE(assembles_back(*ours)) << text << "\n  LLVM: no instruction";
    } else if (!may_differ_in_text(*ours, llvm)) {
      EXPECT_EQ(text, llvm);
      EXPECT_EQ(ours->size, (*theirs)[k].size) << text;
    }
  }
}

} // namespace

TEST(Llvm, RoundTrip19) {
  if (find_tool("llvm-mc", 19).empty()) GTEST_SKIP() << "llvm-mc-19 is not installed";
  for (const WaveSize wave : waves) check_round_trip(19, random_samples(wave, 4, 100 + unsigned(wave)), wave);
}

TEST(Llvm, RoundTrip14) {
  if (find_tool("llvm-mc", 14).empty()) GTEST_SKIP() << "llvm-mc-14 is not installed";
  for (const WaveSize wave : waves) check_round_trip(14, random_samples(wave, 2, 200 + unsigned(wave)), wave);
}

TEST(Llvm, VectorsAssembleBack) {
  if (find_tool("llvm-mc", 19).empty()) GTEST_SKIP() << "llvm-mc-19 is not installed";
  for (const WaveSize wave : waves) {
    std::vector<Sample> samples;
    for (const Vector& v :
         read_vectors(wave == WaveSize::wave32 ? "gfx1030-vectors.w32.xz" : "gfx1030-vectors.w64.xz")) {
      const Expected<Instruction> i = decode(v.bytes, 0, wave);
      if (i && assembles_back(*i)) samples.push_back({*i, disassemble(*i, wave), hex_of(*i)});
    }
    EXPECT_GT(samples.size(), 31000u);
    check_round_trip(19, samples, wave);
  }
}

// The same words are instructions to both, with the same text, except for what docs/isa-notes.md lists.
TEST(Llvm, RejectSets) {
  if (find_tool("llvm-objdump", 19).empty() || find_tool("llvm-mc", 19).empty())
    GTEST_SKIP() << "llvm-objdump-19 is not installed";
  std::mt19937_64 random(300);
  for (const WaveSize wave : waves) {
    std::vector<std::array<uint32_t, 5>> groups;
    unsigned compared = 0, made = 0;
    for (unsigned round = 0; round < 2; ++round) {
      for (const Form& form : all_forms()) {
        const std::array<uint32_t, 5> words = random_words(form, random);
        // llvm-objdump 19 crashes on reserved SDWA selectors
        const Expected<Instruction> i = decode(to_bytes(words.data(), 5), 0, wave);
        if (!i && i.error().hint == "SDWA selector is reserved") continue;
        groups.push_back(words);
        ++made;
        if (groups.size() < 1000) continue;
        compare_sets(groups, wave, compared);
        groups.clear();
      }
    }
    compare_sets(groups, wave, compared);
    EXPECT_GT(compared, made / 2);
  }
}
