// What the opcode table (opcodes.def) says of an opcode.
#pragma once

#include "rdna2/instruction.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lanewise::rdna2 {

/// Type of an operand: its width in registers and the meaning of its inline constants and literals.
// clang-format off
enum class OperandType : uint8_t {
  none,
  b16, i16, u16, f16,
  i16h, ///< i16 in an f16 instruction: inline floats are 16-bit floats
  b32, i32, u32, f32,
  f16x2, i16x2, u16x2, ///< two halves in one register
  b64, i64, u64, f64,
  b96, b128, b256, b512,
  mask, ///< one bit per lane: one dword in wave32, two in wave64
};
// clang-format on

/// State that an opcode reads or writes besides its operands. Bits.
enum class State : uint8_t { scc = 1, vcc = 2, exec = 4, m0 = 8, mode = 16, pc = 32 };

/// Properties of an opcode. Bits.
enum class OpcodeFlag : uint64_t {
  // encodings and modifiers
  sdwa = 1ull << 0,     ///< has an SDWA form
  dpp = 1ull << 1,      ///< has DPP16 and DPP8 forms
  clamp = 1ull << 2,    ///< clamp has a meaning in VOP3 and VOP3P
  omod = 1ull << 3,     ///< output modifier has a meaning
  op_sel = 1ull << 4,   ///< op_sel (and op_sel_hi in VOP3P) has a meaning
  neg_mods = 1ull << 5, ///< VOP3P: neg_lo and neg_hi have a meaning
  mix = 1ull << 6,      ///< v_fma_mix*: op_sel_hi chooses f16 sources, neg and abs as in VOP3
  // operands
  tied_src0 = 1ull << 7, ///< src0 is the old destination; the word has no field for it
  tied_src1 = 1ull << 8,
  tied_src2 = 1ull << 9,
  tied_src3 = 1ull << 10,
  sgpr_dst = 1ull << 11,     ///< VALU instruction with an SGPR destination
  madmk = 1ull << 12,        ///< src1 is a literal, src2 a VGPR
  madak = 1ull << 13,        ///< src2 is a literal
  swap = 1ull << 14,         ///< writes src0's register too (dst1), reads the destination (src1)
  relative_src = 1ull << 15, ///< M0 is added to the number of src0's register
  relative_dst = 1ull << 16, ///< M0 is added to the number of the destination register
  simm_src = 1ull << 17,     ///< SOPK: the last source is simm16 as a constant
  hwreg = 1ull << 18,        ///< simm16 names a hardware register field
  interp = 1ull << 19,       ///< reads an attribute from LDS
  d16_bit = 1ull << 52,  ///< image with a D16 form
  simm = 1ull << 51,         ///< SOPP: simm16 has a meaning
  // control
  branch = 1ull << 20, ///< simm16 is a relative target
  jump = 1ull << 21,   ///< src0 is the new program counter
  call = 1ull << 22,   ///< stores the return address in dst0
  ends = 1ull << 23,   ///< the wave ends
  wait = 1ull << 24,   ///< waits for counters, no other effect
  barrier = 1ull << 25,
  cross_lane = 1ull << 26, ///< reads or writes registers of other lanes (besides DPP)
  // memory
  gds_only = 1ull << 27,
  two_addresses = 1ull << 28, ///< offset0 and offset1 address two elements
  stride64 = 1ull << 29,      ///< offset0 and offset1 count in 64 elements
  sign_extend = 1ull << 30,
  d16 = 1ull << 31,         ///< 16-bit components, low half of the register (other half unchanged)
  d16_hi = 1ull << 32,      ///< 16-bit component, high half of the register (other half unchanged)
  glc_returns = 1ull << 33, ///< atomic: the old value is returned if GLC is set
  formatted = 1ull << 34,   ///< converts by the buffer's or the instruction's format
  addtid = 1ull << 35,      ///< adds 4 * lane to the address
  // images
  sampled = 1ull << 36, ///< reads a sampler
  gather4 = 1ull << 37, ///< four values whatever dmask says
  addr_offset = 1ull << 38,
  addr_bias = 1ull << 39,
  addr_compare = 1ull << 40,
  addr_gradient = 1ull << 41,
  addr_lod = 1ull << 42,
  addr_lod_only = 1ull << 43, ///< the level is the only address
  addr_clamp = 1ull << 44,
  g16 = 1ull << 45, ///< 16-bit gradients
  packed = 1ull << 46,
  bvh = 1ull << 47,
  // rest
  float_moves = 1ull << 48, ///< moves bits, yet takes neg and abs as for f32
  lds_only = 1ull << 49,    ///< has no GDS form
  to_lds = 1ull << 50,      ///< the LDS bit sends the loaded data to LDS
};

