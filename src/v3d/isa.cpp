#include "v3d/isa.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::v3d {

namespace {

constexpr std::uint8_t v42 = 1;
constexpr std::uint8_t v71 = 2;
constexpr std::uint8_t both = 3;

constexpr Encoding encoding_table[] = {
#define V3D_ENC(unit, gpu, op, form, opcode, selector)                                                       \
  Encoding{Unit::unit, gpu, Op::op, Form::form, opcode, selector},
#include "v3d/isa.def"
};

struct SignalRow {
  std::uint32_t v42, v71;
};

constexpr std::uint32_t reserved = ~0u;

// Index: the 5-bit code.
constexpr std::array<SignalRow, 32> signal_table = {{
    {0, 0},
    {sig::thrsw, sig::thrsw},
    {sig::ldunif, sig::ldunif},
    {sig::thrsw | sig::ldunif, sig::thrsw | sig::ldunif},
    {sig::ldtmu, sig::ldtmu},
    {sig::thrsw | sig::ldtmu, sig::thrsw | sig::ldtmu},
    {sig::ldtmu | sig::ldunif, sig::ldtmu | sig::ldunif},
    {sig::thrsw | sig::ldtmu | sig::ldunif, sig::thrsw | sig::ldtmu | sig::ldunif},
    {sig::ldvary, sig::ldvary},
    {sig::thrsw | sig::ldvary, sig::thrsw | sig::ldvary},
    {sig::ldvary | sig::ldunif, sig::ldvary | sig::ldunif},
    {sig::thrsw | sig::ldvary | sig::ldunif, sig::thrsw | sig::ldvary | sig::ldunif},
    {sig::ldunifrf, sig::ldunifrf},
    {sig::thrsw | sig::ldunifrf, sig::thrsw | sig::ldunifrf},
    {sig::imm_b | sig::ldvary, sig::imm_a},
    {sig::imm_b, sig::imm_b},
    {sig::ldtlb, sig::ldtlb},
    {sig::ldtlbu, sig::ldtlbu},
    {sig::wrtmuc, sig::wrtmuc},
    {sig::thrsw | sig::wrtmuc, sig::thrsw | sig::wrtmuc},
    {sig::ldvary | sig::wrtmuc, sig::ldvary | sig::wrtmuc},
    {sig::thrsw | sig::ldvary | sig::wrtmuc, sig::thrsw | sig::ldvary | sig::wrtmuc},
    {sig::ucb, sig::ucb},
    {sig::rotate, reserved},
    {sig::ldunifa, sig::ldunifa},
    {sig::ldunifarf, sig::ldunifarf},
    {reserved, sig::ldtmu | sig::wrtmuc},
    {reserved, sig::thrsw | sig::ldtmu | sig::wrtmuc},
    {reserved, reserved},
    {reserved, reserved},
    {reserved, sig::imm_c},
    {sig::imm_b | sig::ldtmu, sig::imm_d},
}};

constexpr std::array<std::string_view, 64> magic_table = [] {
  std::array<std::string_view, 64> t{};
  constexpr std::string_view low[] = {"r0",  "r1",   "r2",    "r3",    "r4",    "r5",    "-",
                                      "tlb", "tlbu", "unifa", "tmul",  "tmud",  "tmua",  "tmuau",
                                      "vpm", "vpmu", "sync",  "syncu", "syncb", "recip", "rsqrt",
                                      "exp", "log",  "sin",   "rsqrt2"};
  std::ranges::copy(low, t.begin());
  constexpr std::string_view high[] = {"tmuc",    "tmus",    "tmut",    "tmur",   "tmui",
                                       "tmub",    "tmudref", "tmuoff",  "tmuscm", "tmusf",
                                       "tmuslod", "tmuhs",   "tmuhscm", "tmuhsf", "tmuhslod"};
  std::ranges::copy(high, t.begin() + magic::tmuc);
  t[magic::rep] = "rep";
  return t;
}();

template <class E, std::size_t n>
std::string_view name_of(const std::array<std::string_view, n>& names, E value) {
  const auto i = static_cast<std::size_t>(value);
  return i < n ? names[i] : std::string_view{};
}

} // namespace

std::optional<Op> find_op(std::string_view name) {
  const auto it = std::ranges::find(op_table, name, &OpInfo::name);
  if (it == op_table.end()) {
    return std::nullopt;
  }
  return static_cast<Op>(it - op_table.begin());
}

bool is_thread_constant(Op op) {
  constexpr std::array constants{Op::tidx, Op::eidx, Op::fxcd, Op::xcd,
                                 Op::fycd, Op::ycd,  Op::iid,  Op::sampid};
  return std::ranges::find(constants, op) != constants.end();
}

