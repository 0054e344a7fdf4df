// Shaders that call through pointers of the host, from registration to dispatch (docs/calls.md).
//
//   auto library = lanewise::ShaderLibrary::create({.cache_folder = "/var/cache/game"});
//   auto shader = library->add(*program, "main", {.workgroup = {64, 1, 1}});       // no dispatch data needed
//   ...
//   auto binding = library->bind(*shader, memory, {arguments, arguments_address, image_base});
//   pipeline = pipelines[binding->id()], made from binding->module() if it is new;
//   copy binding->callee_table() behind the dispatch packet, push constants as docs/abi.md says, dispatch.
//
// Needs C++23. Nothing here throws. All classes are safe to use from several threads at once.
#pragma once

#include "lanewise/guest_memory.hpp"
#include "lanewise/lanewise.hpp"

#include <array>
#include <string>

namespace lanewise {

namespace runtime {
class RegisteredShader;
class ShaderLibrary;
struct Binding;
} // namespace runtime

struct LibraryOptions {
  WaveSeating seating = WaveSeating::automatic;
  unsigned subgroup_size = 32; ///< invocations of a subgroup on the device; 1 suits every device
  bool validate = false;       ///< run the SPIR-V validator on every module
  std::string cache_folder;    ///< shared by all processes (docs/cache.md); empty: no disk cache
  uint64_t cache_bytes = uint64_t{256} << 20; ///< that the cache may take
  /// Of modules and callees kept in memory; beyond it those used longest ago go. Bindings keep theirs.
  uint64_t memory_bytes = uint64_t{512} << 20;
  unsigned threads = 0;      ///< that compile; 0: as many as cores
  std::string record_folder; ///< failing registrations and dispatches go there as capsules
  bool record_all = false;   ///< those that succeed too
};

struct ShaderOptions {
  std::array<uint32_t, 3> workgroup{0, 0, 0}; ///< work-items; zeros: the required one, else 64 x 1 x 1
  uint32_t dynamic_lds_bytes = 0;             ///< workgroup memory behind the static one
  bool full_workgroups = false;               ///< promised: every dispatch is a multiple of the workgroup
  /// Where the guest holds the program's code (virtual address 0 of its image). bind() then refuses once
  /// other code stands there. 0: not looked at.
  uint64_t guest_address = 0;
};

/// What a dispatch adds to a shader.
struct Invocation {
  std::span<const uint8_t> arguments; ///< the kernel's arguments; user data stands at their start
  uint64_t arguments_address = 0;     ///< where the guest finds them
  uint64_t image_base = 0;            ///< guest address of virtual address 0 of the program's image
};

/// A call whose target a dispatch supplies.
struct CallSlotInfo {
  uint32_t pc = 0;        ///< virtual address of the instruction
  uint32_t targets = 0;   ///< addresses that it may lead to in one dispatch
  bool compared = false;  ///< the wave compares its target with them
  std::string provenance; ///< where the target comes from, as "load(user_data[6] + 0x8)"
};

class Shader {
 public:
  [[nodiscard]] std::vector<CallSlotInfo> slots() const;
  /// Bytes that the callee table of every binding has.
  [[nodiscard]] size_t callee_table_bytes() const;

 private:
  friend class ShaderLibrary;
  explicit Shader(std::shared_ptr<const runtime::RegisteredShader> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const runtime::RegisteredShader> impl_;
};

/// A module with all that a dispatch needs of it. Cheap to copy.
class Binding {
 public:
  struct Module {
    std::span<const uint32_t> words;     ///< SPIR-V; lives as long as the binding
    std::array<uint32_t, 3> local_size;  ///< host invocations of a workgroup
    uint32_t required_subgroup_size = 0; ///< in full subgroups; 0: any
    uint32_t lds_bytes = 0;
    uint32_t wave_items = 0, wave_invocations = 0; ///< as SpirvModule's: of workgroups that the grid cuts
  };
  [[nodiscard]] Module module() const;
  /// Equal ids (of one library) are equal modules: keep pipelines by it.
  [[nodiscard]] uint64_t id() const;
  /// Goes behind the 64 bytes of the dispatch packet.
  [[nodiscard]] std::span<const uint8_t> callee_table() const;

 private:
  friend class ShaderLibrary;
  explicit Binding(std::shared_ptr<const runtime::Binding> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const runtime::Binding> impl_;
};

class ShaderLibrary {
 public:
  /// Errors: system, input (the cache folder cannot be used).
  [[nodiscard]] static Expected<ShaderLibrary> create(const LibraryOptions& options = {});
  ShaderLibrary(ShaderLibrary&&) noexcept;
  ShaderLibrary& operator=(ShaderLibrary&&) noexcept;
  ~ShaderLibrary();

  /// Prepares a kernel without knowing any dispatch. Nothing is registered if that fails.
  [[nodiscard]] Expected<Shader> add(const Program& program, std::string_view kernel,
                                     const ShaderOptions& options = {});
  /// Reads the dispatch's pointers, prepares callees that are new, and finds or makes the module. Errors name
  /// pc, address and reason.
  [[nodiscard]] Expected<Binding> bind(const Shader& shader, const GuestMemory& memory,
                                       const Invocation& invocation);
  /// Whether the code that a binding was made for still stands in the guest's memory; to be asked right
  /// before the dispatch, if the guest may write code meanwhile.
  [[nodiscard]] bool is_current(const Binding& binding, const GuestMemory& memory);
  /// Writes a dispatch of `grid` work-items as a capsule that can be run elsewhere (`lanewise replay
  /// --check`, docs/capsules.md) into LibraryOptions::record_folder, and returns the file. To learn which
  /// memory belongs to it, the dispatch runs on the interpreter, in a copy: much slower than on a device. One
  /// that cannot be linked or fails is recorded too. Errors: call (no such folder, a grid that does not fit),
  /// limit (a dispatch that takes too long, or touches more than 1 GiB), system.
  [[nodiscard]] Expected<std::string> record(const Shader& shader, const GuestMemory& memory,
                                             const Invocation& invocation, std::array<uint32_t, 3> grid);
  /// GuestMemory objects are told apart by their address: say so before one goes away.
  void forget(const GuestMemory& memory);

 private:
  explicit ShaderLibrary(std::unique_ptr<runtime::ShaderLibrary> impl);
  std::unique_ptr<runtime::ShaderLibrary> impl_;
};

} // namespace lanewise
