// A Vulkan device opened for compute with everything from feature_rows() that it has.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/vulkan_features.hpp"
#include "support/error.hpp"

namespace lanewise::runtime {

struct VulkanOptions {
  std::string
      device; ///< index into list_vulkan_devices() or a part of its name; empty: a GPU, else the first
  bool validation = false; ///< loads VK_LAYER_KHRONOS_validation; its warnings and errors become Errors
};

/// What the code generator and the user want to know of a device.
struct VulkanDeviceInfo {
  unsigned index = 0; ///< as --device counts
  std::string name;
  VkPhysicalDeviceType type = VK_PHYSICAL_DEVICE_TYPE_OTHER;
  VkDriverId driver{};
  uint32_t api_version = 0;
  uint32_t subgroup_size = 1, min_subgroup_size = 1, max_subgroup_size = 1;
  bool subgroup_size_selectable = false;          ///< compute pipelines may require a size in [min, max]
  VkSubgroupFeatureFlags subgroup_operations = 0; ///< in compute shaders; 0 if compute has none
  uint32_t max_shared_bytes = 0, max_push_bytes = 0, max_invocations = 0;
  std::array<uint32_t, 3> max_workgroup_size{}, max_groups{};
  float timestamp_ns = 0; ///< nanoseconds of one timestamp tick; 0: no timestamps
  VkPhysicalDeviceFloatControlsProperties float_controls{};
};

/// Every device of the system, in the order that --device counts. Empty without an error when there is a
/// loader but no driver.
[[nodiscard]] Expected<std::vector<VulkanDeviceInfo>> list_vulkan_devices();

/// "VK_ERROR_DEVICE_LOST (-4) from vkQueueSubmit" as an Error of kind system.
[[nodiscard]] Error vulkan_error(VkResult result, const char* call);

class VulkanDevice {
 public:
  [[nodiscard]] static Expected<std::unique_ptr<VulkanDevice>> open(const VulkanOptions& options);
  ~VulkanDevice();
  VulkanDevice(const VulkanDevice&) = delete;
  VulkanDevice& operator=(const VulkanDevice&) = delete;

  [[nodiscard]] const VulkanDeviceInfo& info() const { return info_; }
  [[nodiscard]] const FeatureChain& features() const { return features_; }
  /// True when the feature of this Vulkan name is enabled.
  [[nodiscard]] bool has(std::string_view feature) const;
  /// An error of kind unsupported naming each feature that the module needs and the device lacks.
  [[nodiscard]] Expected<void> require(std::span<const uint32_t> spirv) const;

  [[nodiscard]] VkDevice handle() const { return device_; }
  [[nodiscard]] VkPhysicalDevice physical() const { return physical_; }
  [[nodiscard]] VkQueue queue() const { return queue_; }
  [[nodiscard]] uint32_t queue_family() const { return queue_family_; }
  [[nodiscard]] bool discrete() const { return info_.type == VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU; }
  /// A memory type of `allowed` with all of `wanted`, preferring `preferred`; -1 if there is none.
  [[nodiscard]] int memory_type(uint32_t allowed, VkMemoryPropertyFlags wanted,
                                VkMemoryPropertyFlags preferred) const;

  /// What the validation layers said since the last call: ok when silent.
  [[nodiscard]] Expected<void> take_validation_messages();
  /// After a time-out the GPU may still run: nothing can be destroyed, the device is left to the process'
  /// end.
  void abandon() {
    abandoned_ = true;
    any_abandoned_ = true;
  }
  /// Some device of this process still works on a dispatch that was given up. A driver may do that on a
  /// thread of its own that does not survive exit(): end with std::_Exit then.
  [[nodiscard]] static bool any_abandoned() { return any_abandoned_; }
  [[nodiscard]] bool abandoned() const { return abandoned_; }

 private:
  VulkanDevice() = default;
  Expected<void> create_instance(bool validation);
  Expected<void> choose(const std::string& wanted);
  Expected<void> create_device();
  static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                   VkDebugUtilsMessageTypeFlagsEXT types,
                                                   const VkDebugUtilsMessengerCallbackDataEXT* data,
                                                   void* self);

  VkInstance instance_ = VK_NULL_HANDLE;
  VkDebugUtilsMessengerEXT messenger_ = VK_NULL_HANDLE;
  VkPhysicalDevice physical_ = VK_NULL_HANDLE;
  VkDevice device_ = VK_NULL_HANDLE;
  VkQueue queue_ = VK_NULL_HANDLE;
  uint32_t queue_family_ = 0;
  VulkanDeviceInfo info_;
  FeatureChain features_; ///< enabled ones
  VkPhysicalDeviceMemoryProperties memory_{};
  std::mutex message_mutex_;
  std::vector<std::string> messages_;
  bool abandoned_ = false;
  static inline std::atomic<bool> any_abandoned_ = false;
};

} // namespace lanewise::runtime
