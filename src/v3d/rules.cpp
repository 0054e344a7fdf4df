// The machine's rules about single words, for the scheduler and the validator. Sources: qpu_schedule.c and
// qpu_validate.c of Mesa's V3D compiler, as docs/v3d.md lists them.
#include "v3d/qpu.hpp"

#include <bit>

namespace lanewise::v3d {

namespace use = peripheral_use;

unsigned uses(const Alu& a) {
  unsigned r = 0;
  if (a.dst.kind == Reg::magic) {
    const auto address = static_cast<std::uint8_t>(a.dst.index);
    r |= is_tmu_write(address) ? use::tmu_write : 0;
    r |= address == magic::tlb || address == magic::tlbu ? use::tlb_write : 0;
    r |= address == magic::vpm || address == magic::vpmu ? use::vpm : 0;
    r |= address >= magic::sync && address <= magic::syncb ? use::tsy : 0;
  }
  r |= has(a.op, sfu) ? use::sfu : 0;
  r |= has(a.op, vpm_load) || has(a.op, vpm_store) || has(a.op, vpm_wait) ? use::vpm : 0;
  r |= has(a.op, tmu_wait) ? use::tmuwt : 0;
  r |= has(a.op, tsy) ? use::tsy : 0;
  return r;
}

namespace {

unsigned uses_of_signals(const Word& w) {
  unsigned r = (w.sigs & sig::wrtmuc) != 0 ? use::wrtmuc : 0;
  r |= (w.sigs & sig::ldtmu) != 0 ? use::ldtmu : 0;
  r |= (w.sigs & (sig::ldtlb | sig::ldtlbu)) != 0 ? use::tlb_read : 0;
  return r;
}

} // namespace

unsigned uses(const Word& w) { return uses(w.add) | uses(w.mul) | uses_of_signals(w); }

bool conflicts(Gpu gpu, const Word& w) {
  const unsigned add = uses(w.add), mul = uses(w.mul);
  if ((add & mul) != 0) {
    return true; // two writes to one peripheral
  }
  const unsigned u = add | mul | uses_of_signals(w);
  if (gpu == Gpu::v42) {
    if ((u & ~(use::wrtmuc | use::tmu_write)) == 0 || (u & ~(use::ldtmu | use::vpm)) == 0) {
      return false;
    }
    return std::popcount(u) > 1;
  }
  // 7.1: reading results and writing tiles go beside anything; the TMU's inputs are one unit.
  const unsigned rest = u & ~(use::ldtmu | use::tlb_write | use::tmu_write | use::wrtmuc | use::tmuwt);
  const bool tmu = (u & (use::tmu_write | use::wrtmuc | use::tmuwt)) != 0;
  return std::popcount(rest) + (tmu ? 1 : 0) > 1;
}

namespace {

bool touches_accumulators(const Word& w) {
  const auto is_acc = [](const Reg& r) { return r.kind == Reg::acc; };
  bool r = is_acc(w.add.dst) || is_acc(w.mul.dst) || is_acc(w.sig_dst);
  for (const Alu* a : {&w.add, &w.mul}) {
    for (unsigned s = 0; s < source_count(*a); ++s) {
      r = r || is_acc(a->src[s].reg);
    }
  }
  return r || (w.sigs & (sig::ldunif | sig::ldunifa | sig::ldvary)) != 0;
}

bool reads_or_writes_rf(const Word& w, std::uint32_t from, std::uint32_t to, bool writes) {
  const auto is = [&](const Reg& r) { return r.kind == Reg::rf && r.index >= from && r.index <= to; };
  bool r = writes && (is(w.add.dst) || is(w.mul.dst) || is(w.sig_dst));
  for (const Alu* a : {&w.add, &w.mul}) {
    for (unsigned s = 0; s < source_count(*a); ++s) {
      r = r || is(a->src[s].reg);
    }
  }
  return r;
}

} // namespace

bool valid_in_switch_slot(Gpu gpu, const Word& w, unsigned slot) {
  if (w.is_branch) {
    return false;
  }
  const unsigned u = uses(w);
  if ((u & (use::tlb_write | use::tlb_read | use::tsy)) != 0) {
    return false;
  }
  for (const Alu* a : {&w.add, &w.mul}) {
    if (writes_flags(*a) || has(a->op, reads_rtop) || has(a->op, writes_rtop) ||
        (a->dst.kind == Reg::magic && a->dst.index == magic::unifa)) {
      return false;
    }
  }
  if (gpu == Gpu::v42) {
    return (w.sigs & sig::ldvary) == 0;
  }
  if ((u & use::sfu) != 0) {
    return false; // 4.2's write registers directly and may stand here
  }
  // The last word of a section: nothing that writes registers by a signal, which covers the rf0 hazard.
  constexpr std::uint32_t loads = sig::addressed | sig::ldunif | sig::ldunifa;
  return slot != 2 || (w.sigs & loads) == 0;
}

bool may_move_into_switch_slot(Gpu gpu, const Word& w, unsigned slot) {
  constexpr unsigned of_tmu = use::tmu_write | use::wrtmuc | use::ldtmu | use::tmuwt;
  return valid_in_switch_slot(gpu, w, slot) && (uses(w) & of_tmu) == 0 &&
         (gpu == Gpu::v71 || !touches_accumulators(w));
}

bool valid_at_end(Gpu gpu, const Word& w, std::uint32_t uniform, unsigned slot) {
  if (w.is_branch || (w.sigs & sig::ldvary) != 0 || (slot > 0 && uniform != no_index)) {
    return false;
  }
  const bool alu_writes = w.add.dst.kind == Reg::rf || w.mul.dst.kind == Reg::rf;
  if (gpu == Gpu::v42) {
    if (has(w.add.op, vpm_wait) || (slot == 2 && has(w.add.op, tmu_wait))) {
      return false;
    }
    const bool signal_writes = (w.sigs & sig::addressed) != 0 && w.sig_dst.kind == Reg::rf;
    return !alu_writes && !signal_writes && !reads_or_writes_rf(w, 0, 2, false);
  }
  return !(slot == 0 && alu_writes) && !reads_or_writes_rf(w, 2, 3, true);
}

bool valid_in_branch_slot(const Word& w, std::uint32_t uniform) {
  return !w.is_branch && uniform == no_index && (w.sigs & (sig::thrsw | sig::ldvary)) == 0 &&
         !writes_flags(w.add) && !writes_flags(w.mul) && !has(w.add.op, touches_msf) &&
         !(w.add.dst.kind == Reg::magic && w.add.dst.index == magic::unifa) &&
         !(w.mul.dst.kind == Reg::magic && w.mul.dst.index == magic::unifa);
}

bool conditions_fit(const Alu& a, const Alu& m) {
  const bool ac = a.cond != Cond::none, mc = m.cond != Cond::none;
  const bool ap = a.push != Push::none, mp = m.push != Push::none;
  const bool au = a.update != Update::none, mu = m.update != Update::none;
  if ((ac && (ap || au)) || (mc && (mp || mu)) || (ap && au) || (mp && mu)) {
    return false;
  }
  const int writers = ap + mp + au + mu;
  if (writers > 1 || (mu && ac)) {
    return false;
  }
  return !(ac && mc && writers != 0);
}

} // namespace lanewise::v3d
