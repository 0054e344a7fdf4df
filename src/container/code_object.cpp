#include "container/code_object.hpp"

#include "container/bytes.hpp"
#include "container/elf.hpp"
#include "container/kernel_descriptor.hpp"
#include "container/metadata.hpp"
#include "container/relocation.hpp"
#include "support/limits.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <unordered_map>

namespace lanewise::container {
namespace {

struct Processor {
  uint8_t mach; ///< EF_AMDGPU_MACH
  std::string_view name;
  bool rdna2 = false;
};

/// The processors that people are likely to have; others are named by number.
constexpr Processor processors[] = {
    {0x2c, "gfx900"},        {0x2f, "gfx906"},        {0x30, "gfx908"},        {0x3f, "gfx90a"},
    {0x40, "gfx940"},        {0x4c, "gfx942"},        {0x33, "gfx1010"},       {0x34, "gfx1011"},
    {0x35, "gfx1012"},       {0x42, "gfx1013"},       {0x36, "gfx1030", true}, {0x37, "gfx1031", true},
    {0x38, "gfx1032", true}, {0x39, "gfx1033", true}, {0x3e, "gfx1034", true}, {0x3d, "gfx1035", true},
    {0x45, "gfx1036", true}, {0x41, "gfx1100"},       {0x46, "gfx1101"},       {0x47, "gfx1102"},
    {0x44, "gfx1103"},       {0x43, "gfx1150"},       {0x4a, "gfx1151"},       {0x48, "gfx1200"},
    {0x4e, "gfx1201"},
};

constexpr int first_version = 3, last_version = 5;

Expected<std::string_view> processor_name(uint32_t flags) {
  const auto mach = uint8_t(flags & 0xff);
  const auto found = std::ranges::find(processors, mach, &Processor::mach);
  if (found != std::end(processors) && found->rdna2) return found->name;
  const std::string name =
      found == std::end(processors) ? fmt::format("processor {:#x}", mach) : std::string(found->name);
  return fail(ErrorKind::unsupported,
              fmt::format("code object is for {}, not for RDNA2 (gfx1030 to gfx1036)", name), "offset 0x30",
              "compile for -mcpu=gfx1030");
}

std::string in_kernel(std::string_view name) { return fmt::format("kernel {}", name); }

void apply_metadata(KernelMetadata& metadata, Kernel& kernel) {
  kernel.has_metadata = true;
  if (!metadata.name.empty()) kernel.name = std::move(metadata.name);
  kernel.arguments = std::move(metadata.arguments);
  kernel.required_workgroup_size = metadata.required_workgroup_size;
  kernel.max_flat_workgroup_size = metadata.max_flat_workgroup_size.value_or(kernel.max_flat_workgroup_size);
  kernel.kernarg_align = metadata.kernarg_align.value_or(kernel.kernarg_align);
  kernel.uniform_workgroup_size = metadata.uniform_workgroup_size;
  // Compilers before 2020 left the descriptor's field 0.
  if (kernel.descriptor.kernarg_size == 0) kernel.descriptor.kernarg_size = metadata.kernarg_size.value_or(0);
}

/// What metadata and descriptor must agree on for either to be believed.
Expected<void> check_agreement(const KernelMetadata& metadata, const Kernel& kernel) {
  const uint32_t wave = kernel.descriptor.wave32 ? 32 : 64;
  if (metadata.wavefront_size.value_or(wave) != wave)
    return fail(
        ErrorKind::input,
        fmt::format("metadata says wave size {}, the kernel descriptor {}", *metadata.wavefront_size, wave),
        in_kernel(kernel.name));
  for (const KernelArgument& argument : kernel.arguments)
    if (uint64_t{argument.offset} + argument.size > kernel.descriptor.kernarg_size)
      return fail(ErrorKind::input,
                  fmt::format("argument at {} of {} bytes leaves the kernarg segment of {} bytes",
                              argument.offset, argument.size, kernel.descriptor.kernarg_size),
                  in_kernel(kernel.name));
  return {};
}

class CodeObject {
 public:
  CodeObject(ElfImage image, CodeObjectMetadata notes) : elf(std::move(image)), metadata(std::move(notes)) {
    for (const Symbol& symbol : elf.symbols)
      if (symbol.kind == Symbol::Kind::function) {
        functions_at.emplace(symbol.address, &symbol);
        functions_named.emplace(symbol.name, &symbol);
      }
    for (KernelMetadata& kernel : metadata.kernels) described.emplace(kernel.symbol, &kernel);
  }

