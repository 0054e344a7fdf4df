#include "runtime/keys.hpp"

#include <xxhash.h>

namespace lanewise::runtime {
namespace {

/// Of the form of keys and of everything that is kept under them.
constexpr uint32_t format_version = 1;

void add_descriptor(KeyWriter& key, const container::KernelDescriptor& d) {
  key.add(d.group_segment_fixed_size).add(d.private_segment_fixed_size).add(d.kernarg_size);
  key.add(d.rsrc1).add(d.rsrc2).add(d.rsrc3).add(d.vgpr_count).add(d.sgpr_count).add(d.shared_vgpr_count);
  const auto& f = d.float_mode;
  key.add(f.round_32).add(f.round_16_64).add(f.denorm_32).add(f.denorm_16_64);
  key.add(d.ieee).add(d.dx10_clamp).add(d.fp16_overflow).add(d.scratch_enabled).add(d.wave32);
  key.add(d.workgroup_id_x).add(d.workgroup_id_y).add(d.workgroup_id_z).add(d.workgroup_info);
  key.add(d.workitem_id_vgprs).add(d.uses_dynamic_stack);
  const auto& u = d.user;
  key.add(u.private_segment_buffer).add(u.dispatch_ptr).add(u.queue_ptr).add(u.kernarg_segment_ptr);
  key.add(u.dispatch_id).add(u.flat_scratch_init).add(u.private_segment_size).add(u.kernarg_preload_length);
  key.add(u.kernarg_preload_offset).add(u.count);
}

} // namespace

KeyWriter start_key(std::string_view what) {
  KeyWriter key;
  key.add(format_version).add(version()).add(build_id()).add(what);
  return key;
}

std::string key_of(const container::ShaderBinary& binary, const container::Kernel& kernel,
                   const PrepareOptions& options) {
  KeyWriter key = start_key("shader");
  key.add(binary.target).add(uint64_t{binary.segments.size()});
  for (const container::Segment& s : binary.segments)
    key.add(s.address).add(s.executable).add(s.writable).add(std::span<const uint8_t>(s.bytes));
  key.add(uint64_t{binary.pointers.size()});
  for (const uint64_t p : binary.pointers) key.add(p);
  key.add(kernel.name).add(kernel.stage).add(kernel.entry).add(kernel.code_size);
  add_descriptor(key, kernel.descriptor);
  key.add(kernel.required_workgroup_size.has_value());
  if (kernel.required_workgroup_size)
    for (const uint32_t n : *kernel.required_workgroup_size) key.add(n);
  key.add(options.full_waves);
  return key.take();
}

std::string key_of(const PreparedCallee& callee) {
  KeyWriter key = start_key("callee");
  key.add(callee.abi.wave_size).add(callee.abi.mode).add(callee.abi.vgprs).add(uint64_t{callee.code.size()});
  for (const PreparedCallee::Piece& p : callee.code) key.add(p.offset).add(std::span<const uint8_t>(p.bytes));
  return key.take();
}

void add_options(KeyWriter& key, const CompileOptions& options) {
  for (const uint32_t n : options.block) key.add(n);
  key.add(options.seating).add(options.host.subgroup_size).add(options.host.subgroup_operations);
  const spirv::DeviceTraits& d = options.host.device;
  for (unsigned k = 0; k < 3; ++k)
    key.add(d.floats.denorm_preserve[k])
        .add(d.floats.round_nearest_even[k])
        .add(d.floats.signed_zero_inf_nan_preserve[k])
        .add(d.fused_fma[k])
        .add(d.exact_rounding[k]);
  key.add(d.int64_lds_atomics).add(d.int64_atomics).add(d.shader_clock);
  for (const bool partial : options.partial_workgroups) key.add(partial);
  key.add(d.reconverges).add(d.uniform_control_flow).add(d.unaligned_global).add(d.coroutines);
  key.add(options.calls).add(options.separate_buffers).add(options.aligned_buffers);
  key.add(options.dynamic_lds_bytes).add(options.debug_names).add(uint64_t{options.without.size()});
  for (const std::string& pass : options.without) key.add(std::string_view(pass));
}

Hash128 hash_of(std::string_view key) {
  const XXH128_hash_t h = XXH3_128bits(key.data(), key.size());
  return {h.low64, h.high64};
}

} // namespace lanewise::runtime
