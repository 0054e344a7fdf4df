// What a Vulkan driver says of the code that it made (VK_KHR_pipeline_executable_properties).
#pragma once

#include <string>
#include <vector>

#include "runtime/vulkan_device.hpp"

namespace lanewise::runtime {

/// One figure of one executable of a pipeline. Names and meaning are the driver's.
struct PipelineStatistic {
  std::string executable; ///< "CS"; a pipeline may have several
  std::string name;       ///< "Register Count"
  std::string text;       ///< the value as the driver types it: "38", "true", "0.5"
};

/// Of a pipeline that was made with VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR. Integers are cut to 32
/// bits where the upper half cannot be meant (drivers have been seen to leave other data there). Errors:
/// unsupported (the device lacks pipelineExecutableInfo), system.
[[nodiscard]] Expected<std::vector<PipelineStatistic>> pipeline_statistics(const VulkanDevice& device,
                                                                           VkPipeline pipeline);

} // namespace lanewise::runtime
