// llvm-mc and llvm-objdump as oracles, where they are installed.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <unistd.h>

namespace lanewise::rdna2::test {

/// A folder that goes away with the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lanewise-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) m_path = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!m_path.empty()) std::filesystem::remove_all(m_path, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return m_path + "/" + name; }

 private:
  std::string m_path;
};

/// The tool's path, "" if it is not installed.
inline std::string find_tool(const std::string& name, unsigned version) {
  for (const std::string& path : {"/usr/bin/" + name + "-" + std::to_string(version),
                                  "/usr/lib/llvm-" + std::to_string(version) + "/bin/" + name})
    if (std::filesystem::exists(path)) return path;
  return "";
}

inline std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> lines;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

inline std::string wave_attribute(unsigned wave) {
  return wave == 32 ? "+wavefrontsize32,-wavefrontsize64" : "+wavefrontsize64,-wavefrontsize32";
}

/// Assembles each line for gfx1030; hex bytes, or nothing where the assembler refuses.
inline std::vector<std::optional<std::string>> assemble(const std::string& llvm_mc, unsigned wave,
                                                        const std::vector<std::string>& lines) {
  const TemporaryFolder folder;
  std::ofstream source(folder.file("a.s"));
  for (const std::string& line : lines) source << line << '\n';
  source.close();
  const std::string command =
      llvm_mc + " -triple=amdgcn-amd-amdhsa -mcpu=gfx1030 -mattr=" + wave_attribute(wave) +
      " -show-encoding " + folder.file("a.s") + " >" + folder.file("out") + " 2>" + folder.file("err");
  if (std::system(command.c_str()) == -1) return {};
  std::vector<bool> refused(lines.size(), false);
  for (const std::string& line : lines_of(folder.file("err"))) {
    unsigned number = 0;
    const size_t at = line.find("a.s:");
    if (at == std::string::npos || line.find("error:") == std::string::npos) continue;
    if (std::sscanf(line.c_str() + at, "a.s:%u:", &number) == 1 && number >= 1 && number <= lines.size())
      refused[number - 1] = true;
  }
  std::vector<std::optional<std::string>> result(lines.size());
  size_t next = 0;
  for (const std::string& line : lines_of(folder.file("out"))) {
    const size_t at = line.find("encoding: [");
    if (at == std::string::npos) continue;
    while (next < lines.size() && refused[next]) ++next;
    if (next == lines.size()) break;
    std::string hex;
    for (size_t i = at + 11; i < line.size() && line[i] != ']'; ++i)
      if (line[i] == 'x') hex += line.substr(i + 1, 2);
    result[next++] = hex;
  }
  return result;
}

struct Disassembled {
  std::string text; ///< empty: no instruction
  unsigned size = 0;
};

/// Disassembles each group of five words; nothing if the tools fail (objdump 19 crashes on some words).
inline std::optional<std::vector<Disassembled>>
disassemble_words(unsigned version, unsigned wave, const std::vector<std::array<uint32_t, 5>>& groups) {
  constexpr unsigned slot = 64; // bytes; s_nop behind the words, so that the next slot starts afresh
  const TemporaryFolder folder;
  std::ofstream source(folder.file("a.s"));
  source << ".amdgcn_target \"amdgcn-amd-amdhsa--gfx1030\"\n.text\nx:\n";
  for (const auto& words : groups) {
    source << ".long ";
    for (const uint32_t w : words) source << w << ", ";
    for (unsigned i = 5; i < slot / 4; ++i) source << "0xbf800000" << (i + 1 < slot / 4 ? ", " : "\n");
  }
  source.close();
  const std::string make = find_tool("llvm-mc", version) +
                           " -triple=amdgcn-amd-amdhsa -mcpu=gfx1030 -filetype=obj " + folder.file("a.s") +
                           " -o " + folder.file("a.o");
  const std::string dump = find_tool("llvm-objdump", version) + " -d --mattr=" + wave_attribute(wave) + " " +
                           folder.file("a.o") + " >" + folder.file("out") + " 2>" + folder.file("err");
  if (std::system(make.c_str()) != 0 || std::system(dump.c_str()) != 0) return std::nullopt;
  std::vector<Disassembled> result(groups.size());
  for (const std::string& line : lines_of(folder.file("out"))) {
    const size_t at = line.rfind("// ");
    unsigned long address = 0;
    if (at == std::string::npos || std::sscanf(line.c_str() + at, "// %lx:", &address) != 1) continue;
    if (address % slot != 0 || address / slot >= result.size()) continue;
    std::istringstream words(line.substr(line.find(':', at) + 1));
    unsigned count = 0;
    for (std::string word; words >> word;) count += word.size() == 8 && word[0] != '<' ? 1 : 0;
    std::string text = line.substr(0, at);
    if (text.find(".long") != std::string::npos || text.find("unknown") != std::string::npos) continue;
    result[address / slot] = {text, 4 * count};
  }
  return result;
}

} // namespace lanewise::rdna2::test
