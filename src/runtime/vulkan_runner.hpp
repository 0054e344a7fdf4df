// Buffers, pipelines and dispatches on a VulkanDevice. Guest pointers are device addresses of the buffers.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <span>

#include "runtime/vulkan_device.hpp"
#include "spirv/abi.hpp"

namespace lanewise::runtime {

/// Owns one Vulkan object of a device, which must outlive it.
template <class T, void(VKAPI_PTR* Destroy)(VkDevice, T, const VkAllocationCallbacks*)>
class DeviceHandle {
 public:
  DeviceHandle() = default;
  explicit DeviceHandle(const VulkanDevice& device) : device_(&device) {}
  DeviceHandle(DeviceHandle&& other) noexcept { swap(other); }
  DeviceHandle& operator=(DeviceHandle&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceHandle() {
    if (handle_ && !device_->abandoned()) Destroy(device_->handle(), handle_, nullptr);
  }
  [[nodiscard]] T get() const { return handle_; }
  [[nodiscard]] T* out() { return &handle_; } ///< for vkCreate*; the handle must be empty

 private:
  void swap(DeviceHandle& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(handle_, other.handle_);
  }
  const VulkanDevice* device_ = nullptr;
  T handle_ = VK_NULL_HANDLE;
};

/// Zeroed memory that both sides see. On a discrete GPU the device works on its own memory and the host on a
/// staging copy, which `dispatch` moves to and fro; elsewhere there is only one.
class DeviceBuffer {
 public:
  /// `bytes` may be 0; the buffer then has an address but no contents.
  [[nodiscard]] static Expected<DeviceBuffer> create(const VulkanDevice& device, size_t bytes);

  [[nodiscard]] uint64_t address() const { return address_; } ///< what shaders use, 256-byte aligned
  [[nodiscard]] std::span<uint8_t> host() { return {mapped_, bytes_}; }
  [[nodiscard]] std::span<const uint8_t> host() const { return {mapped_, bytes_}; }
  [[nodiscard]] bool staged() const { return staging_.memory.get() != VK_NULL_HANDLE; }
  void record_upload(VkCommandBuffer commands) const;
  void record_download(VkCommandBuffer commands) const;

 private:
  struct Allocation {
    DeviceHandle<VkDeviceMemory, vkFreeMemory> memory;
    DeviceHandle<VkBuffer, vkDestroyBuffer> buffer; ///< declared last: destroyed before its memory
  };
  static Expected<Allocation> allocate(const VulkanDevice& device, size_t bytes, VkMemoryPropertyFlags wanted,
                                       VkMemoryPropertyFlags preferred);
  Allocation main_, staging_;
  uint64_t address_ = 0;
  uint8_t* mapped_ = nullptr;
  size_t bytes_ = 0;
};

struct PipelineOptions {
  /// 0 leaves the size to the driver; otherwise exactly that size, in full subgroups, or an error that names
  /// what the device lacks.
  uint32_t subgroup_size = 0;
  bool statistics = false;  ///< captures what pipeline_statistics() reads
  uint32_t invocations = 0; ///< spirv::kLocalSizeConstant; 0: its default, or there is none
  bool based = false;       ///< dispatches of it may begin at other workgroups than the first
};

/// A compute pipeline of a module that takes spirv::DispatchBlock as push constants and has no descriptors.
class ComputePipeline {
 public:
  /// Capabilities of the module are checked against the device.
  [[nodiscard]] static Expected<ComputePipeline> create(VulkanDevice& device, std::span<const uint32_t> spirv,
                                                        const PipelineOptions& options = {});
  [[nodiscard]] VkPipeline handle() const { return pipeline_.get(); }
  [[nodiscard]] VkPipelineLayout layout() const { return layout_.get(); }
  [[nodiscard]] double creation_ms() const { return creation_ms_; }

 private:
  DeviceHandle<VkShaderModule, vkDestroyShaderModule> module_;
  DeviceHandle<VkPipelineLayout, vkDestroyPipelineLayout> layout_;
  DeviceHandle<VkPipeline, vkDestroyPipeline> pipeline_;
  double creation_ms_ = 0;
};

struct DispatchRequest {
  /// Workgroups from `base` on. One that does not begin at the first needs a pipeline that is `based`.
  struct Part {
    const ComputePipeline* pipeline = nullptr;
    std::array<uint32_t, 3> base{}, groups{1, 1, 1};
  };
  spirv::DispatchBlock block;
  std::span<const Part> parts;                  ///< of one dispatch, in no order
  std::span<const DeviceBuffer* const> buffers; ///< all that the dispatch touches; staged ones are copied
  unsigned repeat = 1; ///< dispatches in a row, for timing; results are those of the last
  std::chrono::milliseconds timeout{60000};
};

struct DispatchTimes {
  double device_ms = 0; ///< one dispatch, by timestamps; 0 where the device has none
  double host_ms = 0;   ///< submission to completion, copies and all repeats included
};

/// Runs it to completion. A time-out is an Error and leaves the device abandoned.
[[nodiscard]] Expected<DispatchTimes> dispatch(VulkanDevice& device, const DispatchRequest& request);

/// The Error that a StatusBlock tells of; ok when its reason is 0. `kernel` goes into Error::where.
[[nodiscard]] Expected<void> check_status(const spirv::StatusBlock& status, std::string_view kernel);

} // namespace lanewise::runtime
