#include "cli/arguments.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fstream>
#include <optional>
#include <regex>

#include <fmt/format.h>

#include "support/limits.hpp"

namespace lanewise::cli {

namespace {

using runtime::Argument;
using runtime::ElementType;
using runtime::Launch;

std::unexpected<Error> bad(std::string what, std::string hint = {}) {
  return fail(ErrorKind::call, std::move(what), {}, std::move(hint));
}

template <class T>
std::optional<T> number(std::string_view text) {
  T value{};
  int base = 10;
  if (text.starts_with("0x")) text.remove_prefix(2), base = 16;
  auto [p, ec] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (ec != std::errc{} || p != text.data() + text.size() || text.empty()) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (size_t at = 0;;) {
    const size_t next = text.find(separator, at);
    parts.push_back(text.substr(at, next - at));
    if (next == std::string_view::npos) return parts;
    at = next + 1;
  }
}

Expected<std::vector<uint8_t>> read_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return fail(ErrorKind::system, "cannot open the file", path);
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(in)), {});
  if (in.bad()) return fail(ErrorKind::system, "cannot read the file", path);
  return bytes;
}

/// "4096" or "64*64": a product, so that pictures and matrices read well.
std::optional<size_t> product(std::string_view text) {
  uint64_t result = 1;
  for (std::string_view factor : split(text, '*')) {
    const auto n = number<uint64_t>(factor);
    if (!n || (*n != 0 && result > limits::max_file_bytes / *n)) return std::nullopt;
    result *= *n;
  }
  return result;
}

std::optional<ElementType> integer_type(size_t bytes, bool is_signed) {
  using enum ElementType;
  switch (bytes) {
  case 1: return is_signed ? i8 : u8;
  case 2: return is_signed ? i16 : u16;
  case 4: return is_signed ? i32 : u32;
  case 8: return is_signed ? i64 : u64;
  default: return std::nullopt;
  }
}

/// A number; 0xffffffff for an int means its bits.
Expected<void> append_number_or_bits(ElementType type, std::string_view digits, std::vector<uint8_t>& out) {
  const size_t before = out.size();
  auto ok = runtime::append_number(type, digits, out);
  if (ok || !runtime::is_signed(type) || runtime::is_float(type)) return ok;
  out.resize(before);
  return runtime::append_number(*integer_type(runtime::bytes(type), false), digits, out);
}

Expected<std::vector<uint8_t>> list_contents(ElementType type, std::string_view list, size_t count) {
  std::vector<uint8_t> bytes;
  const auto parts = split(list, ',');
  if (parts.size() > 1 && parts.size() != count)
    return bad(fmt::format("{} values for {} elements", parts.size(), count));
  for (std::string_view part : parts)
    if (auto ok = append_number_or_bits(type, part, bytes); !ok) return std::unexpected(ok.error());
  const size_t one = runtime::bytes(type);
  if (parts.size() == 1) {
    bytes.resize(count * one);
    for (size_t i = 1; i < count; ++i)
      std::copy_n(bytes.begin(), one, bytes.begin() + static_cast<std::ptrdiff_t>(i * one));
  }
  return bytes;
}

Expected<std::vector<uint8_t>> all_contents(ElementType type, std::string_view init, size_t count) {
  std::vector<uint8_t> bytes;
  if (init.starts_with('@')) {
    auto file = read_bytes(std::string(init.substr(1)));
    if (!file) return file;
    if (file->size() != count * runtime::bytes(type))
      return bad(fmt::format("{} has {} bytes, {}[{}] needs {}", init.substr(1), file->size(),
                             runtime::name(type), count, count * runtime::bytes(type)));
    return file;
  }
  if (init == "iota") {
    runtime::append_iota(type, count, bytes);
    return bytes;
  }
  if (init.starts_with("rand:")) {
    const auto parts = split(init.substr(5), ':');
    const auto seed = number<uint64_t>(parts[0]);
    const auto below = parts.size() > 1 ? number<uint32_t>(parts[1]) : 0;
    if (!seed || !below || parts.size() > 2 || (parts.size() == 2 && *below == 0))
      return bad(fmt::format("'{}' is not rand:SEED or rand:SEED:BELOW", init));
    runtime::append_random(type, *seed, count, bytes, *below);
    return bytes;
  }
  if (count == 0) return bytes;
  return list_contents(type, init.empty() ? "0" : init, count);
}

