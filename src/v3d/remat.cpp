// What can be made again where it is used: uniforms, constants, one operation on those.
#include "v3d/spill.hpp"

namespace lanewise::v3d {

std::vector<Remat> find_rematerialisable(const Program& p, const SpillOptions& options) {
  std::vector<Remat> r(p.temp_count);
  if (!options.rematerialise) {
    return r;
  }
  std::vector<unsigned> definitions(p.temp_count);
  const auto each_definition = [&](auto&& f) {
    for (std::uint32_t b = 0; b < p.blocks.size(); ++b) {
      for (std::uint32_t n = 0; n < p.blocks[b].insts.size(); ++n) {
        const Inst& i = p.blocks[b].insts[n];
        for (const Reg* d : {&i.alu.dst, &i.sig_dst}) {
          if (d->kind == Reg::temp) {
            f(d->index, i, b, n);
          }
        }
      }
    }
  };
  each_definition([&](std::uint32_t t, const Inst&, std::uint32_t, std::uint32_t) { ++definitions[t]; });
  // Layout order: a value's operands are defined before it, or it is not made again.
  each_definition([&](std::uint32_t t, const Inst& i, std::uint32_t b, std::uint32_t n) {
    if (definitions[t] != 1 || i.is_branch || is_partial(i.alu) || writes_flags(i.alu)) {
      return;
    }
    if (i.sigs != 0) {
      if (i.alu.op == Op::nop && (i.sigs == sig::ldunif || i.sigs == sig::ldunifrf)) {
        r[t] = {Remat::load, b, n, 1};
      }
      return;
    }
    constexpr std::uint16_t bound = vpm_load | vpm_store | reads_flags | reads_rtop | writes_rtop |
                                    touches_msf | tmu_wait | vpm_wait | tsy | cross_lane;
    if ((info(i.alu.op).properties & bound) != 0 || i.alu.op == Op::nop ||
        (source_count(i.alu) == 0 && !is_thread_constant(i.alu.op))) {
      return;
    }
    bool constant = true, simple = true;
    unsigned cost = has(i.alu.op, sfu) ? 2 : 1;
    for (unsigned s = 0; s < source_count(i.alu); ++s) {
      const Reg& q = i.alu.src[s].reg;
      if (q.kind == Reg::temp) {
        constant = false;
        simple = simple && r[q.index].kind != Remat::none;
        cost += r[q.index].cost;
      } else {
        simple = simple && q.kind == Reg::imm;
      }
    }
    if (simple && constant) {
      r[t] = {Remat::load, b, n, cost};
    } else if (simple && options.remat_arithmetic && cost <= options.max_remat_cost) {
      r[t] = {Remat::arithmetic, b, n, cost};
    }
  });
  return r;
}

} // namespace lanewise::v3d
