#include "runtime/element_type.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

#include <fmt/format.h>

namespace lanewise::runtime {

namespace {

struct TypeRow {
  std::string_view name;
  uint8_t bytes;
  bool is_float, is_signed;
};
constexpr std::array<TypeRow, 11> types{{{"i8", 1, false, true},
                                         {"u8", 1, false, false},
                                         {"i16", 2, false, true},
                                         {"u16", 2, false, false},
                                         {"i32", 4, false, true},
                                         {"u32", 4, false, false},
                                         {"i64", 8, false, true},
                                         {"u64", 8, false, false},
                                         {"f16", 2, true, true},
                                         {"f32", 4, true, true},
                                         {"f64", 8, true, true}}};
const TypeRow& row(ElementType t) { return types[static_cast<size_t>(t)]; }

/// Calls `f` with a value-initialised object of the C++ type behind `type`.
template <class F>
decltype(auto) with_type(ElementType type, F f) {
  switch (type) {
  case ElementType::i8: return f(int8_t{});
  case ElementType::u8: return f(uint8_t{});
  case ElementType::i16: return f(int16_t{});
  case ElementType::u16: return f(uint16_t{});
  case ElementType::i32: return f(int32_t{});
  case ElementType::u32: return f(uint32_t{});
  case ElementType::i64: return f(int64_t{});
  case ElementType::u64: return f(uint64_t{});
  case ElementType::f16: return f(_Float16{});
  case ElementType::f32: return f(float{});
  case ElementType::f64: break;
  }
  return f(double{});
}

template <class T>
T read(std::span<const uint8_t> buffer, size_t index) {
  T value{};
  if ((index + 1) * sizeof(T) <= buffer.size()) std::memcpy(&value, &buffer[index * sizeof(T)], sizeof(T));
  return value;
}

template <class T>
void append(T value, std::vector<uint8_t>& out) {
  const size_t at = out.size();
  out.resize(at + sizeof(T));
  std::memcpy(&out[at], &value, sizeof(T));
}

template <class T>
constexpr bool floating = std::is_same_v<T, _Float16> || std::is_floating_point_v<T>;

std::string float_text(double value, float narrow, bool single) {
  return single ? fmt::format("{}", narrow) : fmt::format("{}", value);
}

/// Fewest digits that give the same f16 back.
std::string half_text(_Float16 value) {
  const auto wide = static_cast<double>(value);
  for (int digits = 1; digits < 6; ++digits) {
    std::string text = fmt::format("{:.{}g}", wide, digits);
    if (static_cast<_Float16>(std::strtod(text.c_str(), nullptr)) == value) return text;
  }
  return fmt::format("{}", wide);
}

std::optional<double> parse_float(std::string_view text) {
  double value = 0;
  bool negative = false;
  if (text.starts_with('-') || text.starts_with('+')) negative = text.front() == '-', text.remove_prefix(1);
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex) text.remove_prefix(2);
  const char* end = text.data() + text.size();
  const auto format = hex ? std::chars_format::hex : std::chars_format::general;
  auto [p, ec] = std::from_chars(text.data(), end, value, format);
  if (ec == std::errc::result_out_of_range && p == end)
    value = std::strtod(std::string(text).c_str(), nullptr);
  else if (ec != std::errc{} || p != end)
    return std::nullopt;
  return negative ? -value : value;
}

struct Integer {
  uint64_t magnitude = 0;
  bool negative = false;
};
std::optional<Integer> parse_integer(std::string_view text) {
  Integer i;
  if (text.starts_with('-') || text.starts_with('+')) i.negative = text.front() == '-', text.remove_prefix(1);
  int base = 10;
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2), base = 16;
  const char* end = text.data() + text.size();
  auto [p, ec] = std::from_chars(text.data(), end, i.magnitude, base);
  if (ec != std::errc{} || p != end) return std::nullopt;
  return i;
}

template <class T>
bool fits(Integer i) {
  constexpr auto top = static_cast<uint64_t>(std::numeric_limits<T>::max());
  if (!i.negative) return i.magnitude <= top;
  return i.magnitude == 0 || (std::is_signed_v<T> && i.magnitude <= top + 1);
}

/// splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
struct SplitMix {
  uint64_t state;
  uint64_t next() {
    uint64_t z = (state += 0x9e3779b97f4a7c15ull);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
  }
};

