#include "runtime/float_probe.hpp"

#include <cstring>

#include <fmt/format.h>
#include <spirv-tools/libspirv.hpp>

#include "runtime/vulkan_runner.hpp"

namespace lanewise::runtime {

namespace {

/// out[i] = fma(a[i], b[i], c[i]) for workgroup i, in memory at kernarg_ptr: records of {a, b, c, out}.
constexpr const char* module_text = R"(
OpCapability Shader
OpCapability Int64
{capabilities}
OpCapability PhysicalStorageBufferAddresses
OpCapability VulkanMemoryModel
%glsl = OpExtInstImport "GLSL.std.450"
OpMemoryModel PhysicalStorageBuffer64 Vulkan
OpEntryPoint GLCompute %main "main" %group %push
OpExecutionMode %main LocalSize 1 1 1
OpDecorate %group BuiltIn WorkgroupId
OpDecorate %Push Block
OpMemberDecorate %Push 0 Offset 0
OpDecorate %result NoContraction
%void = OpTypeVoid
%u32 = OpTypeInt 32 0
%u64 = OpTypeInt 64 0
%float = OpTypeFloat {width}
%v3 = OpTypeVector %u32 3
%Push = OpTypeStruct %u64
%push_ptr = OpTypePointer PushConstant %Push
%push_u64 = OpTypePointer PushConstant %u64
%in_v3 = OpTypePointer Input %v3
%in_u32 = OpTypePointer Input %u32
%word = OpTypePointer PhysicalStorageBuffer %float
%group = OpVariable %in_v3 Input
%push = OpVariable %push_ptr PushConstant
%c0 = OpConstant %u32 0
%step = OpConstant %u64 {bytes}
%record = OpConstant %u64 {record}
%fn = OpTypeFunction %void
%main = OpFunction %void None %fn
%entry = OpLabel
%px = OpAccessChain %in_u32 %group %c0
%x = OpLoad %u32 %px
%xl = OpUConvert %u64 %x
%pp = OpAccessChain %push_u64 %push %c0
%base = OpLoad %u64 %pp
%offset = OpIMul %u64 %xl %record
%a0 = OpIAdd %u64 %base %offset
%a1 = OpIAdd %u64 %a0 %step
%a2 = OpIAdd %u64 %a1 %step
%a3 = OpIAdd %u64 %a2 %step
%p0 = OpConvertUToPtr %word %a0
%p1 = OpConvertUToPtr %word %a1
%p2 = OpConvertUToPtr %word %a2
%p3 = OpConvertUToPtr %word %a3
%a = OpLoad %float %p0 Aligned {bytes}
%b = OpLoad %float %p1 Aligned {bytes}
%c = OpLoad %float %p2 Aligned {bytes}
%result = OpExtInst %float %glsl Fma %a %b %c
OpStore %p3 %result Aligned {bytes}
OpReturn
OpFunctionEnd
)";

template <class T>
struct Trial {
  T a, b, c, result;
};

/// Products that are halfway between two numbers of the type, so that a first rounding of the product shows;
/// the last of the f16 ones also tells an f32 fma with a second rounding.
constexpr std::array<Trial<_Float16>, 3> half_trials{{
    {_Float16(1 + 0x1p-6), _Float16(1 + 0x1p-6), _Float16(-(1 + 0x1p-5)), _Float16(0x1p-12)},
    {_Float16(3), _Float16(5), _Float16(7), _Float16(22)},
    {_Float16(0x1p-11 + 0x1p-21), _Float16(1 - 0x1p-10), _Float16(1 + 0x1p-10), _Float16(1 + 0x1p-10)},
}};
constexpr std::array<Trial<float>, 3> single_trials{{
    {1 + 0x1p-12f, 1 + 0x1p-12f, -(1 + 0x1p-11f), 0x1p-24f},
    {3, 5, 7, 22},
    {1 + 0x1p-23f, 1 - 0x1p-23f, -1, -0x1p-46f},
}};
constexpr std::array<Trial<double>, 3> double_trials{{
    {1 + 0x1p-27, 1 + 0x1p-27, -(1 + 0x1p-26), 0x1p-54},
    {3, 5, 7, 22},
    {1 + 0x1p-52, 1 - 0x1p-52, -1, -0x1p-104},
}};

template <class T>
bool passes(VulkanDevice& device, std::span<const Trial<T>> trials, const char* capabilities) {
  using namespace fmt::literals;
  const std::string text =
      fmt::format(fmt::runtime(module_text), "capabilities"_a = capabilities, "width"_a = 8 * sizeof(T),
                  "bytes"_a = sizeof(T), "record"_a = sizeof(Trial<T>));
  std::vector<uint32_t> words;
  if (!spvtools::SpirvTools(SPV_ENV_VULKAN_1_3).Assemble(text, &words)) return false;
  auto pipeline = ComputePipeline::create(device, words);
  auto memory = DeviceBuffer::create(device, trials.size_bytes());
  if (!pipeline || !memory) return false;
  std::memcpy(memory->host().data(), trials.data(), trials.size_bytes());
  for (size_t i = 0; i < trials.size(); ++i)
    std::memset(&memory->host()[(i * 4 + 3) * sizeof(T)], 0xff, sizeof(T));
  const DeviceBuffer* const buffers[]{&*memory};
  DispatchRequest request;
  request.block.kernarg_ptr = memory->address();
  const DispatchRequest::Part parts[]{{&*pipeline, {}, {static_cast<uint32_t>(trials.size()), 1, 1}}};
  request.parts = parts;
  request.buffers = buffers;
  return dispatch(device, request) &&
         std::memcmp(memory->host().data(), trials.data(), trials.size_bytes()) == 0;
}

} // namespace

std::array<bool, 3> probe_fused_fma(VulkanDevice& device) {
  return {device.has("shaderFloat16") && device.has("storageBuffer16BitAccess") &&
              passes<_Float16>(device, half_trials,
                               "OpCapability Float16\nOpCapability StorageBuffer16BitAccess"),
          passes<float>(device, single_trials, ""),
          device.has("shaderFloat64") && passes<double>(device, double_trials, "OpCapability Float64")};
}

} // namespace lanewise::runtime
