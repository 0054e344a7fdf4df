#include "runtime/linked_launch.hpp"

#include "runtime/launch_guest_memory.hpp"
#include "translate/graph.hpp"

namespace lanewise::runtime {

bool has_call_slots(const container::ShaderBinary& binary, const container::Kernel& kernel) {
  const auto wave = kernel.descriptor.wave32 ? rdna2::WaveSize::wave32 : rdna2::WaveSize::wave64;
  const auto entry = translate::entry_sgprs(kernel, static_cast<unsigned>(wave));
  if (!entry || kernel.entry > UINT32_MAX) return false;
  const auto graph =
      translate::build_graph(binary, static_cast<uint32_t>(kernel.entry), wave, {.entry = &*entry});
  return graph && !graph->slots.empty();
}

void LinkedLaunch::add_to(ExecuteOptions& options) const {
  options.callee_table_bytes = callee_table_bytes(*shader);
  options.callee_table = [prepared = shader,
                          callees = sets](const LaunchMemory& memory) -> Expected<std::vector<uint8_t>> {
    auto targets = resolve(*prepared, invocation_of(memory), LaunchGuestMemory(memory));
    if (!targets) return std::unexpected(std::move(targets.error()));
    return callee_table(*prepared, callees, *targets);
  };
}

Expected<LinkedLaunch> link_launch(const Launch& launch) {
  auto shader = prepare(*launch.binary, *launch.kernel);
  if (!shader) return std::unexpected(std::move(shader.error()));
  auto memory = LaunchMemory::plan(launch);
  if (!memory) return std::unexpected(std::move(memory.error()));
  // Which callees there are does not depend on where things lie.
  std::vector<uint64_t> addresses;
  uint64_t next = uint64_t{1} << 32;
  for (const Region& region : memory->regions()) {
    addresses.push_back(next);
    next += (region.contents.size() + 0x1ffff) & ~uint64_t{0xffff};
  }
  if (auto ok = memory->place(launch, addresses); !ok) return std::unexpected(std::move(ok.error()));
  auto targets = resolve(**shader, invocation_of(*memory), LaunchGuestMemory(*memory));
  if (!targets) return std::unexpected(std::move(targets.error()));
  return LinkedLaunch{std::move(*shader), sets_of(*targets)};
}

} // namespace lanewise::runtime