constexpr State operator|(State a, State b) { return State(uint8_t(a) | uint8_t(b)); }
constexpr State operator&(State a, State b) { return State(uint8_t(a) & uint8_t(b)); }
// NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange): flags
constexpr OpcodeFlag operator|(OpcodeFlag a, OpcodeFlag b) { return OpcodeFlag(uint64_t(a) | uint64_t(b)); }

/// Memory access of each active lane.
struct Access {
  enum class Kind : uint8_t { none, load, store, atomic } kind = Kind::none;
  uint8_t bytes = 0; ///< bytes of memory; loads and stores of two addresses: both together
};

struct OpcodeInfo {
  std::string_view name;
  Encoding encoding{}; ///< the format the opcode is native to (VOP1/VOP2/VOPC before VOP3)
  uint16_t number = 0; ///< opcode number in that format
  int16_t vop3 = -1;   ///< opcode number in VOP3, -1 if it has no VOP3 form
  std::array<OperandType, 2> dst{};
  std::array<OperandType, 4> src{};
  State reads{}, writes{};
  OpcodeFlag flags{};
  Access access{};

  [[nodiscard]] constexpr bool has(OpcodeFlag flag) const { return (uint64_t(flags) & uint64_t(flag)) != 0; }
  [[nodiscard]] constexpr bool reads_state(State s) const { return (reads & s) != State{}; }
  [[nodiscard]] constexpr bool writes_state(State s) const { return (writes & s) != State{}; }
  /// Whether source `i` is the old destination.
  [[nodiscard]] constexpr bool tied(unsigned i) const {
    return (uint64_t(flags) & (uint64_t(OpcodeFlag::tied_src0) << i)) != 0;
  }
};

inline constexpr unsigned opcode_count = unsigned(Opcode::count_);
extern const std::array<OpcodeInfo, opcode_count> opcode_table;

/// Opcode numbers of every format, 0xffff where there is none: opcode_numbers[format][number].
inline constexpr uint16_t no_opcode = 0xffff;
extern const std::array<std::array<uint16_t, 1024>, 20> opcode_numbers;

[[nodiscard]] inline const OpcodeInfo& info(Opcode opcode) { return opcode_table[unsigned(opcode)]; }
[[nodiscard]] inline std::string_view name(Opcode opcode) { return info(opcode).name; }

/// The opcode of a mnemonic without suffix; linear in the table.
[[nodiscard]] std::optional<Opcode> find_opcode(std::string_view mnemonic);

/// Width in 32-bit registers.
[[nodiscard]] constexpr unsigned dwords(OperandType type, WaveSize wave) {
  using enum OperandType;
  switch (type) {
  case none: return 0;
  case b64:
  case i64:
  case u64:
  case f64: return 2;
  case b96: return 3;
  case b128: return 4;
  case b256: return 8;
  case b512: return 16;
  case mask: return wave == WaveSize::wave32 ? 1 : 2;
  default: return 1;
  }
}

[[nodiscard]] constexpr bool is_float(OperandType type) {
  using enum OperandType;
  return type == f16 || type == f32 || type == f64;
}

[[nodiscard]] constexpr bool is_16bit(OperandType type) {
  using enum OperandType;
  return type >= b16 && type <= i16h;
}

} // namespace lanewise::rdna2
