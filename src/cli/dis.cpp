// lanewise dis: machine code as text that llvm-mc assembles back to the same bytes.
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/input.hpp"
#include "rdna2/decoder.hpp"
#include "rdna2/disassembler.hpp"
#include "rdna2/opcode_info.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

namespace lanewise::cli {
namespace {

using container::Kernel;
using container::ShaderBinary;
using container::Symbol;
using rdna2::WaveSize;

struct DisOptions {
  InputOptions input;
  std::vector<std::string> kernels;
  bool raw = false, json = false, keep_going = false;
};

/// A kernel or a function that kernels call.
struct Program {
  std::string name;
  uint64_t address = 0;
  std::span<const uint8_t> code;
  WaveSize wave{};
  const Kernel* kernel = nullptr; ///< null for a function
};

/// One instruction, or a word that is none.
struct Line {
  uint32_t pc = 0;
  std::span<const uint8_t> bytes;
  std::string text;                     ///< what the assembler reads
  std::string note;                     ///< for people; may be empty
  std::optional<int64_t> branch_target; ///< byte offset in the program
};

constexpr const char *bold = "\x1b[1m", *dim = "\x1b[2m", *cyan = "\x1b[36m", *yellow = "\x1b[33m",
                     *plain = "\x1b[0m";

WaveSize wave_of(const Kernel& kernel) {
  return kernel.descriptor.wave32 ? WaveSize::wave32 : WaveSize::wave64;
}

Program program_of(const ShaderBinary& binary, const Kernel& kernel) {
  return {kernel.name, kernel.entry, binary.code_of(kernel), wave_of(kernel), &kernel};
}

/// Kernels and functions by address. A function's symbol does not tell its wave size: it is that of the
/// kernels.
std::vector<Program> all_programs(const ShaderBinary& binary) {
  std::vector<Program> programs;
  for (const Kernel& kernel : binary.kernels)
    if (programs.empty() || programs.back().address != kernel.entry)
      programs.push_back(program_of(binary, kernel));
  const WaveSize wave = binary.kernels.empty() ? WaveSize::wave32 : wave_of(binary.kernels.front());
  for (const Symbol& symbol : binary.symbols) {
    const container::Segment* segment = binary.segment_at(symbol.address);
    if (symbol.kind != Symbol::Kind::function || !segment || !segment->executable || symbol.address % 4 != 0)
      continue;
    programs.push_back({symbol.name, symbol.address, binary.code_of(symbol), wave, nullptr});
  }
  std::ranges::stable_sort(programs, {}, &Program::address); // keeps a kernel before its own function symbol
  const auto repeated = std::ranges::unique(programs, {}, &Program::address);
  programs.erase(repeated.begin(), repeated.end());
  return programs;
}

Line line_of(const Program& program, const rdna2::Instruction& instruction) {
  Line line{.pc = instruction.pc,
            .bytes = program.code.subspan(instruction.pc, instruction.size),
            .text = rdna2::disassemble(instruction, program.wave)};
  // Bits that the hardware ignores have no text: the words stand for themselves.
  if (!rdna2::assembles_back(instruction))
    line.note = std::exchange(line.text, rdna2::words_as_data(instruction));
  const rdna2::OpcodeInfo& info = rdna2::info(instruction.opcode);
  if (info.has(rdna2::OpcodeFlag::branch) || instruction.opcode == rdna2::Opcode::s_call_b64)
    line.branch_target = int64_t{instruction.pc} + 4 + int64_t{instruction.imm} * 4;
  return line;
}

Line undefined_word(const Program& program, uint32_t pc) {
  const auto bytes = program.code.subspan(pc, 4);
  return {.pc = pc,
          .bytes = bytes,
          .text = fmt::format(".long 0x{:02x}{:02x}{:02x}{:02x}", bytes[3], bytes[2], bytes[1], bytes[0]),
          .note = "no gfx1030 instruction"};
}

Expected<std::vector<Line>> disassemble_program(const Program& program, bool keep_going) {
  std::vector<Line> lines;
  lines.reserve(program.code.size() / 6);
  for (uint32_t pc = 0; pc < program.code.size();) {
    auto instruction = rdna2::decode(program.code, pc, program.wave);
    if (!instruction && !keep_going) {
      Error& error = instruction.error();
      error.where = fmt::format("{} {}{}{}", program.kernel ? "kernel" : "function", program.name,
                                error.where.empty() ? "" : ", ", error.where);
      error.hint = "--keep-going prints such words as data";
      return std::unexpected(error);
    }
    lines.push_back(instruction ? line_of(program, *instruction) : undefined_word(program, pc));
    pc += uint32_t(lines.back().bytes.size());
  }
  return lines;
}

std::string words_of(std::span<const uint8_t> bytes) {
  std::string text;
  for (std::size_t i = 0; i + 4 <= bytes.size(); i += 4)
    fmt::format_to(std::back_inserter(text), "{}{:02X}{:02X}{:02X}{:02X}", i ? " " : "", bytes[i + 3],
                   bytes[i + 2], bytes[i + 1], bytes[i]);
  return text;
}

/// Writes text; knows whether to colour it.
class Printer {
 public:
  Printer(std::string& text, bool with_colour, bool only_text)
      : out(text), colour(with_colour), raw(only_text) {}

