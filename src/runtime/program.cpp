// The public API on top of the rooms.
#include "container/load.hpp"
#include "container/raw.hpp"
#include "lanewise/lanewise.hpp"
#include "rdna2/decoder.hpp"
#include "rdna2/disassembler.hpp"
#include "runtime/compile.hpp"
#include "runtime/program_contents.hpp"

#include <fmt/format.h>

namespace lanewise {

namespace {

Expected<const container::Kernel*> find(const container::ShaderBinary& binary, std::string_view name) {
  if (const container::Kernel* kernel = binary.find_kernel(name)) return kernel;
  std::string names;
  for (const auto& k : binary.kernels) names += fmt::format("{}{}", names.empty() ? "" : ", ", k.name);
  return fail(ErrorKind::call, fmt::format("there is no kernel '{}'", name), {},
              fmt::format("kernels are {}", names));
}

KernelInfo describe(const container::Kernel& k) {
  KernelInfo info;
  info.name = k.name;
  info.wave_size = k.descriptor.wave32 ? 32 : 64;
  info.argument_bytes = k.descriptor.kernarg_size;
  info.lds_bytes = k.descriptor.group_segment_fixed_size;
  info.scratch_bytes = k.descriptor.private_segment_fixed_size;
  info.required_workgroup = k.required_workgroup_size;
  info.max_workgroup = k.max_flat_workgroup_size;
  for (const auto& a : k.arguments)
    info.arguments.push_back({a.name, a.type_name, a.value_kind, a.offset, a.size});
  return info;
}

} // namespace

Expected<Program> Program::load(std::span<const uint8_t> bytes, std::string_view target) {
  auto binary = container::load(bytes, {.target = std::string(target)});
  if (!binary) return std::unexpected(binary.error());
  return Program(std::make_shared<const Contents>(std::move(*binary)));
}

Expected<Program> Program::load_file(const std::string& path, std::string_view target) {
  auto binary = container::load_file(path, {.target = std::string(target)});
  if (!binary) return std::unexpected(binary.error());
  return Program(std::make_shared<const Contents>(std::move(*binary)));
}

Expected<Program> Program::load_raw(std::string_view description, std::span<const uint8_t> code) {
  auto binary = container::load_raw_code(
      {reinterpret_cast<const uint8_t*>(description.data()), description.size()}, code);
  if (!binary) return std::unexpected(binary.error());
  return Program(std::make_shared<const Contents>(std::move(*binary)));
}

std::vector<KernelInfo> Program::kernels() const {
  std::vector<KernelInfo> list;
  for (const auto& k : contents_->binary.kernels) list.push_back(describe(k));
  return list;
}

Expected<std::string> Program::disassemble(std::string_view name) const {
  auto kernel = find(contents_->binary, name);
  if (!kernel) return std::unexpected(kernel.error());
  const auto wave = (*kernel)->descriptor.wave32 ? rdna2::WaveSize::wave32 : rdna2::WaveSize::wave64;
  auto instructions = rdna2::decode_program(contents_->binary.code_of(**kernel), wave);
  if (!instructions) return std::unexpected(instructions.error());
  std::string text;
  for (const auto& i : *instructions) {
    text += rdna2::assembles_back(i) ? rdna2::disassemble(i, wave) : rdna2::words_as_data(i);
    text += '\n';
  }
  return text;
}

Expected<SpirvModule> Program::compile(std::string_view name, const SpirvOptions& options) const {
  auto kernel = find(contents_->binary, name);
  if (!kernel) return std::unexpected(kernel.error());
  runtime::CompileOptions o;
  o.block = options.workgroup;
  o.seating = options.seating;
  o.host.subgroup_size = options.subgroup_size;
  o.host.subgroup_operations = options.subgroup_size > 1;
  o.dynamic_lds_bytes = options.dynamic_lds_bytes;
  if (options.full_workgroups) o.partial_workgroups = {};
  o.validate = options.validate;
  auto compiled = runtime::compile(contents_->binary, **kernel, o);
  if (!compiled) return std::unexpected(compiled.error());
  auto& module = compiled->module;
  return SpirvModule{std::move(module.words), module.host_workgroup, module.subgroup_size,
                     module.lds_bytes,        module.cut.wave_items, module.cut.wave_invocations};
}

std::string_view version() { return "0.1.0"; }

} // namespace lanewise
