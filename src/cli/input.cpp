#include "cli/input.hpp"

#include "cli/command.hpp"

#include "container/load.hpp"
#include "support/limits.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fmt/format.h>
#include <unistd.h>

namespace lanewise::cli {
namespace {

constexpr std::size_t most_listed = 20;

std::string list_kernels(const container::ShaderBinary& binary) {
  std::string list;
  for (const auto& kernel : std::span(binary.kernels).first(std::min(binary.kernels.size(), most_listed)))
    list.append(list.empty() ? "" : ", ").append(printable(kernel.name));
  if (binary.kernels.size() > most_listed) list += fmt::format(", ... ({} in all)", binary.kernels.size());
  return list.empty() ? "the file has no kernels" : fmt::format("kernels: {}", list);
}

Expected<std::vector<uint8_t>> read_standard_input() {
  std::vector<uint8_t> bytes;
  constexpr std::size_t chunk = 1u << 16;
  for (;;) {
    const std::size_t size = bytes.size();
    if (size > limits::max_file_bytes)
      return fail(ErrorKind::limit,
                  fmt::format("more than {} bytes (max_file_bytes)", limits::max_file_bytes),
                  "standard input");
    bytes.resize(size + chunk);
    const std::size_t got = std::fread(bytes.data() + size, 1, chunk, stdin);
    bytes.resize(size + got);
    if (got == 0) break;
  }
  if (std::ferror(stdin)) return fail(ErrorKind::system, "cannot be read", "standard input");
  return bytes;
}

} // namespace

int exit_status(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::input:
  case ErrorKind::unsupported:
  case ErrorKind::limit: return exit_input_at_fault;
  case ErrorKind::call:
  case ErrorKind::system: return exit_call_at_fault;
  case ErrorKind::check: return exit_check_failed;
  }
  return exit_input_at_fault;
}

int report(const Error& error) {
  const bool colour = use_colour(stderr);
  std::string text = error.to_string(); // a hint may be a table of several lines
  std::ranges::replace_if(text, [](char c) { return (uint8_t(c) < 0x20 && c != '\n') || c == 0x7f; }, '?');
  fmt::print(stderr, "{}lanewise:{} {}\n", colour ? "\x1b[1;31m" : "", colour ? "\x1b[0m" : "", text);
  return exit_status(error.kind);
}

void add_input(Command& command, InputOptions& options) {
  command.text("FILE", options.file, "code object, offload bundle or raw description; - is standard input")
      .required();
  command.text("--target", options.target, "entry of an offload bundle: a processor (gfx1031) or a whole ID");
}

Expected<std::vector<uint8_t>> read_input(const std::string& file) {
  return file == "-" ? read_standard_input() : container::read_file(file);
}

Expected<container::ShaderBinary> load_input(const InputOptions& options) {
  if (options.file != "-")
    return container::load_file(options.file, {.target = options.target, .folder = {}});
  auto bytes = read_standard_input();
  if (!bytes) return std::unexpected(bytes.error());
  auto binary = container::load(*bytes, {.target = options.target, .folder = "."});
  if (!binary) {
    std::string& where = binary.error().where;
    where = fmt::format("standard input{}{}", where.empty() ? "" : ", ", where);
  }
  return binary;
}

Expected<std::vector<const container::Kernel*>> pick_kernels(const container::ShaderBinary& binary,
                                                             std::span<const std::string> names) {
  std::vector<const container::Kernel*> kernels;
  if (names.empty())
    for (const auto& kernel : binary.kernels) kernels.push_back(&kernel);
  for (const std::string& name : names) {
    const container::Kernel* kernel = binary.find_kernel(name);
    if (!kernel) return fail(ErrorKind::call, fmt::format("no kernel '{}'", name), {}, list_kernels(binary));
    kernels.push_back(kernel);
  }
  return kernels;
}

Expected<const container::Kernel*> pick_kernel(const container::ShaderBinary& binary,
                                               const std::string& name) {
  if (name.empty() && binary.kernels.size() != 1)
    return fail(ErrorKind::call, "which kernel? Name one with --kernel", {}, list_kernels(binary));
  auto kernels = pick_kernels(binary, name.empty() ? std::span<const std::string>{} : std::span(&name, 1));
  if (!kernels) return std::unexpected(kernels.error());
  return kernels->front();
}

Expected<void> write_output(const std::string& file, std::string_view bytes) {
  const bool standard = file == "-";
  std::FILE* out = standard ? stdout : std::fopen(file.c_str(), "wb");
  if (!out) return fail(ErrorKind::system, std::strerror(errno), file);
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
  const bool closed = standard ? std::fflush(out) == 0 : std::fclose(out) == 0;
  if (!written || !closed)
    return fail(ErrorKind::system, "cannot be written", standard ? "standard output" : file);
  return {};
}

bool use_colour(std::FILE* stream) {
  const char* off = std::getenv("NO_COLOR");
  return (!off || !*off) && isatty(fileno(stream));
}

std::string printable(std::string_view name) {
  std::string safe(name);
  std::ranges::replace_if(safe, [](char c) { return uint8_t(c) < 0x20 || c == 0x7f; }, '?');
  return safe;
}

} // namespace lanewise::cli
