#include "runtime/pipeline_statistics.hpp"

#include <fmt/format.h>

namespace lanewise::runtime {
namespace {

std::string text_of(const VkPipelineExecutableStatisticKHR& s) {
  // A size or count above 2^32 has not been seen; NVIDIA's 580 driver has 0x10 in the upper half of a local
  // memory size.
  constexpr uint64_t low = 0xffff'ffff;
  switch (s.format) {
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_BOOL32_KHR: return s.value.b32 ? "true" : "false";
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_INT64_KHR: return fmt::format("{}", s.value.i64);
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_UINT64_KHR: return fmt::format("{}", s.value.u64 & low);
  case VK_PIPELINE_EXECUTABLE_STATISTIC_FORMAT_FLOAT64_KHR: return fmt::format("{}", s.value.f64);
  default: return {};
  }
}

/// Lists of Vulkan: the count first, then the items.
template <class T, class Call>
Expected<std::vector<T>> listed(VkStructureType type, const char* name, Call call) {
  uint32_t count = 0;
  VkResult r = call(&count, nullptr);
  std::vector<T> items(count);
  for (T& item : items) item.sType = type;
  if (r == VK_SUCCESS && count > 0) r = call(&count, items.data());
  if (r != VK_SUCCESS) return std::unexpected(vulkan_error(r, name));
  items.resize(count);
  return items;
}

} // namespace

Expected<std::vector<PipelineStatistic>> pipeline_statistics(const VulkanDevice& device,
                                                             VkPipeline pipeline) {
  if (!device.has("pipelineExecutableInfo"))
    return fail(ErrorKind::unsupported, "device lacks pipelineExecutableInfo", device.info().name);
  const auto properties_of = reinterpret_cast<PFN_vkGetPipelineExecutablePropertiesKHR>(
      vkGetDeviceProcAddr(device.handle(), "vkGetPipelineExecutablePropertiesKHR"));
  const auto statistics_of = reinterpret_cast<PFN_vkGetPipelineExecutableStatisticsKHR>(
      vkGetDeviceProcAddr(device.handle(), "vkGetPipelineExecutableStatisticsKHR"));
  if (!properties_of || !statistics_of)
    return fail(ErrorKind::system, "the driver lacks vkGetPipelineExecutableStatisticsKHR",
                device.info().name);

  VkPipelineInfoKHR which{VK_STRUCTURE_TYPE_PIPELINE_INFO_KHR};
  which.pipeline = pipeline;
  auto executables = listed<VkPipelineExecutablePropertiesKHR>(
      VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_PROPERTIES_KHR, "vkGetPipelineExecutablePropertiesKHR",
      [&](uint32_t* n, VkPipelineExecutablePropertiesKHR* p) {
        return properties_of(device.handle(), &which, n, p);
      });
  if (!executables) return std::unexpected(std::move(executables.error()));
  std::vector<PipelineStatistic> list;
  for (uint32_t i = 0; i < executables->size(); ++i) {
    VkPipelineExecutableInfoKHR executable{VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR};
    executable.pipeline = pipeline;
    executable.executableIndex = i;
    auto statistics = listed<VkPipelineExecutableStatisticKHR>(
        VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR, "vkGetPipelineExecutableStatisticsKHR",
        [&](uint32_t* n, VkPipelineExecutableStatisticKHR* p) {
          return statistics_of(device.handle(), &executable, n, p);
        });
    if (!statistics) return std::unexpected(std::move(statistics.error()));
    for (const auto& s : *statistics) list.push_back({(*executables)[i].name, s.name, text_of(s)});
  }
  return list;
}

} // namespace lanewise::runtime
