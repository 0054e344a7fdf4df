#include "runtime/module_cache.hpp"

#include "runtime/byte_stream.hpp"

namespace lanewise::runtime {

std::vector<uint8_t> serialize(const CompiledModule& m) {
  ByteWriter w;
  w.numbers(m.module.words);
  w.number(m.module.host_workgroup);
  w.number(m.module.subgroup_size);
  w.number(m.module.lds_bytes);
  w.number(m.module.functions);
  w.number(m.module.cut.wave_items);
  w.number(m.module.cut.wave_invocations);
  w.number(m.seating.wave_size);
  w.number(m.seating.host_lanes);
  w.number(uint8_t{m.seating.independent});
  w.number(m.seating.workgroup);
  return w.take();
}

uint64_t memory_of(const CompiledModule& m) { return sizeof m + 4 * uint64_t{m.module.words.capacity()}; }

Expected<ModulePtr> deserialize_module(std::span<const uint8_t> bytes) {
  ByteReader r(bytes);
  auto m = std::make_shared<CompiledModule>();
  r.numbers(m->module.words);
  r.number(m->module.host_workgroup);
  r.number(m->module.subgroup_size);
  r.number(m->module.lds_bytes);
  r.number(m->module.functions);
  r.number(m->module.cut.wave_items);
  r.number(m->module.cut.wave_invocations);
  r.number(m->seating.wave_size);
  r.number(m->seating.host_lanes);
  uint8_t independent = 0;
  r.number(independent);
  m->seating.independent = independent != 0;
  r.number(m->seating.workgroup);
  if (!r.ok() || !r.at_end() || m->module.words.size() < 5)
    return fail(ErrorKind::input, "kept module is malformed");
  return m;
}

ModulePtr ModuleCache::from_disk(const std::string& key) {
  if (!store_) return nullptr;
  const auto bytes = store_->get(key);
  if (!bytes) return nullptr;
  auto module = deserialize_module(*bytes);
  if (!module) return nullptr;
  ++disk_hits_;
  return *module;
}

ModuleResult ModuleCache::make(const std::string& key, const Compile& compile) {
  if (ModulePtr kept = from_disk(key)) return kept;
  auto compiled = compile();
  if (!compiled) {
    ++failed_;
    return std::unexpected(std::move(compiled.error()));
  }
  ++compiled_;
  auto module =
      std::make_shared<const CompiledModule>(CompiledModule{std::move(compiled->module), compiled->seating});
  // A cache that cannot be written costs time later, not the result now.
  if (store_ && !store_->read_only() && !store_->put("module", key, serialize(*module))) ++store_errors_;
  return module;
}

ModuleCache::Slots::iterator ModuleCache::slot_of(Hash128 hash, const std::string& key) {
  for (auto [at, end] = slots_.equal_range(hash); at != end; ++at)
    if (at->second.key == key) return at;
  return slots_.end();
}

/// Slots whose module is gone.
void ModuleCache::forget_dropped() {
  if (dropped_ == budget_.dropped()) return;
  dropped_ = budget_.dropped();
  std::erase_if(slots_, [](const auto& s) { return !s.second.future.valid() && s.second.module.expired(); });
}

ModuleFuture ModuleCache::get(const std::string& key, Compile compile) {
  const Hash128 hash = hash_of(key);
  auto promise = std::make_shared<std::promise<ModuleResult>>();
  ModuleFuture future = promise->get_future().share();
  {
    const std::lock_guard guard(lock_);
    forget_dropped();
    auto at = slot_of(hash, key);
    if (at != slots_.end() && at->second.future.valid()) {
      ++merged_;
      return at->second.future;
    }
    if (at != slots_.end())
      if (ModulePtr module = at->second.module.get(budget_)) {
        ++memory_hits_;
        promise->set_value(std::move(module));
        return future;
      }
    if (at == slots_.end()) at = slots_.emplace(hash, Slot{.key = key});
    at->second.future = future;
  }
  pool_.run([this, key, hash, promise, compile = std::move(compile)]() mutable {
    ModuleResult result = make(key, compile);
    compile = nullptr; // who waits for the result finds nothing held by the job any more
    {
      Kept<CompiledModule> kept;
      if (result) kept = {budget_, *result, memory_of(**result)};
      const std::lock_guard guard(lock_);
      if (const auto at = slot_of(hash, key); !result)
        slots_.erase(at);
      else
        at->second = {.key = key, .module = std::move(kept)};
    }
    promise->set_value(std::move(result));
  });
  return future;
}

ModulePtr ModuleCache::find(const std::string& key) {
  const Hash128 hash = hash_of(key);
  {
    const std::lock_guard guard(lock_);
    if (const auto at = slot_of(hash, key); at != slots_.end()) {
      if (at->second.future.valid()) return nullptr;
      if (ModulePtr module = at->second.module.get(budget_)) {
        ++memory_hits_;
        return module;
      }
    }
  }
  ModulePtr loaded = from_disk(key);
  if (!loaded) return nullptr;
  Kept<CompiledModule> kept(budget_, loaded, memory_of(*loaded));
  const std::lock_guard guard(lock_);
  forget_dropped();
  if (slot_of(hash, key) == slots_.end()) slots_.emplace(hash, Slot{.key = key, .module = std::move(kept)});
  return loaded;
}

ModuleCacheStatistics ModuleCache::statistics() const {
  return {memory_hits_, disk_hits_, compiled_, merged_, failed_, store_errors_};
}

} // namespace lanewise::runtime
