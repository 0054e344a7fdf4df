#include "runtime/callee_cache.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <mutex>

namespace lanewise::runtime {
namespace {

/// The range that a callee's code spans, at an address.
GuestMemory::Extent span_of(const PreparedCallee& callee, uint64_t address) {
  int64_t first = 0, end = 0;
  for (const PreparedCallee::Piece& p : callee.code) {
    first = std::min(first, p.offset);
    end = std::max(end, p.offset + static_cast<int64_t>(p.bytes.size()));
  }
  return {address + static_cast<uint64_t>(first), static_cast<uint64_t>(end - first)};
}

uint64_t version_of(const GuestMemory& memory, const PreparedCallee& callee, uint64_t address) {
  const auto span = span_of(callee, address);
  return memory.write_version(span.address, span.size);
}

} // namespace

CalleePtr CalleeCache::unique(CalleePtr callee) {
  const Hash128 hash = hash_of(callee->key);
  const std::unique_lock guard(lock_);
  for (auto [at, end] = contents_.equal_range(hash); at != end; ++at)
    if (at->second->key == callee->key) return at->second;
  contents_.emplace(hash, callee);
  return callee;
}

void CalleeCache::remember(const Where& where, Known known) {
  const std::unique_lock guard(lock_);
  addresses_.insert_or_assign(where, std::move(known));
}

Expected<CalleePtr> CalleeCache::find(const GuestMemory& memory, uint64_t address,
                                      const translate::CalleeAbi& abi) {
  const Where where{&memory, address, abi};
  Known known;
  {
    const std::shared_lock guard(lock_);
    if (const auto it = addresses_.find(where); it != addresses_.end()) known = it->second;
  }
  if (known.callee) {
    const uint64_t version = version_of(memory, *known.callee, address);
    if (version != 0 && version == known.version) return known.callee;
    ++compared_;
    if (is_at(*known.callee, memory, address)) {
      remember(where, {known.callee, version});
      return known.callee;
    }
  }
  auto callee = prepare_callee(memory, address, abi);
  if (!callee) return callee;
  ++prepared_;
  const CalleePtr one = unique(std::move(*callee));
  // A version that is taken before the code is compared can only be too old, which costs another comparison.
  const uint64_t version = version_of(memory, *one, address);
  if (!is_at(*one, memory, address))
    return fail(ErrorKind::input, "the callee's code is being written",
                fmt::format("address 0x{:x}", address));
  remember(where, {one, version});
  return one;
}

void CalleeCache::forget(const GuestMemory& memory) {
  const std::unique_lock guard(lock_);
  std::erase_if(addresses_, [&](const auto& entry) { return entry.first.memory == &memory; });
}

CalleePtr CalleeCache::composed(const CalleePtr& callee, const std::vector<CalleePtr>& nested) {
  std::vector<CalleePtr> parts{callee};
  parts.insert(parts.end(), nested.begin(), nested.end());
  {
    const std::shared_lock guard(lock_);
    if (const auto it = composed_.find(parts); it != composed_.end()) return it->second;
  }
  CalleePtr whole = unique(compose(*callee, nested));
  const std::unique_lock guard(lock_);
  return composed_.try_emplace(std::move(parts), std::move(whole)).first->second;
}

bool CalleeCache::is_current(const GuestMemory& memory, uint64_t address, const PreparedCallee& callee) {
  {
    const std::shared_lock guard(lock_);
    const auto it = addresses_.find(Where{&memory, address, callee.abi});
    if (it != addresses_.end() && it->second.callee.get() == &callee) {
      const uint64_t version = version_of(memory, callee, address);
      if (version != 0 && version == it->second.version) return true;
    }
  }
  return is_at(callee, memory, address);
}

} // namespace lanewise::runtime
