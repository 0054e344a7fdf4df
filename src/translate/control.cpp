// Program control and hardware registers: what is left of SOPP and SOPK when branches are edges of the graph.
#include "container/guest_abi.hpp"
#include "translate/translator.hpp"

#include <fmt/format.h>

namespace lanewise::translate {
namespace {

void wait(Translator& t, const Instruction&) { t.wait(); }

void barrier(Translator& t, const Instruction&) {
  t.b.barrier();
  t.synchronized();
}

/// The cache of a compute unit, which other waves of the workgroup may write past. Right behind a barrier,
/// where clang puts it, it adds nothing to what the barrier orders.
void invalidate_l0(Translator& t, const Instruction&) {
  if (!t.behind(ir::Op::barrier)) t.b.group_fence();
}

void getpc(Translator& t, const Instruction& i) { t.set_scalar64(i.dst[0], t.image_address(i.pc + i.size)); }

void call(Translator& t, const Instruction& i) {
  if (i.opcode == Opcode::s_swappc_b64) t.set_jump_target(t.scalar64(i.src[0]));
  getpc(t, i);
}
void jump(Translator& t, const Instruction& i) { t.set_jump_target(t.scalar64(i.src[0])); }

void getreg(Translator& t, const Instruction& i) {
  const HardwareField field(i.imm);
  auto& b = t.b;
  const auto set = [&](Value whole) {
    t.set_scalar32(i.dst[0], b.and_(b.lshr(whole, b.i32(field.offset)), b.i32(field.mask() >> field.offset)));
  };
  switch (field.reg) {
  case HardwareField::mode: return set(((void)t.control(Type::f32), b.i32(t.mode().bits)));
  // Shared base in the high half, private base in the low half; both are bits 63:48 of the apertures.
  case HardwareField::sh_mem_bases:
    return set(b.i32((guest_abi::shared_aperture_hi & 0xffff0000) | guest_abi::private_aperture_hi >> 16));
  case HardwareField::flat_scr_lo: return set(b.i32(static_cast<uint32_t>(guest_abi::scratch_base)));
  case HardwareField::flat_scr_hi: return set(b.i32(static_cast<uint32_t>(guest_abi::scratch_base >> 32)));
  case HardwareField::shader_cycles: return set(b.and_(b.lo32(b.clock()), b.i32(0xfffff)));
  default: return t.unsupported(i, fmt::format("read of hardware register {}", field.reg));
  }
}

/// MODE is followed by the frame. FLAT_SCRATCH is set by kernels to where scratch is anyway.
void setreg(Translator& t, const Instruction& i) {
  const HardwareField field(i.imm);
  if (field.reg == HardwareField::mode || field.reg == HardwareField::flat_scr_lo ||
      field.reg == HardwareField::flat_scr_hi)
    return;
  t.unsupported(i, fmt::format("write of hardware register {}", field.reg));
}

using enum Opcode;
constexpr Meaning control_meanings[] = {
    {s_nop, nothing},
    {s_version, nothing},
    {s_wakeup, nothing},
    {s_sleep, nothing},
    {s_setprio, nothing},
    {s_sendmsg, nothing},
    {s_clause, nothing},
    {s_inst_prefetch, nothing},
    {s_icache_inv, nothing},
    {s_incperflevel, nothing},
    {s_decperflevel, nothing},
    {s_ttracedata, nothing},
    {s_ttracedata_imm, nothing},
    {s_cbranch_cdbgsys, nothing},
    {s_cbranch_cdbguser, nothing},
    {s_cbranch_cdbgsys_or_user, nothing},
    {s_cbranch_cdbgsys_and_user, nothing},
    {v_nop, nothing},
    {v_clrexcp, nothing},
    {v_pipeflush, nothing},

    // The end of a block: its edges are the graph's.
    {s_endpgm, nothing},
    {s_endpgm_saved, nothing},
    {s_code_end, nothing},
    {s_trap, nothing},
    {s_branch, nothing},
    {s_cbranch_scc0, nothing},
    {s_cbranch_scc1, nothing},
    {s_cbranch_vccz, nothing},
    {s_cbranch_vccnz, nothing},
    {s_cbranch_execz, nothing},
    {s_cbranch_execnz, nothing},
    {s_setpc_b64, jump},
    {s_swappc_b64, call},
    {s_call_b64, call},
    {s_getpc_b64, getpc},

    {s_waitcnt, wait},
    {s_waitcnt_vscnt, wait},
    {s_waitcnt_vmcnt, wait},
    {s_waitcnt_lgkmcnt, wait},
    {s_waitcnt_expcnt, nothing},
    {s_waitcnt_depctr, nothing},
    {s_wait_idle, wait},
    {s_barrier, barrier},
    {buffer_gl0_inv, invalidate_l0},
    {buffer_gl1_inv, invalidate},

    // MODE itself is followed by Mode::execute.
    {s_round_mode, nothing},
    {s_denorm_mode, nothing},
    {s_getreg_b32, getreg},
    {s_setreg_b32, setreg},
    {s_setreg_imm32_b32, setreg},
};

} // namespace

std::span<const Meaning> control() { return control_meanings; }

} // namespace lanewise::translate
