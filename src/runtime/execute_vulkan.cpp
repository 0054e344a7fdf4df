#include <algorithm>
#include <cstring>

#include "runtime/compile.hpp"
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
  auto pipeline = ComputePipeline::create(device, kernel.module.words, kernel.module.subgroup_size,
                                          options.driver_statistics);
  if (!pipeline) return std::unexpected(pipeline.error());

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
  request.groups = launch.groups();
  request.buffers = pointers;
  request.repeat = options.repeat;
  request.timeout = options.timeout;
  auto times = dispatch(device, *pipeline, request);
  if (!times) return std::unexpected(times.error());

  spirv::StatusBlock status;
  std::memcpy(&status, buffers[LaunchMemory::status].host().data(), sizeof status);
  if (auto ok = check_status(status, launch.kernel->name); !ok) return std::unexpected(ok.error());
  std::vector<PipelineStatistic> driver;
  if (options.driver_statistics) {
    auto read = pipeline_statistics(device, pipeline->handle());
    if (!read) return std::unexpected(read.error());
    driver = std::move(*read);
  }
  RunReport report{pipeline->creation_ms(),
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
