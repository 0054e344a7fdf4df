#include "runtime/compile.hpp"
#include "runtime/float_probe.hpp"
#include "runtime/vulkan_device.hpp"

#include <algorithm>

namespace lanewise::runtime {

HostTraits host_traits(VulkanDevice& device) {
  const VulkanDeviceInfo& info = device.info();
  HostTraits traits;
  constexpr unsigned widest_wave = 64;
  traits.subgroup_size =
      info.subgroup_size_selectable ? std::min(info.max_subgroup_size, widest_wave) : info.subgroup_size;
  constexpr VkSubgroupFeatureFlags needed = VK_SUBGROUP_FEATURE_BASIC_BIT | VK_SUBGROUP_FEATURE_VOTE_BIT |
                                            VK_SUBGROUP_FEATURE_BALLOT_BIT | VK_SUBGROUP_FEATURE_SHUFFLE_BIT;
  traits.subgroup_operations =
      (info.subgroup_operations & needed) == needed && device.has("computeFullSubgroups");
  const auto& f = info.float_controls;
  traits.device.floats.denorm_preserve = {f.shaderDenormPreserveFloat16 == VK_TRUE,
                                          f.shaderDenormPreserveFloat32 == VK_TRUE,
                                          f.shaderDenormPreserveFloat64 == VK_TRUE};
  traits.device.floats.round_nearest_even = {f.shaderRoundingModeRTEFloat16 == VK_TRUE,
                                             f.shaderRoundingModeRTEFloat32 == VK_TRUE,
                                             f.shaderRoundingModeRTEFloat64 == VK_TRUE};
  traits.device.floats.signed_zero_inf_nan_preserve = {f.shaderSignedZeroInfNanPreserveFloat16 == VK_TRUE,
                                                       f.shaderSignedZeroInfNanPreserveFloat32 == VK_TRUE,
                                                       f.shaderSignedZeroInfNanPreserveFloat64 == VK_TRUE};
  traits.device.fused_fma = probe_fused_fma(device);
  traits.device.exact_rounding = probe_exact_rounding(device);
  traits.device.int64_atomics = device.has("shaderBufferInt64Atomics");
  traits.device.int64_lds_atomics = device.has("shaderSharedInt64Atomics");
  traits.device.shader_clock = device.has("shaderSubgroupClock");
  traits.device.uniform_control_flow = device.has("shaderSubgroupUniformControlFlow");
  const bool is_cpu = info.type == VK_PHYSICAL_DEVICE_TYPE_CPU;
  traits.device.reconverges = traits.device.uniform_control_flow || is_cpu;
  traits.device.unaligned_global = is_cpu;
  traits.device.coroutines = info.driver == VK_DRIVER_ID_MESA_LLVMPIPE;
  return traits;
}

} // namespace lanewise::runtime
