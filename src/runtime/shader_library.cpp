#include "runtime/shader_library.hpp"

#include "runtime/dispatch_recorder.hpp"
#include "runtime/serialize.hpp"
#include "support/limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <unistd.h>

namespace lanewise::runtime {
namespace {

CompileOptions compile_options(const LibraryOptions& library, const ShaderOptions& shader) {
  CompileOptions o;
  o.block = shader.block;
  o.seating = library.seating;
  o.host = library.host;
  o.dynamic_lds_bytes = shader.dynamic_lds_bytes;
  o.partial_workgroups.fill(!shader.full_workgroups);
  o.validate = library.validate;
  return o;
}

/// The library's callees, for one dispatch.
class CachedCallees final : public CalleeSource {
 public:
  CachedCallees(CalleeCache& cache, const GuestMemory& memory) : cache_(cache), memory_(memory) {}
  Expected<CalleePtr> find(uint64_t address, const translate::CalleeAbi& abi) override {
    return cache_.find(memory_, address, abi);
  }
  CalleePtr composed(const CalleePtr& callee, const std::vector<CalleePtr>& nested) override {
    return cache_.composed(callee, nested);
  }

 private:
  CalleeCache& cache_;
  const GuestMemory& memory_;
};

bool all_current(CalleeCache& cache, const GuestMemory& memory, const std::vector<Targets::Target>& targets) {
  return std::ranges::all_of(targets, [&](const Targets::Target& t) {
    return !t.callee ||
           (cache.is_current(memory, t.address, *t.callee) && all_current(cache, memory, t.nested));
  });
}

/// Whether every callee of a dispatch is in the sets of a module.
bool covers(const LinkedModule& linked, const Targets& targets) {
  for (size_t s = 0; s < targets.slots.size(); ++s)
    for (const Targets::Target& t : targets.slots[s])
      if (t.callee && std::ranges::find(linked.sets[s], t.callee) == linked.sets[s].end()) return false;
  return true;
}

/// A set's order is that of its keys, so that the same callees make the same module.
void sort_sets(CalleeSets& sets) {
  for (auto& set : sets) {
    std::ranges::sort(set, {}, &PreparedCallee::key);
    set.erase(std::unique(set.begin(), set.end()), set.end());
  }
}

std::string module_key(const PreparedShader& shader, const CalleeSets& sets, const CompileOptions& options) {
  KeyWriter key = start_key("module");
  key.add(shader.key);
  add_options(key, options);
  key.add(uint64_t{sets.size()});
  for (const auto& set : sets) {
    key.add(uint64_t{set.size()});
    for (const CalleePtr& callee : set) key.add(callee->key);
  }
  return key.take();
}

} // namespace

Expected<std::unique_ptr<ShaderLibrary>> ShaderLibrary::create(const LibraryOptions& options) {
  std::shared_ptr<cache::Store> store;
  if (!options.cache_folder.empty()) {
    auto opened = cache::Store::open({.folder = options.cache_folder, .max_bytes = options.cache_bytes});
    if (!opened) return std::unexpected(std::move(opened.error()));
    store = std::move(*opened);
  }
  return std::unique_ptr<ShaderLibrary>(new ShaderLibrary(options, std::move(store)));
}

Expected<std::shared_ptr<const PreparedShader>> ShaderLibrary::prepared(const container::ShaderBinary& binary,
                                                                        const container::Kernel& kernel,
                                                                        const PrepareOptions& options) {
  cache::Store* disk = store();
  const std::string key = disk ? key_of(binary, kernel, options) : std::string();
  if (disk)
    if (const auto bytes = disk->get(key))
      if (auto kept = deserialize_shader(*bytes); kept && (*kept)->key == key) {
        ++shaders_from_disk_;
        return *kept;
      }
  auto shader = prepare(binary, kernel, options);
  if (!shader) return shader;
  ++shaders_prepared_;
  if (disk && !disk->read_only()) (void)disk->put("shader", key, serialize(**shader));
  return shader;
}

Expected<std::filesystem::path> ShaderLibrary::write(const Capsule& capsule) {
  std::string name;
  for (const char letter : capsule.kernel().name.substr(0, 64))
    name += std::isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  const auto file = options_.record_folder / fmt::format("{}-{}-{}.capsule", name, getpid(), next_capsule_++);
  const auto bytes = serialize(capsule);
  std::error_code ignored;
  std::filesystem::create_directories(options_.record_folder, ignored);
  std::ofstream out(file, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  out.close();
  if (!out) return fail(ErrorKind::system, "cannot be written", file.string());
  return file;
}

/// Recording on the way must not disturb: what cannot be written is left out.
void ShaderLibrary::record(Capsule capsule, const Error* error) {
  if (!error && !options_.record_all) return;
  if (error) capsule.note = error->to_string();
  (void)write(capsule);
}

Expected<ShaderPtr> ShaderLibrary::add(const container::ShaderBinary& binary, const container::Kernel& kernel,
                                       const ShaderOptions& options) {
  auto shader = add_unrecorded(binary, kernel, options);
  if (!options_.record_folder.empty())
    record(capsule_of(binary, kernel, compile_options(options_, options)),
           shader ? nullptr : &shader.error());
  return shader;
}

Expected<ShaderPtr> ShaderLibrary::add_unrecorded(const container::ShaderBinary& binary,
                                                  const container::Kernel& kernel,
                                                  const ShaderOptions& options) {
  auto shader = std::make_shared<RegisteredShader>();
  shader->options_ = options;
  if (options.guest_address != 0)
    for (const container::Segment& s : binary.segments)
      if (s.executable) shader->code_.push_back(s);
  const CompileOptions compile = compile_options(options_, options);
  const uint64_t items = uint64_t{compile.block[0]} * compile.block[1] * compile.block[2];
  const uint64_t wave = kernel.descriptor.wave32 ? 32 : 64;
  const bool full_waves = options.full_workgroups && items != 0 && items % wave == 0;
  auto made = prepared(binary, kernel, {.full_waves = full_waves});
  if (!made) return std::unexpected(std::move(made.error()));
  shader->prepared_ = std::move(*made);
  if (!options_.record_folder.empty())
    shader->registration_ = std::make_shared<const Capsule>(capsule_of(binary, kernel, compile));
  return shader;
}

/// The code that was registered must still stand in the guest's memory.
Expected<void> ShaderLibrary::check_code(const RegisteredShader& shader, const GuestMemory& memory) const {
  if (shader.code_.empty()) return {};
  const uint64_t base = shader.options_.guest_address;
  uint64_t first = UINT64_MAX, end = 0;
  for (const container::Segment& s : shader.code_) {
    first = std::min(first, base + s.address);
    end = std::max(end, base + s.address + s.bytes.size());
  }
  const uint64_t version = memory.write_version(first, end - first);
  {
    const std::shared_lock guard(shader.lock_);
    if (version != 0 && shader.checked_memory_ == &memory && shader.checked_version_ == version) return {};
  }
  std::vector<uint8_t> now;
  for (const container::Segment& s : shader.code_) {
    now.resize(s.bytes.size());
    if (!memory.read(base + s.address, now) || now != s.bytes)
      return fail(ErrorKind::input, "the shader's code was overwritten since it was registered",
                  fmt::format("kernel {}, address 0x{:x}", shader.prepared_->kernel.name, base + s.address),
                  "register it again");
  }
  const std::unique_lock guard(shader.lock_);
  shader.checked_memory_ = &memory;
  shader.checked_version_ = version;
  return {};
}

Expected<std::shared_ptr<const LinkedModule>> ShaderLibrary::module_for(const ShaderPtr& shader,
                                                                        const Targets& targets) {
  CalleeSets wanted;
  {
    const std::shared_lock guard(shader->lock_);
    for (const auto& kept : shader->modules_)
      if (const auto linked = kept.object.lock(); linked && covers(*linked, targets)) {
        budget_.touch(kept.use);
        return linked;
      }
    wanted = sets_of(targets);
    // The newest module's callees stay callable, as long as there is room.
    if (const auto newest = shader->modules_.empty() ? nullptr : shader->modules_.front().object.lock())
      for (size_t s = 0; s < wanted.size(); ++s) {
        auto all = newest->sets[s];
        all.insert(all.end(), wanted[s].begin(), wanted[s].end());
        CalleeSets sorted{std::move(all)};
        sort_sets(sorted);
        if (sorted[0].size() <= limits::max_slot_callees) wanted[s] = std::move(sorted[0]);
      }
  }
  sort_sets(wanted);
  return link_module(shader, std::move(wanted));
}

Expected<std::shared_ptr<const LinkedModule>> ShaderLibrary::link_module(const ShaderPtr& shader,
                                                                         CalleeSets sets) {
  // What the shader may not call is refused before anything is compiled, and also when the module is on disk.
  if (auto ok = check_callees(shader->prepared(), sets); !ok) return std::unexpected(std::move(ok.error()));
  const CompileOptions options = compile_options(options_, shader->options_);
  const ModuleResult module =
      modules_
          .get(module_key(shader->prepared(), sets, options),
               [shader, sets, options] { return link(shader->prepared(), sets, options); })
          .get();
  if (!module) return std::unexpected(module.error());
  const auto linked =
      std::make_shared<const LinkedModule>(LinkedModule{id_of(*module), *module, std::move(sets)});
  // It keeps its module and its callees in memory, whoever else does.
  uint64_t bytes = memory_of(**module);
  for (const auto& set : linked->sets)
    for (const CalleePtr& callee : set) bytes += memory_of(*callee);
  const Kept<LinkedModule> kept(budget_, linked, bytes);
  const std::unique_lock guard(shader->lock_);
  std::erase_if(shader->modules_, [](const auto& other) { return other.expired(); });
  for (const auto& other : shader->modules_)
    if (auto same = other.object.lock(); same && same->id == linked->id && same->sets == linked->sets)
      return same;
  shader->modules_.insert(shader->modules_.begin(), kept);
  return linked;
}

/// One for each module, and never used for another.
uint64_t ShaderLibrary::id_of(const ModulePtr& module) {
  const std::lock_guard guard(ids_lock_);
  Id& known = ids_[module.get()];
  if (known.module.lock() != module) known = {module, next_id_++}; // another was at this address
  const uint64_t id = known.id;
  if (ids_.size() > 2 * ids_after_cleaning_ + 64) {
    std::erase_if(ids_, [](const auto& entry) { return entry.second.module.expired(); });
    ids_after_cleaning_ = ids_.size();
  }
  return id;
}

Expected<Binding> ShaderLibrary::bind(const ShaderPtr& shader, const GuestMemory& memory,
                                      const Invocation& invocation) {
  auto binding = bind_unrecorded(shader, memory, invocation);
  if (!shader->registration_ || (binding && !options_.record_all)) return binding;
  // Known callees were not read just now, so everything is read once more.
  const RecordingMemory recording(memory);
  (void)resolve(shader->prepared(), invocation, recording);
  Capsule capsule = *shader->registration_;
  capsule.bound = true;
  capsule.kernarg.assign(invocation.kernarg.begin(), invocation.kernarg.end());
  capsule.kernarg_address = invocation.kernarg_address;
  capsule.image_base = invocation.image_base;
  capsule.memory = recording.regions();
  record(std::move(capsule), binding ? nullptr : &binding.error());
  return binding;
}

Expected<std::filesystem::path> ShaderLibrary::record_dispatch(const ShaderPtr& shader,
                                                               const GuestMemory& memory,
                                                               const Invocation& invocation,
                                                               std::array<uint32_t, 3> grid) {
  if (!shader->registration_)
    return fail(ErrorKind::call, "the library has no folder for records", {},
                "set LibraryOptions::record_folder");
  auto capsule =
      runtime::record_dispatch(*shader->registration_, shader->prepared(), memory, invocation, grid);
  if (!capsule) return std::unexpected(std::move(capsule.error()));
  return write(*capsule);
}

Expected<Binding> ShaderLibrary::bind_unrecorded(const ShaderPtr& shader, const GuestMemory& memory,
                                                 const Invocation& invocation) {
  if (auto ok = check_code(*shader, memory); !ok) return std::unexpected(std::move(ok.error()));
  CachedCallees callees(callees_, memory);
  auto targets = resolve(shader->prepared(), invocation, memory, callees);
  if (!targets) return std::unexpected(std::move(targets.error()));
  auto linked = module_for(shader, *targets);
  if (!linked) return std::unexpected(std::move(linked.error()));
  auto table = callee_table(shader->prepared(), (*linked)->sets, *targets);
  if (!table) return std::unexpected(std::move(table.error()));
  return Binding{shader, std::move(*linked), std::move(*targets), std::move(*table)};
}

std::shared_future<Expected<Binding>> ShaderLibrary::bind_later(ShaderPtr shader, const GuestMemory& memory,
                                                                std::vector<uint8_t> kernarg,
                                                                Invocation invocation) {
  auto promise = std::make_shared<std::promise<Expected<Binding>>>();
  auto future = promise->get_future().share();
  pool_.run([this, shader = std::move(shader), &memory, kernarg = std::move(kernarg), invocation,
             promise]() mutable {
    invocation.kernarg = kernarg;
    promise->set_value(bind(shader, memory, invocation));
  });
  return future;
}

bool ShaderLibrary::is_current(const Binding& binding, const GuestMemory& memory) {
  if (!check_code(*binding.shader, memory)) return false;
  return std::ranges::all_of(binding.targets.slots,
                             [&](const auto& slot) { return all_current(callees_, memory, slot); });
}

LibraryStatistics ShaderLibrary::statistics() const {
  return {modules_.statistics(), callees_.prepared(), callees_.compared(), shaders_prepared_,
          shaders_from_disk_,    budget_.bytes(),     budget_.dropped()};
}

} // namespace lanewise::runtime