  Expected<ShaderBinary> build(int version, std::string_view processor) {
    auto pointers = apply_relocations(elf);
    if (!pointers) return std::unexpected(pointers.error());
    out.pointers = std::move(*pointers);
    out.segments = std::move(elf.segments);
    for (const Symbol& symbol : elf.symbols) {
      if (symbol.kind != Symbol::Kind::kernel_descriptor) continue;
      if (out.kernels.size() == limits::max_kernels)
        return fail(ErrorKind::limit, fmt::format("more than {} kernels (max_kernels)", limits::max_kernels));
      auto kernel = build_kernel(symbol);
      if (!kernel) return std::unexpected(kernel.error());
      out.kernels.push_back(std::move(*kernel));
    }
    std::ranges::stable_sort(out.kernels, {}, &Kernel::entry);
    out.format = fmt::format("hsa-code-object-v{}", version);
    out.target = metadata.target.empty() ? fmt::format("amdgcn-amd-amdhsa--{}", processor) : metadata.target;
    out.symbols = std::move(elf.symbols);
    out.printf_formats = std::move(metadata.printf_formats);
    return std::move(out);
  }

 private:
  ElfImage elf;
  CodeObjectMetadata metadata;
  std::unordered_map<uint64_t, const Symbol*> functions_at;
  std::unordered_map<std::string_view, const Symbol*> functions_named;
  std::unordered_map<std::string_view, KernelMetadata*> described; ///< by descriptor symbol
  ShaderBinary out;

  Expected<Kernel> build_kernel(const Symbol& symbol) {
    Kernel kernel{.name = symbol.name.substr(0, symbol.name.size() - 3)};
    auto descriptor = decode_kernel_descriptor(out.at(symbol.address));
    if (!descriptor) {
      descriptor.error().where = in_kernel(kernel.name);
      return std::unexpected(descriptor.error());
    }
    kernel.descriptor = *descriptor;
    kernel.entry = symbol.address + uint64_t(descriptor->code_entry_offset);
    if (auto done = find_code(kernel); !done) return std::unexpected(done.error());
    if (const auto found = described.find(symbol.name); found != described.end()) {
      // Two descriptors of one name would share the metadata; the first takes it.
      apply_metadata(*found->second, kernel);
      if (auto done = check_agreement(*found->second, kernel); !done) return std::unexpected(done.error());
      described.erase(found);
    }
    return kernel;
  }

  /// Checks the entry and takes the code's size from the function symbol there, best from that of its own
  /// name.
  Expected<void> find_code(Kernel& kernel) const {
    const Segment* segment = out.segment_at(kernel.entry);
    if (!segment || !segment->executable || kernel.entry % 4 != 0)
      return fail(ErrorKind::input,
                  fmt::format("entry address {:#x} is not in executable code", kernel.entry),
                  in_kernel(kernel.name));
    const auto named = functions_named.find(kernel.name);
    const auto there = functions_at.find(kernel.entry);
    if (named != functions_named.end() && named->second->address == kernel.entry)
      kernel.code_size = named->second->size;
    else if (there != functions_at.end())
      kernel.code_size = there->second->size;
    if (kernel.code_size > limits::max_program_bytes)
      return fail(ErrorKind::limit,
                  fmt::format("code is larger than {} bytes (max_program_bytes)", limits::max_program_bytes),
                  in_kernel(kernel.name));
    if (kernel.code_size > out.at(kernel.entry).size() || kernel.code_size % 4 != 0)
      return fail(
          ErrorKind::input,
          fmt::format("code of {} bytes leaves its segment or is no whole number of words", kernel.code_size),
          in_kernel(kernel.name));
    return {};
  }
};

} // namespace

bool is_rdna2(std::string_view processor) {
  const auto found = std::ranges::find(processors, processor, &Processor::name);
  return found != std::end(processors) && found->rdna2;
}

Expected<ShaderBinary> load_code_object(std::span<const uint8_t> file) {
  auto elf = read_elf(file);
  if (!elf) return std::unexpected(elf.error());
  const int version = elf->abi_version + 2;
  if (version < first_version || version > last_version)
    return fail(ErrorKind::unsupported,
                fmt::format("code object version {} (versions {} to {} are supported)", version,
                            first_version, last_version),
                "offset 0x8", "compile with -mcode-object-version=5");
  const auto processor = processor_name(elf->flags);
  if (!processor) return std::unexpected(processor.error());
  CodeObjectMetadata metadata;
  if (!elf->metadata.empty()) {
    auto parsed = parse_metadata(elf->metadata);
    if (!parsed) return std::unexpected(parsed.error());
    metadata = std::move(*parsed);
  }
  return CodeObject(std::move(*elf), std::move(metadata)).build(version, *processor);
}

} // namespace lanewise::container
