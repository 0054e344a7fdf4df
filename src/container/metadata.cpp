#include "container/metadata.hpp"

#include "support/limits.hpp"

#include <algorithm>
#include <exception>
#include <fmt/format.h>

#define MSGPACK_NO_BOOST
#include <msgpack.hpp>

namespace lanewise::container {
namespace {

using Object = msgpack::object;

constexpr std::size_t max_depth = 16; ///< real metadata nests four deep

/// Thrown inside this file only; parse_metadata turns it into an Error.
struct Malformed {
  std::string what;
};

std::string_view text(const Object& object, std::string_view key) {
  if (object.type != msgpack::type::STR) throw Malformed{fmt::format("'{}' is not a string", key)};
  return {object.via.str.ptr, object.via.str.size};
}

uint32_t number(const Object& object, std::string_view key) {
  if (object.type != msgpack::type::POSITIVE_INTEGER || object.via.u64 > UINT32_MAX)
    throw Malformed{fmt::format("'{}' is not a number of 32 bits", key)};
  return uint32_t(object.via.u64);
}

/// Booleans are msgpack booleans or, as `.uniform_work_group_size`, numbers.
bool flag(const Object& object, std::string_view key) {
  return object.type == msgpack::type::BOOLEAN ? object.via.boolean : number(object, key) != 0;
}

std::span<const Object> list(const Object& object, std::string_view key) {
  if (object.type != msgpack::type::ARRAY) throw Malformed{fmt::format("'{}' is not a list", key)};
  return {object.via.array.ptr, object.via.array.size};
}

/// Calls `field(key, value)` for each entry of a map whose key is a string.
template <class Field>
void for_each_field(const Object& object, std::string_view name, Field&& field) {
  if (object.type != msgpack::type::MAP) throw Malformed{fmt::format("'{}' is not a map", name)};
  for (const auto& [key, value] : std::span(object.via.map.ptr, object.via.map.size))
    if (key.type == msgpack::type::STR) field(text(key, name), value);
}

KernelArgument parse_argument(const Object& object) {
  KernelArgument argument;
  bool has_offset = false, has_size = false;
  for_each_field(object, ".args", [&](std::string_view key, const Object& value) {
    if (key == ".name") argument.name = text(value, key);
    if (key == ".type_name") argument.type_name = text(value, key);
    if (key == ".value_kind") argument.value_kind = text(value, key);
    if (key == ".address_space") argument.address_space = text(value, key);
    // What the program does beats what its source allows.
    if (key == ".access" && argument.access.empty()) argument.access = text(value, key);
    if (key == ".actual_access") argument.access = text(value, key);
    if (key == ".offset") argument.offset = number(value, key), has_offset = true;
    if (key == ".size") argument.size = number(value, key), has_size = true;
    if (key == ".pointee_align") argument.pointee_align = number(value, key);
  });
  if (argument.value_kind.empty() || !has_offset || !has_size)
    throw Malformed{"a kernel argument has no kind, offset or size"};
  return argument;
}

std::array<uint32_t, 3> parse_workgroup_size(const Object& object, std::string_view key) {
  const auto sizes = list(object, key);
  if (sizes.size() != 3) throw Malformed{fmt::format("'{}' has {} entries, not 3", key, sizes.size())};
  return {number(sizes[0], key), number(sizes[1], key), number(sizes[2], key)};
}

KernelMetadata parse_kernel(const Object& object) {
  KernelMetadata kernel;
  for_each_field(object, "amdhsa.kernels", [&](std::string_view key, const Object& value) {
    if (key == ".name") kernel.name = text(value, key);
    if (key == ".symbol") kernel.symbol = text(value, key);
    if (key == ".args")
      for (const Object& argument : list(value, key)) kernel.arguments.push_back(parse_argument(argument));
    if (key == ".reqd_workgroup_size") kernel.required_workgroup_size = parse_workgroup_size(value, key);
    if (key == ".wavefront_size") kernel.wavefront_size = number(value, key);
    if (key == ".max_flat_workgroup_size") kernel.max_flat_workgroup_size = number(value, key);
    if (key == ".kernarg_segment_size") kernel.kernarg_size = number(value, key);
    if (key == ".kernarg_segment_align") kernel.kernarg_align = number(value, key);
    if (key == ".uniform_work_group_size") kernel.uniform_workgroup_size = flag(value, key);
    if (key == ".uses_dynamic_stack") kernel.uses_dynamic_stack = flag(value, key);
  });
  if (kernel.symbol.empty()) throw Malformed{"a kernel has no '.symbol'"};
  return kernel;
}

void parse_version(const Object& object, std::string_view key, CodeObjectMetadata& out) {
  const auto numbers = list(object, key);
  if (numbers.size() < 2) throw Malformed{fmt::format("'{}' is not two numbers", key)};
  out.major = number(numbers[0], key);
  out.minor = number(numbers[1], key);
}

CodeObjectMetadata parse_root(const Object& root) {
  CodeObjectMetadata metadata;
  for_each_field(root, "metadata", [&](std::string_view key, const Object& value) {
    if (key == "amdhsa.version") parse_version(value, key, metadata);
    if (key == "amdhsa.target") metadata.target = text(value, key);
    if (key == "amdhsa.printf")
      for (const Object& format : list(value, key)) metadata.printf_formats.emplace_back(text(format, key));
    if (key != "amdhsa.kernels") return;
    const auto kernels = list(value, key);
    if (kernels.size() > limits::max_kernels)
      throw Malformed{fmt::format("more than {} kernels (max_kernels)", limits::max_kernels)};
    for (const Object& kernel : kernels) metadata.kernels.push_back(parse_kernel(kernel));
  });
  return metadata;
}

} // namespace

Expected<CodeObjectMetadata> parse_metadata(std::span<const uint8_t> note) {
  constexpr std::string_view where = "AMDGPU metadata note";
  // An element takes at least a byte, so no honest list is longer than the note: the parser may not reserve
  // more.
  const std::size_t most = note.size();
  const msgpack::unpack_limit limit(most, most, most, most, most, max_depth);
  try {
    const msgpack::object_handle root =
        msgpack::unpack(reinterpret_cast<const char*>(note.data()), note.size(), nullptr, nullptr, limit);
    return parse_root(root.get());
  } catch (const Malformed& error) {
    return fail(ErrorKind::input, error.what, std::string(where));
  } catch (const std::exception& error) {
    return fail(ErrorKind::input, fmt::format("metadata is not valid msgpack ({})", error.what()),
                std::string(where));
  }
}

} // namespace lanewise::container
