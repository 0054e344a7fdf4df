#include "container/kernel_descriptor.hpp"

#include "container/bytes.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace lanewise::container {
namespace {

constexpr uint32_t bits(uint32_t word, unsigned low, unsigned count) {
  return (word >> low) & ((1u << count) - 1);
}
constexpr bool bit(uint32_t word, unsigned position) { return (word >> position) & 1; }

constexpr uint32_t max_vgprs = 256, gfx10_sgprs = 128, max_user_sgprs = 16;

void decode_rsrc1(KernelDescriptor& d) {
  const uint32_t r = d.rsrc1;
  // gfx10 allocates VGPRs in eights for wave32 and in fours for wave64.
  const uint32_t granule = d.wave32 ? 8 : 4;
  d.vgpr_count = std::min((bits(r, 0, 6) + 1) * granule, max_vgprs);
  d.sgpr_count = gfx10_sgprs;
  d.priority = uint8_t(bits(r, 10, 2));
  d.float_mode = {.round_32 = uint8_t(bits(r, 12, 2)),
                  .round_16_64 = uint8_t(bits(r, 14, 2)),
                  .denorm_32 = uint8_t(bits(r, 16, 2)),
                  .denorm_16_64 = uint8_t(bits(r, 18, 2))};
  d.privileged = bit(r, 20);
  d.dx10_clamp = bit(r, 21);
  d.debug_mode = bit(r, 22);
  d.ieee = bit(r, 23);
  d.bulky = bit(r, 24);
  d.cdbg_user = bit(r, 25);
  d.fp16_overflow = bit(r, 26);
  d.wgp_mode = bit(r, 29);
  d.mem_ordered = bit(r, 30);
  d.fwd_progress = bit(r, 31);
}

void decode_rsrc2(KernelDescriptor& d) {
  const uint32_t r = d.rsrc2;
  d.scratch_enabled = bit(r, 0);
  d.user.count = uint8_t(bits(r, 1, 5));
  d.workgroup_id_x = bit(r, 7);
  d.workgroup_id_y = bit(r, 8);
  d.workgroup_id_z = bit(r, 9);
  d.workgroup_info = bit(r, 10);
  d.workitem_id_vgprs = uint8_t(std::min(bits(r, 11, 2) + 1, 3u));
  d.exception_mask = uint8_t(bits(r, 24, 7));
}

void decode_properties(KernelDescriptor& d, uint16_t properties) {
  using P = KernelCodeProperties;
  d.user.private_segment_buffer = properties & P::private_segment_buffer;
  d.user.dispatch_ptr = properties & P::dispatch_ptr;
  d.user.queue_ptr = properties & P::queue_ptr;
  d.user.kernarg_segment_ptr = properties & P::kernarg_segment_ptr;
  d.user.dispatch_id = properties & P::dispatch_id;
  d.user.flat_scratch_init = properties & P::flat_scratch_init;
  d.user.private_segment_size = properties & P::private_segment_size;
  d.wave32 = properties & P::wave32;
  d.uses_dynamic_stack = properties & P::uses_dynamic_stack;
}

} // namespace

uint32_t enabled_user_sgprs(const UserSgprs& user) {
  return 4u * user.private_segment_buffer + 2u * user.dispatch_ptr + 2u * user.queue_ptr +
         2u * user.kernarg_segment_ptr + 2u * user.dispatch_id + 2u * user.flat_scratch_init +
         1u * user.private_segment_size + user.kernarg_preload_length;
}

Expected<void> decode_registers(KernelDescriptor& d, uint16_t properties) {
  decode_properties(d, properties);
  decode_rsrc1(d);
  decode_rsrc2(d);
  d.shared_vgpr_count = d.wave32 ? 0 : bits(d.rsrc3, 0, 4) * 8;
  if (d.user.count > max_user_sgprs)
    return fail(ErrorKind::input, fmt::format("kernel descriptor asks for {} user SGPRs, gfx10 has {}",
                                              d.user.count, max_user_sgprs));
  if (const uint32_t enabled = enabled_user_sgprs(d.user); enabled > d.user.count)
    return fail(ErrorKind::input,
                fmt::format("kernel descriptor enables {} user SGPRs but counts {}", enabled, d.user.count));
  return {};
}

Expected<KernelDescriptor> decode_kernel_descriptor(std::span<const uint8_t> bytes) {
  if (bytes.size() < kernel_descriptor_bytes) return fail(ErrorKind::input, "kernel descriptor is truncated");
  KernelDescriptor d;
  d.group_segment_fixed_size = *read_at<uint32_t>(bytes, 0);
  d.private_segment_fixed_size = *read_at<uint32_t>(bytes, 4);
  d.kernarg_size = *read_at<uint32_t>(bytes, 8);
  d.code_entry_offset = *read_at<int64_t>(bytes, 16);
  d.rsrc3 = *read_at<uint32_t>(bytes, 44);
  d.rsrc1 = *read_at<uint32_t>(bytes, 48);
  d.rsrc2 = *read_at<uint32_t>(bytes, 52);
  const uint16_t preload = *read_at<uint16_t>(bytes, 58);
  d.user.kernarg_preload_length = uint8_t(bits(preload, 0, 7));
  d.user.kernarg_preload_offset = uint16_t(bits(preload, 7, 9));
  if (auto done = decode_registers(d, *read_at<uint16_t>(bytes, 56)); !done)
    return std::unexpected(done.error());
  return d;
}

} // namespace lanewise::container
