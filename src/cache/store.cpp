#include "cache/store.hpp"

#include "cache/entry.hpp"
#include "cache/lmdb.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <unistd.h>

namespace lanewise::cache {
namespace {

namespace fs = std::filesystem;

/// Entries of other format versions lie in other folders.
constexpr const char* version_folder = "v1";
/// LMDB wants room for pages that are being replaced.
uint64_t map_bytes(uint64_t max_bytes) { return 2 * max_bytes + (uint64_t{64} << 20); }
/// Room that a full cache makes at once, so that not every put has to.
uint64_t room(uint64_t max_bytes) { return max_bytes / 8; }

int64_t now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

/// LMDB asserts on pages that make no sense; the library must not abort.
struct DamagedPages {};
[[noreturn]] void damaged(MDB_env*, const char*) { throw DamagedPages{}; }

struct UsedEntry {
  int64_t when = 0;
  uint64_t bytes = 0;
  Hash hash{};
};

} // namespace

/// LMDB allows one environment for each folder in a process, so stores share it.
struct Store::Environment {
  MDB_env* env = nullptr;
  MDB_dbi entries = 0; ///< hash -> entry.hpp
  MDB_dbi uses = 0;    ///< hash -> int64_t seconds
  uint64_t max_bytes = 0;
  bool read_only = false;
  std::mutex lock;              ///< of the members below
  std::map<Hash, int64_t> used; ///< since they were written down
  bool broken = false;          ///< LMDB found damaged pages: nothing is read or written any more

  ~Environment() {
    if (env && !broken) mdb_env_close(env);
  }

  /// Runs `f`, which may meet damaged pages.
  template <class F>
  auto guarded(F f) -> decltype(f()) {
    if (is_broken()) return fail(ErrorKind::input, "the cache's pages are damaged");
    try {
      return f();
    } catch (const DamagedPages&) {
      const std::lock_guard guard(lock);
      broken = true;
      return fail(ErrorKind::input, "the cache's pages are damaged");
    }
  }
  bool is_broken() {
    const std::lock_guard guard(lock);
    return broken;
  }

