#include "cache/store.hpp"

#include "cache/entry.hpp"
#include "cache/lmdb.hpp"
#include "child.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <random>
#include <thread>

#include <unistd.h>

namespace lanewise::cache {
namespace {

/// The value that belongs to a key, so that a wrong one is noticed anywhere.
std::vector<uint8_t> value_of(const std::string& key) {
  std::mt19937 random(static_cast<uint32_t>(std::hash<std::string>()(key)));
  std::vector<uint8_t> value(100 + random() % 20000);
  for (auto& b : value) b = static_cast<uint8_t>(random());
  return value;
}

std::string key(unsigned n) { return "key " + std::to_string(n); }

TEST(Store, KeepsAndFinds) {
  const Folder folder;
  auto store = Store::open({.folder = folder.path()});
  ASSERT_TRUE(store) << store.error().to_string();
  EXPECT_FALSE((*store)->get("nothing"));
  for (unsigned n = 0; n < 50; ++n) ASSERT_TRUE((*store)->put("test", key(n), value_of(key(n))));
  for (unsigned n = 0; n < 50; ++n) EXPECT_EQ((*store)->get(key(n)), value_of(key(n)));
  ASSERT_TRUE((*store)->put("test", key(3), std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ((*store)->get(key(3)), (std::vector<uint8_t>{1, 2, 3}));
  const auto list = (*store)->list(true);
  ASSERT_TRUE(list);
  EXPECT_EQ(list->size(), 50u);
  for (const EntryInfo& e : *list) EXPECT_TRUE(e.valid && e.kind == "test" && e.last_used != 0) << e.problem;
}

TEST(Store, IsThereAfterReopening) {
  const Folder folder;
  {
    auto store = Store::open({.folder = folder.path()});
    ASSERT_TRUE(store && (*store)->put("test", "a", value_of("a")));
  }
  auto store = Store::open({.folder = folder.path()});
  ASSERT_TRUE(store);
  EXPECT_EQ((*store)->get("a"), value_of("a"));
}

/// Puts bytes under the hash of a key without going through Store.
void put_raw(const std::string& folder, std::string_view under, std::vector<uint8_t> bytes) {
  in_child([&] {
    MDB_env* env = nullptr;
    mdb_env_create(&env);
    mdb_env_set_maxdbs(env, 2);
    mdb_env_set_mapsize(env, 1u << 28);
    if (mdb_env_open(env, (folder + "/v1").c_str(), 0, 0666) != 0) return 1;
    MDB_txn* txn = nullptr;
    MDB_dbi table = 0;
    mdb_txn_begin(env, nullptr, 0, &txn);
    mdb_dbi_open(txn, "entries", MDB_CREATE, &table);
    const Hash hash = hash_of(under);
    MDB_val k = as_value(hash), v = as_value(bytes);
    mdb_put(txn, table, &k, &v, 0);
    return mdb_txn_commit(txn);
  });
}

TEST(Store, DamagedEntriesAreMisses) {
  const Folder folder;
  // The store is opened in children only, so that put_raw may open the folder too.
  ASSERT_EQ(in_child([&] {
              auto store = Store::open({.folder = folder.path()});
              return store && (*store)->put("test", "good", value_of("good")) ? 0 : 1;
            }),
            0);
  const auto packed = pack("test", "bad", value_of("bad"));
  for (const size_t at :
       {size_t{0}, size_t{5}, size_t{16}, size_t{24}, packed.size() / 2, packed.size() - 1}) {
    auto flipped = packed;
    flipped[at] ^= 0x10;
    put_raw(folder.path(), "bad", flipped);
    EXPECT_EQ(in_child([&] {
                auto store = Store::open({.folder = folder.path()});
                if (!store || (*store)->get("bad") || (*store)->get("good") != value_of("good")) return 1;
                const auto list = (*store)->list(true);
                if (!list || list->size() != 2) return 2;
                const auto bad = std::ranges::count(*list, false, &EntryInfo::valid);
                return bad == 1 && (*store)->remove_damaged() == 1u && (*store)->list(true)->size() == 1 ? 0
                                                                                                         : 3;
              }),
              0)
        << "byte " << at;
  }
  put_raw(folder.path(), "bad", {1, 2, 3});                              // truncated
  put_raw(folder.path(), "other", pack("test", "bad", value_of("bad"))); // another key with the same hash
  EXPECT_EQ(in_child([&] {
              auto store = Store::open({.folder = folder.path()});
              return store && !(*store)->get("bad") && !(*store)->get("other") &&
                             (*store)->remove_damaged() == 2u
                         ? 0
                         : 1;
            }),
            0);
}

TEST(Store, TrimsWhatWasNotUsed) {
  const Folder folder;
  auto store = Store::open({.folder = folder.path(), .max_bytes = 2u << 20});
  ASSERT_TRUE(store);
  for (unsigned n = 0; n < 400; ++n) {
    ASSERT_TRUE((*store)->put("test", key(n), value_of(key(n)))) << n;
    if (n % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  const auto all = (*store)->statistics();
  ASSERT_TRUE(all);
  EXPECT_LE(all->bytes, 2u << 20);
  EXPECT_GT(all->entries, 50u);
  EXPECT_EQ((*store)->get(key(399)), value_of(key(399)));
  EXPECT_FALSE((*store)->get(key(0)));
  // Use decides, not age: times have seconds, so wait for the next one.
  const Folder other;
  auto few = Store::open({.folder = other.path()});
  ASSERT_TRUE(few);
  for (unsigned n = 0; n < 10; ++n) ASSERT_TRUE((*few)->put("test", key(n), value_of(key(n))));
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));
  ASSERT_TRUE((*few)->get(key(0)));
  ASSERT_TRUE((*few)->get(key(1)));
  ASSERT_TRUE((*few)->trim(value_of(key(0)).size() + value_of(key(1)).size() + 200));
  EXPECT_TRUE((*few)->get(key(0)));
  EXPECT_TRUE((*few)->get(key(1)));
  EXPECT_FALSE((*few)->get(key(2)));
}

TEST(Store, ManyThreads) {
  const Folder folder;
  std::atomic<unsigned> wrong{0}, found{0};
  {
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 16; ++t)
      threads.emplace_back([&, t] {
        auto store = Store::open({.folder = folder.path()});
        if (!store) {
          ++wrong;
          return;
        }
        for (unsigned n = 0; n < 60; ++n) {
          const std::string k = key((n * 7 + t) % 40);
          if (auto v = (*store)->get(k)) {
            ++found;
            if (*v != value_of(k)) ++wrong;
          } else if (!(*store)->put("test", k, value_of(k))) {
            ++wrong;
          }
        }
      });
  }
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(found, 500u);
}

// -- faults

/// All entries of a folder check out and are what their keys say; the number of entries, or a negative
/// number.
int check_all(const std::string& folder, unsigned keys) {
  auto store = Store::open({.folder = folder});
  if (!store) return -1;
  int found = 0;
  for (unsigned n = 0; n < keys; ++n)
    if (auto v = (*store)->get(key(n))) {
      if (*v != value_of(key(n))) return -2;
      ++found;
    }
  const auto list = (*store)->list(true);
  if (!list || std::ranges::count(*list, false, &EntryInfo::valid) != 0) return -3;
  return static_cast<int>(list->size()) == found ? found : -4;
}

TEST(StoreFaults, KilledWriters) {
  const Folder folder;
  std::mt19937 random(1);
  constexpr unsigned keys = 300;
  for (unsigned round = 0; round < 200; ++round) {
    int opened[2]; // the time to live starts when the child has the store, however slow the machine
    ASSERT_EQ(pipe(opened), 0);
    const pid_t child = start_child([&] {
      auto store = Store::open({.folder = folder.path(), .max_bytes = 3u << 20});
      if (!store || write(opened[1], "", 1) != 1) return 1;
      std::mt19937 mine(round);
      while (true) {
        const auto n = static_cast<unsigned>(mine() % keys);
        if (!(*store)->put("test", key(n), value_of(key(n)))) return 2;
      }
    });
    close(opened[1]);
    char byte = 0;
    EXPECT_EQ(read(opened[0], &byte, 1), 1) << "round " << round << ": the store did not open";
    close(opened[0]);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 30000));
    EXPECT_TRUE(kill_child(child)) << "round " << round << ": the writer ended by itself";
    if (round % 20 != 19) continue;
    EXPECT_EQ(in_child([&] { return check_all(folder.path(), keys) >= 0 ? 0 : 1; }), 0) << "round " << round;
  }
  EXPECT_EQ(in_child([&] { return check_all(folder.path(), keys) > 20 ? 0 : 1; }), 0);
}

TEST(StoreFaults, FullDisk) {
  const Folder folder;
  ASSERT_EQ(in_child([&] {
              auto store = Store::open({.folder = folder.path()});
              return store && (*store)->put("test", key(0), value_of(key(0))) ? 0 : 1;
            }),
            0);
  EXPECT_EQ(in_child([&] {
              if (!limit_file_size(160u << 10)) return 9; // every write beyond fails
              auto store = Store::open({.folder = folder.path()});
              if (!store) return 1;
              unsigned failed = 0;
              for (unsigned n = 1; n < 60; ++n)
                if (auto ok = (*store)->put("test", key(n), value_of(key(n))); !ok) {
                  if (ok.error().kind != ErrorKind::system) return 2;
                  ++failed;
                }
              if (failed == 0) return 3;
              return (*store)->get(key(0)) == value_of(key(0)) ? 0 : 4;
            }),
            0);
  EXPECT_EQ(in_child([&] { return check_all(folder.path(), 60) > 0 ? 0 : 1; }), 0);
}

TEST(StoreFaults, ReadOnlyFolder) {
  const Folder folder;
  ASSERT_EQ(in_child([&] {
              auto store = Store::open({.folder = folder.path()});
              return store && (*store)->put("test", "a", value_of("a")) ? 0 : 1;
            }),
            0);
  folder.forbid_writing();
  EXPECT_EQ(in_child([&] {
              if (!become_nobody()) return 9;
              auto store = Store::open({.folder = folder.path()});
              if (!store) return 1;
              if (!(*store)->read_only() || (*store)->get("a") != value_of("a")) return 2;
              const auto put = (*store)->put("test", "b", value_of("b"));
              return !put && put.error().kind == ErrorKind::system ? 0 : 3;
            }),
            0);
}

TEST(StoreFaults, FoldersThatAreNoCache) {
  const auto outcome = [](const std::string& folder) {
    return in_child([&] {
      auto store = Store::open({.folder = folder});
      if (!store) return 0;
      return (*store)->get("a") == value_of("a") ? 2 : 1; // opened, and a miss or the right value
    });
  };
  const auto write = [](const std::string& path, const std::string& bytes) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << bytes;
  };
  const Folder garbage, short_file, folder_is_a_file;
  write(garbage.path() + "/v1/data.mdb", std::string(100000, 'x'));
  EXPECT_EQ(outcome(garbage.path()), 0);

