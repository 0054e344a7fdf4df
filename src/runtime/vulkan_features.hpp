// Which Vulkan feature stands behind which SPIR-V capability: the one table from which a device is opened
// with what it has, and from which a module is refused with the name of what the device lacks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <vulkan/vulkan.h>

namespace lanewise::runtime {

/// The feature structures that Lanewise looks at, linked into one pNext chain.
struct FeatureChain {
  VkPhysicalDeviceFeatures2 core{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
  VkPhysicalDeviceVulkan11Features v11{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES};
  VkPhysicalDeviceVulkan12Features v12{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
  VkPhysicalDeviceVulkan13Features v13{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES};
  VkPhysicalDeviceShaderAtomicFloatFeaturesEXT atomic_float{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_ATOMIC_FLOAT_FEATURES_EXT};
  VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR workgroup_layout{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_FEATURES_KHR};
  VkPhysicalDeviceShaderSubgroupUniformControlFlowFeaturesKHR uniform_flow{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_FEATURES_KHR};
  VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executable{
      VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR};
  VkPhysicalDeviceShaderClockFeaturesKHR clock{VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_CLOCK_FEATURES_KHR};

  /// Links the structures; those of extensions only where `extensions` has them.
  void link(std::span<const std::string> extensions);
};

/// One feature that an emitted module may need.
struct FeatureRow {
  const char* name;      ///< member name in the Vulkan specification
  const char* extension; ///< extension that brings it, nullptr for Vulkan 1.3
  int capability;        ///< spv::Capability that needs it, or -1
  VkBool32& (*flag)(FeatureChain&);
};
[[nodiscard]] std::span<const FeatureRow> feature_rows();

/// Names of features that `spirv` declares a capability for and `available` lacks. Reads no further than the
/// module's capability section; a malformed module yields nothing (the validator's business).
[[nodiscard]] std::vector<std::string> missing_features(std::span<const uint32_t> spirv,
                                                        const FeatureChain& available);

} // namespace lanewise::runtime