  void file(const std::string& name, const ShaderBinary& binary) {
    if (raw) return;
    comment(fmt::format("{}: {}, {}", printable(name), binary.format, printable(binary.target)));
  }

  void program(const Program& program, std::span<const Line> lines) {
    if (!raw) header(program);
    std::vector<int64_t> targets;
    for (const Line& line : lines)
      if (line.branch_target) targets.push_back(*line.branch_target);
    std::ranges::sort(targets);
    for (const Line& line : lines) {
      if (!raw && std::ranges::binary_search(targets, int64_t{line.pc})) label(line.pc);
      instruction(line);
    }
  }

 private:
  std::string& out;
  bool colour, raw;

  void paint(const char* with, std::string_view text) {
    if (colour) out += with;
    out += text;
    if (colour) out += plain;
  }

  void comment(std::string_view text) {
    paint(dim, fmt::format("// {}", text));
    out += '\n';
  }

  void header(const Program& program) {
    out += '\n';
    paint(bold, fmt::format("// {} {}", program.kernel ? "kernel" : "function", printable(program.name)));
    out += '\n';
    std::string facts =
        fmt::format("wave{}, {} bytes at {:#x}", int(program.wave), program.code.size(), program.address);
    if (program.kernel) {
      const auto& d = program.kernel->descriptor;
      facts +=
          fmt::format(", {} VGPRs, {} bytes LDS, {} bytes scratch a lane, {} bytes of arguments",
                      d.vgpr_count, d.group_segment_fixed_size, d.private_segment_fixed_size, d.kernarg_size);
    }
    comment(facts);
  }

  void label(uint32_t pc) {
    paint(yellow, fmt::format("// L{:04x}:", pc));
    out += '\n';
  }

  void instruction(const Line& line) {
    out += raw ? "" : "  ";
    const auto mnemonic = line.text.find(' ');
    paint(cyan, std::string_view(line.text).substr(0, mnemonic));
    if (mnemonic != std::string::npos) out += line.text.substr(mnemonic);
    if (!raw) {
      out.append(line.text.size() < 58 ? 58 - line.text.size() : 1, ' ');
      std::string note = fmt::format("// {:04x}: {}", line.pc, words_of(line.bytes));
      if (line.branch_target) note += target_text(*line.branch_target);
      if (!line.note.empty()) note.append("  ").append(line.note);
      paint(dim, note);
    }
    out += '\n';
  }

  static std::string target_text(int64_t target) {
    return target < 0 ? fmt::format(" -> L-{:04x}", -target) : fmt::format(" -> L{:04x}", target);
  }
};

nlohmann::json json_of(const Program& program, std::span<const Line> lines) {
  auto instructions = nlohmann::json::array();
  for (const Line& line : lines) {
    nlohmann::json row = {{"pc", line.pc}, {"words", words_of(line.bytes)}, {"text", line.text}};
    if (line.branch_target) row["target"] = *line.branch_target;
    if (!line.note.empty()) row["note"] = line.note;
    instructions.push_back(std::move(row));
  }
  return {{"name", program.name},       {"kind", program.kernel ? "kernel" : "function"},
          {"address", program.address}, {"bytes", program.code.size()},
          {"wave", int(program.wave)},  {"instructions", std::move(instructions)}};
}

Expected<std::vector<Program>> pick_programs(const ShaderBinary& binary, std::span<const std::string> names) {
  if (names.empty()) return all_programs(binary);
  auto kernels = pick_kernels(binary, names);
  if (!kernels) return std::unexpected(kernels.error());
  std::vector<Program> programs;
  for (const Kernel* kernel : *kernels) programs.push_back(program_of(binary, *kernel));
  return programs;
}

Expected<std::string> text_of(const DisOptions& options, bool colour) {
  auto binary = load_input(options.input);
  if (!binary) return std::unexpected(binary.error());
  auto programs = pick_programs(*binary, options.kernels);
  if (!programs) return std::unexpected(programs.error());
  std::string text;
  auto json = nlohmann::json::array();
  Printer printer(text, colour, options.raw);
  if (!options.json) printer.file(options.input.file, *binary);
  for (const Program& program : *programs) {
    auto lines = disassemble_program(program, options.keep_going);
    if (!lines) return std::unexpected(lines.error());
    if (options.json)
      json.push_back(json_of(program, *lines));
    else
      printer.program(program, *lines);
  }
  if (options.json) {
    const nlohmann::json root = {
        {"format", binary->format}, {"target", binary->target}, {"programs", std::move(json)}};
    text = root.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  }
  return text;
}

int run(const DisOptions& options) {
  auto text = text_of(options, !options.json && use_colour(stdout));
  if (!text) return report(text.error());
  if (auto written = write_output("-", *text); !written) return report(written.error());
  return exit_done;
}

} // namespace

void add_dis(Command& root, int& status) {
  auto options = std::make_shared<DisOptions>();
  Command command = root.add("dis", "Print machine code as text that llvm-mc assembles to the same bytes");
  add_input(command, options->input);
  command.list("--kernel", options->kernels, "print only this kernel; may be repeated");
  const Option raw =
      command.flag("--raw", options->raw, "instructions only: no names, labels, words or other comments");
  command.flag("--json", options->json, "print JSON").excludes(raw);
  command.flag("--keep-going", options->keep_going, "print words that are no instruction as .long");
  command.run(status, [options] { return run(*options); });
}

} // namespace lanewise::cli
