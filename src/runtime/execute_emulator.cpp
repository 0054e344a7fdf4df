#include <algorithm>

#include "rdna2/emulator.hpp"
#include "runtime/execute.hpp"
#include "runtime/launch_memory.hpp"

namespace lanewise::runtime {

Expected<RunReport> run_on_emulator(Launch& launch, const ExecuteOptions& options) {
  if (auto ok = check_launch(launch); !ok) return std::unexpected(ok.error());
  auto planned = LaunchMemory::plan(launch);
  if (!planned) return std::unexpected(planned.error());

  // The emulator brings its own image, packet and hidden arguments; only the buffers are put into its memory.
  rdna2::Memory memory;
  std::vector<uint64_t> addresses(planned->regions().size());
  constexpr size_t moved = 3u << 20; // everything lies so much further up
  if (options.other_turns != 0) (void)memory.allocate(moved, "unused");
  auto displacement = memory.load(*launch.binary);
  if (!displacement) return std::unexpected(displacement.error());
  addresses[LaunchMemory::image] = *displacement + planned->image_start();
  for (size_t i = LaunchMemory::printf; i < addresses.size(); ++i) {
    const Region& region = planned->regions()[i];
    const size_t buffer = i - LaunchMemory::buffers;
    if (i >= LaunchMemory::buffers && buffer < options.addresses.size()) {
      addresses[i] = options.addresses[buffer];
      if (auto ok = memory.map(addresses[i], region.contents.size(), region.name); !ok)
        return std::unexpected(ok.error());
    } else {
      addresses[i] = memory.allocate(region.contents.size(), region.name);
    }
  }
  if (auto ok = planned->place(launch, addresses); !ok) return std::unexpected(ok.error());
  for (size_t i = LaunchMemory::printf; i < addresses.size(); ++i)
    std::ranges::copy(planned->regions()[i].contents, memory.at(addresses[i]).begin());

  rdna2::Dispatch dispatch;
  dispatch.grid = launch.grid;
  dispatch.block = launch.block;
  dispatch.kernarg = planned->regions()[LaunchMemory::kernarg].contents;
  dispatch.dynamic_lds_bytes = lds_bytes(launch) - launch.kernel->descriptor.group_segment_fixed_size;
  dispatch.threads = options.threads;
  dispatch.max_instructions = options.max_instructions;
  dispatch.other_turns = options.other_turns;
  dispatch.compares = options.compares;
  const auto start = std::chrono::steady_clock::now();
  auto statistics = rdna2::run(*launch.binary, *launch.kernel, memory, dispatch);
  if (!statistics) return std::unexpected(statistics.error());

  RunReport report;
  report.run_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  report.instructions = statistics->instructions;
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const uint64_t address = addresses[LaunchMemory::buffers + i];
    report.addresses.push_back(address);
    std::ranges::copy(memory.at(address), launch.buffers[i].contents.begin());
  }
  return report;
}

} // namespace lanewise::runtime
