#include "v3d/machine.hpp"

#include <fmt/format.h>

namespace lanewise::v3d {

namespace {

Expected<void> step(Machine& m, const Program& p, const Inst& i) {
  constexpr std::uint32_t supported =
      sig::thrsw | sig::ldunif | sig::ldunifrf | sig::ldtmu | sig::ldvary | sig::wrtmuc;
  if ((i.sigs & ~supported) != 0) {
    return fail(ErrorKind::unsupported, "the interpreter does not run this signal", to_text(p, i));
  }
  const std::uint32_t value = i.uniform != no_index ? m.uniform_value(i.uniform) : 0;
  const auto pending = m.compute(i.alu, value);
  if ((i.sigs & (sig::ldunif | sig::ldunifrf)) != 0) {
    Lanes l;
    l.v.fill(value);
    m.write(i.sig_dst, l);
  }
  if ((i.sigs & sig::ldvary) != 0) {
    Lanes c;
    const Lanes v = m.next_varying(c);
    m.write(i.sig_dst, v);
    m.write(implicit_reg(p.gpu), c);
  }
  if ((i.sigs & sig::ldtmu) != 0) {
    m.write(i.sig_dst, m.pop_tmu());
  }
  if ((i.sigs & sig::wrtmuc) != 0) {
    m.configure_tmu(i.uniform);
  }
  m.apply(pending);
  if ((i.sigs & sig::thrsw) != 0) {
    m.thread_switch();
  }
  return {};
}

} // namespace

Expected<Trace> interpret(const Program& p, const RunOptions& options) {
  Machine m(p.gpu, p.uniforms, options, p.temp_count);
  std::size_t b = 0;
  while (b < p.blocks.size()) {
    const Block& block = p.blocks[b];
    std::optional<std::uint32_t> next;
    for (const Inst& i : block.insts) {
      ++m.trace.steps;
      if (!i.is_branch) {
        if (auto r = step(m, p, i); !r) {
          return std::unexpected(r.error());
        }
        continue;
      }
      const auto taken = m.branch(i.branch);
      if (!taken) {
        return std::move(m.trace);
      }
      next = *taken ? block.succs.front() : block.succs.back();
    }
    if (!next && block.succs.empty()) {
      break;
    }
    b = next ? *next : block.succs.back();
  }
  m.end();
  return std::move(m.trace);
}

} // namespace lanewise::v3d