template <class T>
T random_value(uint64_t bits, uint32_t below) {
  if constexpr (floating<T>) {
    if (below != 0) return static_cast<T>(random_value<T>(bits, 0) * static_cast<T>(below));
  } else if (below != 0) {
    const auto most = static_cast<uint64_t>(std::numeric_limits<T>::max());
    return static_cast<T>((bits >> 32) * std::min<uint64_t>(below, most) >> 32);
  }
  if constexpr (std::is_same_v<T, double>)
    return static_cast<double>(bits >> 11) * 0x1p-53;
  else if constexpr (std::is_same_v<T, float>)
    return static_cast<float>(bits >> 40) * 0x1p-24f;
  else if constexpr (floating<T>)
    return static_cast<T>(static_cast<float>(bits >> 53) * 0x1p-11f);
  else
    return static_cast<T>(bits >> (64 - 8 * sizeof(T)));
}

} // namespace

std::string_view name(ElementType type) { return row(type).name; }
size_t bytes(ElementType type) { return row(type).bytes; }
bool is_float(ElementType type) { return row(type).is_float; }
bool is_signed(ElementType type) { return row(type).is_signed; }

std::optional<ElementType> parse_element_type(std::string_view text) {
  for (size_t i = 0; i < types.size(); ++i)
    if (types[i].name == text) return static_cast<ElementType>(i);
  return std::nullopt;
}

std::optional<ElementType> element_type_of_source(std::string_view type_name) {
  while (!type_name.empty() && (type_name.back() == '*' || type_name.back() == ' '))
    type_name.remove_suffix(1);
  size_t digits = 0;
  while (digits < type_name.size() && type_name[type_name.size() - 1 - digits] >= '0' &&
         type_name[type_name.size() - 1 - digits] <= '9')
    ++digits;
  const std::string_view base = type_name.substr(0, type_name.size() - digits);
  using enum ElementType;
  static constexpr std::pair<std::string_view, ElementType> spellings[]{
      {"char", i8},       {"uchar", u8},  {"unsigned char", u8}, {"signed char", i8},
      {"bool", u8},       {"short", i16}, {"ushort", u16},       {"unsigned short", u16},
      {"int", i32},       {"uint", u32},  {"unsigned int", u32}, {"unsigned", u32},
      {"long", i64},      {"ulong", u64}, {"size_t", u64},       {"unsigned long", u64},
      {"long long", i64}, {"half", f16},  {"float", f32},        {"double", f64}};
  for (const auto& [spelling, type] : spellings)
    if (spelling == base) return type;
  return std::nullopt;
}

std::string element_text(ElementType type, std::span<const uint8_t> buffer, size_t index) {
  return with_type(type, [&]<class T>(T) -> std::string {
    const T value = read<T>(buffer, index);
    if constexpr (std::is_same_v<T, _Float16>)
      return half_text(value);
    else if constexpr (floating<T>)
      return float_text(value, static_cast<float>(value), std::is_same_v<T, float>);
    else
      return std::to_string(value);
  });
}

double element_value(ElementType type, std::span<const uint8_t> buffer, size_t index) {
  return with_type(type, [&]<class T>(T) { return static_cast<double>(read<T>(buffer, index)); });
}

bool element_is_nan(ElementType type, std::span<const uint8_t> buffer, size_t index) {
  return is_float(type) && std::isnan(element_value(type, buffer, index));
}

Expected<void> append_number(ElementType type, std::string_view text, std::vector<uint8_t>& out) {
  return with_type(type, [&]<class T>(T) -> Expected<void> {
    if constexpr (floating<T>) {
      const auto value = parse_float(text);
      if (!value) return fail(ErrorKind::call, fmt::format("'{}' is not a number", text));
      append(static_cast<T>(*value), out);
    } else {
      const auto value = parse_integer(text);
      if (!value) return fail(ErrorKind::call, fmt::format("'{}' is not an integer", text));
      if (!fits<T>(*value)) return fail(ErrorKind::call, fmt::format("{} does not fit {}", text, name(type)));
      append(static_cast<T>(value->negative ? 0 - value->magnitude : value->magnitude), out);
    }
    return {};
  });
}

void append_random(ElementType type, uint64_t seed, size_t count, std::vector<uint8_t>& out, uint32_t below) {
  SplitMix generator{seed};
  with_type(type, [&]<class T>(T) {
    out.reserve(out.size() + count * sizeof(T));
    for (size_t i = 0; i < count; ++i) append(random_value<T>(generator.next(), below), out);
  });
}

void append_iota(ElementType type, size_t count, std::vector<uint8_t>& out) {
  with_type(type, [&]<class T>(T) {
    out.reserve(out.size() + count * sizeof(T));
    for (size_t i = 0; i < count; ++i) append(static_cast<T>(i), out);
  });
}

} // namespace lanewise::runtime
