// Results on disk, shared by many processes (docs/cache.md): an LMDB environment whose entries carry their
// whole key, a checksum, and a zstd-compressed value.
//
// A killed writer loses its own entry and nothing else. An entry that does not check out is a miss, never a
// result.
#pragma once

#include "support/error.hpp"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lanewise::cache {

struct StoreOptions {
  std::filesystem::path folder;             ///< made if it is missing
  uint64_t max_bytes = uint64_t{256} << 20; ///< of entries; least recently used ones go first
  bool read_only = false;                   ///< nothing is written, not even when entries were used
};

struct EntryInfo {
  std::string hash; ///< 32 hexadecimal digits
  std::string kind; ///< "shader", "callee", "module"; "?" for an entry that is damaged
  uint64_t key_bytes = 0, value_bytes = 0, stored_bytes = 0;
  int64_t last_used = 0; ///< seconds since 1970
  bool valid = true;
  std::string problem; ///< why it is not valid
};

struct StoreStatistics {
  uint64_t entries = 0, bytes = 0; ///< stored bytes of all entries
};

/// Safe for all threads of a process; any number of processes may have the same folder open.
class Store {
 public:
  /// Errors: system (the folder cannot be made or opened, with the path), input (no cache, or damaged beyond
  /// use). A folder that may only be read is opened read-only.
  [[nodiscard]] static Expected<std::shared_ptr<Store>> open(const StoreOptions& options);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// The value kept under a key, after comparing the whole key and the checksum. None for all that is
  /// missing, damaged or unreadable.
  [[nodiscard]] std::optional<std::vector<uint8_t>> get(std::string_view key);
  /// Keeps a value; makes room if needed. Errors: system (full disk, no permission), limit (longer than the
  /// cache).
  [[nodiscard]] Expected<void> put(std::string_view kind, std::string_view key,
                                   std::span<const uint8_t> value);

  /// All entries; with `check` each is read and checked whole.
  [[nodiscard]] Expected<std::vector<EntryInfo>> list(bool check);
  /// Removes entries that do not check out; how many.
  [[nodiscard]] Expected<uint64_t> remove_damaged();
  /// Removes the least recently used entries until at most so many bytes are left; how many went.
  [[nodiscard]] Expected<uint64_t> trim(uint64_t bytes);
  [[nodiscard]] Expected<StoreStatistics> statistics();
  /// Writes down which entries were used since the last time; happens by itself with every put.
  void flush();
  [[nodiscard]] bool read_only() const;

 private:
  struct Environment;
  explicit Store(std::shared_ptr<Environment> environment) : environment_(std::move(environment)) {}
  std::shared_ptr<Environment> environment_;
};

} // namespace lanewise::cache
