#include "container/relocation.hpp"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace lanewise::container {
namespace {

/// How a relocation's value comes about: S + A, and where it goes. `pc_relative` subtracts the place.
struct Rule {
  uint32_t type;
  const char* name;
  uint8_t bytes; ///< written
  uint8_t shift; ///< of the 64-bit value
  bool pc_relative;
  bool image_base; ///< B + A instead of S + A; B is 0 here
};

constexpr Rule rules[] = {
    {1, "R_AMDGPU_ABS32_LO", 4, 0, false, false},   {2, "R_AMDGPU_ABS32_HI", 4, 32, false, false},
    {3, "R_AMDGPU_ABS64", 8, 0, false, false},      {4, "R_AMDGPU_REL32", 4, 0, true, false},
    {5, "R_AMDGPU_REL64", 8, 0, true, false},       {6, "R_AMDGPU_ABS32", 4, 0, false, false},
    {10, "R_AMDGPU_REL32_LO", 4, 0, true, false},   {11, "R_AMDGPU_REL32_HI", 4, 32, true, false},
    {13, "R_AMDGPU_RELATIVE64", 8, 0, false, true},
};

uint8_t* place(ElfImage& image, uint64_t address, std::size_t size) {
  auto after = std::ranges::upper_bound(image.segments, address, {}, &Segment::address);
  if (after == image.segments.begin()) return nullptr;
  Segment& segment = *std::prev(after);
  const uint64_t offset = address - segment.address;
  if (offset > segment.bytes.size() || segment.bytes.size() - offset < size) return nullptr;
  return segment.bytes.data() + offset;
}

} // namespace

Expected<std::vector<uint64_t>> apply_relocations(ElfImage& image) {
  std::vector<uint64_t> pointers;
  for (const ElfRelocation& relocation : image.relocations) {
    const std::string where = fmt::format("address {:#x}", relocation.address);
    const auto rule = std::ranges::find(rules, relocation.type, &Rule::type);
    if (rule == std::end(rules))
      return fail(ErrorKind::unsupported, fmt::format("relocation type {}", relocation.type), where);
    if (!rule->image_base && !relocation.symbol_defined && !relocation.symbol_weak)
      return fail(ErrorKind::unsupported,
                  fmt::format("{} needs the symbol '{}', which the file does not define", rule->name,
                              relocation.symbol_name),
                  where, "link the code objects together first");
    uint8_t* to = place(image, relocation.address, rule->bytes);
    if (!to) return fail(ErrorKind::input, fmt::format("{} lies outside the image", rule->name), where);
    uint64_t value = uint64_t(relocation.addend);
    if (!rule->image_base) value += relocation.symbol_value;
    if (rule->pc_relative) value -= relocation.address;
    value >>= rule->shift;
    std::memcpy(to, &value, rule->bytes);
    const bool holds_address = rule->image_base || relocation.symbol_defined;
    if (rule->bytes == 8 && !rule->pc_relative && holds_address) pointers.push_back(relocation.address);
  }
  std::ranges::sort(pointers);
  const auto repeated = std::ranges::unique(pointers);
  pointers.erase(repeated.begin(), repeated.end());
  return pointers;
}

} // namespace lanewise::container
