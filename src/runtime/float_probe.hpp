// Whether a device's Fma rounds once. Vulkan leaves it open and no property tells, so a few values are tried.
#pragma once

#include <array>

#include "runtime/vulkan_device.hpp"

namespace lanewise::runtime {

/// By width: index 0: 16 bits, 1: 32, 2: 64. False where the device lacks the type or the trial fails.
[[nodiscard]] std::array<bool, 3> probe_fused_fma(VulkanDevice& device);

} // namespace lanewise::runtime