  ASSERT_EQ(in_child([&] {
              auto store = Store::open({.folder = short_file.path()});
              if (!store) return 1;
              for (unsigned n = 0; n < 30; ++n)
                if (!(*store)->put("test", key(n), value_of(key(n)))) return 2;
              return 0;
            }),
            0);
  std::filesystem::resize_file(short_file.path() + "/v1/data.mdb", 3 * 4096);
  EXPECT_EQ(outcome(short_file.path()), 0);

  write(folder_is_a_file.path() + "/v1", "not a folder");
  EXPECT_EQ(outcome(folder_is_a_file.path()), 0);

  // What another format version left is not looked at.
  const Folder other_version;
  write(other_version.path() + "/v2/data.mdb", "something else");
  EXPECT_EQ(outcome(other_version.path()), 1);
}

/// Bytes flipped anywhere in the file: never a wrong value, never a crash.
TEST(StoreFaults, FlippedBytesInTheFile) {
  std::mt19937 random(7);
  for (unsigned round = 0; round < 40; ++round) {
    const Folder folder;
    ASSERT_EQ(in_child([&] {
                auto store = Store::open({.folder = folder.path()});
                if (!store) return 1;
                for (unsigned n = 0; n < 12; ++n)
                  if (!(*store)->put("test", key(n), value_of(key(n)))) return 2;
                return 0;
              }),
              0);
    {
      std::fstream file(folder.path() + "/v1/data.mdb", std::ios::in | std::ios::out | std::ios::binary);
      const auto size = std::filesystem::file_size(folder.path() + "/v1/data.mdb");
      // Behind the two meta pages, inside the contents of entries and in page headers.
      file.seekp(static_cast<std::streamoff>(2 * 4096 + random() % (size - 2 * 4096)));
      file.put(static_cast<char>(random()));
    }
    EXPECT_EQ(in_child([&] {
                auto store = Store::open({.folder = folder.path()});
                if (!store) return 0;
                for (unsigned n = 0; n < 12; ++n)
                  if (auto v = (*store)->get(key(n)); v && *v != value_of(key(n))) return 1;
                return 0;
              }),
              0)
        << "round " << round;
  }
}

} // namespace
} // namespace lanewise::cache
