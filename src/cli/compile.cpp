// lanewise compile: kernels to SPIR-V.
#include <filesystem>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/input.hpp"
#include "cli/target_options.hpp"
#include "passes/kept_reason.hpp"
#include "rdna2/disassembler.hpp"
#include "report/guest_code.hpp"
#include "runtime/compile.hpp"

namespace lanewise::cli {

namespace {

struct CompileCommand {
  InputOptions input;
  std::vector<std::string> kernels;
  TargetOptions target;
  std::string output;
  bool all = false, stats = false, json = false, validate = false, verify = false, debug_names = false,
       explain = false;
};

using Record = nlohmann::ordered_json;

Record record_of(const container::Kernel& kernel, const Expected<runtime::CompiledKernel>& compiled) {
  Record r{{"kernel", kernel.name}, {"status", "ok"}};
  if (!compiled) {
    static constexpr const char* kinds[]{"input", "call", "unsupported", "limit", "check", "system"};
    r["status"] = kinds[static_cast<size_t>(compiled.error().kind)];
    r["reason"] = compiled.error().what;
    r["where"] = compiled.error().where;
    return r;
  }
  const auto& c = *compiled;
  r["wave_size"] = c.seating.wave_size;
  r["host_lanes"] = c.seating.host_lanes;
  r["independent"] = c.seating.independent;
  r["workgroup"] = c.seating.workgroup;
  r["local_size"] = c.module.host_workgroup;
  r["guest_bytes"] = c.guest_bytes;
  r["guest_instructions"] = c.guest_instructions;
  r["reached_instructions"] = c.reached_instructions;
  r["values_translated"] = c.translated_values;
  r["values_optimised"] = c.optimised_values;
  r["values_lowered"] = c.lowered_values;
  r["spirv_words"] = c.module.words.size();
  r["functions"] = c.module.functions;
  r["lds_bytes"] = c.module.lds_bytes;
  r["us"] = {{"translate", c.times.translate_us}, {"passes", c.times.passes_us},
             {"lower", c.times.lower_us},         {"emit", c.times.emit_us},
             {"validate", c.times.validate_us},   {"total", c.times.total_us()}};
  for (const auto& p : c.passes.passes) {
    Record& us = r["pass_us"][std::string(p.pass)];
    us = p.microseconds + (us.is_null() ? 0.0 : us.get<double>());
  }
  unsigned found = 0, dropped = 0, masks = 0;
  const auto add = [&](const passes::ExecSelectResult& selects) {
    found += selects.selects, dropped += selects.dropped, masks += selects.masks;
  };
  add(c.passes.exec_select);
  for (const passes::PipelineReport& callee : c.callee_passes) add(callee.exec_select);
  r["selects"] = {{"found", found}, {"dropped", dropped}, {"masks_dropped", masks}};
  return r;
}

std::string text_of(const Record& r) {
  const std::string name = printable(r["kernel"].get<std::string>());
  if (r["status"] != "ok")
    return fmt::format("{}: {}: {}{}", name, r["status"].get<std::string>(),
                       r["where"].get<std::string>().empty() ? "" : r["where"].get<std::string>() + ": ",
                       r["reason"].get<std::string>());
  return fmt::format("{}: wave{} on {} lanes, {} instructions, {} -> {} -> {} values, {} words, {:.1f} us",
                     name, r["wave_size"].get<unsigned>(), r["host_lanes"].get<unsigned>(),
                     r["guest_instructions"].get<unsigned>(), r["values_translated"].get<unsigned>(),
                     r["values_optimised"].get<unsigned>(), r["values_lowered"].get<unsigned>(),
                     r["spirv_words"].get<unsigned>(), r["us"]["total"].get<double>());
}

Expected<runtime::CompileOptions> parse_options(const CompileCommand& command) {
  auto options = compile_options(command.target);
  if (!options) return options;
  options->validate = command.validate;
  options->verify = command.verify;
  options->debug_names = command.debug_names;
  options->explain = command.explain;
  return options;
}

/// One line for each select that stays.
std::string explanation(const report::GuestCode& code, const container::Kernel& kernel,
                        const runtime::CompiledKernel& compiled) {
  const auto instruction = [&](uint32_t pc) {
    const auto it = code.index_of.find(pc);
    return it == code.index_of.end()
               ? fmt::format("pc {:#x}", pc)
               : fmt::format("pc {:#x} {}", pc, rdna2::disassemble(code.instructions[it->second], code.wave));
  };
  unsigned found = 0, dropped = 0;
  size_t stay = 0;
  std::string lines;
  const auto add = [&](const passes::ExecSelectResult& selects) {
    found += selects.selects;
    dropped += selects.dropped;
    stay += selects.kept.size();
    for (const auto& k : selects.kept)
      lines +=
          fmt::format("  {}\n    read by {} at {}: {}\n", instruction(k.pc), ir::info(k.observer_op).name,
                      instruction(k.observer_pc), sentence(passes::kept_reason(k.observer_op)));
  };
  add(compiled.passes.exec_select);
  for (const passes::PipelineReport& callee : compiled.callee_passes) add(callee.exec_select);
  return fmt::format("{}: {} selects, {} dropped, {} stay\n{}", printable(kernel.name), found, dropped, stay,
                     lines);
}

std::string_view bytes_of(const runtime::CompiledKernel& compiled) {
  return {reinterpret_cast<const char*>(compiled.module.words.data()), compiled.module.words.size() * 4};
}

/// A file name that no kernel name can lead out of the folder with.
std::string file_name(std::string_view kernel) {
  std::string name(kernel);
  for (char& c : name)
    if (c == '/' || c == '\0') c = '_';
  return name + ".spv";
}

Expected<void> compile(const CompileCommand& command) {
  auto options = parse_options(command);
  if (!options) return std::unexpected(options.error());
  if (command.output.empty() && !command.stats && !command.all && !command.explain)
    return fail(ErrorKind::call, "-o is missing", {},
                "-o - writes to standard output, --stats only measures");
  auto binary = load_input(command.input);
  if (!binary) return std::unexpected(binary.error());

  std::vector<const container::Kernel*> kernels;
  if (command.all || command.kernels.size() > 1) {
    auto picked = pick_kernels(*binary, command.kernels);
    if (!picked) return std::unexpected(picked.error());
    kernels = std::move(*picked);
  } else {
    auto picked = pick_kernel(*binary, command.kernels.empty() ? "" : command.kernels.front());
    if (!picked) return std::unexpected(picked.error());
    kernels.push_back(*picked);
  }
  const bool folder = command.all || kernels.size() > 1;
  if (folder && !command.output.empty()) {
    std::error_code code;
    std::filesystem::create_directories(command.output, code);
    if (code) return fail(ErrorKind::system, "cannot make the folder: " + code.message(), command.output);
  }
  std::ostream& say = command.output == "-" ? std::cerr : std::cout;
  std::optional<Error> first;
  report::GuestCode code;
  for (const container::Kernel* kernel : kernels) {
    if (command.explain)
      options->look = [&, kernel](runtime::Stage stage, const ir::Program& program) {
        if (stage == runtime::Stage::translated) code = report::guest_code(*binary, *kernel, program);
      };
    auto compiled = runtime::compile(*binary, *kernel, *options);
    if (!compiled && !command.all) return std::unexpected(compiled.error());
    const Record record = record_of(*kernel, compiled);
    if (command.json)
      say << record.dump() << '\n';
    else if (command.stats || command.all)
      say << text_of(record) << '\n';
    if (!compiled) {
      if (!first) first = compiled.error();
      continue;
    }
    if (command.explain) say << explanation(code, *kernel, *compiled);
    if (command.output.empty()) continue;
    const std::string path =
        folder ? (std::filesystem::path(command.output) / file_name(kernel->name)).string() : command.output;
    if (auto ok = write_output(path, bytes_of(*compiled)); !ok) return ok;
  }
  if (first) return std::unexpected(*first);
  return {};
}

} // namespace

void add_compile(Command& root, int& status) {
  auto options = std::make_shared<CompileCommand>();
  Command command = root.add("compile", "Recompile kernels to SPIR-V");
  add_input(command, options->input);
  command.list("--kernel", options->kernels, "kernel to compile; may be left out if the file has only one");
  command.flag("--all", options->all, "every kernel of the file; goes on after errors, -o is a folder");
  command.text("-o,--output", options->output, "file to write, - for standard output");
  add_target_options(command, options->target);
  command.flag("--validate", options->validate, "run the SPIR-V validator on the result");
  command.flag("--verify", options->verify, "run the IR verifier after every pass");
  command.flag("--debug-names", options->debug_names, "keep names in the module");
  command.flag("--stats", options->stats, "print sizes and times");
  command.flag("--explain", options->explain,
               "list every select on a mask that stays, and who reads the old value");
  command.flag("--json", options->json, "print one JSON object for each kernel");
  command.run(status, [options] {
    auto ok = compile(*options);
    if (ok) return exit_done;
    return options->all && options->json ? exit_status(ok.error().kind) : report(ok.error());
  });
}

} // namespace lanewise::cli
