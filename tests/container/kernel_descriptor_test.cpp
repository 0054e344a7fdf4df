#include "container/kernel_descriptor.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace lanewise::container {
namespace {

std::vector<uint8_t> descriptor(uint32_t rsrc1, uint32_t rsrc2, uint16_t properties, uint32_t rsrc3 = 0) {
  std::vector<uint8_t> bytes(64);
  const auto put = [&](std::size_t at, auto value) { std::memcpy(bytes.data() + at, &value, sizeof value); };
  put(0, uint32_t{512});
  put(4, uint32_t{128});
  put(8, uint32_t{280});
  put(16, int64_t{-0x140});
  put(44, rsrc3);
  put(48, rsrc1);
  put(52, rsrc2);
  put(56, properties);
  return bytes;
}

TEST(KernelDescriptor, Sizes) {
  const auto d = decode_kernel_descriptor(descriptor(0, 0, 0));
  ASSERT_TRUE(d);
  EXPECT_EQ(d->group_segment_fixed_size, 512u);
  EXPECT_EQ(d->private_segment_fixed_size, 128u);
  EXPECT_EQ(d->kernarg_size, 280u);
  EXPECT_EQ(d->code_entry_offset, -0x140);
}

TEST(KernelDescriptor, VgprGranule) {
  struct Row {
    uint32_t granulated;
    bool wave32;
    uint32_t vgprs;
  };
  constexpr Row rows[] = {{0, true, 8},  {1, true, 16},  {31, true, 256}, {63, true, 256},
                          {0, false, 4}, {3, false, 16}, {63, false, 256}};
  for (const Row& row : rows) {
    // Bits 9:6, the SGPR count of older processors, are set as clang does and change nothing.
    const auto d = decode_kernel_descriptor(descriptor(row.granulated | 0x3c0, 0, row.wave32 ? 1u << 10 : 0));
    ASSERT_TRUE(d);
    EXPECT_EQ(d->vgpr_count, row.vgprs);
    EXPECT_EQ(d->sgpr_count, 128u);
  }
}

TEST(KernelDescriptor, Rsrc1Flags) {
  using D = KernelDescriptor;
  struct Row {
    unsigned bit;
    bool D::* field;
  };
  constexpr Row rows[] = {{20, &D::privileged},    {21, &D::dx10_clamp}, {22, &D::debug_mode},
                          {23, &D::ieee},          {24, &D::bulky},      {25, &D::cdbg_user},
                          {26, &D::fp16_overflow}, {29, &D::wgp_mode},   {30, &D::mem_ordered},
                          {31, &D::fwd_progress}};
  for (const Row& row : rows) {
    const auto set = decode_kernel_descriptor(descriptor(1u << row.bit, 0, 0));
    const auto clear = decode_kernel_descriptor(descriptor(~(1u << row.bit), 0, 0));
    ASSERT_TRUE(set && clear);
    EXPECT_TRUE((*set).*row.field) << row.bit;
    EXPECT_FALSE((*clear).*row.field) << row.bit;
  }
}

TEST(KernelDescriptor, FloatMode) {
  const auto d =
      decode_kernel_descriptor(descriptor(1u << 12 | 2u << 14 | 1u << 16 | 3u << 18 | 2u << 10, 0, 0));
  ASSERT_TRUE(d);
  EXPECT_EQ(d->float_mode.round_32, 1);
  EXPECT_EQ(d->float_mode.round_16_64, 2);
  EXPECT_EQ(d->float_mode.denorm_32, 1);
  EXPECT_EQ(d->float_mode.denorm_16_64, 3);
  EXPECT_EQ(d->priority, 2);
}

TEST(KernelDescriptor, Rsrc2) {
  const uint32_t rsrc2 = 1 | 6u << 1 | 1u << 7 | 1u << 9 | 1u << 10 | 2u << 11 | 0x15u << 24;
  const auto d = decode_kernel_descriptor(descriptor(0, rsrc2, 0x9, 0x2));
  ASSERT_TRUE(d);
  EXPECT_TRUE(d->scratch_enabled);
  EXPECT_EQ(d->user.count, 6);
  EXPECT_TRUE(d->workgroup_id_x && !d->workgroup_id_y && d->workgroup_id_z && d->workgroup_info);
  EXPECT_EQ(d->workitem_id_vgprs, 3);
  EXPECT_EQ(d->exception_mask, 0x15);
  EXPECT_TRUE(d->user.private_segment_buffer && d->user.kernarg_segment_ptr && !d->user.dispatch_ptr);
  EXPECT_EQ(enabled_user_sgprs(d->user), 6u);
  EXPECT_EQ(d->shared_vgpr_count, 16u);
}

TEST(KernelDescriptor, Refused) {
  EXPECT_FALSE(decode_kernel_descriptor(std::vector<uint8_t>(63)));
  EXPECT_FALSE(decode_kernel_descriptor(descriptor(0, 17u << 1, 0)));
  EXPECT_FALSE(decode_kernel_descriptor(descriptor(0, 5u << 1, 0x9)));
}

} // namespace
} // namespace lanewise::container
