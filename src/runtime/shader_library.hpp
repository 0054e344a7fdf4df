// Shaders of a host program: registered once, bound to their callees at each dispatch (docs/calls.md).
//
// The public faces are include/lanewise/library.hpp (C++) and include/lanewise/lanewise.h (C).
#pragma once

#include "runtime/callee_cache.hpp"
#include "runtime/capsule.hpp"
#include "runtime/module_cache.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <shared_mutex>
#include <vector>

namespace lanewise::runtime {

struct LibraryOptions {
  HostTraits host;
  WaveSeating seating = WaveSeating::automatic;
  bool validate = false;              ///< the SPIR-V validator on every module
  std::filesystem::path cache_folder; ///< empty: nothing is kept on disk
  uint64_t cache_bytes = uint64_t{256} << 20;
  /// Of modules and callees kept in memory; beyond it those used longest ago go. Bindings keep theirs.
  uint64_t memory_bytes = uint64_t{512} << 20;
  unsigned threads = 0; ///< that compile; 0: as many as cores
  /// Where registrations and dispatches are written to as capsules (docs/capsules.md); empty: nowhere.
  std::filesystem::path record_folder;
  bool record_all = false; ///< else only those that fail
};

struct ShaderOptions {
  std::array<uint32_t, 3> block{0, 0, 0}; ///< as CompileOptions::block
  uint32_t dynamic_lds_bytes = 0;
  bool full_workgroups = false;
  /// Where the guest holds the code that was registered (virtual address 0 of the image); bind() then refuses
  /// once other code stands there. 0: it is not looked at.
  uint64_t guest_address = 0;
};

/// A module with the callees that it may call.
struct LinkedModule {
  uint64_t id = 0; ///< of this process; equal ids are equal modules, so hosts may keep pipelines by it
  ModulePtr module;
  CalleeSets sets;
};

/// A shader that was registered. Immutable for its users.
class RegisteredShader {
 public:
  [[nodiscard]] const PreparedShader& prepared() const { return *prepared_; }
  [[nodiscard]] const ShaderOptions& options() const { return options_; }

 private:
  friend class ShaderLibrary;
  std::shared_ptr<const PreparedShader> prepared_;
  ShaderOptions options_;
  std::vector<container::Segment> code_;        ///< executable segments, if guest_address is given
  std::shared_ptr<const Capsule> registration_; ///< if dispatches are recorded
  mutable std::shared_mutex lock_;
  mutable std::vector<Kept<LinkedModule>> modules_;     ///< newest first
  mutable const GuestMemory* checked_memory_ = nullptr; ///< the code was found unchanged in it ...
  mutable uint64_t checked_version_ = 0;                ///< ... at this write version
};
using ShaderPtr = std::shared_ptr<const RegisteredShader>;

/// What a dispatch needs.
struct Binding {
  ShaderPtr shader;
  std::shared_ptr<const LinkedModule> linked;
  Targets targets;
  std::vector<uint8_t> callee_table; ///< goes behind the dispatch packet; empty if the shader has no slots
};

struct LibraryStatistics {
  ModuleCacheStatistics modules;
  uint64_t callees_prepared = 0, callees_compared = 0, shaders_prepared = 0, shaders_from_disk = 0;
  uint64_t memory_bytes = 0, dropped = 0; ///< of LibraryOptions::memory_bytes in use; objects that had to go
};

/// Safe for all threads. GuestMemory objects are told apart by their address: forget() one before it goes
/// away.
class ShaderLibrary {
 public:
  /// Errors: those of cache::Store::open.
  [[nodiscard]] static Expected<std::unique_ptr<ShaderLibrary>> create(const LibraryOptions& options);

  /// Prepares a kernel; nothing is registered if that fails.
  [[nodiscard]] Expected<ShaderPtr> add(const container::ShaderBinary& binary,
                                        const container::Kernel& kernel, const ShaderOptions& options);

  /// Resolves the dispatch's pointers and finds or links the module. A dispatch whose callees are known costs
  /// look-ups only. Errors: resolve(), link(), and input where the registered code was overwritten.
  [[nodiscard]] Expected<Binding> bind(const ShaderPtr& shader, const GuestMemory& memory,
                                       const Invocation& invocation);
  /// The same on the pool.
  [[nodiscard]] std::shared_future<Expected<Binding>> bind_later(ShaderPtr shader, const GuestMemory& memory,
                                                                 std::vector<uint8_t> kernarg,
                                                                 Invocation invocation);
  /// Whether the code that a binding was made for still stands where it was: to be asked right before the
  /// dispatch is handed to the device, if the guest may write code meanwhile.
  [[nodiscard]] bool is_current(const Binding& binding, const GuestMemory& memory);

  /// Writes the dispatch, with all memory that it touches, as a capsule that can be run into the record
  /// folder; the file. Errors: record_dispatch(), call (no record folder), system.
  [[nodiscard]] Expected<std::filesystem::path> record_dispatch(const ShaderPtr& shader,
                                                                const GuestMemory& memory,
                                                                const Invocation& invocation,
                                                                std::array<uint32_t, 3> grid);

  void forget(const GuestMemory& memory) { callees_.forget(memory); }
  [[nodiscard]] LibraryStatistics statistics() const;
  [[nodiscard]] cache::Store* store() const { return modules_.store(); }
  [[nodiscard]] const LibraryOptions& options() const { return options_; }

 private:
  explicit ShaderLibrary(const LibraryOptions& options, std::shared_ptr<cache::Store> store)
      : options_(options), budget_(options.memory_bytes), callees_(budget_),
        modules_(budget_, std::move(store), options.threads), pool_(options.threads) {}
  [[nodiscard]] Expected<std::shared_ptr<const PreparedShader>>
  prepared(const container::ShaderBinary& binary, const container::Kernel& kernel,
           const PrepareOptions& options);
  [[nodiscard]] Expected<ShaderPtr> add_unrecorded(const container::ShaderBinary& binary,
                                                   const container::Kernel& kernel,
                                                   const ShaderOptions& options);
  [[nodiscard]] Expected<Binding> bind_unrecorded(const ShaderPtr& shader, const GuestMemory& memory,
                                                  const Invocation& invocation);
  void record(Capsule capsule, const Error* error);
  [[nodiscard]] Expected<std::filesystem::path> write(const Capsule& capsule);
  [[nodiscard]] Expected<void> check_code(const RegisteredShader& shader, const GuestMemory& memory) const;
  [[nodiscard]] Expected<std::shared_ptr<const LinkedModule>> module_for(const ShaderPtr& shader,
                                                                         const Targets& targets);
  [[nodiscard]] Expected<std::shared_ptr<const LinkedModule>> link_module(const ShaderPtr& shader,
                                                                          CalleeSets sets);

  [[nodiscard]] uint64_t id_of(const ModulePtr& module);

  LibraryOptions options_;
  MemoryBudget budget_;
  CalleeCache callees_;
  ModuleCache modules_;
  std::atomic<uint64_t> next_id_{1}, next_capsule_{0}, shaders_prepared_{0}, shaders_from_disk_{0};
  std::mutex ids_lock_;
  struct Id {
    std::weak_ptr<const CompiledModule> module;
    uint64_t id = 0;
  };
  std::map<const CompiledModule*, Id> ids_;
  size_t ids_after_cleaning_ = 0;
  ThreadPool pool_; ///< of bind_later(): its jobs wait for those of `modules_`
};

} // namespace lanewise::runtime