/// The contents, then single elements as INDEX=NUMBER, with semicolons between.
Expected<std::vector<uint8_t>> contents(ElementType type, std::string_view init, size_t count) {
  const auto parts = split(init, init.starts_with('@') ? '\0' : ';');
  auto bytes = all_contents(type, parts[0], count);
  for (size_t i = 1; i < parts.size() && bytes; ++i) {
    const size_t equals = std::min(parts[i].find('='), parts[i].size());
    const auto index = number<size_t>(parts[i].substr(0, equals));
    if (equals == parts[i].size() || !index || *index >= count)
      return bad(fmt::format("'{}' is not INDEX=NUMBER with INDEX below {}", parts[i], count));
    std::vector<uint8_t> element;
    if (auto ok = append_number_or_bits(type, parts[i].substr(equals + 1), element); !ok)
      return std::unexpected(ok.error());
    std::ranges::copy(element, bytes->begin() + static_cast<std::ptrdiff_t>(*index * element.size()));
  }
  return bytes;
}

/// Scalars: the suffix of a C constant, else the kernel's own type, else i32 or f64.
struct Scalar {
  std::string digits;
  std::optional<ElementType> type; ///< said by the text itself
  bool floating = false;
};
std::optional<Scalar> parse_scalar(const std::string& text) {
  static const std::regex typed(R"(([iuf](?:8|16|32|64)):(.+))");
  static const std::regex integer(
      R"(([-+]?(?:0[xX][0-9a-fA-F]+|[0-9]+))(u|l|ul|i8|u8|i16|u16|i32|u32|i64|u64)?)");
  static const std::regex real(
      R"(([-+]?(?:[0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eEfhd]))(?:[eE][-+]?[0-9]+)?|[-+]?inf|[-+]?nan)(f|h|d)?)");
  std::smatch m;
  if (std::regex_match(text, m, typed)) {
    const auto type = runtime::parse_element_type(m[1].str());
    if (!type) return std::nullopt;
    return Scalar{m[2].str(), type, runtime::is_float(*type)};
  }
  if (std::regex_match(text, m, integer)) {
    const std::string suffix = m[2].str();
    Scalar s{m[1].str(), runtime::parse_element_type(suffix), false};
    if (suffix == "l") s.type = ElementType::i64;
    if (suffix == "ul") s.type = ElementType::u64;
    if (suffix == "u") s.type = ElementType::u32;
    return s;
  }
  if (std::regex_match(text, m, real)) {
    const std::string suffix = m[2].str();
    Scalar s{m[1].str(), std::nullopt, true};
    if (suffix == "f") s.type = ElementType::f32;
    if (suffix == "h") s.type = ElementType::f16;
    if (suffix == "d") s.type = ElementType::f64;
    return s;
  }
  return std::nullopt;
}

/// `wanted` is null where there is no metadata, `element` what it says of the type.
Expected<std::vector<uint8_t>> scalar_bytes(const std::string& text, const container::KernelArgument* wanted,
                                            std::optional<ElementType> element) {
  const auto scalar = parse_scalar(text);
  if (!scalar) return bad(fmt::format("'{}' is no argument", text), "docs/command-line.md lists the forms");
  std::optional<ElementType> type = scalar->type;
  if (element && runtime::is_float(*element) != scalar->floating)
    return bad(fmt::format("'{}' is given, the kernel wants {}", text,
                           wanted ? wanted->type_name : runtime::name(*element)),
               runtime::is_float(*element) ? "write 2.0f, 2.0 or 2.0h" : "write an integer");
  if (!type && element) type = element;
  if (!type && !scalar->floating && wanted)
    type = integer_type(wanted->size, scalar->digits.starts_with('-'));
  if (!type) type = scalar->floating ? ElementType::f64 : ElementType::i32;
  std::vector<uint8_t> bytes;
  if (auto ok = append_number_or_bits(*type, scalar->digits, bytes); !ok) return std::unexpected(ok.error());
  return bytes;
}

