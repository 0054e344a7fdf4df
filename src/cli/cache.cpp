// lanewise cache: what is in a disk cache, whether it checks out, and making it smaller.
#include <chrono>
#include <iostream>
#include <memory>

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cache/store.hpp"
#include "cli/command.hpp"
#include "cli/commands.hpp"
#include "cli/input.hpp"

namespace lanewise::cli {

namespace {

struct CacheCommand {
  std::string folder;
  bool json = false, remove = false;
  uint64_t bytes = 0;
};

nlohmann::ordered_json to_json(const cache::EntryInfo& e) {
  nlohmann::ordered_json j{{"hash", e.hash},
                           {"kind", e.kind},
                           {"key_bytes", e.key_bytes},
                           {"value_bytes", e.value_bytes},
                           {"stored_bytes", e.stored_bytes},
                           {"last_used", e.last_used},
                           {"valid", e.valid}};
  if (!e.valid) j["problem"] = e.problem;
  return j;
}

std::string time_text(int64_t seconds) {
  if (seconds == 0) return "never";
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

Expected<std::shared_ptr<cache::Store>> open(const CacheCommand& command, bool read_only) {
  return cache::Store::open({.folder = command.folder, .read_only = read_only});
}

Expected<int> list(const CacheCommand& command) {
  auto store = open(command, true);
  if (!store) return std::unexpected(store.error());
  auto entries = (*store)->list(false);
  if (!entries) return std::unexpected(entries.error());
  uint64_t stored = 0;
  auto all = nlohmann::ordered_json::array();
  for (const auto& e : *entries) {
    stored += e.stored_bytes;
    if (command.json)
      all.push_back(to_json(e));
    else
      std::cout << fmt::format("{}  {:<8} {:>10} bytes  {:>10} stored  used {}{}\n", e.hash,
                               printable(e.kind), e.value_bytes, e.stored_bytes, time_text(e.last_used),
                               e.valid ? "" : "  DAMAGED: " + e.problem);
  }
  if (command.json)
    std::cout << all.dump() << '\n';
  else
    std::cout << fmt::format("{} entries, {} bytes\n", entries->size(), stored);
  return exit_done;
}

Expected<int> verify(const CacheCommand& command) {
  auto store = open(command, !command.remove);
  if (!store) return std::unexpected(store.error());
  auto entries = (*store)->list(true);
  if (!entries) return std::unexpected(entries.error());
  uint64_t damaged = 0;
  for (const auto& e : *entries) {
    if (e.valid) continue;
    ++damaged;
    if (!command.json) std::cout << fmt::format("{}: {}\n", e.hash, e.problem);
  }
  uint64_t removed = 0;
  if (command.remove && damaged != 0) {
    auto gone = (*store)->remove_damaged();
    if (!gone) return std::unexpected(gone.error());
    removed = *gone;
  }
  if (command.json)
    std::cout << nlohmann::ordered_json{{"entries", entries->size()},
                                        {"damaged", damaged},
                                        {"removed", removed}}
                     .dump()
              << '\n';
  else
    std::cout << fmt::format("{} entries, {} damaged, {} removed\n", entries->size(), damaged, removed);
  return damaged > removed ? exit_check_failed : exit_done;
}

Expected<int> trim(const CacheCommand& command) {
  auto store = open(command, false);
  if (!store) return std::unexpected(store.error());
  auto removed = (*store)->trim(command.bytes);
  if (!removed) return std::unexpected(removed.error());
  auto left = (*store)->statistics();
  if (!left) return std::unexpected(left.error());
  if (command.json)
    std::cout << nlohmann::ordered_json{{"removed", *removed},
                                        {"entries", left->entries},
                                        {"bytes", left->bytes}}
                     .dump()
              << '\n';
  else
    std::cout << fmt::format("{} entries removed, {} left with {} bytes\n", *removed, left->entries,
                             left->bytes);
  return exit_done;
}

using Action = Expected<int> (*)(const CacheCommand&);

void add_action(Command& cache, int& status, const std::string& name, const std::string& help, Action action,
                void (*more)(Command&, CacheCommand&)) {
  auto options = std::make_shared<CacheCommand>();
  Command command = cache.add(name, help);
  command.text("FOLDER", options->folder, "the cache's folder").required();
  command.flag("--json", options->json, "print JSON");
  more(command, *options);
  command.run(status, [options, action] {
    auto done = action(*options);
    return done ? *done : report(done.error());
  });
}

} // namespace

void add_cache(Command& root, int& status) {
  Command cache = root.add("cache", "Inspect, verify or trim a disk cache");
  cache.require_subcommand();
  add_action(cache, status, "list", "List all entries", list, [](Command&, CacheCommand&) {});
  add_action(cache, status, "verify", "Read every entry and check it; exit status 3 if one is damaged",
             verify,
             [](Command& c, CacheCommand& o) { c.flag("--remove", o.remove, "remove damaged entries"); });
  add_action(cache, status, "trim", "Remove the least recently used entries", trim,
             [](Command& c, CacheCommand& o) {
               c.number("--bytes", o.bytes, "how many bytes of entries may stay").show_default();
             });
}

} // namespace lanewise::cli
