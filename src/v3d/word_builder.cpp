#include "v3d/word_builder.hpp"

namespace lanewise::v3d {

bool WordBuilder::place(Word& w, const Alu& a) const {
  if (is_nop(a)) {
    return true;
  }
  const auto can = [&](Unit u, const Alu& op) { return find_encoding(gpu_, u, op.op) != nullptr; };
  const Unit first = unit_of(gpu_, a.op);
  const Unit second = first == Unit::add ? Unit::mul : Unit::add;
  const auto slot = [&](Unit u) -> Alu& { return u == Unit::add ? w.add : w.mul; };
  for (const Unit u : {first, second}) {
    if (can(u, a) && is_nop(slot(u))) {
      slot(u) = a;
      return true;
    }
  }
  // The unit is taken: what stands there may be able to move over.
  for (const Unit u : {first, second}) {
    const Unit other = u == Unit::add ? Unit::mul : Unit::add;
    if (can(u, a) && is_nop(slot(other)) && can(other, slot(u))) {
      slot(other) = slot(u);
      slot(u) = a;
      return true;
    }
  }
  return false;
}

bool WordBuilder::is_legal(Word& w) const {
  if (!conditions_fit(w.add, w.mul) || conflicts(gpu_, w)) {
    return false;
  }
  if ((w.sigs & sig::addressed) != 0 &&
      (writes_flags(w.add) || writes_flags(w.mul) || w.add.cond != Cond::none || w.mul.cond != Cond::none)) {
    return false;
  }
  // 7.1: a plain load goes to rf0 beside no other signal that writes a register (the rf0 hazard at a switch).
  if (gpu_ == Gpu::v71 && (w.sigs & sig::ldunif) != 0 && (w.sigs & sig::addressed) != 0) {
    return false;
  }
  if (!assign_ports(gpu_, w)) {
    return false;
  }
  std::uint32_t imms = 0;
  constexpr std::array flags{sig::imm_a, sig::imm_b, sig::imm_c, sig::imm_d};
  unsigned operand = 0;
  for (const Alu* a : {&w.add, &w.mul}) {
    for (unsigned s = 0; s < 2; ++s, ++operand) {
      if (s < source_count(*a) && a->src[s].reg.kind == Reg::imm) {
        imms |= gpu_ == Gpu::v42 ? sig::imm_b : flags[operand];
      }
    }
  }
  return signal_code(gpu_, w.sigs | imms).has_value();
}

bool WordBuilder::add(const Inst& i) {
  if (w_.word.is_branch || (i.is_branch && !empty_)) {
    return false;
  }
  // What fails most often, before anything is copied.
  if (!i.is_branch && ((i.uniform != no_index && w_.uniform != no_index) ||
                       (!is_nop(i.alu) && !is_nop(w_.word.add) && !is_nop(w_.word.mul)))) {
    return false;
  }
  QpuWord next = w_;
  if (i.is_branch) {
    next.word.is_branch = true;
    next.word.branch = i.branch;
    next.uniform = i.uniform;
    w_ = next;
    empty_ = false;
    return true;
  }
  std::uint32_t sigs = i.sigs;
  if ((sigs & sig::ldunif) != 0 && i.sig_dst != implicit_reg(gpu_)) {
    sigs = (sigs & ~sig::ldunif) | sig::ldunifrf;
  }
  if ((sigs & next.word.sigs) != 0 ||
      ((sigs & sig::addressed) != 0 && (next.word.sigs & sig::addressed) != 0)) {
    return false;
  }
  next.word.sigs |= sigs;
  if ((sigs & sig::addressed) != 0) {
    next.word.sig_dst = i.sig_dst;
  }
  next.uniform = i.uniform != no_index ? i.uniform : next.uniform;
  next.is_spill = next.is_spill || i.role == Role::store || i.role == Role::fill;
  Alu a = i.alu;
  for (unsigned s = 0; s < source_count(a); ++s) {
    if (a.src[s].reg.kind == Reg::null) {
      a.src[s].reg = gpu_ == Gpu::v42 ? acc(0) : rf(5); // an operand that nobody looks at
    }
  }
  if (!place(next.word, a) || !is_legal(next.word)) {
    return false;
  }
  w_ = next;
  empty_ = false;
  return true;
}

bool WordBuilder::add_signal(std::uint32_t s) {
  Inst i;
  i.sigs = s;
  i.alu.dst = {Reg::null};
  return add(i);
}

} // namespace lanewise::v3d