Expected<std::vector<uint8_t>> aggregate_bytes(std::string_view inside,
                                               const container::KernelArgument* wanted) {
  const auto element = wanted ? runtime::element_type_of_source(wanted->type_name) : std::nullopt;
  std::vector<uint8_t> bytes;
  for (std::string_view member : split(inside, ',')) {
    auto one = scalar_bytes(std::string(member), nullptr, element);
    if (!one) return one;
    bytes.insert(bytes.end(), one->begin(), one->end());
  }
  // A vector of three takes the room of four.
  if (wanted && element && bytes.size() == 3 * runtime::bytes(*element) &&
      wanted->size == 4 * runtime::bytes(*element))
    bytes.resize(wanted->size);
  return bytes;
}

Expected<std::vector<uint8_t>> hex_bytes(std::string_view digits) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < digits.size(); i += 2) {
    uint8_t byte = 0;
    const char* end = digits.data() + std::min(i + 2, digits.size());
    if (auto [p, ec] = std::from_chars(digits.data() + i, end, byte, 16);
        ec != std::errc{} || p != digits.data() + i + 2)
      return bad(fmt::format("'hex:{}' is not pairs of hexadecimal digits", digits));
    bytes.push_back(byte);
  }
  return bytes;
}

size_t find_buffer(const Launch& launch, std::string_view name) {
  for (size_t i = 0; i < launch.buffers.size(); ++i)
    if (launch.buffers[i].name == name) return i;
  return launch.buffers.size();
}

Expected<size_t> named_buffer(const Launch& launch, const std::string& name) {
  const size_t index = find_buffer(launch, name);
  if (index < launch.buffers.size()) return index;
  std::string names;
  for (const auto& b : launch.buffers) names += fmt::format("{}{}", names.empty() ? "" : ", ", b.name);
  return bad(fmt::format("there is no buffer '{}'", name),
             names.empty() ? "no argument is a buffer" : "buffers are " + names);
}

Expected<Argument> parse_value(const Launch& launch, const std::string& text,
                               const container::KernelArgument* wanted) {
  if (text == "null") return Argument{.kind = Argument::Kind::null};
  if (text.starts_with("local:")) {
    const auto size = product(std::string_view(text).substr(6));
    if (!size || *size > UINT16_MAX + 1u)
      return bad(fmt::format("'{}' is not local:BYTES, at most 65536", text));
    return Argument::of_local(static_cast<uint32_t>(*size));
  }
  if (text.starts_with('&')) {
    auto index = named_buffer(launch, text.substr(1));
    if (!index) return std::unexpected(index.error());
    return Argument::of_buffer(*index);
  }
  Expected<std::vector<uint8_t>> bytes;
  if (text.starts_with('@'))
    bytes = read_bytes(text.substr(1));
  else if (text.starts_with("hex:"))
    bytes = hex_bytes(std::string_view(text).substr(4));
  else if (text.size() >= 2 && text.front() == '{' && text.back() == '}')
    bytes = aggregate_bytes(std::string_view(text).substr(1, text.size() - 2), wanted);
  else
    bytes = scalar_bytes(text, wanted,
                         wanted ? runtime::element_type_of_source(wanted->type_name) : std::nullopt);
  if (!bytes) return std::unexpected(bytes.error());
  return Argument::of_bytes(std::move(*bytes));
}

} // namespace

