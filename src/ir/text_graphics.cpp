#include "ir/text_graphics.hpp"

#include "ir/graphics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>
#include <vector>

namespace lanewise::ir::text {
namespace {

using namespace std::string_view_literals;

constexpr std::array kDimensions{"1d"sv,       "2d"sv,       "3d"sv,      "cube"sv,
                                 "1d_array"sv, "2d_array"sv, "2d_msaa"sv, "2d_msaa_array"sv};
constexpr std::array kLevels{""sv, "bias"sv, "zero"sv, "lod"sv, "grad"sv}; ///< of ImageAccess::Level

std::optional<unsigned> number(std::string_view s) {
  unsigned n = 0;
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), n);
  return error == std::errc{} && end == s.data() + s.size() ? std::optional(n) : std::nullopt;
}

/// ".a.b" -> a, b
std::vector<std::string_view> parts(std::string_view s) {
  std::vector<std::string_view> list;
  while (s.starts_with('.')) {
    s.remove_prefix(1);
    const size_t end = std::min(s.find('.'), s.size());
    list.push_back(s.substr(0, end));
    s.remove_prefix(end);
  }
  return list;
}

/// "mask3" -> 3
bool read_mask(std::string_view part, uint8_t& mask) {
  const auto n = part.starts_with("mask") ? number(part.substr(4)) : std::nullopt;
  if (!n || *n > 15) return false;
  mask = static_cast<uint8_t>(*n);
  return true;
}

std::string target_name(unsigned t) {
  using T = ExportTarget;
  if (t < T::mrtz) return fmt::format("mrt{}", t);
  if (t == T::mrtz) return "mrtz";
  if (t == T::null) return "null";
  if (t >= T::pos0 && t < T::pos0 + 5) return fmt::format("pos{}", t - T::pos0);
  if (t == T::prim) return "prim";
  if (t >= T::param0) return fmt::format("param{}", t - T::param0);
  return {};
}

} // namespace

std::string spell_image(uint64_t imm) {
  const auto a = ImageAccess::unpack(imm);
  const auto level = static_cast<size_t>(a.level);
  if (level >= kLevels.size()) return {};
  std::string s = fmt::format(".{}", kDimensions[static_cast<size_t>(a.dimension)]);
  if (level) s += fmt::format(".{}", kLevels[level]);
  if (a.compare) s += ".compare";
  if (a.offset) s += ".offset";
  if (a.clamp) s += ".clamp";
  if (a.gather) s += ".gather";
  if (a.dmask != 15) s += fmt::format(".mask{}", a.dmask);
  return s;
}

std::optional<uint64_t> read_image(std::string_view suffix) {
  ImageAccess a;
  const auto list = parts(suffix);
  if (list.empty()) return {};
  const auto dimension = std::ranges::find(kDimensions, list[0]);
  if (dimension == kDimensions.end()) return {};
  a.dimension = static_cast<ImageAccess::Dimension>(dimension - kDimensions.begin());
  for (const std::string_view part : std::span(list).subspan(1)) {
    const auto level = std::ranges::find(kLevels, part);
    if (level != kLevels.end())
      a.level = static_cast<ImageAccess::Level>(level - kLevels.begin());
    else if (part == "compare")
      a.compare = true;
    else if (part == "offset")
      a.offset = true;
    else if (part == "clamp")
      a.clamp = true;
    else if (part == "gather")
      a.gather = true;
    else if (!read_mask(part, a.dmask))
      return {};
  }
  return a.pack();
}

std::string spell_export(uint64_t imm) {
  const auto e = ExportTarget::unpack(imm);
  const std::string name = target_name(e.target);
  if (name.empty()) return {};
  std::string s = "." + name;
  if (e.enabled != 15) s += fmt::format(".mask{}", e.enabled);
  if (e.compressed) s += ".compressed";
  if (e.done) s += ".done";
  if (e.valid_mask) s += ".vm";
  return s;
}

std::optional<uint64_t> read_export(std::string_view suffix) {
  ExportTarget e;
  const auto list = parts(suffix);
  if (list.empty()) return {};
  unsigned target = 0;
  while (target < 64 && std::string_view(target_name(target)) != list[0]) ++target;
  if (target == 64) return {};
  e.target = static_cast<uint8_t>(target);
  for (const std::string_view part : std::span(list).subspan(1)) {
    if (part == "compressed")
      e.compressed = true;
    else if (part == "done")
      e.done = true;
    else if (part == "vm")
      e.valid_mask = true;
    else if (!read_mask(part, e.enabled))
      return {};
  }
  return e.pack();
}

} // namespace lanewise::ir::text
