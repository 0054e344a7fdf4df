// The V3D QPU's instruction set: operations, operands, signals, conditions, and one decoded 64-bit word.
// isa.def holds the rows; this header the types that VIR, the register allocator and the packer share.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lanewise::v3d {

/// The two generations: V3D 4.2 (Raspberry Pi 4) and 7.1 (Raspberry Pi 5).
enum class Gpu : std::uint8_t { v42, v71 };

inline constexpr unsigned lane_count = 16;

enum class Op : std::uint8_t {
#define V3D_OP(name, sources, dst, props) name,
#include "v3d/isa.def"
  count
};

/// Properties of an operation: what it needs or touches beside its operands.
enum OpProperty : std::uint16_t {
  float_sources = 1 << 0, ///< unpacks read 32-bit floats or f16 halves
  half_sources = 1 << 1,  ///< both halves are f16
  sfu = 1 << 2,           ///< result comes from the special function unit, a word late
  vpm_load = 1 << 3,
  vpm_store = 1 << 4,
  reads_flags = 1 << 5, ///< reads the A or B flags as data
  reads_rtop = 1 << 6,
  writes_rtop = 1 << 7,
  touches_msf = 1 << 8, ///< reads or writes the multisample flags
  tmu_wait = 1 << 9,
  vpm_wait = 1 << 10,
  tsy = 1 << 11,
  cross_lane = 1 << 12,
};

struct OpInfo {
  std::string_view name;
  std::uint8_t sources;
  bool has_dst;
  std::uint16_t properties;
};

/// By operation.
inline constexpr std::array<OpInfo, static_cast<std::size_t>(Op::count)> op_table = [] {
  std::array<OpInfo, static_cast<std::size_t>(Op::count)> t{
#define V3D_OP(name, sources, dst, props) OpInfo{#name, sources, dst, static_cast<std::uint16_t>(props)},
#include "v3d/isa.def"
  };
  // C++ keywords carry an underscore in the enumeration only.
  for (auto& row : t) {
    if (row.name.ends_with('_')) {
      row.name.remove_suffix(1);
    }
  }
  return t;
}();

[[nodiscard]] inline const OpInfo& info(Op op) { return op_table[static_cast<std::size_t>(op)]; }
[[nodiscard]] std::optional<Op> find_op(std::string_view name);
[[nodiscard]] inline bool has(Op op, OpProperty p) { return (info(op).properties & p) != 0; }

/// Takes no operand and gives the same in a thread wherever it stands: coordinates, instance, sample and lane
/// numbers.
[[nodiscard]] bool is_thread_constant(Op op);

enum class Unit : std::uint8_t { add, mul };

/// How an operation's modifiers and operand count sit in the opcode and in the unused operand field.
enum class Form : std::uint8_t {
  two,          ///< two sources, no modifiers
  float2,       ///< opcode + pack*16 + unpack(a)*4 + unpack(b)
  float2_plain, ///< the same without pack
  vfpack,       ///< opcode + unpack(a)*4 + unpack(b), no abs
  half2,        ///< opcode + f16 unpack(a)
  one,          ///< the second operand field is the selector
  one_pack,     ///< the selector is increased by pack
  zero,         ///< 4.2: selector = mux_b*8 + mux_a; 7.1: raddr of the second operand
  zero_pack,
  store,     ///< selector is the write address
  round42,   ///< unpack in opcode bits 3:2, selector + pack
  convert42, ///< unpack in opcode bits 3:2
  round71,   ///< selector + unpack*4 + pack
  convert71, ///< selector + unpack*4
  fmov42,    ///< opcode bit 0 and mux_b bit 2 are the pack, mux_b bits 1:0 the unpack
  fmov71,    ///< selector = unpack*4 + pack
  mov71,     ///< selector = 3 + integer unpack*4
};

struct Encoding {
  Unit unit;
  std::uint8_t gpus; ///< bit 0: 4.2, bit 1: 7.1
  Op op;
  Form form;
  std::uint8_t opcode;
  std::uint8_t selector;
};

[[nodiscard]] std::span<const Encoding> encodings();
/// The row that encodes `op` in `unit` of `gpu`, or null if the unit does not have it.
[[nodiscard]] const Encoding* find_encoding(Gpu gpu, Unit unit, Op op);

enum class Cond : std::uint8_t { none, ifa, ifb, ifna, ifnb };
enum class Push : std::uint8_t { none, pushz, pushn, pushc };
enum class Update : std::uint8_t {
  none,
  andz,
  andnz,
  nornz,
  norz,
  andn,
  andnn,
  nornn,
  norn,
  andc,
  andnc,
  nornc,
  norc
};
enum class Pack : std::uint8_t { none, l, h };
enum class Unpack : std::uint8_t {
  none,
  abs,
  l,
  h,
  sat,
  nsat,
  max0, // float
  ff,
  ll,
  hh,
  swp, // f16 pairs
  ul,
  uh,
  il,
  ih // integer halves
};

[[nodiscard]] std::string_view text(Cond c);
[[nodiscard]] std::string_view text(Push p);
[[nodiscard]] std::string_view text(Update u);
[[nodiscard]] std::string_view text(Pack p);
[[nodiscard]] std::string_view text(Unpack u);

