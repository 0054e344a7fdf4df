#include "runtime/callee_cache.hpp"

#include "support/limits.hpp"

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

/// Makes `callee` the one that is equal to it and known already, if there is one.
CalleeCache::KeptCallee CalleeCache::unique(CalleePtr& callee) {
  const Hash128 hash = hash_of(callee->key);
  const std::unique_lock guard(lock_);
  forget_dropped();
  for (auto [at, end] = contents_.equal_range(hash); at != end; ++at)
    if (CalleePtr known = at->second.get(budget_); known && known->key == callee->key) {
      callee = std::move(known);
      return at->second;
    }
  return contents_.emplace(hash, KeptCallee(budget_, callee, memory_of(*callee)))->second;
}

void CalleeCache::remember(const Where& where, Known known) {
  const std::unique_lock guard(lock_);
  forget_dropped();
  if (addresses_.size() >= limits::max_known_addresses) addresses_.clear();
  addresses_.insert_or_assign(where, std::move(known));
}

/// Entries whose callee is gone.
void CalleeCache::forget_dropped() {
  if (dropped_ == budget_.dropped()) return;
  dropped_ = budget_.dropped();
  std::erase_if(addresses_, [](const auto& entry) { return entry.second.callee.expired(); });
  std::erase_if(contents_, [](const auto& entry) { return entry.second.expired(); });
  std::erase_if(composed_, [](const auto& entry) { return entry.second.expired(); });
}

Expected<CalleePtr> CalleeCache::find(const GuestMemory& memory, uint64_t address,
                                      const translate::CalleeAbi& abi) {
  const Where where{&memory, address, abi};
  Known known;
  CalleePtr there;
  {
    const std::shared_lock guard(lock_);
    if (const auto it = addresses_.find(where); it != addresses_.end()) {
      known = it->second;
      there = known.callee.get(budget_);
    }
  }
  if (there) {
    const uint64_t version = version_of(memory, *there, address);
    if (version != 0 && version == known.version) return there;
    ++compared_;
    if (is_at(*there, memory, address)) {
      remember(where, {known.callee, version});
      return there;
    }
  }
  auto callee = prepare_callee(memory, address, abi);
  if (!callee) return callee;
  ++prepared_;
  CalleePtr one = std::move(*callee);
  const KeptCallee kept = unique(one);
  // A version that is taken before the code is compared can only be too old, which costs another comparison.
  const uint64_t version = version_of(memory, *one, address);
  if (!is_at(*one, memory, address))
    return fail(ErrorKind::input, "the callee's code is being written",
                fmt::format("address 0x{:x}", address));
  remember(where, {kept, version});
  return one;
}

void CalleeCache::forget(const GuestMemory& memory) {
  const std::unique_lock guard(lock_);
  std::erase_if(addresses_, [&](const auto& entry) { return entry.first.memory == &memory; });
}

CalleePtr CalleeCache::composed(const CalleePtr& callee, const std::vector<CalleePtr>& nested) {
  std::vector<const PreparedCallee*> parts{callee.get()};
  for (const CalleePtr& n : nested) parts.push_back(n.get());
  {
    const std::shared_lock guard(lock_);
    if (const auto it = composed_.find(parts); it != composed_.end())
      if (CalleePtr whole = it->second.get(budget_)) return whole;
  }
  CalleePtr whole = compose(callee, nested);
  const KeptCallee kept = unique(whole);
  const std::unique_lock guard(lock_);
  // Equal callees are one object, but another one of them may stand in `whole`, whose parts may go earlier.
  if (whole->outer == callee && whole->nested == nested) composed_.insert_or_assign(std::move(parts), kept);
  return whole;
}

bool CalleeCache::is_current(const GuestMemory& memory, uint64_t address, const PreparedCallee& callee) {
  {
    const std::shared_lock guard(lock_);
    const auto it = addresses_.find(Where{&memory, address, callee.abi});
    if (it != addresses_.end() && it->second.callee.get(budget_).get() == &callee) {
      const uint64_t version = version_of(memory, callee, address);
      if (version != 0 && version == it->second.version) return true;
    }
  }
  return is_at(callee, memory, address);
}

} // namespace lanewise::runtime
