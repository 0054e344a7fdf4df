// lanewise replay: a capsule brought to life again, as far as asked. lanewise reduce: a smaller one that
// still fails.
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/input.hpp"
#include "ir/printer.hpp"
#include "passes/pipeline.hpp"
#include "rdna2/decoder.hpp"
#include "rdna2/disassembler.hpp"
#include "report/measure.hpp"
#include "runtime/reduce.hpp"
#include "runtime/replay.hpp"

namespace lanewise::cli {

namespace {

struct ReplayCommand {
  std::string file;
  bool dis = false, cfg = false, ir = false, check = false, stats = false;
};

Expected<runtime::Capsule> load(const std::string& file) {
  auto bytes = read_input(file);
  if (!bytes) return std::unexpected(bytes.error());
  auto capsule = runtime::deserialize_capsule(*bytes);
  if (!capsule && capsule.error().where.empty()) capsule.error().where = file;
  return capsule;
}

void print_code(std::string_view title, std::span<const uint8_t> code, uint64_t address,
                rdna2::WaveSize wave) {
  std::cout << title << ":\n";
  for (size_t at = 0; at + 4 <= code.size();) {
    const auto i = rdna2::decode(code, static_cast<uint32_t>(at), wave);
    if (!i) {
      std::cout << fmt::format("  {:#x}: .long ...\n", address + at);
      at += 4;
      continue;
    }
    std::cout << fmt::format("  {:#x}: {}\n", address + at, rdna2::disassemble(*i, wave));
    at += i->size;
  }
}

void disassemble(const runtime::Capsule& c, const runtime::Targets* targets) {
  const auto wave = c.kernel().descriptor.wave32 ? rdna2::WaveSize::wave32 : rdna2::WaveSize::wave64;
  print_code("kernel " + printable(c.kernel().name), c.binary.code_of(c.kernel()), c.kernel().entry, wave);
  if (!targets) return;
  for (size_t s = 0; s < targets->slots.size(); ++s)
    for (const auto& t : targets->slots[s])
      if (t.callee)
        for (const auto& p : t.callee->code)
          print_code(fmt::format("callee of call {} at {:#x}", s, t.address), p.bytes,
                     t.address + static_cast<uint64_t>(p.offset), wave);
}

void print_blocks(const ir::Function& f) {
  for (size_t b = 0; b < f.blocks.size(); ++b) {
    std::cout << fmt::format("b{} pc {:#x}, {} instructions ->", b, f.blocks[b].pc,
                             f.blocks[b].instructions.size());
    for (unsigned s = 0; s < f.blocks[b].successor_count; ++s)
      std::cout << fmt::format(" b{}", f.blocks[b].successors[s].index);
    std::cout << '\n';
  }
}

Expected<int> replay(const ReplayCommand& command) {
  auto capsule = load(command.file);
  if (!capsule) return std::unexpected(capsule.error());
  const runtime::Capsule& c = *capsule;
  std::cout << fmt::format("capsule of lanewise {}\nkernel {}, {}, {} regions of memory\n",
                           printable(c.producer), printable(c.kernel().name),
                           c.has_dispatch()
                               ? fmt::format("grid {}x{}x{}, block {}x{}x{}", c.grid[0], c.grid[1], c.grid[2],
                                             c.block[0], c.block[1], c.block[2])
                               : std::string("registration only"),
                           c.memory.size());
  if (!c.note.empty()) std::cout << "note: " << printable(c.note) << '\n';
  auto program = runtime::replay(c);
  if (!program) {
    if (command.dis) disassemble(c, nullptr);
    return std::unexpected(program.error());
  }
  for (size_t s = 0; s < program->shader->program.slots.size(); ++s)
    std::cout << fmt::format(
        "call {} at pc {:#x}: {}, {} targets\n", s, program->shader->program.slots[s].pc,
        program->shader->program.origins.text(program->shader->program.slots[s].target[0]),
        program->shader->targets[s]);
  if (command.dis) disassemble(c, &program->targets);
  if (program->linked.blocks.empty()) return exit_done; // a registration whose callees are not known
  if (command.cfg) print_blocks(program->linked);
  if (command.ir) {
    ir::Function f = program->linked;
    if (auto ok = passes::run(f); !ok) return std::unexpected(ok.error());
    std::cout << ir::print(f);
  }
  runtime::CompileOptions options = c.compile_options();
  options.validate = true;
  report::ShaderRecord record{.name = printable(c.kernel().name),
                              .application = {},
                              .stage = "compute",
                              .target = "spirv",
                              .metrics = {}};
  options.explain = command.stats;
  if (command.stats) options.look = report::looking_at(record, c.binary, c.kernel());
  auto compiled = runtime::compile_program({program->linked, {}}, c.kernel(), options);
  if (!compiled && !command.check) return std::unexpected(compiled.error());
  if (command.stats && compiled) {
    report::add_compiled(record, *compiled);
    std::cout << report::to_text(record);
  }
  if (!command.check) return exit_done;
  auto steps = runtime::replay_check(c);
  if (!steps) return std::unexpected(steps.error());
  bool failed = !compiled;
  for (const auto& s : *steps) {
    failed |= s.failed;
    std::cout << fmt::format("  {:<9} {}{}{}\n", s.failed ? "DIFFERENT" : "equal", s.name,
                             s.text.empty() ? "" : ": ", s.text);
  }
  return failed ? exit_check_failed : exit_done;
}

struct ReduceCommand {
  std::string file, fails, output = "reduced.capsule";
};

/// The command says that a capsule fails by exit status 0, as with other reducers.
bool command_succeeds(const std::string& command, const std::string& file, const runtime::Capsule& capsule) {
  const auto bytes = runtime::serialize(capsule);
  if (!write_output(file, {reinterpret_cast<const char*>(bytes.data()), bytes.size()})) return false;
  return std::system(command.c_str()) == 0;
}

Expected<int> reduce(const ReduceCommand& options) {
  auto capsule = load(options.file);
  if (!capsule) return std::unexpected(capsule.error());
  if (options.fails.find("{}") == std::string::npos)
    return fail(ErrorKind::call, "--fails names no file: {} stands for the capsule");
  const std::string file =
      (std::filesystem::temp_directory_path() / fmt::format("lanewise-reduce-{}.capsule", getpid())).string();
  std::string command = options.fails;
  for (size_t at = 0; (at = command.find("{}", at)) != std::string::npos; at += file.size())
    command.replace(at, 2, file);
  auto report = runtime::reduce(
      *capsule, [&](const runtime::Capsule& c) { return command_succeeds(command, file, c); });
  std::error_code ignored;
  std::filesystem::remove(file, ignored);
  if (!report) return std::unexpected(report.error());
  const auto bytes = runtime::serialize(*capsule);
  if (auto ok = write_output(options.output, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
      !ok)
    return std::unexpected(ok.error());
  std::cerr << fmt::format("{} of {} attempts kept, {} instructions left of {}\n", report->kept,
                           report->tried, report->instructions_after, report->instructions_before);
  return exit_done;
}

} // namespace

void add_replay(Command& root, int& status) {
  auto options = std::make_shared<ReplayCommand>();
  Command command = root.add("replay", "Prepare, link and compile what a capsule holds");
  command.text("FILE", options->file, "capsule").required();
  command.flag("--dis", options->dis, "print the kernel's and its callees' instructions");
  command.flag("--cfg", options->cfg, "print the blocks of the linked program");
  command.flag("--ir", options->ir, "print the IR after the passes");
  command.flag("--check", options->check,
               "run it on emulator and interpreter and compare; exit status 3 if they differ");
  command.flag("--stats", options->stats, "print what the linked program costs, as `lanewise stats` does");
  command.run(status, [options] {
    auto done = replay(*options);
    return done ? *done : report(done.error());
  });
}

void add_reduce(Command& root, int& status) {
  auto options = std::make_shared<ReduceCommand>();
  Command command = root.add("reduce", "Make a failing capsule smaller");
  command.text("FILE", options->file, "capsule").required();
  command.text("--fails", options->fails, "command that exits with 0 while the capsule {} shows the failure")
      .required();
  command.text("-o,--output", options->output, "where the smaller capsule goes").show_default();
  command.run(status, [options] {
    auto done = reduce(*options);
    return done ? *done : report(done.error());
  });
}

} // namespace lanewise::cli
