#include "container/raw.hpp"

#include "container/code_object.hpp"
#include "container/kernel_descriptor.hpp"
#include "container/load.hpp"
#include "support/limits.hpp"

#include <algorithm>
#include <charconv>
#include <exception>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>

namespace lanewise::container {
namespace {

using Json = nlohmann::json;

/// Thrown inside this file only; the public functions return the Error.
struct Refused {
  Error error;
};

[[noreturn]] void refuse(std::string what, std::string where = {}) {
  throw Refused{{ErrorKind::input, std::move(what), std::move(where), "docs/containers.md has the schema"}};
}

std::string in_field(std::string_view name) { return fmt::format("field \"{}\"", name); }

/// A number, or a string in decimal or, with 0x, hexadecimal.
uint64_t to_number(const Json& value, std::string_view name, uint64_t most) {
  std::optional<uint64_t> number;
  if (value.is_number_unsigned()) number = value.get<uint64_t>();
  if (value.is_string()) {
    std::string_view text = value.get_ref<const std::string&>();
    const bool hex = text.starts_with("0x");
    if (hex) text.remove_prefix(2);
    uint64_t parsed = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed, hex ? 16 : 10);
    if (error == std::errc{} && end == text.data() + text.size()) number = parsed;
  }
  if (!number || *number > most) refuse(fmt::format("is not a number up to {:#x}", most), in_field(name));
  return *number;
}

/// One JSON object whose fields are all known. Absent fields have defaults.
class Object {
 public:
  Object(const Json& object, std::string_view name, std::initializer_list<std::string_view> known)
      : json(object) {
    if (!json.is_object()) refuse("is not an object", in_field(name));
    for (const auto& [key, value] : json.items())
      if (std::ranges::find(known, key) == known.end())
        refuse(fmt::format("unknown field (known: {})", fmt::join(known, ", ")), in_field(key.substr(0, 64)));
  }

  const Json* find(std::string_view name) const {
    const auto found = json.find(name);
    return found == json.end() ? nullptr : &*found;
  }
  uint64_t number(std::string_view name, uint64_t otherwise, uint64_t most = UINT32_MAX) const {
    const Json* value = find(name);
    return value ? to_number(*value, name, most) : otherwise;
  }
  uint32_t word(std::string_view name, uint32_t otherwise) const { return uint32_t(number(name, otherwise)); }
  bool flag(std::string_view name, bool otherwise) const {
    const Json* value = find(name);
    if (value && !value->is_boolean()) refuse("is not true or false", in_field(name));
    return value ? value->get<bool>() : otherwise;
  }
  std::string text(std::string_view name, std::string_view otherwise = {}) const {
    const Json* value = find(name);
    if (value && !value->is_string()) refuse("is not a string", in_field(name));
    return value ? value->get<std::string>() : std::string(otherwise);
  }
  /// The entries of a list; empty when absent.
  std::span<const Json> list(std::string_view name) const {
    const Json* value = find(name);
    if (!value) return {};
    if (!value->is_array()) refuse("is not a list", in_field(name));
    const auto& entries = value->get_ref<const Json::array_t&>();
    return {entries.data(), entries.size()};
  }

