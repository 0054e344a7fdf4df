// lanewise compile: kernels to SPIR-V.
#include <filesystem>
#include <iostream>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/launch_options.hpp"
#include "cli/pass_options.hpp"
#include "rdna2/decoder.hpp"
#include "rdna2/disassembler.hpp"
#include "runtime/compile.hpp"
#include "runtime/vulkan_device.hpp"

namespace lanewise::cli {

namespace {

struct CompileCommand {
  InputOptions input;
  std::vector<std::string> kernels;
  PassOptions passes;
  std::string to = "spirv", output, wave = "auto", block, device;
  unsigned subgroup = 32;
  uint32_t dynamic_lds = 0;
  bool all = false, stats = false, json = false, validate = false, verify = false, full = false,
       debug_names = false, explain = false, reconverges = false, unaligned = false;
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
  r["workgroup"] = c.seating.workgroup;
  r["local_size"] = c.module.host_workgroup;
  r["guest_bytes"] = c.guest_bytes;
  r["guest_instructions"] = c.guest_instructions;
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
  const auto& selects = c.passes.exec_select;
  r["selects"] = {{"found", selects.selects}, {"dropped", selects.dropped}, {"masks_dropped", selects.masks}};
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
  if (command.to != "spirv") return fail(ErrorKind::call, fmt::format("--to '{}' is not spirv", command.to));
  runtime::CompileOptions options;
  auto seating = parse_seating(command.wave);
  if (!seating) return std::unexpected(seating.error());
  options.seating = *seating;
  options.host.subgroup_size = command.subgroup;
  options.host.subgroup_operations = command.subgroup > 1;
  if (!command.device.empty()) {
    auto device = runtime::VulkanDevice::open({command.device});
    if (!device) return std::unexpected(device.error());
    options.host = runtime::host_traits(**device);
  }
  if (!command.block.empty()) {
    auto block = parse_extent(command.block, "--block");
    if (!block) return std::unexpected(block.error());
    options.block = block->size;
  }
  options.dynamic_lds_bytes = command.dynamic_lds;
  if (command.full) options.partial_workgroups = {};
  options.validate = command.validate;
  options.without = command.passes.without;
  options.calls = command.passes.calls.value();
  options.verify = command.verify;
  options.debug_names = command.debug_names;
  options.explain = command.explain;
  options.host.device.unaligned_global |= command.unaligned;
  if (command.reconverges) options.host.device.reconverges = options.host.device.uniform_control_flow = true;
  return options;
}

/// The guest instruction at each pc.
std::unordered_map<uint32_t, std::string> listing_of(const container::ShaderBinary& binary,
                                                     const container::Kernel& kernel) {
  const auto wave = kernel.descriptor.wave32 ? rdna2::WaveSize::wave32 : rdna2::WaveSize::wave64;
  std::vector<rdna2::Instruction> instructions;
  rdna2::decode_append(binary.code_of(kernel), wave, instructions);
  std::unordered_map<uint32_t, std::string> listing;
  for (const rdna2::Instruction& i : instructions)
    listing.emplace(static_cast<uint32_t>(kernel.entry) + i.pc, rdna2::disassemble(i, wave));
  return listing;
}

/// Why lanes outside a mask can be seen by this use.
std::string_view reason(ir::Op op) {
  switch (ir::info(op).kind) {
  case ir::OpKind::phi: return "the value goes on to another block, where lanes outside the mask are read";
  case ir::OpKind::load:
  case ir::OpKind::store:
  case ir::OpKind::atomic: return "the access is made in lanes outside the mask";
  case ir::OpKind::gather: return "other lanes read it";
  case ir::OpKind::reduce: return "the whole wave reads it";
  case ir::OpKind::end: return "the branch depends on all lanes";
  default: return "its result is read in lanes outside the mask";
  }
}

/// One line for each select that stays.
std::string explanation(const container::ShaderBinary& binary, const container::Kernel& kernel,
                        const passes::ExecSelectResult& selects) {
  const auto listing = listing_of(binary, kernel);
  const auto instruction = [&](uint32_t pc) {
    const auto it = listing.find(pc);
    return it == listing.end() ? fmt::format("pc {:#x}", pc) : fmt::format("pc {:#x} {}", pc, it->second);
  };
  std::string text = fmt::format("{}: {} selects, {} dropped, {} stay\n", printable(kernel.name),
                                 selects.selects, selects.dropped, selects.kept.size());
  for (const auto& k : selects.kept)
    text += fmt::format("  {}\n    read by {} at {}: {}\n", instruction(k.pc), ir::info(k.observer_op).name,
                        instruction(k.observer_pc), reason(k.observer_op));
  return text;
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
  for (const container::Kernel* kernel : kernels) {
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
    if (command.explain) say << explanation(*binary, *kernel, compiled->passes.exec_select);
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
  command.text("--to", options->to, "target").show_default();
  command.text("-o,--output", options->output, "file to write, - for standard output");
  command.text("--wave", options->wave, "seating of waves: auto, native or folded").show_default();
  command
      .number("--subgroup", options->subgroup,
              "invocations of a subgroup on the device; 1 suits every device")
      .range(1, 128)
      .show_default();
  command.text("--device", options->device,
               "compile for this Vulkan device: its number or a part of its name");
  command.text("--block", options->block,
               "work-items of a workgroup, X[,Y[,Z]]; default: what the kernel requires, else 64");
  command.number("--dynamic-lds", options->dynamic_lds, "bytes of LDS behind the static ones")
      .range(0, 65536);
  command.flag("--full", options->full, "promise that every grid is a multiple of the block");
  add_pass_options(command, options->passes);
  command.flag("--validate", options->validate, "run the SPIR-V validator on the result");
  command.flag("--verify", options->verify, "run the IR verifier after every pass");
  command.flag("--debug-names", options->debug_names, "keep names in the module");
  command.flag("--stats", options->stats, "print sizes and times");
  command.flag(
      "--reconverges", options->reconverges,
      "the device has VK_KHR_shader_subgroup_uniform_control_flow: lanes may take branches of their own");
  command.flag("--unaligned", options->unaligned,
               "the device accesses global memory at any byte, as AMD's and those that run on a CPU do");
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