/// Magic write addresses (peripherals). Addresses 0 to 5 are the accumulators on 4.2.
namespace magic {
inline constexpr std::uint8_t r5 = 5, nop = 6, tlb = 7, tlbu = 8, unifa = 9, tmul = 10, tmud = 11, tmua = 12,
                              tmuau = 13, vpm = 14, vpmu = 15, sync = 16, syncu = 17, syncb = 18, recip = 19,
                              rsqrt2 = 24, tmuc = 32, tmus = 33, tmut = 34, tmur = 35, tmui = 36, tmub = 37,
                              tmudref = 38, tmuoff = 39, tmuscm = 40, tmusf = 41, tmuslod = 42, tmuhs = 43,
                              tmuhslod = 46, rep = 55;
}
[[nodiscard]] std::string_view magic_name(std::uint8_t address);
[[nodiscard]] std::optional<std::uint8_t> find_magic(std::string_view name);
/// True for the addresses that write any TMU register.
[[nodiscard]] bool is_tmu_write(std::uint8_t address);
/// True for the TMU addresses that start the operation (the last write of a sequence).
[[nodiscard]] bool is_tmu_trigger(std::uint8_t address);
/// tlbu, tmuau, vpmu and syncu take a configuration word from the uniform stream.
[[nodiscard]] bool takes_uniform(std::uint8_t address);

/// A register operand, before allocation a temporary, after it one of the others.
struct Reg {
  enum Kind : std::uint8_t { none, null, temp, rf, acc, magic, imm };
  Kind kind = none;
  std::uint32_t index = 0; ///< temp, register, address, or small immediate code (0..47)
  friend bool operator==(const Reg&, const Reg&) = default;
};

[[nodiscard]] inline Reg temp(std::uint32_t i) { return {Reg::temp, i}; }
[[nodiscard]] inline Reg rf(std::uint32_t i) { return {Reg::rf, i}; }
[[nodiscard]] inline Reg acc(std::uint32_t i) { return {Reg::acc, i}; }
[[nodiscard]] inline Reg peripheral(std::uint32_t i) { return {Reg::magic, i}; }

/// The 48 small immediates: 0..15, -16..-1, 2^-8..2^7 as floats.
[[nodiscard]] std::uint32_t small_immediate(std::uint32_t code);
[[nodiscard]] std::optional<std::uint32_t> find_small_immediate(std::uint32_t value);

struct Src {
  Reg reg;
  Unpack unpack = Unpack::none;
  std::uint8_t port = 0; ///< 4.2 only: read through raddr_a (0) or raddr_b (1)
  friend bool operator==(const Src&, const Src&) = default;
};

/// One operation of one unit.
struct Alu {
  Op op = Op::nop;
  Cond cond = Cond::none;
  Push push = Push::none;
  Update update = Update::none;
  Pack pack = Pack::none;
  Reg dst{Reg::null};
  std::array<Src, 2> src{};
  friend bool operator==(const Alu&, const Alu&) = default;
};

[[nodiscard]] inline bool is_nop(const Alu& a) { return a.op == Op::nop; }
[[nodiscard]] inline unsigned source_count(const Alu& a) { return info(a.op).sources; }
[[nodiscard]] inline bool writes_flags(const Alu& a) {
  return a.push != Push::none || a.update != Update::none;
}
[[nodiscard]] inline bool reads_flags_of(const Alu& a) {
  return a.cond != Cond::none || a.update != Update::none || has(a.op, reads_flags);
}

/// Signals, as a set of bits.
namespace sig {
inline constexpr std::uint32_t thrsw = 1, ldunif = 2, ldunifa = 4, ldunifrf = 8, ldunifarf = 16, ldtmu = 32,
                               ldvary = 64, ldtlb = 128, ldtlbu = 256, wrtmuc = 512, ucb = 1024,
                               rotate = 2048, imm_a = 4096, imm_b = 8192, imm_c = 16384, imm_d = 32768;
inline constexpr std::uint32_t imms = imm_a | imm_b | imm_c | imm_d;
/// Signals whose destination takes the place of the condition field.
inline constexpr std::uint32_t addressed = ldunifrf | ldunifarf | ldtmu | ldvary | ldtlb | ldtlbu;
} // namespace sig

/// The 5-bit code of a set of signals, if the hardware has that combination.
[[nodiscard]] std::optional<std::uint8_t> signal_code(Gpu gpu, std::uint32_t set);
[[nodiscard]] std::optional<std::uint32_t> signal_set(Gpu gpu, std::uint8_t code);

enum class BranchCond : std::uint8_t {
  always = 0,
  a0 = 2,
  na0 = 3,
  alla = 4,
  anyna = 5,
  anya = 6,
  allna = 7
};
enum class Msfign : std::uint8_t { none, pixel, quad };
enum class BranchDest : std::uint8_t { absolute, relative, link, regfile };

[[nodiscard]] std::string_view text(BranchCond c);
[[nodiscard]] std::string_view text(Msfign m);

struct Branch {
  BranchCond cond = BranchCond::always;
  Msfign msfign = Msfign::none;
  BranchDest to = BranchDest::relative;
  BranchDest uniforms_to = BranchDest::relative;
  bool moves_uniforms = true;
  std::uint8_t raddr = 0;
  std::int32_t offset = 0; ///< bytes, from the word after the delay slots
  friend bool operator==(const Branch&, const Branch&) = default;
};

/// One decoded instruction word.
struct Word {
  bool is_branch = false;
  Alu add, mul;
  std::uint32_t sigs = 0;
  Reg sig_dst;
  std::uint8_t raddr_a = 0, raddr_b = 0; ///< 4.2: the read addresses of ports A and B as they stand
  Branch branch;
  friend bool operator==(const Word&, const Word&) = default;
};

} // namespace lanewise::v3d
