// The Vulkan runner by itself, with modules written by hand.
#include "vulkan_fixture.hpp"

#include <cstring>

#include "runtime/float_probe.hpp"

namespace lanewise::runtime {
namespace {

// out[i] = i * 3 through the pointer in DispatchBlock::kernarg_ptr; work-item 5 of workgroup 1 also leaves a
// trap.
constexpr const char* triple = R"(
OpCapability Shader
OpCapability Int64
OpCapability PhysicalStorageBufferAddresses
OpCapability VulkanMemoryModel
OpMemoryModel PhysicalStorageBuffer64 Vulkan
OpEntryPoint GLCompute %main "main" %gid %push
OpExecutionMode %main LocalSize 8 1 1
OpDecorate %gid BuiltIn GlobalInvocationId
OpDecorate %Push Block
OpMemberDecorate %Push 0 Offset 0
OpMemberDecorate %Push 1 Offset 32
%void = OpTypeVoid
%u32 = OpTypeInt 32 0
%u64 = OpTypeInt 64 0
%bool = OpTypeBool
%v3 = OpTypeVector %u32 3
%Push = OpTypeStruct %u64 %u64
%ppush = OpTypePointer PushConstant %Push
%ppush64 = OpTypePointer PushConstant %u64
%pin = OpTypePointer Input %v3
%pin1 = OpTypePointer Input %u32
%pword = OpTypePointer PhysicalStorageBuffer %u32
%gid = OpVariable %pin Input
%push = OpVariable %ppush PushConstant
%c0 = OpConstant %u32 0
%c1 = OpConstant %u32 1
%c3 = OpConstant %u32 3
%c13 = OpConstant %u32 13
%c4l = OpConstant %u64 4
%void_fn = OpTypeFunction %void
%main = OpFunction %void None %void_fn
%entry = OpLabel
%px = OpAccessChain %pin1 %gid %c0
%x = OpLoad %u32 %px
%pp = OpAccessChain %ppush64 %push %c0
%base = OpLoad %u64 %pp
%xl = OpUConvert %u64 %x
%off = OpIMul %u64 %xl %c4l
%addr = OpIAdd %u64 %base %off
%ptr = OpConvertUToPtr %pword %addr
%value = OpIMul %u32 %x %c3
OpStore %ptr %value Aligned 4
%traps = OpIEqual %bool %x %c13
OpSelectionMerge %done None
OpBranchConditional %traps %trap %done
%trap = OpLabel
%ps = OpAccessChain %ppush64 %push %c1
%status = OpLoad %u64 %ps
%pstatus = OpConvertUToPtr %pword %status
OpStore %pstatus %c1 Aligned 4
OpBranch %done
%done = OpLabel
OpReturn
OpFunctionEnd
)";

TEST_F(VulkanTest, DispatchWritesThroughDeviceAddresses) {
  auto pipeline = ComputePipeline::create(*device(), assemble(triple));
  ASSERT_TRUE(pipeline) << pipeline.error().to_string();
  auto out = DeviceBuffer::create(*device(), 64 * 4);
  auto status = DeviceBuffer::create(*device(), sizeof(spirv::StatusBlock));
  ASSERT_TRUE(out && status);
  EXPECT_EQ(out->address() % 16, 0u);
  const std::array<const DeviceBuffer*, 2> buffers{&*out, &*status};
  DispatchRequest request;
  request.block.kernarg_ptr = out->address();
  request.block.status_ptr = status->address();
  const std::array parts{DispatchRequest::Part{&*pipeline, {}, {8, 1, 1}}};
  request.parts = parts;
  request.buffers = buffers;
  request.repeat = 3;
  auto times = dispatch(*device(), request);
  ASSERT_TRUE(times) << times.error().to_string();
  EXPECT_GE(times->host_ms, times->device_ms);
  for (uint32_t i = 0; i < 64; ++i) {
    uint32_t value = 0;
    std::memcpy(&value, &out->host()[i * 4], 4);
    EXPECT_EQ(value, i * 3) << i;
  }
  spirv::StatusBlock block;
  std::memcpy(&block, status->host().data(), sizeof block);
  auto checked = check_status(block, "triple");
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().to_string(),
            "kernel triple, pc 0x0, workgroup 0,0,0, wave 0: s_trap was executed");
}

TEST_F(VulkanTest, RefusesWhatTheDeviceCannot) {
  auto size = ComputePipeline::create(*device(), assemble(triple), {.subgroup_size = 4096});
  ASSERT_FALSE(size);
  EXPECT_NE(size.error().what.find("maxSubgroupSize"), std::string::npos) << size.error().to_string();

  auto pipeline = ComputePipeline::create(*device(), assemble(triple));
  ASSERT_TRUE(pipeline);
  DispatchRequest request;
  const std::array parts{DispatchRequest::Part{&*pipeline, {}, {1, 0xffffffff, 1}}};
  request.parts = parts;
  auto groups = dispatch(*device(), request);
  ASSERT_FALSE(groups);
  EXPECT_EQ(groups.error().kind, ErrorKind::limit);
}

TEST_F(VulkanTest, FmaIsTried) {
  const auto fused = probe_fused_fma(*device());
  RecordProperty("fused_fma_16_32_64",
                 std::to_string(fused[0]) + std::to_string(fused[1]) + std::to_string(fused[2]));
  EXPECT_TRUE(device()->take_validation_messages());
}

TEST_F(VulkanTest, RoundingIsTried) {
  const auto exact = probe_exact_rounding(*device());
  RecordProperty("exact_rounding_16_32_64",
                 std::to_string(exact[0]) + std::to_string(exact[1]) + std::to_string(exact[2]));
  EXPECT_TRUE(device()->take_validation_messages());
}

TEST_F(VulkanTest, OpensByNumberAndName) {
  auto devices = list_vulkan_devices();
  ASSERT_TRUE(devices && !devices->empty());
  for (const std::string& wanted : {std::string("0"), devices->front().name.substr(0, 4)}) {
    auto opened = VulkanDevice::open({.device = wanted});
    ASSERT_TRUE(opened) << opened.error().to_string();
    EXPECT_EQ((*opened)->info().index, 0u);
  }
  auto none = VulkanDevice::open({.device = "no such device"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::call);
}

TEST(VulkanFeatures, MissingOnesAreNamed) {
  constexpr uint32_t capability = 2u << 16 | 17u;
  const std::vector<uint32_t> module{0x07230203, 0x10600,        0,          1, 0, capability, 1 /* Shader */,
                                     capability, 11 /* Int64 */, capability, 10 /* Float64 */};
  FeatureChain chain;
  chain.core.features.shaderInt64 = VK_TRUE;
  EXPECT_EQ(missing_features(module, chain), std::vector<std::string>{"shaderFloat64"});
  EXPECT_TRUE(missing_features(std::span(module).first(3), chain).empty());
  EXPECT_TRUE(missing_features(std::span(module).first(10), chain).empty());
}

TEST(Status, ReasonsAreNamed) {
  EXPECT_TRUE(check_status({}, "k"));
  EXPECT_EQ(
      check_status({.reason = 4, .pc = 0x40, .workgroup = {1, 2, 3}, .wave = 2}, "k").error().to_string(),
      "kernel k, pc 0x40, workgroup 1,2,3, wave 2: execution ran past the end of the program");
  EXPECT_FALSE(check_status({.reason = 99}, "k"));
}

} // namespace
} // namespace lanewise::runtime
