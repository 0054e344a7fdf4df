// What a device's floats do that no property tells: a few values are tried.
#pragma once

#include <array>

#include "runtime/vulkan_device.hpp"

namespace lanewise::runtime {

/// Whether Fma rounds once, which Vulkan leaves open. By width: index 0: 16 bits, 1: 32, 2: 64. False where
/// the device lacks the type or the trial fails.
[[nodiscard]] std::array<bool, 3> probe_fused_fma(VulkanDevice& device);

/// Whether Trunc, RoundEven, Floor and Ceil give every bit: the sign of a zero, ties, whole numbers however
/// large. By width, as above. lavapipe (Mesa 22.3.6, 25.0.7) does not where its vectors are wider than the
/// processor's: f64 without AVX-512.
[[nodiscard]] std::array<bool, 3> probe_exact_rounding(VulkanDevice& device);

} // namespace lanewise::runtime
