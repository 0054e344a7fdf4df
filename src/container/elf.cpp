#include "container/elf.hpp"

#include "container/bytes.hpp"
#include "support/limits.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <gelf.h>
#include <memory>
#include <optional>
#include <string_view>

namespace lanewise::container {
namespace {

constexpr uint16_t machine_amdgpu = 224;
constexpr uint32_t note_amdgpu_metadata = 32;

std::string at_offset(uint64_t offset) { return fmt::format("offset {:#x}", offset); }

std::unexpected<Error> malformed(std::string what, uint64_t offset) {
  return fail(ErrorKind::input, std::move(what), at_offset(offset));
}

struct EndElf {
  void operator()(Elf* elf) const { elf_end(elf); }
};

/// Reads one file; each step fills a part of the image and may fail.
class ElfReader {
 public:
  explicit ElfReader(Bytes input) : file(input) {}

  Expected<ElfImage> read() {
    using Step = Expected<void> (ElfReader::*)();
    for (Step step : {&ElfReader::open, &ElfReader::check_header, &ElfReader::read_segments,
                      &ElfReader::read_sections, &ElfReader::fill_segments})
      if (auto done = (this->*step)(); !done) return std::unexpected(done.error());
    return std::move(image);
  }

 private:
  Bytes file;
  std::unique_ptr<Elf, EndElf> elf;
  GElf_Ehdr header{};
  std::vector<GElf_Phdr> loaded; ///< PT_LOAD headers, sorted by address
  ElfImage image;
  std::size_t name_budget = 0;       ///< bytes of symbol names that may still be copied
  std::size_t relocation_budget = 0; ///< relocations that may still be read

  Expected<void> open() {
    // libelf takes a pointer to non-const but only reads an image that was given with elf_memory.
    elf_version(EV_CURRENT);
    if (file.size() < sizeof(Elf64_Ehdr)) return malformed("ELF header is truncated", file.size());
    if (file[EI_CLASS] != ELFCLASS64 || file[EI_DATA] != ELFDATA2LSB)
      return fail(ErrorKind::unsupported, "ELF file is not 64-bit little-endian", at_offset(EI_CLASS));
    elf.reset(elf_memory(const_cast<char*>(reinterpret_cast<const char*>(file.data())), file.size()));
    if (!elf || elf_kind(elf.get()) != ELF_K_ELF || !gelf_getehdr(elf.get(), &header))
      return malformed(fmt::format("ELF header is not valid ({})", elf_errmsg(-1)), 0);
    // Names may share storage (tail merging), so the same bytes can be copied a few times, but not without
    // end.
    name_budget = file.size() * 2 + 4096;
    relocation_budget = file.size() / sizeof(Elf64_Rela);
    return {};
  }

  Expected<void> check_header() {
    if (header.e_machine != machine_amdgpu)
      return fail(ErrorKind::unsupported, fmt::format("ELF machine {} is not AMDGPU", header.e_machine),
                  at_offset(18), "give the code object of the GPU, not the host program");
    if (auto done = check_abi(header.e_ident[EI_OSABI]); !done) return done;
    image.abi_version = header.e_ident[EI_ABIVERSION];
    image.flags = header.e_flags;
    if (header.e_type != ET_DYN)
      return fail(ErrorKind::unsupported, "ELF file is not a linked code object", at_offset(16),
                  "link it with `ld.lld -shared`");
    if (auto done = check_table("program header", header.e_phoff, header.e_phnum, header.e_phentsize,
                                sizeof(Elf64_Phdr));
        !done)
      return done;
    if (header.e_shnum == 0) return malformed("ELF file has no section headers", 60);
    return check_table("section header", header.e_shoff, header.e_shnum, header.e_shentsize,
                       sizeof(Elf64_Shdr));
  }

  static Expected<void> check_abi(uint8_t abi) {
    switch (ElfAbi(abi)) {
    case ElfAbi::hsa: return {};
    case ElfAbi::pal: return fail(ErrorKind::unsupported, "PAL code objects (amdpal) are not supported");
    case ElfAbi::mesa3d: return fail(ErrorKind::unsupported, "Mesa code objects (mesa3d) are not supported");
    }
    return fail(ErrorKind::unsupported, fmt::format("ELF OS ABI {} is not HSA", abi), at_offset(EI_OSABI));
  }

  Expected<void> check_table(std::string_view name, uint64_t offset, uint64_t count, uint64_t entry,
                             uint64_t want) const {
    if (count && entry != want) return malformed(fmt::format("{} size is {}, not {}", name, entry, want), 0);
    if (!slice(file, offset, count * want))
      return malformed(fmt::format("{} table leaves the file", name), offset);
    return {};
  }

  // --- segments ---

