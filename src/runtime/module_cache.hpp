// Compiled modules by key: in memory, on disk, or made by a job that all who ask for the key wait for.
#pragma once

#include "cache/store.hpp"
#include "runtime/compile.hpp"
#include "runtime/keys.hpp"
#include "runtime/memory_budget.hpp"
#include "support/thread_pool.hpp"

#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>

namespace lanewise::runtime {

/// A module as it is kept. Immutable.
struct CompiledModule {
  spirv::EmittedModule module;
  spirv::Seating seating;
};
[[nodiscard]] std::vector<uint8_t> serialize(const CompiledModule& module);
/// About the bytes that it takes in memory.
[[nodiscard]] uint64_t memory_of(const CompiledModule& module);
[[nodiscard]] Expected<std::shared_ptr<const CompiledModule>>
deserialize_module(std::span<const uint8_t> bytes);

using ModulePtr = std::shared_ptr<const CompiledModule>;
using ModuleResult = Expected<ModulePtr>;
using ModuleFuture = std::shared_future<ModuleResult>;

struct ModuleCacheStatistics {
  uint64_t memory_hits = 0, disk_hits = 0, compiled = 0, merged = 0, failed = 0, store_errors = 0;
};

/// Safe for all threads.
class ModuleCache {
 public:
  /// `store` may be null: nothing is kept on disk. `threads` 0: as many as cores. `budget` outlives the
  /// cache.
  ModuleCache(MemoryBudget& budget, std::shared_ptr<cache::Store> store, unsigned threads = 0)
      : budget_(budget), store_(std::move(store)), pool_(threads) {}

  using Compile = std::function<Expected<CompiledKernel>()>;
  /// The module of a key. Where it is neither in memory nor on disk, `compile` runs on the pool, once for all
  /// who ask meanwhile. Failures are not kept.
  [[nodiscard]] ModuleFuture get(const std::string& key, Compile compile);
  /// From memory or disk only.
  [[nodiscard]] ModulePtr find(const std::string& key);

  [[nodiscard]] ModuleCacheStatistics statistics() const;
  [[nodiscard]] cache::Store* store() const { return store_.get(); }

 private:
  struct Slot {
    std::string key;
    ModuleFuture future{};         ///< while it is made
    Kept<CompiledModule> module{}; ///< then
  };
  using Slots = std::multimap<Hash128, Slot>;
  [[nodiscard]] Slots::iterator slot_of(Hash128 hash, const std::string& key);
  void forget_dropped();
  [[nodiscard]] ModulePtr from_disk(const std::string& key);
  ModuleResult make(const std::string& key, const Compile& compile);

  MemoryBudget& budget_;
  std::shared_ptr<cache::Store> store_;
  mutable std::mutex lock_;
  Slots slots_;          ///< keys of one hash stand side by side
  uint64_t dropped_ = 0; ///< of the budget, when expired slots were removed last
  std::atomic<uint64_t> memory_hits_{0}, disk_hits_{0}, compiled_{0}, merged_{0}, failed_{0},
      store_errors_{0};
  ThreadPool pool_; ///< last: its jobs use the members above
};

} // namespace lanewise::runtime
