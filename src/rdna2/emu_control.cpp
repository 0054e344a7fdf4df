// Program control, hardware registers and the instructions that only wait or hint (RDNA2 ISA, chapters 3, 4
// and 12.5).
#include "rdna2/emu_machine.hpp"

#include <fmt/format.h>

namespace lanewise::rdna2::emu {
namespace {

Flow nothing(Wave&, const Step&) { return Flow::next; }
Flow end(Wave&, const Step&) { return Flow::end; }

Flow jump_by(Wave& w, const Step& s) {
  w.pc = w.next_pc + static_cast<uint64_t>(int64_t{static_cast<int16_t>(s.in.imm)} * 4);
  return Flow::jump;
}

template <auto condition>
Flow branch_if(Wave& w, const Step& s) {
  return condition(w) ? jump_by(w, s) : Flow::next;
}

Flow get_pc(Wave& w, const Step& s) {
  w.write64(s.in.dst[0], w.next_pc);
  return Flow::next;
}
Flow set_pc(Wave& w, const Step& s) {
  w.pc = w.read64(s.in.src[0]) & ~uint64_t{3};
  return Flow::jump;
}
Flow swap_pc(Wave& w, const Step& s) {
  const uint64_t target = w.read64(s.in.src[0]) & ~uint64_t{3};
  w.write64(s.in.dst[0], w.next_pc);
  w.pc = target;
  return Flow::jump;
}
Flow call(Wave& w, const Step& s) {
  w.write64(s.in.dst[0], w.next_pc);
  return jump_by(w, s);
}

// Wave64 code that runs its two halves one after the other (RDNA2 ISA, S_SUBVECTOR_LOOP_BEGIN).
Flow subvector_begin(Wave& w, const Step& s) {
  uint32_t &lo = w.sgpr[reg_exec], &hi = w.sgpr[reg_exec + 1];
  if (lo == 0 && hi == 0) return jump_by(w, s);
  if (lo == 0) {
    w.write32(s.in.dst[0], lo);
  } else {
    w.write32(s.in.dst[0], hi);
    hi = 0;
  }
  return Flow::next;
}
Flow subvector_end(Wave& w, const Step& s) {
  uint32_t &lo = w.sgpr[reg_exec], &hi = w.sgpr[reg_exec + 1];
  const uint32_t saved = w.read32(s.in.src[0]);
  if (hi != 0) {
    lo = saved;
    return Flow::next;
  }
  if (saved == 0) return Flow::next;
  hi = saved;
  w.write32(s.in.dst[0], lo);
  lo = 0;
  return jump_by(w, s);
}

Flow barrier(Wave&, const Step&) { return Flow::barrier; }
Flow sleep(Wave&, const Step&) { return Flow::yield; }

Flow set_kill(Wave&, const Step& s) { return (s.in.imm & 1) != 0 ? Flow::end : Flow::next; }

Flow trap(Wave& w, const Step& s) {
  return w.fail(ErrorKind::input, fmt::format("the kernel trapped (trap {})", s.in.imm & 0xff));
}
Flow code_end(Wave& w, const Step&) {
  return w.fail(ErrorKind::input, "the wave ran past the end of the program");
}

// Message 1 interrupts the host, which a kernel without a host callback cannot notice.
Flow send_message(Wave& w, const Step& s) {
  const unsigned message = s.in.imm & 15;
  if (message == 1) return Flow::next;
  return w.fail(ErrorKind::unsupported, fmt::format("message {} cannot be sent", message));
}

Flow round_mode(Wave& w, const Step& s) {
  w.mode.bits = (w.mode.bits & ~0xfu) | (static_cast<uint32_t>(s.in.imm) & 15);
  return Flow::next;
}
Flow denorm_mode(Wave& w, const Step& s) {
  w.mode.bits = (w.mode.bits & ~0xf0u) | (static_cast<uint32_t>(s.in.imm) & 15) << 4;
  return Flow::next;
}

/// Hardware registers a program may see (RDNA2 ISA, "Hardware register values").
enum HardwareRegister : unsigned {
  hw_mode = 1,
  hw_status = 2,
  hw_trapsts = 3,
  hw_id = 4,
  hw_gpr_alloc = 5,
  hw_lds_alloc = 6,
  hw_ib_sts = 7,
  hw_sh_mem_bases = 15,
  hw_flat_scr_lo = 20,
  hw_flat_scr_hi = 21,
  hw_xnack_mask = 22,
  hw_id1 = 23,
  hw_id2 = 24,
  hw_shader_cycles = 29,
};

bool read_hardware(const Wave& w, unsigned id, uint32_t& value) {
  switch (id) {
  case hw_mode: value = w.mode.bits; return true;
  case hw_status:
    value = (w.scc ? 1u : 0u) | (w.exec() == 0 ? 1u << 9 : 0u) | (w.vcc() == 0 ? 1u << 10 : 0u) | 1u << 11;
    return true;
  case hw_sh_mem_bases:
    value = (guest_abi::shared_aperture_hi & 0xffff0000) | guest_abi::private_aperture_hi >> 16;
    return true;
  case hw_flat_scr_lo: value = static_cast<uint32_t>(w.flat_scratch); return true;
  case hw_flat_scr_hi: value = static_cast<uint32_t>(w.flat_scratch >> 32); return true;
  case hw_shader_cycles: value = static_cast<uint32_t>(clock_of(w)) & 0xfffff; return true;
  // Where the wave sits and what it has raised: nothing that the emulator models.
  case hw_trapsts:
  case hw_id:
  case hw_id1:
  case hw_id2:
  case hw_ib_sts:
  case hw_xnack_mask: value = 0; return true;
  default: return false;
  }
}

struct Field {
  unsigned id, offset, size;
  explicit Field(int32_t imm)
      : id(imm & 63), offset(static_cast<unsigned>(imm) >> 6 & 31),
        size((static_cast<unsigned>(imm) >> 11 & 31) + 1) {}
  [[nodiscard]] uint32_t mask() const { return size >= 32 ? ~0u : (1u << size) - 1; }
};

Flow get_register(Wave& w, const Step& s) {
  const Field field(s.in.imm);
  uint32_t value = 0;
  if (!read_hardware(w, field.id, value))
    return w.fail(ErrorKind::unsupported, fmt::format("hardware register {} cannot be read", field.id));
  w.write32(s.in.dst[0], value >> field.offset & field.mask());
  return Flow::next;
}

Flow set_register(Wave& w, const Step& s) {
  const Field field(s.in.imm);
  const uint32_t mask = field.mask() << field.offset, bits = w.read32(s.in.src[0]) << field.offset & mask;
  switch (field.id) {
  case hw_mode: w.mode.bits = (w.mode.bits & ~mask) | bits; return Flow::next;
  case hw_flat_scr_lo: w.flat_scratch = (w.flat_scratch & ~uint64_t{mask}) | bits; return Flow::next;
  case hw_flat_scr_hi:
    w.flat_scratch = (w.flat_scratch & ~(uint64_t{mask} << 32)) | uint64_t{bits} << 32;
    return Flow::next;
  case hw_trapsts:
  case hw_xnack_mask: return Flow::next; // sticky exception flags, which nothing here raises
  default:
    return w.fail(ErrorKind::unsupported, fmt::format("hardware register {} cannot be written", field.id));
  }
}

} // namespace

void add_control(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler h) { t[static_cast<unsigned>(o)] = h; };
  for (Opcode o : {s_nop,
                   s_wakeup,
                   s_waitcnt,
                   s_setprio,
                   s_icache_inv,
                   s_incperflevel,
                   s_decperflevel,
                   s_ttracedata,
                   s_inst_prefetch,
                   s_clause,
                   s_wait_idle,
                   s_waitcnt_depctr,
                   s_ttracedata_imm,
                   s_version,
                   s_waitcnt_vscnt,
                   s_waitcnt_vmcnt,
                   s_waitcnt_expcnt,
                   s_waitcnt_lgkmcnt,
                   s_gl1_inv,
                   s_dcache_inv,
                   s_atc_probe,
                   s_atc_probe_buffer,
                   v_nop,
                   v_pipeflush,
                   v_clrexcp,
                   buffer_gl0_inv,
                   buffer_gl1_inv})
    set(o, nothing);
  for (Opcode o : {s_endpgm, s_endpgm_saved, s_endpgm_ordered_ps_done}) set(o, end);
  set(s_branch, jump_by);
  set(s_cbranch_scc0, branch_if<[](const Wave& w) { return !w.scc; }>);
  set(s_cbranch_scc1, branch_if<[](const Wave& w) { return w.scc; }>);
  set(s_cbranch_vccz, branch_if<[](const Wave& w) { return w.vcc() == 0; }>);
  set(s_cbranch_vccnz, branch_if<[](const Wave& w) { return w.vcc() != 0; }>);
  set(s_cbranch_execz, branch_if<[](const Wave& w) { return w.exec() == 0; }>);
  set(s_cbranch_execnz, branch_if<[](const Wave& w) { return w.exec() != 0; }>);
  // The system's debug flag is off; the user's comes with the kernel (COMPUTE_PGM_RSRC1.CDBG_USER).
  constexpr auto user = [](const Wave& w) { return w.launch->kernel->descriptor.cdbg_user; };
  constexpr auto never = [](const Wave&) { return false; };
  set(s_cbranch_cdbgsys, branch_if<never>);
  set(s_cbranch_cdbguser, branch_if<user>);
  set(s_cbranch_cdbgsys_or_user, branch_if<user>);
  set(s_cbranch_cdbgsys_and_user, branch_if<never>);
  set(s_getpc_b64, get_pc);
  set(s_setpc_b64, set_pc);
  set(s_swappc_b64, swap_pc);
  set(s_call_b64, call);
  set(s_subvector_loop_begin, subvector_begin);
  set(s_subvector_loop_end, subvector_end);
  set(s_barrier, barrier);
  set(s_sleep, sleep);
  set(s_setkill, set_kill);
  set(s_trap, trap);
  set(s_code_end, code_end);
  set(s_sendmsg, send_message);
  set(s_round_mode, round_mode);
  set(s_denorm_mode, denorm_mode);
  set(s_getreg_b32, get_register);
  set(s_setreg_b32, set_register);
  set(s_setreg_imm32_b32, set_register);
}

} // namespace lanewise::rdna2::emu