  /// Only checks and remembers: the memory is taken when all else has proved right (fill_segments).
  Expected<void> read_segments() {
    uint64_t total = 0;
    for (int i = 0; i < header.e_phnum; ++i) {
      GElf_Phdr program;
      if (!gelf_getphdr(elf.get(), i, &program))
        return malformed("program header cannot be read", header.e_phoff);
      if (program.p_type == PT_NOTE && image.metadata.empty())
        find_metadata(program.p_offset, program.p_filesz);
      if (program.p_type != PT_LOAD || program.p_memsz == 0) continue;
      if (auto done = check_segment(program, total); !done) return done;
      loaded.push_back(program);
    }
    std::ranges::sort(loaded, {}, &GElf_Phdr::p_vaddr);
    for (std::size_t i = 1; i < loaded.size(); ++i)
      if (loaded[i].p_vaddr - loaded[i - 1].p_vaddr < loaded[i - 1].p_memsz)
        return malformed(fmt::format("segments overlap at address {:#x}", loaded[i].p_vaddr), header.e_phoff);
    return {};
  }

  Expected<void> check_segment(const GElf_Phdr& program, uint64_t& total) const {
    if (!slice(file, program.p_offset, program.p_filesz) || program.p_filesz > program.p_memsz)
      return malformed("segment leaves the file or its own memory size", program.p_offset);
    if (program.p_vaddr + program.p_memsz < program.p_vaddr)
      return malformed("segment leaves the address space", program.p_offset);
    if (loaded.size() == limits::max_segments)
      return fail(ErrorKind::limit,
                  fmt::format("more than {} segments (max_segments)", limits::max_segments));
    if (program.p_memsz > limits::max_image_bytes || (total += program.p_memsz) > limits::max_image_bytes)
      return fail(ErrorKind::limit,
                  fmt::format("image is larger than {} bytes (max_image_bytes)", limits::max_image_bytes),
                  at_offset(program.p_offset));
    return {};
  }

  Expected<void> fill_segments() {
    for (const GElf_Phdr& program : loaded) {
      const Bytes contents = *slice(file, program.p_offset, program.p_filesz);
      Segment segment{.address = program.p_vaddr,
                      .executable = (program.p_flags & PF_X) != 0,
                      .writable = (program.p_flags & PF_W) != 0};
      segment.bytes.reserve(program.p_memsz);
      segment.bytes.assign(contents.begin(), contents.end());
      segment.bytes.resize(program.p_memsz);
      image.segments.push_back(std::move(segment));
    }
    return {};
  }

  /// Looks through notes for the AMDGPU metadata. A malformed note ends the search: other owners' notes may
  /// have any contents. Note header: name size, descriptor size, type; name and descriptor padded to 4.
  void find_metadata(uint64_t offset, uint64_t size) {
    const auto notes = slice(file, offset, size);
    if (!notes) return;
    for (uint64_t at = 0; at < notes->size();) {
      const auto name_size = read_at<uint32_t>(*notes, at), contents_size = read_at<uint32_t>(*notes, at + 4),
                 type = read_at<uint32_t>(*notes, at + 8);
      if (!type) return;
      const uint64_t name_at = at + 12, contents_at = name_at + ((uint64_t{*name_size} + 3) & ~uint64_t{3});
      const auto name = slice(*notes, name_at, *name_size),
                 contents = slice(*notes, contents_at, *contents_size);
      if (!name || !contents) return;
      const std::string_view owner(reinterpret_cast<const char*>(name->data()), name->size());
      if (*type == note_amdgpu_metadata && owner == std::string_view("AMDGPU\0", 7)) {
        image.metadata = *contents;
        return;
      }
      at = contents_at + ((uint64_t{*contents_size} + 3) & ~uint64_t{3});
    }
  }

  // --- sections ---

  Expected<void> read_sections() {
    std::optional<std::size_t> symbol_table;
    for (std::size_t i = 0; i < header.e_shnum; ++i) {
      GElf_Shdr section;
      if (!section_header(i, section)) return malformed("section header cannot be read", header.e_shoff);
      // .symtab also names the local functions and objects that .dynsym leaves out.
      if (section.sh_type == SHT_SYMTAB || (section.sh_type == SHT_DYNSYM && !symbol_table)) symbol_table = i;
      if ((section.sh_type != SHT_RELA && section.sh_type != SHT_REL) || !(section.sh_flags & SHF_ALLOC))
        continue;
      if (section.sh_type == SHT_REL)
        return fail(ErrorKind::unsupported, "relocations without addends", at_offset(section.sh_offset));
      if (auto done = read_relocations(i, section); !done) return done;
    }
    return symbol_table ? read_symbols(*symbol_table) : Expected<void>{};
  }

  bool section_header(std::size_t index, GElf_Shdr& out) const {
    Elf_Scn* section = index < header.e_shnum ? elf_getscn(elf.get(), index) : nullptr;
    return section && gelf_getshdr(section, &out);
  }

  /// A table of fixed-size entries, or null when its header lies.
  Elf_Data* table(std::size_t index, const GElf_Shdr& section, std::size_t entry) const {
    if (section.sh_entsize != entry || section.sh_size % entry != 0 ||
        !slice(file, section.sh_offset, section.sh_size))
      return nullptr;
    Elf_Data* data = elf_getdata(elf_getscn(elf.get(), index), nullptr);
    return data && data->d_buf && data->d_size == section.sh_size ? data : nullptr;
  }