std::span<const Encoding> encodings() { return encoding_table; }

const Encoding* find_encoding(Gpu gpu, Unit unit, Op op) {
  // Indexed once: [gpu][unit][op].
  static const auto index = [] {
    std::array<std::array<std::array<const Encoding*, static_cast<std::size_t>(Op::count)>, 2>, 2> t{};
    for (const Encoding& e : encoding_table) {
      for (unsigned g = 0; g < 2; ++g) {
        if ((e.gpus >> g & 1) != 0) {
          t[g][static_cast<std::size_t>(e.unit)][static_cast<std::size_t>(e.op)] = &e;
        }
      }
    }
    return t;
  }();
  return index[static_cast<std::size_t>(gpu)][static_cast<std::size_t>(unit)][static_cast<std::size_t>(op)];
}

std::string_view text(Cond c) {
  static constexpr std::array<std::string_view, 5> names = {"", ".ifa", ".ifb", ".ifna", ".ifnb"};
  return name_of(names, c);
}

std::string_view text(Push p) {
  static constexpr std::array<std::string_view, 4> names = {"", ".pushz", ".pushn", ".pushc"};
  return name_of(names, p);
}

std::string_view text(Update u) {
  static constexpr std::array<std::string_view, 13> names = {"",       ".andz",  ".andnz", ".nornz", ".norz",
                                                             ".andn",  ".andnn", ".nornn", ".norn",  ".andc",
                                                             ".andnc", ".nornc", ".norc"};
  return name_of(names, u);
}

std::string_view text(Pack p) {
  static constexpr std::array<std::string_view, 3> names = {"", ".l", ".h"};
  return name_of(names, p);
}

std::string_view text(Unpack u) {
  static constexpr std::array<std::string_view, 15> names = {"",      ".abs",  ".l",  ".h",  ".sat",
                                                             ".nsat", ".max0", ".ff", ".ll", ".hh",
                                                             ".swp",  ".ul",   ".uh", ".il", ".ih"};
  return name_of(names, u);
}

std::string_view text(BranchCond c) {
  static constexpr std::array<std::string_view, 8> names = {"",      "",       ".a0",   ".na0",
                                                            ".alla", ".anyna", ".anya", ".allna"};
  return name_of(names, c);
}

std::string_view text(Msfign m) {
  static constexpr std::array<std::string_view, 3> names = {"", "p", "q"};
  return name_of(names, m);
}

std::string_view magic_name(std::uint8_t address) {
  return address < magic_table.size() ? magic_table[address] : std::string_view{};
}

std::optional<std::uint8_t> find_magic(std::string_view name) {
  const auto it = std::ranges::find(magic_table, name);
  if (name.empty() || it == magic_table.end()) {
    return std::nullopt;
  }
  return static_cast<std::uint8_t>(it - magic_table.begin());
}

bool is_tmu_write(std::uint8_t a) {
  return (a >= magic::tmul && a <= magic::tmuau) || (a >= magic::tmuc && a <= magic::tmuhslod);
}

bool is_tmu_trigger(std::uint8_t a) {
  return a == magic::tmua || a == magic::tmuau || a == magic::tmus ||
         (a >= magic::tmuscm && a <= magic::tmuhslod);
}

bool takes_uniform(std::uint8_t a) {
  return a == magic::tlbu || a == magic::tmuau || a == magic::vpmu || a == magic::syncu;
}

std::uint32_t small_immediate(std::uint32_t code) {
  if (code < 16) {
    return code;
  }
  if (code < 32) {
    return code - 32;
  }
  return std::bit_cast<std::uint32_t>(1.0f) + ((code - 40) << 23);
}

std::optional<std::uint32_t> find_small_immediate(std::uint32_t value) {
  for (std::uint32_t code = 0; code < 48; ++code) {
    if (small_immediate(code) == value) {
      return code;
    }
  }
  return std::nullopt;
}

std::optional<std::uint8_t> signal_code(Gpu gpu, std::uint32_t set) {
  for (std::size_t i = 0; i < signal_table.size(); ++i) {
    if ((gpu == Gpu::v42 ? signal_table[i].v42 : signal_table[i].v71) == set) {
      return static_cast<std::uint8_t>(i);
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> signal_set(Gpu gpu, std::uint8_t code) {
  const std::uint32_t set = gpu == Gpu::v42 ? signal_table[code & 31].v42 : signal_table[code & 31].v71;
  return set == reserved ? std::nullopt : std::optional(set);
}

} // namespace lanewise::v3d
