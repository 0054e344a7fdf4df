#include "translate/entry.hpp"

#include "container/guest_abi.hpp"

#include <initializer_list>

namespace lanewise::translate {
namespace {

using ir::Input;

class Registers {
 public:
  void constants(std::initializer_list<uint32_t> values) {
    for (const uint32_t v : values) push({EntryValue::Kind::constant, {}, v});
  }
  void address(Input input) {
    push({EntryValue::Kind::low, input, 0});
    push({EntryValue::Kind::high, input, 0});
  }
  void whole(Input input) { push({EntryValue::Kind::whole, input, 0}); }
  void user_data(uint32_t dword) { push({EntryValue::Kind::user_data, {}, dword}); }
  void skip_to(unsigned n) { next_ = n; }
  [[nodiscard]] const std::array<EntryValue, 106>& values() const { return values_; }

 private:
  void push(EntryValue v) {
    if (next_ < values_.size()) values_[next_] = v;
    ++next_;
  }
  std::array<EntryValue, 106> values_{};
  unsigned next_ = 0;
};

} // namespace

Expected<std::array<EntryValue, 106>> entry_sgprs(const container::Kernel& kernel, unsigned wave_size) {
  const auto& d = kernel.descriptor;
  if (d.workgroup_info) return fail(ErrorKind::unsupported, "workgroup info SGPR", "kernel " + kernel.name);
  Registers r;
  if (d.user.private_segment_buffer)
    r.constants({guest_abi::scratch_rsrc_word0, guest_abi::scratch_rsrc_word1, guest_abi::scratch_rsrc_word2,
                 guest_abi::scratch_rsrc_word3(wave_size)});
  if (d.user.dispatch_ptr) r.address(Input::dispatch_ptr);
  if (d.user.queue_ptr) r.address(Input::queue_ptr);
  if (d.user.kernarg_segment_ptr) r.address(Input::kernarg_ptr);
  if (d.user.dispatch_id) r.address(Input::dispatch_id);
  if (d.user.flat_scratch_init)
    r.constants({static_cast<uint32_t>(guest_abi::scratch_base),
                 static_cast<uint32_t>(guest_abi::scratch_base >> 32)});
  if (d.user.private_segment_size) r.constants({d.private_segment_fixed_size});
  for (unsigned k = 0; k < d.user.kernarg_preload_length; ++k) r.user_data(d.user.kernarg_preload_offset + k);
  r.skip_to(d.user.count);
  if (d.workgroup_id_x) r.whole(Input::workgroup_id_x);
  if (d.workgroup_id_y) r.whole(Input::workgroup_id_y);
  if (d.workgroup_id_z) r.whole(Input::workgroup_id_z);
  if (d.scratch_enabled) r.constants({0});
  return r.values();
}

} // namespace lanewise::translate
