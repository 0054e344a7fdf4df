#include "runtime/launch_guest_memory.hpp"

#include "container/guest_abi.hpp"
#include "runtime/execute.hpp"

#include <algorithm>

namespace lanewise::runtime {

std::optional<GuestMemory::Extent> LaunchGuestMemory::extent(uint64_t address) const {
  const auto regions = memory_->regions();
  for (size_t r = 0; r < regions.size(); ++r) {
    const uint64_t start = memory_->address(r);
    if (start != 0 && address >= start && address - start < regions[r].contents.size())
      return Extent{start, regions[r].contents.size()};
  }
  return {};
}

bool LaunchGuestMemory::read(uint64_t address, std::span<uint8_t> out) const {
  const auto regions = memory_->regions();
  for (size_t r = 0; r < regions.size(); ++r) {
    const uint64_t start = memory_->address(r), size = regions[r].contents.size();
    if (start == 0 || address < start || address - start > size || size - (address - start) < out.size())
      continue;
    std::ranges::copy_n(regions[r].contents.begin() + static_cast<std::ptrdiff_t>(address - start),
                        static_cast<std::ptrdiff_t>(out.size()), out.begin());
    return true;
  }
  return false;
}

Invocation invocation_of(const LaunchMemory& memory) {
  return {memory.regions()[LaunchMemory::kernarg].contents, memory.address(LaunchMemory::kernarg),
          memory.image_base()};
}

Expected<void> fill_callee_table(LaunchMemory& memory, const ExecuteOptions& options) {
  if (!options.callee_table) return {};
  auto table = options.callee_table(memory);
  if (!table) return std::unexpected(std::move(table.error()));
  std::vector<uint8_t>& packet = memory.regions()[LaunchMemory::packet].contents;
  if (packet.size() < guest_abi::packet::bytes + table->size())
    return fail(ErrorKind::call, "the callee table is longer than ExecuteOptions::callee_table_bytes");
  std::ranges::copy(*table, packet.begin() + guest_abi::packet::callees);
  return {};
}

} // namespace lanewise::runtime
