#include "translate/mode.hpp"

#include <algorithm>

namespace lanewise::translate {

using rdna2::Opcode;

Mode Mode::initial(const container::KernelDescriptor& d) {
  const auto& f = d.float_mode;
  const uint32_t bits = (f.round_32 & 3u) | (f.round_16_64 & 3u) << 2 | (f.denorm_32 & 3u) << 4 |
                        (f.denorm_16_64 & 3u) << 6 | (d.dx10_clamp ? 1u << 8 : 0u) | (d.ieee ? 1u << 9 : 0u);
  return {State::known, bits};
}

ir::FloatControl Mode::control(bool is_32) const {
  const uint32_t round = bits >> (is_32 ? 0 : 2) & 3, denorm = bits >> (is_32 ? 4 : 6) & 3;
  return {.round = static_cast<uint8_t>(round),
          .flush_in = (denorm & 1) == 0,
          .flush_out = (denorm & 2) == 0,
          .ieee = (bits >> 9 & 1) != 0,
          .dx10_clamp = (bits >> 8 & 1) != 0};
}

void Mode::execute(const rdna2::Instruction& i) {
  switch (i.opcode) {
  case Opcode::s_round_mode: bits = (bits & ~0xfu) | (static_cast<uint32_t>(i.imm) & 0xf); break;
  case Opcode::s_denorm_mode: bits = (bits & ~0xf0u) | (static_cast<uint32_t>(i.imm) & 0xf) << 4; break;
  case Opcode::s_setreg_b32:
  case Opcode::s_setreg_imm32_b32: {
    const HardwareField field(i.imm);
    if (field.reg != HardwareField::mode || (field.mask() & 0x3ff) == 0) break;
    if (i.src[0].is_constant())
      bits = (bits & ~field.mask()) | (static_cast<uint32_t>(i.src[0].value << field.offset) & field.mask());
    else
      state = State::dynamic;
    break;
  }
  default: break;
  }
}

std::vector<Mode> find_modes(const Graph& graph, const Flow& flow, Mode initial) {
  const auto writes_mode = [](const rdna2::Instruction& i) {
    return rdna2::info(i.opcode).writes_state(rdna2::State::mode) || i.opcode == Opcode::s_setreg_b32 ||
           i.opcode == Opcode::s_setreg_imm32_b32;
  };
  const auto& code = graph.code.instructions();
  if (std::ranges::none_of(code.begin() + 1, code.end(), writes_mode))
    return std::vector<Mode>(graph.nodes.size(), initial);
  std::vector<Mode> modes(graph.nodes.size());
  modes[0] = initial;
  // A mode only falls: unreached, known, then merged or dynamic. So each node changes at most twice.
  for (bool changed = true; changed;) {
    changed = false;
    for (const uint32_t n : flow.order()) {
      Mode m = modes[n];
      for (const auto& i : graph.code.instructions(graph.block(graph.nodes[n]))) m.execute(i);
      for (unsigned s = 0; s < graph.nodes[n].successor_count; ++s) {
        Mode& to = modes[graph.nodes[n].successors[s]];
        if (to == m || to.state > Mode::State::known) continue;
        to = to.state == Mode::State::unreached ? m : Mode{Mode::State::merged, 0};
        changed = true;
      }
    }
  }
  return modes;
}

} // namespace lanewise::translate
