#include "container/bundle.hpp"

#include "container/bytes.hpp"
#include "container/code_object.hpp"
#include "support/limits.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lanewise::container {
namespace {

constexpr std::string_view magic = "__CLANG_OFFLOAD_BUNDLE__", compressed_magic = "CCOB";
constexpr std::size_t max_id_bytes = 256, max_listed = 16;

std::string targets_of(std::span<const BundleEntry> entries) {
  std::string list;
  for (const BundleEntry& entry : entries.first(std::min(entries.size(), max_listed)))
    list.append(list.empty() ? "" : ", ").append(entry.id);
  if (entries.size() > max_listed) list += ", ...";
  return list.empty() ? "nothing" : list;
}

} // namespace

// An ID is KIND-TRIPLE--PROCESSOR[:FEATURE...], the triple having three or four parts, the last may be empty.
std::string_view BundleEntry::processor() const {
  const std::string_view whole = id;
  if (whole.find("amdgcn") == std::string_view::npos) return {};
  const auto start = whole.find("-gfx");
  if (start == std::string_view::npos) return {};
  const auto name = whole.substr(start + 1);
  return name.substr(0, name.find(':'));
}

bool is_bundle(std::span<const uint8_t> file) { return starts_with(file, magic); }
bool is_compressed_bundle(std::span<const uint8_t> file) { return starts_with(file, compressed_magic); }

// Header: magic, number of entries (u64), then for each entry offset, size, length of the ID (u64 each), the
// ID.
Expected<std::vector<BundleEntry>> read_bundle(std::span<const uint8_t> file) {
  const auto count = read_at<uint64_t>(file, magic.size());
  if (!is_bundle(file) || !count) return fail(ErrorKind::input, "offload bundle is truncated");
  if (*count > limits::max_bundle_entries)
    return fail(ErrorKind::limit, fmt::format("offload bundle with {} entries (max_bundle_entries is {})",
                                              *count, limits::max_bundle_entries));
  std::vector<BundleEntry> entries;
  uint64_t at = magic.size() + 8;
  for (uint64_t i = 0; i < *count; ++i) {
    const auto offset = read_at<uint64_t>(file, at), size = read_at<uint64_t>(file, at + 8),
               length = read_at<uint64_t>(file, at + 16);
    const std::string where = fmt::format("bundle entry {}, offset {:#x}", i, at);
    if (!length) return fail(ErrorKind::input, "offload bundle is truncated", where);
    const auto id = *length <= max_id_bytes ? slice(file, at + 24, *length) : std::nullopt;
    const auto contents = slice(file, *offset, *size);
    if (!id || !contents) return fail(ErrorKind::input, "bundle entry leaves the file", where);
    entries.push_back({std::string(id->begin(), id->end()), *contents});
    at += 24 + *length;
  }
  return entries;
}

Expected<BundleEntry> pick_entry(std::span<const BundleEntry> entries, std::string_view target) {
  const auto pick = [&](auto&& wanted) {
    const auto found = std::ranges::find_if(entries, wanted);
    return found == entries.end() ? nullptr : &*found;
  };
  const std::string_view first = target.empty() ? "gfx1030" : target;
  const BundleEntry* entry = pick(
      [&](const BundleEntry& e) { return !e.bytes.empty() && (e.id == first || e.processor() == first); });
  if (!entry && target.empty())
    entry = pick([](const BundleEntry& e) { return !e.bytes.empty() && is_rdna2(e.processor()); });
  if (entry) return *entry;
  return fail(target.empty() ? ErrorKind::input : ErrorKind::call,
              fmt::format("offload bundle has no code object for {}", first), {},
              fmt::format("it has {}", targets_of(entries)));
}

} // namespace lanewise::container
