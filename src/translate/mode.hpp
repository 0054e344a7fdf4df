// The MODE register (RDNA2 ISA, 4.6 "Mode register"): rounding, denormals, clamping and IEEE rules. It has to
// be a constant wherever floating-point code depends on it.
#pragma once

#include "container/shader_binary.hpp"
#include "ir/ir.hpp"
#include "translate/flow.hpp"

#include <vector>

namespace lanewise::translate {

struct Mode {
  enum class State : uint8_t { unreached, known, merged, dynamic } state = State::unreached;
  uint32_t bits = 0; ///< FP_ROUND 3:0, FP_DENORM 7:4, DX10_CLAMP 8, IEEE 9

  [[nodiscard]] static Mode initial(const container::KernelDescriptor& d);
  /// For results of 32 bits, or of 16 and 64 bits.
  [[nodiscard]] ir::FloatControl control(bool is_32) const;
  /// Follows s_setreg, s_round_mode and s_denorm_mode.
  void execute(const rdna2::Instruction& i);
  friend bool operator==(const Mode&, const Mode&) = default;
};

/// A field of a hardware register, as simm16 of s_getreg and s_setreg names it.
struct HardwareField {
  enum Register : unsigned {
    mode = 1,
    sh_mem_bases = 15,
    flat_scr_lo = 20,
    flat_scr_hi = 21,
    shader_cycles = 29
  };
  unsigned reg, offset, size;
  explicit HardwareField(int32_t simm16)
      : reg(simm16 & 63), offset(static_cast<uint32_t>(simm16) >> 6 & 31),
        size((static_cast<uint32_t>(simm16) >> 11 & 31) + 1) {}
  [[nodiscard]] uint32_t mask() const { return (size == 32 ? ~0u : (1u << size) - 1) << offset; }
};

/// MODE at the start of each node.
[[nodiscard]] std::vector<Mode> find_modes(const Graph& graph, const Flow& flow, Mode initial);

} // namespace lanewise::translate
