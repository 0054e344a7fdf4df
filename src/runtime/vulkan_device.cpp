#include "runtime/vulkan_device.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstring>
#include <optional>

#include <fmt/format.h>

namespace lanewise::runtime {

namespace {

/// Results that the calls of this room can give.
constexpr std::array result_names{
#define LANEWISE_RESULT(name)                                                                                \
  std::pair { name, #name }
    LANEWISE_RESULT(VK_TIMEOUT),
    LANEWISE_RESULT(VK_NOT_READY),
    LANEWISE_RESULT(VK_INCOMPLETE),
    LANEWISE_RESULT(VK_ERROR_OUT_OF_HOST_MEMORY),
    LANEWISE_RESULT(VK_ERROR_OUT_OF_DEVICE_MEMORY),
    LANEWISE_RESULT(VK_ERROR_INITIALIZATION_FAILED),
    LANEWISE_RESULT(VK_ERROR_DEVICE_LOST),
    LANEWISE_RESULT(VK_ERROR_MEMORY_MAP_FAILED),
    LANEWISE_RESULT(VK_ERROR_LAYER_NOT_PRESENT),
    LANEWISE_RESULT(VK_ERROR_EXTENSION_NOT_PRESENT),
    LANEWISE_RESULT(VK_ERROR_FEATURE_NOT_PRESENT),
    LANEWISE_RESULT(VK_ERROR_INCOMPATIBLE_DRIVER),
    LANEWISE_RESULT(VK_ERROR_TOO_MANY_OBJECTS),
    LANEWISE_RESULT(VK_ERROR_INVALID_SHADER_NV),
    LANEWISE_RESULT(VK_ERROR_UNKNOWN),
#undef LANEWISE_RESULT
};

constexpr const char* validation_layer = "VK_LAYER_KHRONOS_validation";

/// Vulkan's two-call enumeration.
template <class T, class F>
std::vector<T> enumerate(F call) {
  uint32_t count = 0;
  call(&count, static_cast<T*>(nullptr));
  std::vector<T> items(count);
  call(&count, items.data());
  items.resize(count);
  return items;
}

std::vector<std::string> device_extensions(VkPhysicalDevice physical) {
  std::vector<std::string> names;
  for (const auto& e : enumerate<VkExtensionProperties>([&](uint32_t* n, VkExtensionProperties* p) {
         vkEnumerateDeviceExtensionProperties(physical, nullptr, n, p);
       }))
    names.emplace_back(e.extensionName);
  return names;
}

std::optional<uint32_t> compute_queue_family(VkPhysicalDevice physical, uint32_t& timestamp_bits) {
  const auto families = enumerate<VkQueueFamilyProperties>([&](uint32_t* n, VkQueueFamilyProperties* p) {
    vkGetPhysicalDeviceQueueFamilyProperties(physical, n, p);
  });
  for (uint32_t i = 0; i < families.size(); ++i) {
    if (!(families[i].queueFlags & VK_QUEUE_COMPUTE_BIT)) continue;
    timestamp_bits = families[i].timestampValidBits;
    return i;
  }
  return std::nullopt;
}

VulkanDeviceInfo describe(VkPhysicalDevice physical, unsigned index) {
  VulkanDeviceInfo info;
  VkPhysicalDeviceVulkan13Properties v13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_PROPERTIES};
  VkPhysicalDeviceVulkan11Properties v11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES, &v13};
  VkPhysicalDeviceDriverProperties driver{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES, &v11};
  VkPhysicalDeviceFloatControlsProperties floats{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FLOAT_CONTROLS_PROPERTIES,
                                                 &driver};
  VkPhysicalDeviceProperties2 all{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, nullptr};
  vkGetPhysicalDeviceProperties(physical, &all.properties);
  if (all.properties.apiVersion >= VK_API_VERSION_1_3) {
    all.pNext = &floats;
    vkGetPhysicalDeviceProperties2(physical, &all);
  }
  const VkPhysicalDeviceLimits& limits = all.properties.limits;
  info.index = index;
  info.name = all.properties.deviceName;
  info.type = all.properties.deviceType;
  info.driver = driver.driverID;
  info.api_version = all.properties.apiVersion;
  info.subgroup_size = std::max(1u, v11.subgroupSize);
  info.min_subgroup_size = v13.minSubgroupSize ? v13.minSubgroupSize : info.subgroup_size;
  info.max_subgroup_size = v13.maxSubgroupSize ? v13.maxSubgroupSize : info.subgroup_size;
  info.subgroup_size_selectable = (v13.requiredSubgroupSizeStages & VK_SHADER_STAGE_COMPUTE_BIT) != 0;
  if (v11.subgroupSupportedStages & VK_SHADER_STAGE_COMPUTE_BIT)
    info.subgroup_operations = v11.subgroupSupportedOperations;
  info.max_shared_bytes = limits.maxComputeSharedMemorySize;
  info.max_push_bytes = limits.maxPushConstantsSize;
  info.max_invocations = limits.maxComputeWorkGroupInvocations;
  std::ranges::copy(limits.maxComputeWorkGroupSize, info.max_workgroup_size.begin());
  std::ranges::copy(limits.maxComputeWorkGroupCount, info.max_groups.begin());
  uint32_t timestamp_bits = 0;
  (void)compute_queue_family(physical, timestamp_bits);
  info.timestamp_ns = timestamp_bits ? limits.timestampPeriod : 0;
  floats.pNext = nullptr;
  info.float_controls = floats;
  return info;
}

Expected<VkInstance> make_instance(bool validation, const VkDebugUtilsMessengerCreateInfoEXT* messenger) {
  if (validation) {
    const auto layers = enumerate<VkLayerProperties>(
        [](uint32_t* n, VkLayerProperties* p) { vkEnumerateInstanceLayerProperties(n, p); });
    if (std::ranges::none_of(layers, [](auto& l) { return std::strcmp(l.layerName, validation_layer) == 0; }))
      return fail(ErrorKind::system, fmt::format("{} is not installed", validation_layer), {},
                  "Debian package vulkan-validationlayers");
  }
  VkApplicationInfo app{VK_STRUCTURE_TYPE_APPLICATION_INFO};
  app.pApplicationName = "lanewise";
  app.apiVersion = VK_API_VERSION_1_3;
  const char* extension = VK_EXT_DEBUG_UTILS_EXTENSION_NAME;
  VkInstanceCreateInfo create{VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
  create.pApplicationInfo = &app;
  if (validation) {
    create.pNext = messenger;
    create.enabledLayerCount = 1;
    create.ppEnabledLayerNames = &validation_layer;
    create.enabledExtensionCount = 1;
    create.ppEnabledExtensionNames = &extension;
  }
  VkInstance instance = VK_NULL_HANDLE;
  if (VkResult r = vkCreateInstance(&create, nullptr, &instance); r != VK_SUCCESS)
    return std::unexpected(vulkan_error(r, "vkCreateInstance"));
  return instance;
}

std::vector<VkPhysicalDevice> physical_devices(VkInstance instance) {
  return enumerate<VkPhysicalDevice>(
      [&](uint32_t* n, VkPhysicalDevice* p) { vkEnumeratePhysicalDevices(instance, n, p); });
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Higher is better for somebody who did not say which.
int preference(VkPhysicalDeviceType type) {
  switch (type) {
  case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU: return 4;
  case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU: return 3;
  case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU: return 2;
  case VK_PHYSICAL_DEVICE_TYPE_CPU: return 1;
  default: return 0;
  }
}

Expected<size_t> pick(const std::vector<VulkanDeviceInfo>& devices, const std::string& wanted) {
  if (devices.empty())
    return fail(ErrorKind::system, "there is no Vulkan device", {},
                "Debian package mesa-vulkan-drivers has lavapipe");
  if (wanted.empty())
    return static_cast<size_t>(
        std::ranges::max_element(
            devices, {},
            [](auto& d) { return preference(d.type) + (d.api_version >= VK_API_VERSION_1_3 ? 8 : 0); }) -
        devices.begin());
  unsigned number = 0;
  const char* end = wanted.data() + wanted.size();
  if (auto [p, ec] = std::from_chars(wanted.data(), end, number);
      ec == std::errc{} && p == end && number < devices.size())
    return number;
  for (size_t i = 0; i < devices.size(); ++i)
    if (lower(devices[i].name).find(lower(wanted)) != std::string::npos) return i;
  std::string names;
  for (const auto& d : devices) names += fmt::format("{}{}: {}", names.empty() ? "" : ", ", d.index, d.name);
  return fail(ErrorKind::call, fmt::format("there is no Vulkan device '{}'", wanted), {},
              "devices are " + names);
}

} // namespace

Error vulkan_error(VkResult result, const char* call) {
  const char* name = "an error";
  for (const auto& [value, text] : result_names)
    if (value == result) name = text;
  return {ErrorKind::system, fmt::format("{} ({}) from {}", name, static_cast<int>(result), call), {}, {}};
}

Expected<std::vector<VulkanDeviceInfo>> list_vulkan_devices() {
  auto instance = make_instance(false, nullptr);
  if (!instance) {
    if (instance.error().what.starts_with("VK_ERROR_INCOMPATIBLE_DRIVER"))
      return std::vector<VulkanDeviceInfo>{};
    return std::unexpected(instance.error());
  }
  std::vector<VulkanDeviceInfo> devices;
  for (VkPhysicalDevice p : physical_devices(*instance))
    devices.push_back(describe(p, static_cast<unsigned>(devices.size())));
  vkDestroyInstance(*instance, nullptr);
  return devices;
}

Expected<std::unique_ptr<VulkanDevice>> VulkanDevice::open(const VulkanOptions& options) {
  std::unique_ptr<VulkanDevice> device(new VulkanDevice);
  if (auto ok = device->create_instance(options.validation); !ok) return std::unexpected(ok.error());
  if (auto ok = device->choose(options.device); !ok) return std::unexpected(ok.error());
  if (auto ok = device->create_device(); !ok) return std::unexpected(ok.error());
  return device;
}

VulkanDevice::~VulkanDevice() {
  if (device_ && !abandoned_) {
    vkDeviceWaitIdle(device_);
    vkDestroyDevice(device_, nullptr);
  }
  // Its messages come here, so it goes even if the device stays.
  if (messenger_)
    if (auto destroy = reinterpret_cast<PFN_vkDestroyDebugUtilsMessengerEXT>(
            vkGetInstanceProcAddr(instance_, "vkDestroyDebugUtilsMessengerEXT")))
      destroy(instance_, messenger_, nullptr);
  if (instance_ && !abandoned_) vkDestroyInstance(instance_, nullptr);
}

Expected<void> VulkanDevice::create_instance(bool validation) {
  VkDebugUtilsMessengerCreateInfoEXT messenger{VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT};
  messenger.messageSeverity =
      VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT | VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
  messenger.messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT;
  messenger.pfnUserCallback = on_message;
  messenger.pUserData = this;
  auto instance = make_instance(validation, &messenger);
  if (!instance) return std::unexpected(instance.error());
  instance_ = *instance;
  if (!validation) return {};
  auto create = reinterpret_cast<PFN_vkCreateDebugUtilsMessengerEXT>(
      vkGetInstanceProcAddr(instance_, "vkCreateDebugUtilsMessengerEXT"));
  if (!create) return fail(ErrorKind::system, "the Vulkan loader lacks VK_EXT_debug_utils");
  if (VkResult r = create(instance_, &messenger, nullptr, &messenger_); r != VK_SUCCESS)
    return std::unexpected(vulkan_error(r, "vkCreateDebugUtilsMessengerEXT"));
  return {};
}

Expected<void> VulkanDevice::choose(const std::string& wanted) {
  const auto physicals = physical_devices(instance_);
  std::vector<VulkanDeviceInfo> infos;
  for (VkPhysicalDevice p : physicals) infos.push_back(describe(p, static_cast<unsigned>(infos.size())));
  auto index = pick(infos, wanted);
  if (!index) return std::unexpected(index.error());
  physical_ = physicals[*index];
  info_ = infos[*index];
  vkGetPhysicalDeviceMemoryProperties(physical_, &memory_);
  if (info_.api_version < VK_API_VERSION_1_3)
    return fail(ErrorKind::unsupported,
                fmt::format("device has Vulkan {}.{}, 1.3 is needed", VK_API_VERSION_MAJOR(info_.api_version),
                            VK_API_VERSION_MINOR(info_.api_version)),
                info_.name);
  return {};
}

Expected<void> VulkanDevice::create_device() {
  uint32_t timestamp_bits = 0;
  const auto family = compute_queue_family(physical_, timestamp_bits);
  if (!family)
    return fail(ErrorKind::unsupported, "device has no queue with VK_QUEUE_COMPUTE_BIT", info_.name);
  queue_family_ = *family;

  const auto extensions = device_extensions(physical_);
  FeatureChain available;
  available.link(extensions);
  vkGetPhysicalDeviceFeatures2(physical_, &available.core);
  features_.link(extensions);
  std::vector<const char*> enabled;
  for (const FeatureRow& row : feature_rows()) {
    if (row.extension && std::ranges::find(extensions, row.extension) == extensions.end()) continue;
    row.flag(features_) = row.flag(available);
    if (row.extension && row.flag(available) && std::ranges::find(enabled, row.extension) == enabled.end())
      enabled.push_back(row.extension);
  }
  // A structure may be chained only if its extension is enabled.
  std::vector<std::string> enabled_names(enabled.begin(), enabled.end());
  features_.link(enabled_names);
  if (!features_.v12.bufferDeviceAddress)
    return fail(ErrorKind::unsupported, "device lacks bufferDeviceAddress", info_.name);

  const float priority = 1;
  VkDeviceQueueCreateInfo queue{VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
  queue.queueFamilyIndex = queue_family_;
  queue.queueCount = 1;
  queue.pQueuePriorities = &priority;
  VkDeviceCreateInfo create{VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, &features_.core};
  create.queueCreateInfoCount = 1;
  create.pQueueCreateInfos = &queue;
  create.enabledExtensionCount = static_cast<uint32_t>(enabled.size());
  create.ppEnabledExtensionNames = enabled.data();
  if (VkResult r = vkCreateDevice(physical_, &create, nullptr, &device_); r != VK_SUCCESS)
    return std::unexpected(vulkan_error(r, "vkCreateDevice"));
  vkGetDeviceQueue(device_, queue_family_, 0, &queue_);
  return {};
}

bool VulkanDevice::has(std::string_view feature) const {
  FeatureChain copy = features_;
  for (const FeatureRow& row : feature_rows())
    if (feature == row.name) return row.flag(copy) != VK_FALSE;
  return false;
}

Expected<void> VulkanDevice::require(std::span<const uint32_t> spirv) const {
  const auto missing = missing_features(spirv, features_);
  if (missing.empty()) return {};
  return fail(ErrorKind::unsupported, fmt::format("device lacks {}", fmt::join(missing, ", ")), info_.name);
}

int VulkanDevice::memory_type(uint32_t allowed, VkMemoryPropertyFlags wanted,
                              VkMemoryPropertyFlags preferred) const {
  int best = -1, best_score = -1;
  for (uint32_t i = 0; i < memory_.memoryTypeCount; ++i) {
    const VkMemoryPropertyFlags flags = memory_.memoryTypes[i].propertyFlags;
    if (!(allowed >> i & 1) || (flags & wanted) != wanted) continue;
    const int score = __builtin_popcount(flags & preferred);
    if (score > best_score) best = static_cast<int>(i), best_score = score;
  }
  return best;
}

VKAPI_ATTR VkBool32 VKAPI_CALL VulkanDevice::on_message(VkDebugUtilsMessageSeverityFlagBitsEXT,
                                                        VkDebugUtilsMessageTypeFlagsEXT,
                                                        const VkDebugUtilsMessengerCallbackDataEXT* data,
                                                        void* self) {
  auto& device = *static_cast<VulkanDevice*>(self);
  const std::lock_guard lock(device.message_mutex_);
  device.messages_.emplace_back(data->pMessage ? data->pMessage : "(no text)");
  return VK_FALSE;
}

Expected<void> VulkanDevice::take_validation_messages() {
  const std::lock_guard lock(message_mutex_);
  if (messages_.empty()) return {};
  std::string all = fmt::format("{}", fmt::join(messages_, "\n"));
  messages_.clear();
  return fail(ErrorKind::check, std::move(all), "Vulkan validation");
}

} // namespace lanewise::runtime
