#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>

#include "ir/interpreter.hpp"
#include "passes/pipeline.hpp"
#include "runtime/execute.hpp"
#include "runtime/launch_memory.hpp"
#include "runtime/linked_launch.hpp"
#include "translate/translate.hpp"

namespace lanewise::runtime {

namespace {

constexpr uint64_t first_address = 0x0000'1000'0000'0000, gap = 1u << 20;

/// The regions of a launch at their addresses.
class RegionMemory final : public ir::InterpreterMemory {
 public:
  RegionMemory(std::span<Region> regions, std::span<const uint64_t> addresses) {
    for (size_t i = 0; i < regions.size(); ++i)
      if (!regions[i].contents.empty()) regions_[addresses[i]] = &regions[i];
  }
  bool load(uint64_t address, unsigned bytes, uint64_t& value) override {
    const uint8_t* p = find(address, bytes);
    if (!p) return false;
    value = 0;
    std::memcpy(&value, p, bytes);
    return true;
  }
  bool store(uint64_t address, unsigned bytes, uint64_t value) override {
    uint8_t* p = find(address, bytes);
    if (!p) return false;
    std::memcpy(p, &value, bytes);
    return true;
  }

 private:
  uint8_t* find(uint64_t address, unsigned count) {
    if (!last_ || address - last_address_ > last_->contents.size()) {
      auto after = regions_.upper_bound(address);
      if (after == regions_.begin()) return nullptr;
      --after;
      last_address_ = after->first;
      last_ = after->second;
    }
    const uint64_t offset = address - last_address_;
    if (offset > last_->contents.size() || last_->contents.size() - offset < count) return nullptr;
    return &last_->contents[offset];
  }
  std::map<uint64_t, Region*> regions_;
  Region* last_ = nullptr; ///< accesses come in runs
  uint64_t last_address_ = 0;
};

/// Where the regions go: buffers at the wanted addresses, the rest one after the other.
std::vector<uint64_t> place_regions(std::span<const Region> regions, const std::vector<uint64_t>& wanted) {
  std::vector<uint64_t> addresses;
  uint64_t next = first_address;
  for (size_t i = 0; i < regions.size(); ++i) {
    const size_t buffer = i - LaunchMemory::buffers;
    if (i >= LaunchMemory::buffers && buffer < wanted.size()) {
      addresses.push_back(wanted[buffer]);
      continue;
    }
    addresses.push_back(next);
    next += (regions[i].contents.size() + gap) / gap * gap + gap;
  }
  return addresses;
}

} // namespace

Expected<RunReport> run_on_interpreter(Launch& launch, const ir::Function& function,
                                       const ExecuteOptions& options) {
  if (auto ok = check_launch(launch); !ok) return std::unexpected(ok.error());
  auto planned = LaunchMemory::plan(launch, options.callee_table_bytes);
  if (!planned) return std::unexpected(planned.error());
  const auto addresses = place_regions(planned->regions(), options.addresses);
  if (auto ok = planned->place(launch, addresses); !ok) return std::unexpected(ok.error());
  if (auto ok = fill_callee_table(*planned, options); !ok) return std::unexpected(ok.error());
  RegionMemory memory(planned->regions(), addresses);

  ir::InterpreterDispatch dispatch;
  dispatch.grid = launch.grid;
  dispatch.workgroup = launch.block;
  dispatch.kernarg_ptr = planned->address(LaunchMemory::kernarg);
  dispatch.dispatch_ptr = planned->address(LaunchMemory::packet);
  dispatch.queue_ptr = planned->address(LaunchMemory::queue);
  dispatch.image_base = planned->image_base();
  dispatch.dynamic_lds_bytes = lds_bytes(launch) - launch.kernel->descriptor.group_segment_fixed_size;
  dispatch.host_invocations = options.host_invocations;
  dispatch.order = options.lane_order;
  dispatch.max_instructions = options.max_instructions;
  const auto start = std::chrono::steady_clock::now();
  auto result = ir::interpret(function, dispatch, memory);
  if (!result) return std::unexpected(result.error());
  RunReport report;
  report.run_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  report.instructions = result->instructions;
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    report.addresses.push_back(addresses[LaunchMemory::buffers + i]);
    launch.buffers[i].contents = planned->regions()[LaunchMemory::buffers + i].contents;
  }
  return report;
}

Expected<RunReport> run_on_interpreter(Launch& launch, const ExecuteOptions& options) {
  if (has_call_slots(*launch.binary, *launch.kernel)) {
    auto linked = link_launch(launch);
    if (!linked) return std::unexpected(linked.error());
    auto with_callees = link_function(*linked->shader, linked->sets);
    if (!with_callees) return std::unexpected(with_callees.error());
    if (auto ok = passes::run(*with_callees); !ok) return std::unexpected(ok.error());
    ExecuteOptions execute = options;
    linked->add_to(execute);
    return run_on_interpreter(launch, *with_callees, execute);
  }
  auto function = translate::translate(*launch.binary, *launch.kernel);
  if (!function) return std::unexpected(function.error());
  if (auto ok = passes::run(*function); !ok) return std::unexpected(ok.error());
  return run_on_interpreter(launch, *function, options);
}

} // namespace lanewise::runtime
