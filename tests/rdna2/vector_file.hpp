// LLVM's test encodings (tests/data/rdna2), read through xz.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace lanewise::rdna2::test {

/// Lines of an xz-compressed text file of tests/data/rdna2; none if it cannot be read.
inline std::vector<std::string> read_lines(const std::string& file) {
  const std::string command = "xz -dc '" LANEWISE_TEST_DATA "/rdna2/" + file + "'";
  std::vector<std::string> lines;
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return lines;
  std::array<char, 4096> buffer;
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) {
    std::string line = buffer.data();
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.pop_back();
    lines.push_back(std::move(line));
  }
  pclose(pipe);
  return lines;
}

struct Vector {
  std::vector<uint8_t> bytes;
  std::string text;
};

/// Runs of blanks as one.
inline std::string normalised(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\t')
      out += c;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

/// "hex<TAB>text" lines.
inline std::vector<Vector> read_vectors(const std::string& file) {
  std::vector<Vector> vectors;
  for (const std::string& line : read_lines(file)) {
    const size_t tab = line.find('\t');
    if (tab == std::string::npos) continue;
    Vector v;
    for (size_t i = 0; i + 1 < tab; i += 2)
      v.bytes.push_back(uint8_t(std::stoul(line.substr(i, 2), nullptr, 16)));
    v.text = normalised(line.substr(tab + 1));
    vectors.push_back(std::move(v));
  }
  return vectors;
}

} // namespace lanewise::rdna2::test