  std::optional<Bytes> string_table(std::size_t index) const {
    GElf_Shdr section;
    if (!section_header(index, section) || section.sh_type != SHT_STRTAB) return std::nullopt;
    return slice(file, section.sh_offset, section.sh_size);
  }

  /// The zero-terminated string at an offset of a table.
  Expected<std::string> name_at(Bytes strings, uint64_t offset) {
    if (offset >= strings.size()) return malformed("symbol name leaves its string table", offset);
    const auto rest = strings.subspan(offset);
    const auto end = std::ranges::find(rest, uint8_t{0});
    const std::size_t length = std::size_t(end - rest.begin());
    if (end == rest.end()) return malformed("symbol name has no end", offset);
    if (length > name_budget) return malformed("symbol names overlap too often", offset);
    name_budget -= length;
    return std::string(reinterpret_cast<const char*>(rest.data()), length);
  }

  Expected<void> read_symbols(std::size_t index) {
    GElf_Shdr section;
    section_header(index, section);
    Elf_Data* data = section.sh_size ? table(index, section, sizeof(Elf64_Sym)) : nullptr;
    const auto strings = string_table(section.sh_link);
    if (section.sh_size && (!data || !strings))
      return malformed("symbol table is not valid", section.sh_offset);
    for (std::size_t i = 1; i < section.sh_size / sizeof(Elf64_Sym); ++i) {
      GElf_Sym symbol;
      if (!gelf_getsym(data, int(i), &symbol)) return malformed("symbol cannot be read", section.sh_offset);
      const auto type = GELF_ST_TYPE(symbol.st_info);
      if (type == STT_SECTION || type == STT_FILE || symbol.st_name == 0) continue;
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS || symbol.st_shndx == SHN_COMMON)
        continue;
      auto name = name_at(*strings, symbol.st_name);
      if (!name) return std::unexpected(name.error());
      using Kind = Symbol::Kind;
      const Kind kind = type == STT_FUNC                               ? Kind::function
                        : type == STT_OBJECT && name->ends_with(".kd") ? Kind::kernel_descriptor
                        : type == STT_OBJECT                           ? Kind::object
                                                                       : Kind::other;
      image.symbols.push_back({std::move(*name), symbol.st_value, symbol.st_size, kind});
    }
    std::ranges::stable_sort(image.symbols, {}, &Symbol::address);
    return {};
  }

  Expected<void> read_relocations(std::size_t index, const GElf_Shdr& section) {
    if (section.sh_size == 0) return {};
    Elf_Data* data = table(index, section, sizeof(Elf64_Rela));
    if (!data) return malformed("relocation table is not valid", section.sh_offset);
    GElf_Shdr symbols_header{};
    Elf_Data* symbols = nullptr;
    std::optional<Bytes> strings;
    if (section_header(section.sh_link, symbols_header) &&
        (symbols_header.sh_type == SHT_DYNSYM || symbols_header.sh_type == SHT_SYMTAB) &&
        symbols_header.sh_size) {
      symbols = table(section.sh_link, symbols_header, sizeof(Elf64_Sym));
      strings = string_table(symbols_header.sh_link);
    }
    const std::size_t count = section.sh_size / sizeof(Elf64_Rela);
    if (count > relocation_budget) return malformed("relocation tables overlap", section.sh_offset);
    relocation_budget -= count;
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Rela entry;
      if (!gelf_getrela(data, int(i), &entry))
        return malformed("relocation cannot be read", section.sh_offset);
      ElfRelocation relocation{
          .address = entry.r_offset, .type = uint32_t(GELF_R_TYPE(entry.r_info)), .addend = entry.r_addend};
      if (const auto symbol = GELF_R_SYM(entry.r_info); symbol != 0)
        if (auto done = resolve(symbols, strings, symbol, relocation); !done) return done;
      image.relocations.push_back(std::move(relocation));
    }
    return {};
  }

  Expected<void> resolve(Elf_Data* symbols, std::optional<Bytes> strings, uint64_t index,
                         ElfRelocation& out) {
    GElf_Sym symbol;
    if (!symbols || !strings || index >= symbols->d_size / sizeof(Elf64_Sym) ||
        !gelf_getsym(symbols, int(index), &symbol))
      return malformed(fmt::format("relocation names symbol {}, which does not exist", index), out.address);
    out.symbol_defined = symbol.st_shndx != SHN_UNDEF;
    out.symbol_weak = GELF_ST_BIND(symbol.st_info) == STB_WEAK;
    out.symbol_value = symbol.st_value;
    if (out.symbol_defined) return {};
    auto name = name_at(*strings, symbol.st_name);
    if (!name) return std::unexpected(name.error());
    out.symbol_name = std::move(*name);
    return {};
  }
};

} // namespace

Expected<ElfImage> read_elf(std::span<const uint8_t> file) { return ElfReader(file).read(); }

} // namespace lanewise::container
