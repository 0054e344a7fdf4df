#include "runtime/vulkan_runner.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace lanewise::runtime {

namespace {

constexpr VkMemoryPropertyFlags host_flags =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr size_t granule = 256; ///< sizes are rounded up, so that a dword read of a last byte stays inside

} // namespace

Expected<DeviceBuffer::Allocation> DeviceBuffer::allocate(const VulkanDevice& device, size_t bytes,
                                                          VkMemoryPropertyFlags wanted,
                                                          VkMemoryPropertyFlags preferred) {
  Allocation a{DeviceHandle<VkDeviceMemory, vkFreeMemory>(device),
               DeviceHandle<VkBuffer, vkDestroyBuffer>(device)};
  VkBufferCreateInfo create{VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
  create.size = bytes;
  create.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
  if (VkResult r = vkCreateBuffer(device.handle(), &create, nullptr, a.buffer.out()); r != VK_SUCCESS)
    return std::unexpected(vulkan_error(r, "vkCreateBuffer"));
  VkMemoryRequirements need{};
  vkGetBufferMemoryRequirements(device.handle(), a.buffer.get(), &need);
  const int type = device.memory_type(need.memoryTypeBits, wanted, preferred);
  if (type < 0)
    return fail(ErrorKind::unsupported, "device lacks a memory type for buffers", device.info().name);

  VkMemoryAllocateFlagsInfo flags{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO};
  flags.flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT;
  VkMemoryAllocateInfo allocate{VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, &flags};
  allocate.allocationSize = need.size;
  allocate.memoryTypeIndex = static_cast<uint32_t>(type);
  if (VkResult r = vkAllocateMemory(device.handle(), &allocate, nullptr, a.memory.out()); r != VK_SUCCESS) {
    Error e = vulkan_error(r, "vkAllocateMemory");
    e.where = fmt::format("buffer of {} bytes", bytes);
    return std::unexpected(std::move(e));
  }
  if (VkResult r = vkBindBufferMemory(device.handle(), a.buffer.get(), a.memory.get(), 0); r != VK_SUCCESS)
    return std::unexpected(vulkan_error(r, "vkBindBufferMemory"));
  return a;
}

Expected<DeviceBuffer> DeviceBuffer::create(const VulkanDevice& device, size_t bytes) {
  DeviceBuffer b;
  b.bytes_ = bytes;
  const size_t size = std::max(granule, (bytes + granule - 1) / granule * granule);
  if (size < bytes) return fail(ErrorKind::limit, "buffer size overflows");
  constexpr VkMemoryPropertyFlags local = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT,
                                  cached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
  auto main =
      device.discrete() ? allocate(device, size, local, 0) : allocate(device, size, host_flags, cached);
  if (!main) return std::unexpected(main.error());
  b.main_ = std::move(*main);
  if (device.discrete()) {
    auto staging = allocate(device, size, host_flags, VK_MEMORY_PROPERTY_HOST_CACHED_BIT);
    if (!staging) return std::unexpected(staging.error());
    b.staging_ = std::move(*staging);
  }
  const VkDeviceMemory host = b.staged() ? b.staging_.memory.get() : b.main_.memory.get();
  void* mapped = nullptr;
  if (VkResult r = vkMapMemory(device.handle(), host, 0, VK_WHOLE_SIZE, 0, &mapped); r != VK_SUCCESS)
    return std::unexpected(vulkan_error(r, "vkMapMemory"));
  b.mapped_ = static_cast<uint8_t*>(mapped);
  std::memset(b.mapped_, 0, size);
  VkBufferDeviceAddressInfo info{VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO};
  info.buffer = b.main_.buffer.get();
  b.address_ = vkGetBufferDeviceAddress(device.handle(), &info);
  return b;
}

void DeviceBuffer::record_upload(VkCommandBuffer commands) const {
  if (!staged() || bytes_ == 0) return;
  const VkBufferCopy all{0, 0, bytes_};
  vkCmdCopyBuffer(commands, staging_.buffer.get(), main_.buffer.get(), 1, &all);
}

void DeviceBuffer::record_download(VkCommandBuffer commands) const {
  if (!staged() || bytes_ == 0) return;
  const VkBufferCopy all{0, 0, bytes_};
  vkCmdCopyBuffer(commands, main_.buffer.get(), staging_.buffer.get(), 1, &all);
}

} // namespace lanewise::runtime
