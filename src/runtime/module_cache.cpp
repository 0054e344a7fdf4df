#include "runtime/module_cache.hpp"

#include "runtime/byte_stream.hpp"

#include <chrono>

namespace lanewise::runtime {

std::vector<uint8_t> serialize(const CompiledModule& m) {
  ByteWriter w;
  w.numbers(m.module.words);
  w.number(m.module.host_workgroup);
  w.number(m.module.subgroup_size);
  w.number(m.module.lds_bytes);
  w.number(m.seating.wave_size);
  w.number(m.seating.host_lanes);
  w.number(m.seating.workgroup);
  return w.take();
}

Expected<ModulePtr> deserialize_module(std::span<const uint8_t> bytes) {
  ByteReader r(bytes);
  auto m = std::make_shared<CompiledModule>();
  r.numbers(m->module.words);
  r.number(m->module.host_workgroup);
  r.number(m->module.subgroup_size);
  r.number(m->module.lds_bytes);
  r.number(m->seating.wave_size);
  r.number(m->seating.host_lanes);
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

ModuleFuture ModuleCache::get(const std::string& key, Compile compile) {
  const Hash128 hash = hash_of(key);
  auto promise = std::make_shared<std::promise<ModuleResult>>();
  ModuleFuture future = promise->get_future().share();
  {
    const std::lock_guard guard(lock_);
    for (auto [at, end] = slots_.equal_range(hash); at != end; ++at) {
      if (at->second.key != key) continue;
      const bool ready = at->second.future.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
      ++(ready ? memory_hits_ : merged_);
      return at->second.future;
    }
    slots_.emplace(hash, Slot{key, future});
  }
  pool_.run([this, key, hash, promise, compile = std::move(compile)] {
    ModuleResult result = make(key, compile);
    if (!result) {
      const std::lock_guard guard(lock_);
      for (auto [at, end] = slots_.equal_range(hash); at != end; ++at)
        if (at->second.key == key) {
          slots_.erase(at);
          break;
        }
    }
    promise->set_value(std::move(result));
  });
  return future;
}

ModulePtr ModuleCache::find(const std::string& key) {
  const Hash128 hash = hash_of(key);
  {
    const std::lock_guard guard(lock_);
    for (auto [at, end] = slots_.equal_range(hash); at != end; ++at) {
      if (at->second.key != key ||
          at->second.future.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
        continue;
      const ModuleResult& result = at->second.future.get();
      if (!result) return nullptr;
      ++memory_hits_;
      return *result;
    }
  }
  ModulePtr kept = from_disk(key);
  if (!kept) return nullptr;
  std::promise<ModuleResult> promise;
  promise.set_value(kept);
  const std::lock_guard guard(lock_);
  for (auto [at, end] = slots_.equal_range(hash); at != end; ++at)
    if (at->second.key == key) return kept;
  slots_.emplace(hash, Slot{key, promise.get_future().share()});
  return kept;
}

ModuleCacheStatistics ModuleCache::statistics() const {
  return {memory_hits_, disk_hits_, compiled_, merged_, failed_, store_errors_};
}

} // namespace lanewise::runtime
