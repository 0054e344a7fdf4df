#include "runtime/vulkan_features.hpp"

#include <algorithm>
#include <array>

#include <spirv/unified1/spirv.hpp11>

namespace lanewise::runtime {

namespace {

#define LANEWISE_FEATURE(structure, member, extension, capability)                                           \
  FeatureRow {                                                                                               \
    #member, extension, capability, [](FeatureChain& c) -> VkBool32& { return c.structure.member; }          \
  }

constexpr int none = -1;
constexpr int cap(spv::Capability c) { return static_cast<int>(c); }

constexpr std::array rows{
    LANEWISE_FEATURE(core.features, shaderInt64, nullptr, cap(spv::Capability::Int64)),
    LANEWISE_FEATURE(core.features, shaderInt16, nullptr, cap(spv::Capability::Int16)),
    LANEWISE_FEATURE(core.features, shaderFloat64, nullptr, cap(spv::Capability::Float64)),
    LANEWISE_FEATURE(v11, storageBuffer16BitAccess, nullptr, cap(spv::Capability::StorageBuffer16BitAccess)),
    LANEWISE_FEATURE(v11, variablePointers, nullptr, cap(spv::Capability::VariablePointers)),
    LANEWISE_FEATURE(v11, variablePointersStorageBuffer, nullptr,
                     cap(spv::Capability::VariablePointersStorageBuffer)),
    LANEWISE_FEATURE(v12, shaderInt8, nullptr, cap(spv::Capability::Int8)),
    LANEWISE_FEATURE(v12, shaderFloat16, nullptr, cap(spv::Capability::Float16)),
    LANEWISE_FEATURE(v12, storageBuffer8BitAccess, nullptr, cap(spv::Capability::StorageBuffer8BitAccess)),
    LANEWISE_FEATURE(v12, bufferDeviceAddress, nullptr, cap(spv::Capability::PhysicalStorageBufferAddresses)),
    LANEWISE_FEATURE(v12, shaderBufferInt64Atomics, nullptr, cap(spv::Capability::Int64Atomics)),
    LANEWISE_FEATURE(v12, shaderSharedInt64Atomics, nullptr, none),
    LANEWISE_FEATURE(v12, vulkanMemoryModel, nullptr, cap(spv::Capability::VulkanMemoryModel)),
    LANEWISE_FEATURE(v12, vulkanMemoryModelDeviceScope, nullptr,
                     cap(spv::Capability::VulkanMemoryModelDeviceScope)),
    LANEWISE_FEATURE(v12, scalarBlockLayout, nullptr, none),
    LANEWISE_FEATURE(v12, shaderSubgroupExtendedTypes, nullptr, none),
    LANEWISE_FEATURE(v13, subgroupSizeControl, nullptr, none),
    LANEWISE_FEATURE(v13, computeFullSubgroups, nullptr, none),
    LANEWISE_FEATURE(v13, maintenance4, nullptr, none),
    LANEWISE_FEATURE(v13, shaderIntegerDotProduct, nullptr, cap(spv::Capability::DotProduct)),
    LANEWISE_FEATURE(v13, shaderZeroInitializeWorkgroupMemory, nullptr, none),
    LANEWISE_FEATURE(atomic_float, shaderBufferFloat32AtomicAdd, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME,
                     cap(spv::Capability::AtomicFloat32AddEXT)),
    LANEWISE_FEATURE(atomic_float, shaderBufferFloat64AtomicAdd, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME,
                     cap(spv::Capability::AtomicFloat64AddEXT)),
    LANEWISE_FEATURE(atomic_float, shaderSharedFloat32AtomicAdd, VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME,
                     none),
    LANEWISE_FEATURE(workgroup_layout, workgroupMemoryExplicitLayout,
                     VK_KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME,
                     cap(spv::Capability::WorkgroupMemoryExplicitLayoutKHR)),
    LANEWISE_FEATURE(workgroup_layout, workgroupMemoryExplicitLayout8BitAccess,
                     VK_KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME,
                     cap(spv::Capability::WorkgroupMemoryExplicitLayout8BitAccessKHR)),
    LANEWISE_FEATURE(workgroup_layout, workgroupMemoryExplicitLayout16BitAccess,
                     VK_KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME,
                     cap(spv::Capability::WorkgroupMemoryExplicitLayout16BitAccessKHR)),
    LANEWISE_FEATURE(clock, shaderSubgroupClock, VK_KHR_SHADER_CLOCK_EXTENSION_NAME,
                     cap(spv::Capability::ShaderClockKHR)),
    LANEWISE_FEATURE(clock, shaderDeviceClock, VK_KHR_SHADER_CLOCK_EXTENSION_NAME, none),
    LANEWISE_FEATURE(executable, pipelineExecutableInfo, VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME,
                     none),
    LANEWISE_FEATURE(uniform_flow, shaderSubgroupUniformControlFlow,
                     VK_KHR_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_EXTENSION_NAME, none),
};
#undef LANEWISE_FEATURE

constexpr size_t header_words = 5;

} // namespace

std::span<const FeatureRow> feature_rows() { return rows; }

void FeatureChain::link(std::span<const std::string> extensions) {
  void** tail = &core.pNext;
  auto add = [&](auto& structure) {
    *tail = &structure;
    structure.pNext = nullptr;
    tail = &structure.pNext;
  };
  auto has = [&](const char* name) { return std::ranges::find(extensions, name) != extensions.end(); };
  add(v11);
  add(v12);
  add(v13);
  if (has(VK_EXT_SHADER_ATOMIC_FLOAT_EXTENSION_NAME)) add(atomic_float);
  if (has(VK_KHR_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_EXTENSION_NAME)) add(workgroup_layout);
  if (has(VK_KHR_SHADER_CLOCK_EXTENSION_NAME)) add(clock);
  if (has(VK_KHR_PIPELINE_EXECUTABLE_PROPERTIES_EXTENSION_NAME)) add(executable);
  if (has(VK_KHR_SHADER_SUBGROUP_UNIFORM_CONTROL_FLOW_EXTENSION_NAME)) add(uniform_flow);
}

std::vector<std::string> missing_features(std::span<const uint32_t> spirv, const FeatureChain& available) {
  FeatureChain chain = available; // the accessors want a mutable one; the pNext links are not followed
  std::vector<std::string> missing;
  for (size_t at = header_words; at < spirv.size();) {
    const uint32_t length = spirv[at] >> 16;
    if ((spirv[at] & 0xffff) != static_cast<uint32_t>(spv::Op::OpCapability) || length != 2) break;
    if (at + 1 >= spirv.size()) break;
    for (const FeatureRow& row : rows)
      if (row.capability == static_cast<int>(spirv[at + 1]) && row.flag(chain) == VK_FALSE)
        missing.emplace_back(row.name);
    at += length;
  }
  return missing;
}

} // namespace lanewise::runtime
