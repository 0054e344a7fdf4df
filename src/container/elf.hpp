// An AMDGPU ELF file, read with libelf from memory: what a loader needs of it and nothing else.
#pragma once

#include "container/shader_binary.hpp"
#include "support/error.hpp"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace lanewise::container {

/// Operating system of e_ident[EI_OSABI]; only HSA is read.
enum class ElfAbi : uint8_t { hsa = 64, pal = 65, mesa3d = 66 };

/// A dynamic relocation with its symbol resolved.
struct ElfRelocation {
  uint64_t address = 0; ///< where to write
  uint32_t type = 0;    ///< R_AMDGPU_*
  int64_t addend = 0;
  uint64_t symbol_value = 0;
  bool symbol_defined = false; ///< false also for "no symbol"
  bool symbol_weak = false;
  std::string symbol_name;
};

struct ElfImage {
  uint8_t abi_version = 0; ///< e_ident[EI_ABIVERSION]: code object version minus 2 (3 is 1, 4 is 2, 5 is 3)
  uint32_t flags = 0;      ///< e_flags: processor and features
  std::vector<Segment> segments; ///< sorted by address, without overlap; relocations not applied
  std::vector<Symbol> symbols;   ///< defined ones, sorted by address; from .symtab, or .dynsym when stripped
  std::vector<ElfRelocation> relocations;
  std::span<const uint8_t>
      metadata; ///< contents of the NT_AMDGPU_METADATA note, inside the input; may be empty
};

/// Reads a linked (ET_DYN) 64-bit AMDGPU ELF file for HSA. No header is believed: every offset, count and
/// size is held against the file, and the memory used is a small multiple of the file plus `max_image_bytes`.
/// Errors: input (malformed), unsupported (other machine, PAL, Mesa, not linked), limit.
[[nodiscard]] Expected<ElfImage> read_elf(std::span<const uint8_t> file);

} // namespace lanewise::container
