#include "assembler.hpp"

#include <cstring>
#include <elf.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <unistd.h>

namespace lanewise::calls {
namespace {

constexpr const char* macros = R"(
.macro begin
  v_mov_b32 v1, v0
.endm
.macro plus n
  v_add_nc_u32 v1, \n, v1
.endm
.macro finish
  v_lshlrev_b32 v2, 2, v0
  global_store_dword v2, v1, s[0:1]
  s_endpgm
.endm
.macro address lo, hi, label
  s_getpc_b64 s[\lo:\hi]
.Lpc\@:
  s_add_u32 s\lo, s\lo, \label-.Lpc\@
  s_addc_u32 s\hi, s\hi, 0
.endm
.macro if_lanes_below n
.if WAVE == 32
  v_cmp_gt_u32 vcc_lo, \n, v0
  s_and_saveexec_b32 s20, vcc_lo
.else
  v_cmp_gt_u32 vcc, \n, v0
  s_and_saveexec_b64 s[20:21], vcc
.endif
.endm
.macro end_if
.if WAVE == 32
  s_mov_b32 exec_lo, s20
.else
  s_mov_b64 exec, s[20:21]
.endif
.endm
)";

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lanewise-calls-XXXXXX").string();
    if (mkdtemp(pattern.data())) path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string operator/(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string numbered(std::string text, size_t number) {
  const std::string digits = fmt::format("_{}", number);
  for (size_t at = 0; (at = text.find('%', at)) != std::string::npos; at += digits.size())
    text.replace(at, 1, digits);
  return text;
}

template <class T>
T at(const std::string& file, size_t offset) {
  T value{};
  if (offset + sizeof value <= file.size()) std::memcpy(&value, file.data() + offset, sizeof value);
  return value;
}

/// .text and the symbols of a relocatable object.
Assembled read_object(const std::string& file) {
  Assembled all;
  const auto header = at<Elf64_Ehdr>(file, 0);
  const auto section = [&](size_t n) {
    return at<Elf64_Shdr>(file, header.e_shoff + n * header.e_shentsize);
  };
  const auto name = [&](const Elf64_Shdr& strings, size_t n) { return file.c_str() + strings.sh_offset + n; };
  for (size_t n = 0; n < header.e_shnum; ++n) {
    const Elf64_Shdr s = section(n);
    if (std::string(name(section(header.e_shstrndx), s.sh_name)) == ".text")
      all.code.assign(file.begin() + static_cast<std::ptrdiff_t>(s.sh_offset),
                      file.begin() + static_cast<std::ptrdiff_t>(s.sh_offset + s.sh_size));
    if (s.sh_type != SHT_SYMTAB) continue;
    for (size_t k = 0; k < s.sh_size / sizeof(Elf64_Sym); ++k) {
      const auto symbol = at<Elf64_Sym>(file, s.sh_offset + k * sizeof(Elf64_Sym));
      if (symbol.st_shndx != SHN_ABS)
        all.labels[name(section(s.sh_link), symbol.st_name)] = static_cast<uint32_t>(symbol.st_value);
    }
  }
  return all;
}

} // namespace

Expected<std::vector<Assembled>> assemble(unsigned wave, std::span<const std::string> sources) {
  std::string tool;
  for (const char* path : {"/usr/bin/llvm-mc-19", "/usr/bin/llvm-mc"})
    if (tool.empty() && std::filesystem::exists(path)) tool = path;
  if (tool.empty()) return fail(ErrorKind::system, "llvm-mc is not installed");
  const Folder folder;
  {
    std::ofstream out(folder / "a.s");
    out << fmt::format(".amdgcn_target \"amdgcn-amd-amdhsa--gfx1030\"\n.set WAVE, {}\n{}.text\n", wave,
                       macros);
    for (size_t i = 0; i < sources.size(); ++i)
      out << fmt::format(".p2align 8\nprogram_{0}:\n{1}\nend_of_program_{0}:\n", i, numbered(sources[i], i));
  }
  const std::string command =
      fmt::format("{} -triple=amdgcn-amd-amdhsa -mcpu=gfx1030 -mattr={} -filetype=obj {} -o {} 2>{}", tool,
                  wave == 32 ? "+wavefrontsize32,-wavefrontsize64" : "+wavefrontsize64,-wavefrontsize32",
                  folder / "a.s", folder / "a.o", folder / "errors");
  if (std::system(command.c_str()) != 0)
    return fail(ErrorKind::input, read_file(folder / "errors"), "llvm-mc");
  const Assembled all = read_object(read_file(folder / "a.o"));
  std::vector<Assembled> result(sources.size());
  for (size_t i = 0; i < sources.size(); ++i) {
    const auto first = all.labels.find(fmt::format("program_{}", i)),
               end = all.labels.find(fmt::format("end_of_program_{}", i));
    if (first == all.labels.end() || end == all.labels.end())
      return fail(ErrorKind::input, "labels are missing");
    result[i].code.assign(all.code.begin() + first->second, all.code.begin() + end->second);
    const std::string suffix = fmt::format("_{}", i);
    for (const auto& [label, address] : all.labels)
      if (label.ends_with(suffix) && address >= first->second && address < end->second)
        result[i].labels[label.substr(0, label.size() - suffix.size())] = address - first->second;
  }
  return result;
}

} // namespace lanewise::calls