 private:
  const Json& json;
};

std::vector<uint8_t> to_bytes(std::span<const Json> words, std::string_view name) {
  std::vector<uint8_t> bytes;
  bytes.reserve(words.size() * 4);
  for (const Json& json : words) {
    const uint64_t word = to_number(json, name, UINT32_MAX);
    for (unsigned shift = 0; shift < 32; shift += 8) bytes.push_back(uint8_t(word >> shift));
  }
  return bytes;
}

struct UserSgprName {
  std::string_view name;
  uint16_t property;
};

constexpr UserSgprName user_sgpr_names[] = {
    {"private_segment_buffer", KernelCodeProperties::private_segment_buffer},
    {"dispatch_ptr", KernelCodeProperties::dispatch_ptr},
    {"queue_ptr", KernelCodeProperties::queue_ptr},
    {"kernarg_segment_ptr", KernelCodeProperties::kernarg_segment_ptr},
    {"dispatch_id", KernelCodeProperties::dispatch_id},
    {"flat_scratch_init", KernelCodeProperties::flat_scratch_init},
    {"private_segment_size", KernelCodeProperties::private_segment_size},
};

struct StageName {
  std::string_view name;
  Stage stage;
};

constexpr StageName stage_names[] = {
    {"compute", Stage::compute},
    {"vertex", Stage::vertex},
    {"tess_control", Stage::tess_control},
    {"tess_evaluation", Stage::tess_evaluation},
    {"geometry", Stage::geometry},
    {"fragment", Stage::fragment},
    {"task", Stage::task},
    {"mesh", Stage::mesh},
};

uint16_t parse_properties(const Object& fields) {
  uint16_t properties = 0;
  for (const Json& json : fields.list("user_sgprs")) {
    const std::string name =
        json.is_string() ? json.get<std::string>() : json.dump(-1, ' ', true, Json::error_handler_t::replace);
    const auto found = std::ranges::find(user_sgpr_names, name, &UserSgprName::name);
    if (found == std::end(user_sgpr_names))
      refuse(fmt::format("'{}' is no user SGPR", name.substr(0, 64)), in_field("user_sgprs"));
    properties |= found->property;
  }
  const uint64_t wave = fields.number("wave", 32);
  if (wave != 32 && wave != 64) refuse("is neither 32 nor 64", in_field("wave"));
  if (wave == 32) properties |= KernelCodeProperties::wave32;
  if (fields.flag("dynamic_stack", false)) properties |= KernelCodeProperties::uses_dynamic_stack;
  return properties;
}

/// RSRC1 out of the named fields; the defaults are those that clang gives a kernel.
uint32_t make_rsrc1(const Object& fields, bool wave32) {
  const uint32_t granule = wave32 ? 8 : 4;
  const auto vgprs = uint32_t(fields.number("vgprs", 64, 256));
  const Json empty = Json::object();
  const Json* mode_json = fields.find("float_mode");
  const Object mode(mode_json ? *mode_json : empty, "float_mode",
                    {"round_32", "round_16_64", "denorm_32", "denorm_16_64"});
  return (std::max(vgprs, 1u) - 1) / granule | uint32_t(mode.number("round_32", 0, 3)) << 12 |
         uint32_t(mode.number("round_16_64", 0, 3)) << 14 | uint32_t(mode.number("denorm_32", 3, 3)) << 16 |
         uint32_t(mode.number("denorm_16_64", 3, 3)) << 18 | uint32_t(fields.flag("dx10_clamp", true)) << 21 |
         uint32_t(fields.flag("ieee", true)) << 23 | uint32_t(fields.flag("fp16_overflow", false)) << 26 |
         uint32_t(fields.flag("wgp_mode", true)) << 29 | 1u << 30;
}

uint32_t make_rsrc2(const Object& fields, const KernelDescriptor& d, uint32_t enabled) {
  const std::string ids = fields.text("workgroup_ids", "x");
  if (ids.find_first_not_of("xyz") != std::string::npos)
    refuse("is not of x, y, z", in_field("workgroup_ids"));
  const auto has = [&](char id) { return uint32_t(ids.find(id) != std::string::npos); };
  const uint64_t vgprs = fields.number("workitem_ids", 1, 3);
  return uint32_t(fields.flag("scratch_enabled", d.private_segment_fixed_size != 0)) |
         uint32_t(fields.number("user_sgpr_count", enabled, 31)) << 1 | has('x') << 7 | has('y') << 8 |
         has('z') << 9 | uint32_t(fields.flag("workgroup_info", false)) << 10 |
         uint32_t(std::max<uint64_t>(vgprs, 1) - 1) << 11;
}

KernelDescriptor parse_descriptor(const Object& fields, std::string_view kernel) {
  KernelDescriptor d;
  d.group_segment_fixed_size = fields.word("lds", 0);
  d.private_segment_fixed_size = fields.word("scratch", 0);
  d.kernarg_size = fields.word("kernarg_size", 0);
  const uint16_t properties = parse_properties(fields);
  // Decoding the properties alone tells how many user SGPRs they take.
  KernelDescriptor counted;
  counted.rsrc2 = 16u << 1;
  d.user.kernarg_preload_length = uint8_t(fields.number("user_data", 0, 16));
  d.kernarg_size = std::max(d.kernarg_size, 4u * d.user.kernarg_preload_length);
  counted.user.kernarg_preload_length = d.user.kernarg_preload_length;
  if (auto done = decode_registers(counted, properties); !done) throw Refused{done.error()};
  d.rsrc1 = fields.find("rsrc1") ? fields.word("rsrc1", 0) : make_rsrc1(fields, counted.wave32);
  d.rsrc2 = fields.find("rsrc2") ? fields.word("rsrc2", 0)
                                 : make_rsrc2(fields, d, enabled_user_sgprs(counted.user));
  d.rsrc3 = fields.word("rsrc3", 0);
  if (auto done = decode_registers(d, properties); !done) {
    done.error().where = fmt::format("kernel {}", kernel);
    throw Refused{done.error()};
  }
  return d;
}

KernelArgument parse_argument(const Json& json) {
  const Object fields(json, "args",
                      {"name", "type", "kind", "address_space", "access", "offset", "size", "align"});
  KernelArgument argument{.name = fields.text("name"),
                          .type_name = fields.text("type"),
                          .value_kind = fields.text("kind", "by_value"),
                          .address_space = fields.text("address_space"),
                          .access = fields.text("access"),
                          .offset = fields.word("offset", 0),
                          .size = fields.word("size", 0),
                          .align = fields.word("align", 0)};
  if (!fields.find("offset") || !fields.find("size"))
    refuse("an argument needs \"offset\" and \"size\"", in_field("args"));
  return argument;
}

void parse_workgroup(const Object& fields, Kernel& kernel) {
  kernel.max_flat_workgroup_size = fields.word("max_workgroup_size", kernel.max_flat_workgroup_size);
  const auto sizes = fields.list("workgroup_size");
  if (sizes.empty()) return;
  if (sizes.size() != 3) refuse("is not a list of 3 numbers", in_field("workgroup_size"));
  kernel.required_workgroup_size.emplace();
  for (std::size_t i = 0; i < 3; ++i)
    (*kernel.required_workgroup_size)[i] = uint32_t(to_number(sizes[i], "workgroup_size", UINT32_MAX));
}

Kernel parse_kernel(const Json& json, uint64_t address, uint64_t code_bytes) {
  const Object fields(json, "kernels",
                      {"name",
                       "stage",
                       "entry",
                       "size",
                       "wave",
                       "rsrc1",
                       "rsrc2",
                       "rsrc3",
                       "vgprs",
                       "float_mode",
                       "ieee",
                       "dx10_clamp",
                       "fp16_overflow",
                       "wgp_mode",
                       "user_sgprs",
                       "user_sgpr_count",
                       "user_data",
                       "workgroup_ids",
                       "workgroup_info",
                       "workitem_ids",
                       "scratch_enabled",
                       "dynamic_stack",
                       "lds",
                       "scratch",
                       "kernarg_size",
                       "workgroup_size",
                       "max_workgroup_size",
                       "args"});
  Kernel kernel{.name = fields.text("name", "main")};
  const std::string stage = fields.text("stage", "compute");
  const auto known = std::ranges::find(stage_names, stage, &StageName::name);
  if (known == std::end(stage_names)) refuse("is no stage", in_field("stage"));
  kernel.stage = known->stage;
  const uint64_t entry = fields.number("entry", 0),
                 size = fields.number("size", code_bytes - std::min(entry, code_bytes));
  if (entry % 4 != 0 || size % 4 != 0 || size == 0 || entry >= code_bytes || size > code_bytes - entry)
    refuse(fmt::format("entry {:#x} with size {:#x} leaves the code of {:#x} bytes", entry, size, code_bytes),
           fmt::format("kernel {}", kernel.name.substr(0, 64)));
  kernel.entry = address + entry;
  kernel.code_size = size;
  kernel.descriptor = parse_descriptor(fields, kernel.name);
  parse_workgroup(fields, kernel);
  for (const Json& argument : fields.list("args")) kernel.arguments.push_back(parse_argument(argument));
  for (const KernelArgument& a : kernel.arguments) {
    if (uint64_t{a.offset} + a.size > UINT16_MAX) refuse("kernel arguments leave 64 KiB", in_field("args"));
    kernel.descriptor.kernarg_size = std::max(kernel.descriptor.kernarg_size, a.offset + a.size);
  }
  kernel.has_metadata = fields.find("args") != nullptr;
  return kernel;
}

std::vector<uint8_t> code_from(const Object& fields, const std::filesystem::path& folder) {
  const Json* words = fields.find("words");
  const std::string file = fields.text("code_file");
  if (bool(words) == !file.empty()) refuse("give either \"words\" or \"code_file\"");
  if (words) return to_bytes(fields.list("words"), "words");
  // A description from elsewhere must not make us open any file of the machine.
  if (std::filesystem::path(file).filename() != file || file == "." || file == "..")
    refuse("is not a plain file name", in_field("code_file"));
  if (folder.empty()) refuse("files are not opened here", in_field("code_file"));
  auto bytes = read_file(folder / file);
  if (!bytes) throw Refused{bytes.error()};
  return std::move(*bytes);
}

void add_data(const Object& root, ShaderBinary& out) {
  uint64_t total = 0;
  for (const Json& json : root.list("data")) {
    const Object fields(json, "data", {"address", "words", "writable"});
    Segment segment{.address = fields.number("address", 0, UINT64_MAX),
                    .bytes = to_bytes(fields.list("words"), "words"),
                    .writable = fields.flag("writable", false)};
    total += segment.bytes.size();
    if (total > limits::max_image_bytes || out.segments.size() >= limits::max_segments)
      throw Refused{{ErrorKind::limit, "too much data (max_image_bytes, max_segments)", {}, {}}};
    if (segment.address + segment.bytes.size() < segment.address)
      refuse("leaves the address space", in_field("data"));
    out.segments.push_back(std::move(segment));
  }
  std::ranges::sort(out.segments, {}, &Segment::address);
  for (std::size_t i = 1; i < out.segments.size(); ++i)
    if (out.segments[i].address - out.segments[i - 1].address < out.segments[i - 1].bytes.size())
      refuse(fmt::format("overlaps at address {:#x}", out.segments[i].address), in_field("data"));
}

void add_symbols(const Object& root, uint64_t address, uint64_t code_bytes, ShaderBinary& out) {
  for (const Kernel& kernel : out.kernels)
    out.symbols.push_back({kernel.name, kernel.entry, kernel.code_size, Symbol::Kind::function});
  for (const Json& json : root.list("functions")) {
    const Object fields(json, "functions", {"name", "entry", "size"});
    const uint64_t entry = fields.number("entry", 0), size = fields.number("size", 0);
    if (entry > code_bytes || size > code_bytes - entry) refuse("leaves the code", in_field("functions"));
    out.symbols.push_back({fields.text("name"), address + entry, size, Symbol::Kind::function});
  }
  std::ranges::stable_sort(out.symbols, {}, &Symbol::address);
}

using Code = std::optional<std::span<const uint8_t>>;

ShaderBinary build(const Json& json, Code given, const std::filesystem::path& folder) {
  const Object root(json, "the description",
                    {"format", "target", "words", "code_file", "address", "data", "kernels", "functions"});
  if (root.text("format") != raw_format) refuse(fmt::format("is not \"{}\"", raw_format), in_field("format"));
  const std::string target = root.text("target", "gfx1030");
  if (!is_rdna2(target))
    throw Refused{{ErrorKind::unsupported,
                   fmt::format("target '{}' is not RDNA2", target.substr(0, 64)),
                   in_field("target"),
                   {}}};
  if (given && (root.find("words") || root.find("code_file"))) refuse("the code is given twice");

  ShaderBinary out{.format = "raw", .target = fmt::format("amdgcn-amd-amdhsa--{}", target)};
  Segment code{.bytes = given ? std::vector<uint8_t>(given->begin(), given->end()) : code_from(root, folder),
               .executable = true};
  code.address = root.number("address", 0x1000, UINT64_MAX / 2);
  const uint64_t address = code.address, bytes = code.bytes.size();
  if (bytes > limits::max_program_bytes)
    throw Refused{{ErrorKind::limit,
                   fmt::format("code is larger than {} bytes (max_program_bytes)", limits::max_program_bytes),
                   {},
                   {}}};
  if (bytes % 4 != 0 || address % 4 != 0) refuse("code is no whole number of words");
  out.segments.push_back(std::move(code));
  add_data(root, out);
  const auto kernels = root.list("kernels");
  if (kernels.empty() || kernels.size() > limits::max_kernels)
    refuse("no kernels, or too many", in_field("kernels"));
  for (const Json& kernel : kernels) out.kernels.push_back(parse_kernel(kernel, address, bytes));
  std::ranges::stable_sort(out.kernels, {}, &Kernel::entry);
  add_symbols(root, address, bytes, out);
  return out;
}

Expected<ShaderBinary> load(std::span<const uint8_t> text, Code given, const std::filesystem::path& folder) {
  try {
    const Json json = Json::parse(text.begin(), text.end(), nullptr, false);
    if (json.is_discarded()) return fail(ErrorKind::input, "description is not valid JSON");
    return build(json, given, folder);
  } catch (const Refused& refused) {
    return std::unexpected(refused.error);
  } catch (const std::exception& error) {
    return fail(ErrorKind::input, fmt::format("description cannot be read ({})", error.what()));
  }
}

} // namespace

Expected<ShaderBinary> load_raw(std::span<const uint8_t> json, const std::filesystem::path& folder) {
  return load(json, std::nullopt, folder);
}

Expected<ShaderBinary> load_raw_code(std::span<const uint8_t> json, std::span<const uint8_t> code) {
  return load(json, code, {});
}

} // namespace lanewise::container
