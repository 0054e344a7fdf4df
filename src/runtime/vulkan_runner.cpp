#include "runtime/vulkan_runner.hpp"

#include <fmt/format.h>

#include "ir/ir.hpp"

namespace lanewise::runtime {

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

Expected<void> check_subgroup_size(const VulkanDevice& device, uint32_t size) {
  const VulkanDeviceInfo& info = device.info();
  if (size == 0) return {};
  // A driver may silently ignore a size outside its range, so the range is checked here.
  if (size < info.min_subgroup_size || size > info.max_subgroup_size)
    return fail(ErrorKind::unsupported,
                fmt::format("subgroup size {} is outside minSubgroupSize..maxSubgroupSize = {}..{}", size,
                            info.min_subgroup_size, info.max_subgroup_size),
                info.name);
  if (!device.has("computeFullSubgroups"))
    return fail(ErrorKind::unsupported, "device lacks computeFullSubgroups", info.name);
  if (!info.subgroup_size_selectable && info.min_subgroup_size != info.max_subgroup_size)
    return fail(ErrorKind::unsupported, "device lacks requiredSubgroupSizeStages for compute", info.name);
  return {};
}

Expected<void> check_groups(const VulkanDevice& device, const DispatchRequest::Part& part) {
  for (unsigned i = 0; i < 3; ++i)
    if (const uint64_t end = uint64_t{part.base[i]} + part.groups[i]; end > device.info().max_groups[i])
      return fail(ErrorKind::limit,
                  fmt::format("{} workgroups in dimension {}, maxComputeWorkGroupCount is {}", end, i,
                              device.info().max_groups[i]),
                  device.info().name);
  return {};
}

/// Everything that one submission needs.
struct Submission {
  DeviceHandle<VkCommandPool, vkDestroyCommandPool> pool;
  DeviceHandle<VkFence, vkDestroyFence> fence;
  DeviceHandle<VkQueryPool, vkDestroyQueryPool> queries;
  VkCommandBuffer commands = VK_NULL_HANDLE;
};

Expected<Submission> make_submission(const VulkanDevice& device, bool timestamps) {
  Submission s{DeviceHandle<VkCommandPool, vkDestroyCommandPool>(device),
               DeviceHandle<VkFence, vkDestroyFence>(device),
               DeviceHandle<VkQueryPool, vkDestroyQueryPool>(device)};
  VkCommandPoolCreateInfo pool{VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
  pool.queueFamilyIndex = device.queue_family();
  if (VkResult r = vkCreateCommandPool(device.handle(), &pool, nullptr, s.pool.out()); r != VK_SUCCESS)
    return std::unexpected(vulkan_error(r, "vkCreateCommandPool"));
  VkCommandBufferAllocateInfo allocate{VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO};
  allocate.commandPool = s.pool.get();
  allocate.level = VK_COMMAND_BUFFER_LEVEL_PRIMARY;
  allocate.commandBufferCount = 1;
  if (VkResult r = vkAllocateCommandBuffers(device.handle(), &allocate, &s.commands); r != VK_SUCCESS)
    return std::unexpected(vulkan_error(r, "vkAllocateCommandBuffers"));
  VkFenceCreateInfo fence{VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
  if (VkResult r = vkCreateFence(device.handle(), &fence, nullptr, s.fence.out()); r != VK_SUCCESS)
    return std::unexpected(vulkan_error(r, "vkCreateFence"));
  if (!timestamps) return s;
  VkQueryPoolCreateInfo queries{VK_STRUCTURE_TYPE_QUERY_POOL_CREATE_INFO};
  queries.queryType = VK_QUERY_TYPE_TIMESTAMP;
  queries.queryCount = 2;
  if (VkResult r = vkCreateQueryPool(device.handle(), &queries, nullptr, s.queries.out()); r != VK_SUCCESS)
    return std::unexpected(vulkan_error(r, "vkCreateQueryPool"));
  return s;
}

void full_barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags written,
                  VkPipelineStageFlags to, VkAccessFlags read) {
  VkMemoryBarrier barrier{VK_STRUCTURE_TYPE_MEMORY_BARRIER};
  barrier.srcAccessMask = written;
  barrier.dstAccessMask = read;
  vkCmdPipelineBarrier(commands, from, to, 0, 1, &barrier, 0, nullptr, 0, nullptr);
}

void record_part(VkCommandBuffer commands, const DispatchRequest::Part& part) {
  const auto& [bx, by, bz] = part.base;
  const auto& [x, y, z] = part.groups;
  vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, part.pipeline->handle());
  if (bx == 0 && by == 0 && bz == 0)
    vkCmdDispatch(commands, x, y, z);
  else
    vkCmdDispatchBase(commands, bx, by, bz, x, y, z);
}

void record(const Submission& s, const DispatchRequest& request) {
  constexpr auto compute = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT;
  constexpr auto transfer = VK_PIPELINE_STAGE_TRANSFER_BIT;
  constexpr VkAccessFlags shader = VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT;
  for (const DeviceBuffer* b : request.buffers) b->record_upload(s.commands);
  full_barrier(s.commands, transfer, VK_ACCESS_TRANSFER_WRITE_BIT, compute, shader);
  // Pipelines of all parts have the same layout.
  vkCmdPushConstants(s.commands, request.parts.front().pipeline->layout(), VK_SHADER_STAGE_COMPUTE_BIT, 0,
                     sizeof request.block, &request.block);
  if (s.queries.get()) {
    vkCmdResetQueryPool(s.commands, s.queries.get(), 0, 2);
    vkCmdWriteTimestamp(s.commands, VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, s.queries.get(), 0);
  }
  for (unsigned i = 0; i < request.repeat; ++i) {
    if (i) full_barrier(s.commands, compute, VK_ACCESS_SHADER_WRITE_BIT, compute, shader);
    for (const DispatchRequest::Part& part : request.parts) record_part(s.commands, part);
  }
  if (s.queries.get())
    vkCmdWriteTimestamp(s.commands, VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT, s.queries.get(), 1);
  full_barrier(s.commands, compute, VK_ACCESS_SHADER_WRITE_BIT, transfer, VK_ACCESS_TRANSFER_READ_BIT);
  for (const DeviceBuffer* b : request.buffers) b->record_download(s.commands);
  full_barrier(s.commands, compute | transfer, VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT,
               VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

double device_ms(const VulkanDevice& device, const Submission& s, unsigned repeat) {
  uint64_t ticks[2] = {};
  if (!s.queries.get() ||
      vkGetQueryPoolResults(device.handle(), s.queries.get(), 0, 2, sizeof ticks, ticks, sizeof ticks[0],
                            VK_QUERY_RESULT_64_BIT | VK_QUERY_RESULT_WAIT_BIT) != VK_SUCCESS)
    return 0;
  return static_cast<double>(ticks[1] - ticks[0]) * static_cast<double>(device.info().timestamp_ns) * 1e-6 /
         repeat;
}

} // namespace

Expected<ComputePipeline> ComputePipeline::create(VulkanDevice& device, std::span<const uint32_t> spirv,
                                                  const PipelineOptions& options) {
  if (auto ok = device.require(spirv); !ok) return std::unexpected(ok.error());
  if (options.statistics && !device.has("pipelineExecutableInfo"))
    return fail(ErrorKind::unsupported, "device lacks pipelineExecutableInfo", device.info().name);
  if (auto ok = check_subgroup_size(device, options.subgroup_size); !ok) return std::unexpected(ok.error());
  const auto start = Clock::now();
  ComputePipeline p;
  p.module_ = decltype(p.module_)(device);
  p.layout_ = decltype(p.layout_)(device);
  p.pipeline_ = decltype(p.pipeline_)(device);
  VkShaderModuleCreateInfo module{VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO};
  module.codeSize = spirv.size_bytes();
  module.pCode = spirv.data();
  if (VkResult r = vkCreateShaderModule(device.handle(), &module, nullptr, p.module_.out()); r != VK_SUCCESS)
    return std::unexpected(vulkan_error(r, "vkCreateShaderModule"));
  if (auto ok = device.take_validation_messages(); !ok) return std::unexpected(ok.error());

  const VkPushConstantRange push{VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof(spirv::DispatchBlock)};
  VkPipelineLayoutCreateInfo layout{VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO};
  layout.pushConstantRangeCount = 1;
  layout.pPushConstantRanges = &push;
  if (VkResult r = vkCreatePipelineLayout(device.handle(), &layout, nullptr, p.layout_.out());
      r != VK_SUCCESS)
    return std::unexpected(vulkan_error(r, "vkCreatePipelineLayout"));

  VkPipelineShaderStageRequiredSubgroupSizeCreateInfo size{
      VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_REQUIRED_SUBGROUP_SIZE_CREATE_INFO, nullptr,
      options.subgroup_size};
  const VkSpecializationMapEntry entry{spirv::kLocalSizeConstant, 0, sizeof options.invocations};
  const VkSpecializationInfo local_size{1, &entry, sizeof options.invocations, &options.invocations};
  VkComputePipelineCreateInfo create{VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
  create.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
  create.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
  create.stage.module = p.module_.get();
  create.stage.pName = "main";
  create.layout = p.layout_.get();
  if (options.invocations) create.stage.pSpecializationInfo = &local_size;
  if (options.statistics) create.flags |= VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR;
  if (options.based) create.flags |= VK_PIPELINE_CREATE_DISPATCH_BASE_BIT;
  if (options.subgroup_size) {
    create.stage.flags = VK_PIPELINE_SHADER_STAGE_CREATE_REQUIRE_FULL_SUBGROUPS_BIT;
    if (device.info().subgroup_size_selectable) create.stage.pNext = &size;
  }
  if (VkResult r =
          vkCreateComputePipelines(device.handle(), VK_NULL_HANDLE, 1, &create, nullptr, p.pipeline_.out());
      r != VK_SUCCESS)
    return std::unexpected(vulkan_error(r, "vkCreateComputePipelines"));
  if (auto ok = device.take_validation_messages(); !ok) return std::unexpected(ok.error());
  p.creation_ms_ = ms_since(start);
  return p;
}

Expected<DispatchTimes> dispatch(VulkanDevice& device, const DispatchRequest& request) {
  if (device.abandoned()) return fail(ErrorKind::system, "an earlier dispatch timed out", device.info().name);
  for (const DispatchRequest::Part& part : request.parts)
    if (auto ok = check_groups(device, part); !ok) return std::unexpected(ok.error());
  auto made = make_submission(device, device.info().timestamp_ns > 0);
  if (!made) return std::unexpected(made.error());
  const Submission& s = *made;

  VkCommandBufferBeginInfo begin{VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
  begin.flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT;
  if (VkResult r = vkBeginCommandBuffer(s.commands, &begin); r != VK_SUCCESS)
    return std::unexpected(vulkan_error(r, "vkBeginCommandBuffer"));
  record(s, request);
  if (VkResult r = vkEndCommandBuffer(s.commands); r != VK_SUCCESS)
    return std::unexpected(vulkan_error(r, "vkEndCommandBuffer"));

  const auto start = Clock::now();
  VkSubmitInfo submit{VK_STRUCTURE_TYPE_SUBMIT_INFO};
  submit.commandBufferCount = 1;
  submit.pCommandBuffers = &s.commands;
  if (VkResult r = vkQueueSubmit(device.queue(), 1, &submit, s.fence.get()); r != VK_SUCCESS)
    return std::unexpected(vulkan_error(r, "vkQueueSubmit"));
  const auto timeout = std::chrono::nanoseconds(request.timeout).count();
  const VkFence fence = s.fence.get();
  VkResult r = vkWaitForFences(device.handle(), 1, &fence, VK_TRUE, static_cast<uint64_t>(timeout));
  if (r == VK_TIMEOUT) {
    device.abandon();
    return fail(ErrorKind::system,
                fmt::format("the dispatch did not end within {} ms", request.timeout.count()),
                device.info().name);
  }
  if (r != VK_SUCCESS) return std::unexpected(vulkan_error(r, "vkWaitForFences"));
  DispatchTimes times{device_ms(device, s, request.repeat), ms_since(start)};
  if (auto ok = device.take_validation_messages(); !ok) return std::unexpected(ok.error());
  return times;
}

Expected<void> check_status(const spirv::StatusBlock& status, std::string_view kernel) {
  if (status.reason == 0) return {};
  constexpr std::array<std::string_view, 4> reasons{
      "s_trap was executed", "a call returned to another place than its caller",
      "a call or jump went to an unexpected address", "execution ran past the end of the program"};
  static_assert(static_cast<size_t>(ir::TrapReason::fell_off_end) + 1 == reasons.size());
  const size_t index = status.reason - 1;
  return fail(ErrorKind::input,
              std::string(index < reasons.size() ? reasons[index] : "trap of an unknown reason"),
              fmt::format("kernel {}, pc {:#x}, workgroup {},{},{}, wave {}", kernel, status.pc,
                          status.workgroup[0], status.workgroup[1], status.workgroup[2], status.wave));
}

} // namespace lanewise::runtime