Expected<Extent> parse_extent(const std::string& text, const char* option) {
  Extent e;
  std::string spelled = text;
  std::ranges::replace(spelled, 'x', ',');
  const auto parts = split(spelled, ',');
  if (parts.size() > 3) return bad(fmt::format("{} takes at most three numbers", option));
  for (size_t i = 0; i < parts.size(); ++i) {
    const auto n = number<uint32_t>(parts[i]);
    if (!n || *n == 0)
      return bad(fmt::format("{} '{}' is not X[,Y[,Z]] with numbers from 1 up", option, text));
    e.size[i] = *n;
  }
  e.dimensions = static_cast<unsigned>(parts.size());
  return e;
}

Expected<void> add_argument(Launch& launch, const std::string& text) {
  static const std::regex buffer(
      R"((?:([A-Za-z_][A-Za-z0-9_]*):)?([iuf](?:8|16|32|64))\[([0-9a-fx*]+)\](?:=(.*))?)");
  std::smatch m;
  Expected<Argument> argument;
  if (std::regex_match(text, m, buffer)) {
    const auto type = runtime::parse_element_type(m[2].str());
    const auto count = product(m[3].str());
    if (!type)
      return fail(ErrorKind::call, fmt::format("'{}' is no element type", m[2].str()), text,
                  "types are i8 to u64, f16, f32, f64");
    if (!count || *count > limits::max_file_bytes / runtime::bytes(*type))
      return fail(ErrorKind::limit, "the buffer is too large (max_file_bytes)", text);
    const std::string name = m[1].matched ? m[1].str() : fmt::format("arg{}", launch.arguments.size());
    if (find_buffer(launch, name) < launch.buffers.size())
      return fail(ErrorKind::call, fmt::format("there is already a buffer '{}'", name), text,
                  fmt::format("&{} passes it once more", name));
    auto bytes = contents(*type, m[4].str(), *count);
    if (!bytes) {
      Error e = bytes.error();
      e.where = e.where.empty() ? text : text + ": " + e.where;
      return std::unexpected(std::move(e));
    }
    launch.buffers.push_back({name, *type, std::move(*bytes)});
    argument = Argument::of_buffer(launch.buffers.size() - 1);
  } else {
    const auto wanted = runtime::explicit_arguments(*launch.kernel);
    const size_t index = launch.arguments.size();
    const bool by_value = index < wanted.size() && wanted[index]->value_kind == "by_value";
    argument = parse_value(launch, text, by_value ? wanted[index] : nullptr);
  }
  if (!argument) return std::unexpected(argument.error());
  argument->text = text;
  launch.arguments.push_back(std::move(*argument));
  return {};
}

Expected<Slice> parse_slice(const Launch& launch, const std::string& text) {
  static const std::regex form(R"(([^\[\]]+)(?:\[([0-9]+)(:([0-9]*))?\])?)");
  std::smatch m;
  if (!std::regex_match(text, m, form))
    return bad(fmt::format("'{}' is not NAME, NAME[I] or NAME[FROM:TO]", text));
  auto index = named_buffer(launch, m[1].str());
  if (!index) return std::unexpected(index.error());
  const size_t count = launch.buffers[*index].count();
  Slice s{*index, 0, count};
  if (m[2].matched) {
    const auto begin = number<size_t>(m[2].str());
    const auto end = m[4].length()  ? number<size_t>(m[4].str())
                     : m[3].matched ? count
                     : begin        ? std::optional(*begin + 1)
                                    : begin;
    if (!begin || !end || *begin > *end || *end > count)
      return bad(fmt::format("'{}' lies outside the {} elements of the buffer", text, count));
    s.begin = *begin;
    s.end = *end;
  }
  return s;
}

Expected<BufferOption> parse_buffer_option(const Launch& launch, const std::string& text,
                                           const char* option) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size())
    return bad(fmt::format("{} '{}' is not NAME=FILE", option, text));
  auto index = named_buffer(launch, text.substr(0, equals));
  if (!index) return std::unexpected(index.error());
  return BufferOption{*index, text.substr(equals + 1)};
}

} // namespace lanewise::cli
