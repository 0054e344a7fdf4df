#include <algorithm>
#include <cstring>

#include "runtime/compile.hpp"
#include "runtime/dispatch_parts.hpp"
#include "runtime/execute.hpp"
#include "runtime/launch_memory.hpp"
#include "runtime/vulkan_runner.hpp"

namespace lanewise::runtime {

CompileOptions compile_options(const Launch& launch, VulkanDevice& device) {
  CompileOptions options;
  options.block = launch.block;
  options.dynamic_lds_bytes = lds_bytes(launch) - launch.kernel->descriptor.group_segment_fixed_size;
  for (unsigned i = 0; i < 3; ++i) options.partial_workgroups[i] = launch.grid[i] % launch.block[i] != 0;
  const BufferFacts facts = buffer_facts(launch);
  options.separate_buffers = facts.separate;
  options.aligned_buffers = facts.aligned;
  options.host = host_traits(device);
  return options;
}

namespace {

/// A pipeline for each number of waves that the launch's workgroups have.
struct Pipelines {
  std::vector<ComputePipeline> list;
  std::vector<DispatchRequest::Part> parts; ///< of pipelines in `list`

  [[nodiscard]] static Expected<Pipelines> create(VulkanDevice& device, const Launch& launch,
                                                  const spirv::EmittedModule& module, bool statistics) {
    const std::vector<DispatchPart> parts = dispatch_parts(launch.grid, launch.block, module.cut);
    Pipelines p;
    p.list.reserve(parts.size());
    std::vector<uint32_t> sizes;
    for (const DispatchPart& part : parts) {
      const auto index = static_cast<size_t>(std::ranges::find(sizes, part.invocations) - sizes.begin());
      if (index == sizes.size()) {
        auto pipeline = ComputePipeline::create(device, module.words,
                                                {.subgroup_size = module.subgroup_size,
                                                 .statistics = statistics,
                                                 .invocations = part.invocations,
                                                 .based = parts.size() > 1});
        if (!pipeline) return std::unexpected(pipeline.error());
        p.list.push_back(std::move(*pipeline));
        sizes.push_back(part.invocations);
      }
      p.parts.push_back({&p.list[index], part.base, part.groups});
    }
    return p;
  }
  [[nodiscard]] double creation_ms() const {
    double ms = 0;
    for (const ComputePipeline& p : list) ms += p.creation_ms();
    return ms;
  }
};

} // namespace

Expected<RunReport> run_on_vulkan(Launch& launch, VulkanDevice& device, const CompiledKernel& kernel,
                                  const ExecuteOptions& options) {
  if (auto ok = check_launch(launch); !ok) return std::unexpected(ok.error());
  if (kernel.module.lds_bytes > device.info().max_shared_bytes)
    return fail(ErrorKind::unsupported,
                "the kernel needs " + std::to_string(kernel.module.lds_bytes) +
                    " bytes of workgroup memory, maxComputeSharedMemorySize is " +
                    std::to_string(device.info().max_shared_bytes),
                "kernel " + launch.kernel->name + " on " + device.info().name);
  auto planned = LaunchMemory::plan(launch, options.callee_table_bytes);
  if (!planned) return std::unexpected(planned.error());
  auto pipelines = Pipelines::create(device, launch, kernel.module, options.driver_statistics);
  if (!pipelines) return std::unexpected(pipelines.error());

  std::vector<DeviceBuffer> buffers;
  std::vector<const DeviceBuffer*> pointers;
  std::vector<uint64_t> addresses;
  buffers.reserve(planned->regions().size());
  for (const Region& region : planned->regions()) {
    auto buffer = DeviceBuffer::create(device, region.contents.size());
    if (!buffer) return std::unexpected(buffer.error());
    addresses.push_back(buffer->address());
    buffers.push_back(std::move(*buffer));
    pointers.push_back(&buffers.back());
  }
  if (auto ok = planned->place(launch, addresses); !ok) return std::unexpected(ok.error());
  if (auto ok = fill_callee_table(*planned, options); !ok) return std::unexpected(ok.error());
  for (size_t i = 0; i < buffers.size(); ++i)
    std::ranges::copy(planned->regions()[i].contents, buffers[i].host().begin());

  DispatchRequest request;
  request.block.kernarg_ptr = planned->address(LaunchMemory::kernarg);
  request.block.dispatch_ptr = planned->address(LaunchMemory::packet);
  request.block.queue_ptr = planned->address(LaunchMemory::queue);
  request.block.image_base = planned->image_base();
  request.block.status_ptr = planned->address(LaunchMemory::status);
  std::ranges::copy(launch.grid, request.block.grid);
  request.parts = pipelines->parts;
  request.buffers = pointers;
  request.repeat = options.repeat;
  request.timeout = options.timeout;
  auto times = dispatch(device, request);
  if (!times) return std::unexpected(times.error());

  spirv::StatusBlock status;
  std::memcpy(&status, buffers[LaunchMemory::status].host().data(), sizeof status);
  if (auto ok = check_status(status, launch.kernel->name); !ok) return std::unexpected(ok.error());
  std::vector<PipelineStatistic> driver;
  if (options.driver_statistics) {
    auto read = pipeline_statistics(device, pipelines->list.front().handle());
    if (!read) return std::unexpected(read.error());
    driver = std::move(*read);
  }
  RunReport report{pipelines->creation_ms(),
                   times->device_ms > 0 ? times->device_ms : times->host_ms / options.repeat,
                   0,
                   {},
                   std::move(driver)};
  for (size_t i = 0; i < launch.buffers.size(); ++i) {
    const DeviceBuffer& buffer = buffers[LaunchMemory::buffers + i];
    report.addresses.push_back(buffer.address());
    std::ranges::copy(buffer.host(), launch.buffers[i].contents.begin());
  }
  return report;
}

} // namespace lanewise::runtime