  Expected<void> open(const fs::path& path, const StoreOptions& options);
  Expected<void> open_tables();
  [[nodiscard]] Expected<void> check_size(const fs::path& path) const;
  Expected<void> write_uses(Transaction& txn);
  [[nodiscard]] uint64_t bytes_in_use(const Transaction& txn) const;
  Expected<uint64_t> trim(Transaction& txn, uint64_t bytes) const;
  Expected<void> put(const Hash& hash, std::span<const uint8_t> packed);
};

Expected<void> Store::Environment::open(const fs::path& path, const StoreOptions& options) {
  max_bytes = options.max_bytes;
  if (mdb_env_create(&env) != 0) return fail(ErrorKind::system, "out of memory", path.string());
  mdb_env_set_assert(env, damaged);
  mdb_env_set_maxdbs(env, 2);
  mdb_env_set_maxreaders(env, 1024);
  mdb_env_set_mapsize(env, map_bytes(max_bytes));
  read_only = options.read_only || access(path.c_str(), W_OK) != 0;
  // Without a lock file readers of a folder that nobody may write need no lock.
  const unsigned flags = MDB_NOTLS | (read_only ? MDB_RDONLY | MDB_NOLOCK : MDB_NOMETASYNC);
  int code = mdb_env_open(env, path.c_str(), flags, 0666);
  if (code == EACCES || code == EROFS) {
    read_only = true;
    mdb_env_close(env);
    if (mdb_env_create(&env) != 0) return fail(ErrorKind::system, "out of memory", path.string());
    mdb_env_set_assert(env, damaged);
    mdb_env_set_maxdbs(env, 2);
    mdb_env_set_mapsize(env, map_bytes(max_bytes));
    code = mdb_env_open(env, path.c_str(), MDB_NOTLS | MDB_RDONLY | MDB_NOLOCK, 0666);
  }
  if (code != 0) return lmdb_error(code, path.string());
  if (auto ok = check_size(path); !ok) return ok;
  int dead = 0;
  if (!read_only) mdb_reader_check(env, &dead);
  return guarded([&]() -> Expected<void> { return open_tables(); });
}

/// A file that was cut off would be a bus error in the map.
Expected<void> Store::Environment::check_size(const fs::path& path) const {
  MDB_envinfo info;
  MDB_stat stat;
  mdb_env_info(env, &info);
  mdb_env_stat(env, &stat);
  std::error_code error;
  const uint64_t size = fs::file_size(path / "data.mdb", error);
  if (!error && size < (uint64_t{info.me_last_pgno} + 1) * stat.ms_psize)
    return fail(ErrorKind::input, "the cache's file is shorter than it says", path.string());
  return {};
}

Expected<void> Store::Environment::open_tables() {
  auto txn = Transaction::begin(env, read_only ? MDB_RDONLY : 0);
  if (!txn) return std::unexpected(std::move(txn.error()));
  const unsigned create = read_only ? 0 : MDB_CREATE;
  for (const auto& [name, table] : {std::pair("entries", &entries), std::pair("uses", &uses)})
    if (const int code = mdb_dbi_open(txn->get(), name, create, table); code != 0)
      return lmdb_error(code, fmt::format("opening table {}", name));
  return txn->commit();
}

Expected<void> Store::Environment::write_uses(Transaction& txn) {
  std::map<Hash, int64_t> list;
  {
    const std::lock_guard guard(lock);
    list.swap(used);
  }
  for (const auto& [hash, when] : list) {
    MDB_val key = as_value(hash), value{sizeof when, const_cast<int64_t*>(&when)}, entry;
    if (mdb_get(txn.get(), entries, &key, &entry) != 0) continue; // trimmed meanwhile
    if (const int code = mdb_put(txn.get(), uses, &key, &value, 0); code != 0)
      return lmdb_error(code, "writing down uses");
  }
  return {};
}

uint64_t Store::Environment::bytes_in_use(const Transaction& txn) const {
  MDB_stat stat{};
  if (mdb_stat(txn.get(), entries, &stat) != 0) return 0;
  return (stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages) * uint64_t{stat.ms_psize};
}

Expected<uint64_t> Store::Environment::trim(Transaction& txn, uint64_t bytes) const {
  std::vector<UsedEntry> list;
  uint64_t total = 0;
  {
    Cursor cursor(txn, entries);
    for (MDB_val key, value; cursor.next(key, value);) {
      if (key.mv_size != sizeof(Hash)) continue;
      UsedEntry e{.bytes = value.mv_size};
      std::memcpy(e.hash.data(), key.mv_data, sizeof(Hash));
      MDB_val when;
      if (mdb_get(txn.get(), uses, &key, &when) == 0 && when.mv_size == sizeof e.when)
        std::memcpy(&e.when, when.mv_data, sizeof e.when);
      total += e.bytes;
      list.push_back(e);
    }
  }
  std::ranges::sort(list, {}, &UsedEntry::when);
  uint64_t removed = 0;
  for (const UsedEntry& e : list) {
    if (total <= bytes) break;
    MDB_val key = as_value(e.hash);
    if (const int code = mdb_del(txn.get(), entries, &key, nullptr); code != 0)
      return lmdb_error(code, "removing an entry");
    mdb_del(txn.get(), uses, &key, nullptr);
    total -= e.bytes;
    ++removed;
  }
  return removed;
}

Expected<void> Store::Environment::put(const Hash& hash, std::span<const uint8_t> packed) {
  auto txn = Transaction::begin(env, 0);
  if (!txn) return std::unexpected(std::move(txn.error()));
  if (auto ok = write_uses(*txn); !ok) return ok;
  if (bytes_in_use(*txn) + packed.size() > max_bytes)
    if (auto ok = trim(*txn, max_bytes - std::min(max_bytes, room(max_bytes) + packed.size())); !ok)
      return std::unexpected(std::move(ok.error()));
  const int64_t when = now();
  MDB_val key = as_value(hash), value = as_value(packed), time{sizeof when, const_cast<int64_t*>(&when)};
  if (const int code = mdb_put(txn->get(), entries, &key, &value, 0); code != 0)
    return lmdb_error(code, "writing an entry");
  if (const int code = mdb_put(txn->get(), uses, &key, &time, 0); code != 0)
    return lmdb_error(code, "writing an entry");
  return txn->commit();
}

Expected<std::shared_ptr<Store>> Store::open(const StoreOptions& options) {
  static std::mutex lock;
  static std::map<fs::path, std::weak_ptr<Environment>> open_environments;
  std::error_code error;
  const fs::path path = options.folder / version_folder;
  if (!options.read_only) fs::create_directories(path, error);
  if (!fs::is_directory(path))
    return fail(ErrorKind::system, error ? error.message() : "there is no cache", path.string());
  const fs::path name = fs::canonical(path, error);
  const std::lock_guard guard(lock);
  auto& known = open_environments[name];
  auto environment = known.lock();
  if (!environment || environment->is_broken()) {
    environment = std::make_shared<Environment>();
    if (auto ok = environment->open(name, options); !ok) {
      if (ok.error().where != name.string()) ok.error().where = name.string() + ": " + ok.error().where;
      return std::unexpected(std::move(ok.error()));
    }
    known = environment;
  }
  return std::shared_ptr<Store>(new Store(std::move(environment)));
}

Store::~Store() { flush(); }

bool Store::read_only() const { return environment_->read_only; }

std::optional<std::vector<uint8_t>> Store::get(std::string_view key) {
  Environment& e = *environment_;
  const Hash hash = hash_of(key);
  auto found = e.guarded([&]() -> Expected<std::vector<uint8_t>> {
    auto txn = Transaction::begin(e.env, MDB_RDONLY);
    if (!txn) return std::unexpected(std::move(txn.error()));
    MDB_val name = as_value(hash), value;
    if (const int code = mdb_get(txn->get(), e.entries, &name, &value); code != 0)
      return lmdb_error(code, "reading");
    auto entry = unpack(as_bytes(value));
    if (!entry) return std::unexpected(std::move(entry.error()));
    if (entry->key != key) return fail(ErrorKind::input, "another key with the same hash");
    return std::move(entry->value);
  });
  if (!found) return {};
  if (!e.read_only) {
    const std::lock_guard guard(e.lock);
    e.used[hash] = now();
  }
  return std::move(*found);
}

Expected<void> Store::put(std::string_view kind, std::string_view key, std::span<const uint8_t> value) {
  Environment& e = *environment_;
  if (e.read_only) return fail(ErrorKind::system, "the cache is read-only");
  const auto packed = pack(kind, key, value);
  if (packed.size() > e.max_bytes / 2)
    return fail(ErrorKind::limit, fmt::format("an entry of {} bytes does not fit the cache", packed.size()));
  return e.guarded([&]() -> Expected<void> { return e.put(hash_of(key), packed); });
}

void Store::flush() {
  Environment& e = *environment_;
  {
    const std::lock_guard guard(e.lock);
    if (e.read_only || e.broken || e.used.empty()) return;
  }
  (void)e.guarded([&]() -> Expected<void> {
    auto txn = Transaction::begin(e.env, 0);
    if (!txn) return std::unexpected(std::move(txn.error()));
    if (auto ok = e.write_uses(*txn); !ok) return ok;
    return txn->commit();
  });
}

Expected<std::vector<EntryInfo>> Store::list(bool check) {
  Environment& e = *environment_;
  return e.guarded([&]() -> Expected<std::vector<EntryInfo>> {
    auto txn = Transaction::begin(e.env, MDB_RDONLY);
    if (!txn) return std::unexpected(std::move(txn.error()));
    std::vector<EntryInfo> list;
    Cursor cursor(*txn, e.entries);
    for (MDB_val key, value; cursor.next(key, value);) {
      EntryInfo info{.kind = "?", .stored_bytes = value.mv_size};
      Hash hash{};
      std::memcpy(hash.data(), key.mv_data, std::min(key.mv_size, sizeof hash));
      info.hash = hex(hash);
      MDB_val when;
      if (mdb_get(txn->get(), e.uses, &key, &when) == 0 && when.mv_size == sizeof info.last_used)
        std::memcpy(&info.last_used, when.mv_data, sizeof info.last_used);
      auto entry = unpack(as_bytes(value));
      if (entry && check && hash_of(entry->key) != hash)
        entry = fail(ErrorKind::input, "key does not have this hash");
      if (entry) {
        info.kind = entry->kind;
        info.key_bytes = entry->key.size();
        info.value_bytes = entry->value.size();
      } else {
        info.valid = false;
        info.problem = entry.error().what;
      }
      list.push_back(std::move(info));
    }
    return list;
  });
}

Expected<uint64_t> Store::remove_damaged() {
  Environment& e = *environment_;
  if (e.read_only) return fail(ErrorKind::system, "the cache is read-only");
  return e.guarded([&]() -> Expected<uint64_t> {
    auto txn = Transaction::begin(e.env, 0);
    if (!txn) return std::unexpected(std::move(txn.error()));
    std::vector<std::vector<uint8_t>> bad;
    {
      Cursor cursor(*txn, e.entries);
      for (MDB_val key, value; cursor.next(key, value);) {
        const auto entry = unpack(as_bytes(value));
        const auto name = as_bytes(key);
        if (!entry || !std::ranges::equal(hash_of(entry->key), name))
          bad.emplace_back(name.begin(), name.end());
      }
    }
    for (const auto& name : bad) {
      MDB_val key = as_value(name);
      mdb_del(txn->get(), e.entries, &key, nullptr);
      mdb_del(txn->get(), e.uses, &key, nullptr);
    }
    if (auto ok = txn->commit(); !ok) return std::unexpected(std::move(ok.error()));
    return bad.size();
  });
}

Expected<uint64_t> Store::trim(uint64_t bytes) {
  Environment& e = *environment_;
  if (e.read_only) return fail(ErrorKind::system, "the cache is read-only");
  return e.guarded([&]() -> Expected<uint64_t> {
    auto txn = Transaction::begin(e.env, 0);
    if (!txn) return std::unexpected(std::move(txn.error()));
    if (auto ok = e.write_uses(*txn); !ok) return std::unexpected(std::move(ok.error()));
    auto removed = e.trim(*txn, bytes);
    if (!removed) return removed;
    if (auto ok = txn->commit(); !ok) return std::unexpected(std::move(ok.error()));
    return removed;
  });
}

Expected<StoreStatistics> Store::statistics() {
  auto entries = list(false);
  if (!entries) return std::unexpected(std::move(entries.error()));
  StoreStatistics s{.entries = entries->size()};
  for (const EntryInfo& e : *entries) s.bytes += e.stored_bytes;
  return s;
}

} // namespace lanewise::cache
