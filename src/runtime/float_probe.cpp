#include "runtime/float_probe.hpp"

#include <cstring>

#include <fmt/format.h>
#include <spirv-tools/libspirv.hpp>

#include "runtime/vulkan_runner.hpp"

namespace lanewise::runtime {

namespace {

/// out[i] = {body} of a[i], b[i], c[i] for item i, in memory at kernarg_ptr: records of {a, b, c, out}.
/// Items, not workgroups: a driver may compute otherwise what a whole subgroup has in common.
constexpr const char* module_text = R"(
OpCapability Shader
OpCapability Int64
{capabilities}
OpCapability PhysicalStorageBufferAddresses
OpCapability VulkanMemoryModel
%glsl = OpExtInstImport "GLSL.std.450"
OpMemoryModel PhysicalStorageBuffer64 Vulkan
OpEntryPoint GLCompute %main "main" %item %push
OpExecutionMode %main LocalSize {trials} 1 1
{modes}
OpDecorate %item BuiltIn LocalInvocationId
OpDecorate %Push Block
OpMemberDecorate %Push 0 Offset 0
{decorations}
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
%item = OpVariable %in_v3 Input
%push = OpVariable %push_ptr PushConstant
%bool = OpTypeBool
%c0 = OpConstant %u32 0
%c1 = OpConstant %u32 1
%c2 = OpConstant %u32 2
%c3 = OpConstant %u32 3
%step = OpConstant %u64 {bytes}
%record = OpConstant %u64 {record}
%fn = OpTypeFunction %void
%main = OpFunction %void None %fn
%entry = OpLabel
%px = OpAccessChain %in_u32 %item %c0
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
{body}
OpStore %p3 %result Aligned {bytes}
OpReturn
OpFunctionEnd
)";

constexpr const char* fma_body = "%result = OpExtInst %float %glsl Fma %a %b %c";

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

/// Item i takes the operation i % 4.
constexpr const char* rounding_body = R"(
%operation = OpBitwiseAnd %u32 %x %c3
%is0 = OpIEqual %bool %operation %c0
%is1 = OpIEqual %bool %operation %c1
%is2 = OpIEqual %bool %operation %c2
%r0 = OpExtInst %float %glsl Trunc %a
%r1 = OpExtInst %float %glsl RoundEven %a
%r2 = OpExtInst %float %glsl Floor %a
%r3 = OpExtInst %float %glsl Ceil %a
%s2 = OpSelect %float %is2 %r2 %r3
%s1 = OpSelect %float %is1 %r1 %s2
%result = OpSelect %float %is0 %r0 %s1)";

/// 2^(digits - 2): the largest power with a digit behind the point.
template <class T>
constexpr T large = sizeof(T) == 2   ? T(0x1p9)
                    : sizeof(T) == 4 ? T(0x1p22)
                                     : static_cast<T>(0x1p51);
template <class T>
constexpr std::array<T, 4> rounded_numbers{T(-0.25), -T(0), large<T> + T(0.5), -large<T> - T(0.5)};
/// By operation. Zeros keep the sign of what was rounded to them; a number with its last digit behind the
/// point loses that one only.
template <class T>
constexpr std::array<std::array<T, 4>, 4> rounded_results{{{-T(0), -T(0), large<T>, -large<T>},
                                                           {-T(0), -T(0), large<T>, -large<T>},
                                                           {T(-1), -T(0), large<T>, -large<T> - 1},
                                                           {-T(0), -T(0), large<T> + 1, -large<T>}}};

/// What a trial's module is made of besides the frame.
struct Module {
  std::string capabilities, modes, decorations, body;
};

template <class T>
bool passes(VulkanDevice& device, std::span<const Trial<T>> trials, const Module& m) {
  using namespace fmt::literals;
  const std::string text =
      fmt::format(fmt::runtime(module_text), "capabilities"_a = m.capabilities, "modes"_a = m.modes,
                  "decorations"_a = m.decorations, "body"_a = m.body, "width"_a = 8 * sizeof(T),
                  "bytes"_a = sizeof(T), "record"_a = sizeof(Trial<T>), "trials"_a = trials.size());
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
  const DispatchRequest::Part parts[]{{&*pipeline, {}, {1, 1, 1}}};
  request.parts = parts;
  request.buffers = buffers;
  return dispatch(device, request) &&
         std::memcmp(memory->host().data(), trials.data(), trials.size_bytes()) == 0;
}

template <class T>
std::string capabilities() {
  if (sizeof(T) == 2) return "OpCapability Float16\nOpCapability StorageBuffer16BitAccess\n";
  return sizeof(T) == 8 ? "OpCapability Float64\n" : "";
}

template <class T>
bool has_type(const VulkanDevice& device) {
  if (sizeof(T) == 2) return device.has("shaderFloat16") && device.has("storageBuffer16BitAccess");
  return sizeof(T) == 4 || device.has("shaderFloat64");
}

template <class T>
bool fuses(VulkanDevice& device, std::span<const Trial<T>> trials) {
  return has_type<T>(device) &&
         passes<T>(device, trials, {capabilities<T>(), "", "OpDecorate %result NoContraction", fma_body});
}

/// The modes that a module declares where the device has them.
struct FloatModes {
  VkBool32 denorms, nearest_even, signs;
};

template <class T>
bool rounds_exactly(VulkanDevice& device, const FloatModes& has) {
  if (!has_type<T>(device)) return false;
  Module m{capabilities<T>(), "", "", rounding_body};
  const auto declare = [&](VkBool32 has_it, const char* mode) {
    if (!has_it) return;
    m.capabilities += fmt::format("OpCapability {}\n", mode);
    m.modes += fmt::format("OpExecutionMode %main {} {}\n", mode, 8 * sizeof(T));
  };
  declare(has.denorms, "DenormPreserve");
  declare(has.nearest_even, "RoundingModeRTE");
  declare(has.signs, "SignedZeroInfNanPreserve");
  // As many as fill the vectors of a processor: a workgroup that does not may be compiled otherwise.
  std::array<Trial<T>, 64> trials{};
  for (size_t i = 0; i < trials.size(); ++i)
    trials[i] = {rounded_numbers<T>[i / 4 % 4], 0, 0, rounded_results<T>[i % 4][i / 4 % 4]};
  return passes<T>(device, trials, m);
}

} // namespace

std::array<bool, 3> probe_fused_fma(VulkanDevice& device) {
  return {fuses<_Float16>(device, half_trials), fuses<float>(device, single_trials),
          fuses<double>(device, double_trials)};
}

std::array<bool, 3> probe_exact_rounding(VulkanDevice& device) {
  const auto& f = device.info().float_controls;
  return {rounds_exactly<_Float16>(device, {f.shaderDenormPreserveFloat16, f.shaderRoundingModeRTEFloat16,
                                            f.shaderSignedZeroInfNanPreserveFloat16}),
          rounds_exactly<float>(device, {f.shaderDenormPreserveFloat32, f.shaderRoundingModeRTEFloat32,
                                         f.shaderSignedZeroInfNanPreserveFloat32}),
          rounds_exactly<double>(device, {f.shaderDenormPreserveFloat64, f.shaderRoundingModeRTEFloat64,
                                          f.shaderSignedZeroInfNanPreserveFloat64})};
}

} // namespace lanewise::runtime
