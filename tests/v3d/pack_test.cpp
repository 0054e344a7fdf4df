// Every word of the collection, three ways: 64 bits to text, text to bits, and back to the same 64 bits.
#include "v3d/data_file.hpp"
#include "v3d/pack.hpp"

#include <gtest/gtest.h>

#include <string>

namespace lanewise::v3d {
namespace {

struct File {
  Gpu gpu;
  const char* name;
};

class Words : public testing::TestWithParam<File> {};

std::string without_value(std::string s) {
  if (s.ends_with(')')) {
    s.resize(s.rfind('('));
  }
  while (!s.empty() && s.back() == ' ') {
    s.pop_back();
  }
  return s;
}

// The tool that wrote the data keeps two bits of the input modifier of a mul-unit fmov on 7.1, and so prints
// .sat as .abs, .nsat as nothing and .max0 as .l; the words are right.
bool is_known_slip(const std::string& ours, const std::string& theirs) {
  struct Slip {
    std::string_view from, to;
  };
  std::string s;
  for (const char c : ours) {
    if (c != ' ') {
      s += c;
    }
  }
  const auto mul = s.find(";fmov");
  if (mul == std::string::npos) {
    return false;
  }
  for (const auto& [from, to] : {Slip{".nsat", ""}, Slip{".sat", ".abs"}, Slip{".max0", ".l"}}) {
    if (const auto at = s.find(from, mul); at != std::string::npos) {
      s.replace(at, from.size(), to);
      break;
    }
  }
  std::string t;
  for (const char c : theirs) {
    if (c != ' ') {
      t += c;
    }
  }
  return s == t;
}

TEST_P(Words, unpack_print_parse_and_pack_to_the_same) {
  const auto text = read_text_file(std::string(LANEWISE_TEST_DATA "/v3d/") + GetParam().name);
  ASSERT_TRUE(text) << text.error().to_string();
  const Gpu gpu = GetParam().gpu;
  std::size_t count = 0, slips = 0;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = text->find('\n', at);
    const std::string line = text->substr(at, end - at);
    at = end == std::string::npos ? text->size() : end + 1;
    if (line.empty()) {
      continue;
    }
    const std::uint64_t bits = std::stoull(line.substr(0, 18), nullptr, 16);
    const std::string expected = without_value(line.substr(19));
    const auto word = unpack(gpu, bits);
    ASSERT_TRUE(word) << word.error().to_string() << "\n" << line;
    const std::string ours = without_value(to_text(gpu, *word));
    if (ours != expected) {
      ASSERT_TRUE(is_known_slip(ours, expected)) << line << "\n" << ours;
      ++slips;
    }
    const auto again = pack(gpu, *word);
    ASSERT_TRUE(again) << again.error().to_string() << "\n" << line;
    ASSERT_EQ(*again, bits) << line;
    const auto parsed = parse_word(gpu, ours);
    ASSERT_TRUE(parsed) << parsed.error().to_string();
    const auto assembled = pack(gpu, *parsed);
    ASSERT_TRUE(assembled) << assembled.error().to_string() << "\n" << line;
    const auto disassembled = unpack(gpu, *assembled);
    ASSERT_TRUE(disassembled) << line;
    ASSERT_EQ(without_value(to_text(gpu, *disassembled)), ours);
    if (gpu == Gpu::v71) {
      ASSERT_EQ(*assembled, bits) << line; // 4.2 may choose the other read port
    }
    ++count;
  }
  EXPECT_EQ(count, 60000u);
  EXPECT_LE(slips, 1000u);
}

INSTANTIATE_TEST_SUITE_P(Collection, Words,
                         testing::Values(File{Gpu::v71, "qpu-words-v3d-71.txt.zst"},
                                         File{Gpu::v42, "qpu-words-v3d-42.txt.zst"}),
                         [](const auto& i) { return i.param.gpu == Gpu::v71 ? "v71" : "v42"; });

TEST(Pack, every_encoding_row_round_trips) {
  for (const Gpu gpu : {Gpu::v42, Gpu::v71}) {
    for (const Encoding& e : encodings()) {
      if ((e.gpus >> static_cast<unsigned>(gpu) & 1) == 0) {
        continue;
      }
      Word w;
      Alu& op = e.unit == Unit::add ? w.add : w.mul;
      op.op = e.op;
      op.dst = info(e.op).has_dst && e.op != Op::nop ? rf(9) : Reg{Reg::null};
      const bool larger_first = e.op == Op::fmax || e.op == Op::faddnf;
      for (unsigned i = 0; i < source_count(op); ++i) {
        op.src[i].reg = rf(larger_first ? 7 - i : 6 + i);
      }
      ASSERT_TRUE(assign_ports(gpu, w));
      const auto bits = pack(gpu, w);
      ASSERT_TRUE(bits) << info(e.op).name << ": " << bits.error().to_string();
      const auto back = unpack(gpu, *bits);
      ASSERT_TRUE(back) << info(e.op).name;
      EXPECT_EQ(to_text(gpu, *back), to_text(gpu, w)) << info(e.op).name;
    }
  }
}

TEST(Pack, refuses_what_the_hardware_lacks) {
  struct Row {
    Gpu gpu;
    const char* text;
  };
  const Row rows[] = {
      {Gpu::v42, "fadd rf1, rf2, rf3 ; fmul rf4, rf5, rf6"},     // three ports
      {Gpu::v42, "fmov rf1, rf2.sat ; nop"},                     // 7.1 modifier, and no fmov in the add unit
      {Gpu::v71, "fadd rf1, 1, 2 ; nop"},                        // two immediates
      {Gpu::v71, "fadd.ifa rf1, rf2, rf3 ; nop ; ldunifrf.rf4"}, // condition beside a signal address
      {Gpu::v71, "fmul rf1, rf2, rf3 ; nop"},                    // unit
      {Gpu::v71, "fadd.pushz rf1, rf2, rf3 ; fmul.pushz rf1, rf2, rf3"}, // two pushes
      {Gpu::v71, "nop ; nop ; ldtlb.rf1; ldtmu.rf1"},                    // signals
      {Gpu::v71, "fmax rf1, rf2, rf2 ; nop"},                            // order cannot tell fmax
  };
  for (const Row& row : rows) {
    const auto w = parse_word(row.gpu, row.text);
    EXPECT_FALSE(w && pack(row.gpu, *w)) << row.text;
  }
}

} // namespace
} // namespace lanewise::v3d
