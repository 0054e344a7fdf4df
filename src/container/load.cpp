#include "container/load.hpp"

#include "container/bundle.hpp"
#include "container/bytes.hpp"
#include "container/code_object.hpp"
#include "container/raw.hpp"
#include "support/limits.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <fstream>

namespace lanewise::container {
namespace {

/// Files that people give by mistake, by their first bytes.
struct OtherFormat {
  std::string_view magic, name, hint;
};

constexpr OtherFormat other_formats[] = {
    {"BC\xC0\xDE", "LLVM bitcode", "compile it to a code object first"},
    {"\x03\x02\x23\x07", "SPIR-V", "only AMD machine code is read here"},
    {"!<arch>\n", "a static library", "give one code object of it"},
    {"\x28\xB5\x2F\xFD", "a zstd-compressed file", "decompress it first"},
    {"\x1F\x8B", "a gzip-compressed file", "decompress it first"},
};

bool is_json_object(Bytes bytes) {
  const auto first =
      std::ranges::find_if_not(bytes, [](uint8_t c) { return std::strchr(" \t\r\n", c) && c; });
  return first != bytes.end() && *first == '{';
}

Expected<ShaderBinary> load_bundle(Bytes bytes, const LoadOptions& options) {
  auto entries = read_bundle(bytes);
  if (!entries) return std::unexpected(entries.error());
  auto entry = pick_entry(*entries, options.target);
  if (!entry) return std::unexpected(entry.error());
  auto binary = load_code_object(entry->bytes);
  if (!binary) {
    std::string& where = binary.error().where;
    where = fmt::format("bundle entry {}{}{}", entry->id, where.empty() ? "" : ", ", where);
  }
  return binary;
}

Expected<ShaderBinary> unknown(Bytes bytes) {
  for (const OtherFormat& format : other_formats)
    if (starts_with(bytes, format.magic))
      return fail(ErrorKind::unsupported, fmt::format("this is {}", format.name), {},
                  std::string(format.hint));
  return fail(ErrorKind::input, bytes.empty() ? "the file is empty" : "not a container that Lanewise knows",
              {}, "code objects, offload bundles and raw descriptions are read; see docs/containers.md");
}

} // namespace

Expected<ShaderBinary> load(std::span<const uint8_t> bytes, const LoadOptions& options) {
  if (bytes.size() > limits::max_file_bytes)
    return fail(ErrorKind::limit,
                fmt::format("file is larger than {} bytes (max_file_bytes)", limits::max_file_bytes));
  if (starts_with(bytes, "\x7f"
                         "ELF"))
    return load_code_object(bytes);
  if (is_bundle(bytes)) return load_bundle(bytes, options);
  if (is_compressed_bundle(bytes))
    return fail(ErrorKind::unsupported, "compressed offload bundle (CCOB)", {},
                "compile with -no-offload-compress or decompress it with clang-offload-bundler");
  if (is_json_object(bytes)) return load_raw(bytes, options.folder);
  return unknown(bytes);
}

Expected<std::vector<uint8_t>> read_file(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error))
    return fail(ErrorKind::system, "is a folder", path.string());
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(ErrorKind::system, std::strerror(errno), path.string());
  std::vector<uint8_t> bytes;
  constexpr std::size_t chunk = 1u << 20;
  while (in) {
    const std::size_t size = bytes.size();
    if (size > limits::max_file_bytes)
      return fail(ErrorKind::limit,
                  fmt::format("file is larger than {} bytes (max_file_bytes)", limits::max_file_bytes),
                  path.string());
    bytes.resize(size + chunk);
    in.read(reinterpret_cast<char*>(bytes.data() + size), chunk);
    bytes.resize(size + std::size_t(in.gcount()));
  }
  if (in.bad()) return fail(ErrorKind::system, "cannot be read to its end", path.string());
  return bytes;
}

Expected<ShaderBinary> load_file(const std::filesystem::path& path, LoadOptions options) {
  auto bytes = read_file(path);
  if (!bytes) return std::unexpected(bytes.error());
  if (options.folder.empty()) options.folder = path.has_parent_path() ? path.parent_path() : ".";
  auto binary = load(*bytes, options);
  if (!binary) {
    std::string& where = binary.error().where;
    where = where.empty() ? path.string() : fmt::format("{}, {}", path.string(), where);
  }
  return binary;
}

} // namespace lanewise::container
