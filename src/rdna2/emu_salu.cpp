// Scalar ALU: SOP1, SOP2, SOPC and the arithmetic of SOPK (RDNA2 ISA, chapter 5 and 12.1 to 12.4).
#include "rdna2/emu_machine.hpp"

#include <type_traits>

namespace lanewise::rdna2::emu {
namespace {

template <class T>
T read(const Wave& w, const Operand& o) {
  if constexpr (sizeof(T) == 8)
    return static_cast<T>(w.read64(o));
  else
    return static_cast<T>(w.read32(o));
}
template <class T>
void write(Wave& w, const Operand& o, T value) {
  if constexpr (sizeof(T) == 8)
    w.write64(o, static_cast<uint64_t>(value));
  else
    w.write32(o, static_cast<uint32_t>(value));
}

// D = f(S0, S1), SCC untouched.
template <class T, auto f, class U = T>
Flow binary(Wave& w, const Step& s) {
  write(w, s.in.dst[0], static_cast<T>(f(read<T>(w, s.in.src[0]), read<U>(w, s.in.src[1]))));
  return Flow::next;
}
// D = f(S0, S1), SCC = D != 0.
template <class T, auto f, class U = T>
Flow binary_nz(Wave& w, const Step& s) {
  const T d = static_cast<T>(f(read<T>(w, s.in.src[0]), read<U>(w, s.in.src[1])));
  write(w, s.in.dst[0], d);
  w.scc = d != 0;
  return Flow::next;
}
// D = f(S0, S1, scc), where f also sets SCC.
template <class T, auto f>
Flow binary_carry(Wave& w, const Step& s) {
  bool scc = w.scc;
  const T d = f(read<T>(w, s.in.src[0]), read<T>(w, s.in.src[1]), scc);
  write(w, s.in.dst[0], d);
  w.scc = scc;
  return Flow::next;
}
template <class D, class T, auto f>
Flow unary(Wave& w, const Step& s) {
  write(w, s.in.dst[0], static_cast<D>(f(read<T>(w, s.in.src[0]))));
  return Flow::next;
}
template <class D, class T, auto f>
Flow unary_nz(Wave& w, const Step& s) {
  const D d = static_cast<D>(f(read<T>(w, s.in.src[0])));
  write(w, s.in.dst[0], d);
  w.scc = d != 0;
  return Flow::next;
}
template <class T, auto f, class U = T>
Flow compare(Wave& w, const Step& s) {
  w.scc = f(read<T>(w, s.in.src[0]), read<U>(w, s.in.src[1]));
  return Flow::next;
}
// Conditional moves keep the destination (a tied source) when SCC is 0.
template <class T>
Flow conditional_move(Wave& w, const Step& s) {
  if (w.scc) write(w, s.in.dst[0], read<T>(w, s.in.src[0]));
  return Flow::next;
}
// D = EXEC; EXEC = f(S0, EXEC); SCC = EXEC != 0. T says which part of EXEC.
template <class T, auto f>
Flow saveexec(Wave& w, const Step& s) {
  const Operand exec{.kind = OperandKind::sgpr, .reg = reg_exec};
  const T source = read<T>(w, s.in.src[0]), old = read<T>(w, exec);
  const T value = static_cast<T>(f(source, old));
  write(w, s.in.dst[0], old);
  write(w, exec, value);
  w.scc = value != 0;
  return Flow::next;
}
// As saveexec, but D receives the new EXEC.
template <class T, auto f>
Flow wrexec(Wave& w, const Step& s) {
  const Operand exec{.kind = OperandKind::sgpr, .reg = reg_exec};
  const T value = static_cast<T>(f(read<T>(w, s.in.src[0]), read<T>(w, exec)));
  write(w, exec, value);
  write(w, s.in.dst[0], value);
  w.scc = value != 0;
  return Flow::next;
}

// Register numbers are those of the word plus M0; 106 SGPRs and VCC can be reached.
template <class T>
Flow move_relative(Wave& w, const Step& s, uint64_t from_offset, uint64_t to_offset) {
  Operand from = s.in.src[0], to = s.in.dst[0];
  const uint64_t source = from.reg + from_offset, target = to.reg + to_offset;
  constexpr uint64_t end = 108 - (sizeof(T) / 4 - 1);
  if ((from_offset != 0 && source >= end) || (to_offset != 0 && target >= end))
    return w.fail(ErrorKind::input, "relative scalar register is out of range");
  if (from.is_sgpr()) from.reg = static_cast<uint16_t>(source);
  to.reg = static_cast<uint16_t>(target);
  write(w, to, read<T>(w, from));
  return Flow::next;
}
template <class T>
Flow movrels(Wave& w, const Step& s) {
  return move_relative<T>(w, s, w.m0(), 0);
}
template <class T>
Flow movreld(Wave& w, const Step& s) {
  return move_relative<T>(w, s, 0, w.m0());
}
Flow movrelsd_2(Wave& w, const Step& s) {
  return move_relative<uint32_t>(w, s, w.m0() & 0x3ff, w.m0() >> 16 & 0x3ff);
}

template <class T>
constexpr unsigned width = 8 * sizeof(T);

template <class T>
T bitfield_mask(uint32_t count, uint32_t offset) {
  return static_cast<T>(((T{1} << count % width<T>)-1) << offset % width<T>);
}
// Field offset in bits 0.., width in bits 22:16 of the second source; a width beyond the rest takes all of
// it.
template <class T>
T extract(T value, uint32_t field) {
  using U = std::make_unsigned_t<T>;
  const unsigned offset = field % width<T>, count = field >> 16 & 0x7f;
  if (count == 0) return 0;
  if (count + offset >= width<T>) return static_cast<T>(value >> offset);
  const U top = static_cast<U>(static_cast<U>(value) << (width<T> - count - offset));
  return static_cast<T>(static_cast<T>(top) >> (width<T> - count));
}
template <class T>
T whole_quads(T mask) {
  T any = mask | mask >> 1;
  any = (any | any >> 2) & static_cast<T>(0x1111'1111'1111'1111);
  return any * 15;
}
template <class T>
T quad_mask(T mask) {
  T out = 0;
  for (unsigned i = 0; i < width<T> / 4; ++i)
    if ((mask >> 4 * i & 15) != 0) out |= T{1} << i;
  return out;
}
template <class T>
T reverse(T value) {
  T out = 0;
  for (unsigned i = 0; i < width<T>; ++i) out = static_cast<T>(out << 1 | (value >> i & 1));
  return out;
}
template <class T>
int32_t first_one(T value) {
  return value == 0 ? -1 : std::countr_zero(value);
}
template <class T>
int32_t leading_zeros(T value) {
  return value == 0 ? -1 : std::countl_zero(value);
}
// How many bits from the top equal the sign bit; -1 when all do.
template <class T>
int32_t leading_signs(T value) {
  using S = std::make_signed_t<T>;
  const T flipped = static_cast<S>(value) < 0 ? static_cast<T>(~value) : value;
  return leading_zeros(flipped);
}
uint64_t replicate(uint32_t value) {
  uint64_t out = 0;
  for (unsigned i = 0; i < 32; ++i)
    if ((value >> i & 1) != 0) out |= uint64_t{3} << 2 * i;
  return out;
}

constexpr auto add_u = [](uint32_t a, uint32_t b, bool& scc) {
  const uint64_t sum = uint64_t{a} + b;
  scc = sum >> 32 != 0;
  return static_cast<uint32_t>(sum);
};
constexpr auto addc_u = [](uint32_t a, uint32_t b, bool& scc) {
  const uint64_t sum = uint64_t{a} + b + (scc ? 1 : 0);
  scc = sum >> 32 != 0;
  return static_cast<uint32_t>(sum);
};
constexpr auto sub_u = [](uint32_t a, uint32_t b, bool& scc) {
  scc = b > a;
  return a - b;
};
constexpr auto subb_u = [](uint32_t a, uint32_t b, bool& scc) {
  const uint64_t taken = uint64_t{b} + (scc ? 1 : 0);
  scc = taken > a;
  return static_cast<uint32_t>(a - taken);
};
constexpr auto add_i = [](uint32_t a, uint32_t b, bool& scc) {
  const uint32_t d = a + b;
  scc = (~(a ^ b) & (a ^ d)) >> 31 != 0;
  return d;
};
constexpr auto sub_i = [](uint32_t a, uint32_t b, bool& scc) {
  const uint32_t d = a - b;
  scc = ((a ^ b) & (a ^ d)) >> 31 != 0;
  return d;
};
template <unsigned n>
constexpr auto lshl_add = [](uint32_t a, uint32_t b, bool& scc) {
  const uint64_t sum = (uint64_t{a} << n) + b;
  scc = sum >> 32 != 0;
  return static_cast<uint32_t>(sum);
};
template <class T>
constexpr auto min_of = [](T a, T b, bool& scc) { return (scc = a < b) ? a : b; };
template <class T>
constexpr auto max_of = [](T a, T b, bool& scc) { return (scc = a > b) ? a : b; };

template <class T>
void add_logic(HandlerTable& t, std::initializer_list<Opcode> row) {
  const Opcode* o = row.begin();
  const auto next = [&](Handler h) { t[static_cast<unsigned>(*o++)] = h; };
  next(binary_nz<T, [](T a, T b) { return a & b; }>);
  next(binary_nz<T, [](T a, T b) { return a | b; }>);
  next(binary_nz<T, [](T a, T b) { return a ^ b; }>);
  next(binary_nz<T, [](T a, T b) { return a & ~b; }>);
  next(binary_nz<T, [](T a, T b) { return a | ~b; }>);
  next(binary_nz<T, [](T a, T b) { return ~(a & b); }>);
  next(binary_nz<T, [](T a, T b) { return ~(a | b); }>);
  next(binary_nz<T, [](T a, T b) { return ~(a ^ b); }>);
}

template <class T>
void add_saveexec(HandlerTable& t, std::initializer_list<Opcode> row) {
  const Opcode* o = row.begin();
  const auto next = [&](Handler h) { t[static_cast<unsigned>(*o++)] = h; };
  next(saveexec<T, [](T a, T e) { return a & e; }>);
  next(saveexec<T, [](T a, T e) { return a | e; }>);
  next(saveexec<T, [](T a, T e) { return a ^ e; }>);
  next(saveexec<T, [](T a, T e) { return a & ~e; }>);
  next(saveexec<T, [](T a, T e) { return a | ~e; }>);
  next(saveexec<T, [](T a, T e) { return ~(a & e); }>);
  next(saveexec<T, [](T a, T e) { return ~(a | e); }>);
  next(saveexec<T, [](T a, T e) { return ~(a ^ e); }>);
  next(saveexec<T, [](T a, T e) { return ~a & e; }>);
  next(saveexec<T, [](T a, T e) { return ~a | e; }>);
  next(wrexec<T, [](T a, T e) { return ~a & e; }>);
  next(wrexec<T, [](T a, T e) { return a & ~e; }>);
}

void add_scalar_arithmetic(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler h) { t[static_cast<unsigned>(o)] = h; };
  set(s_add_u32, binary_carry<uint32_t, add_u>);
  set(s_sub_u32, binary_carry<uint32_t, sub_u>);
  set(s_add_i32, binary_carry<uint32_t, add_i>);
  set(s_sub_i32, binary_carry<uint32_t, sub_i>);
  set(s_addk_i32, binary_carry<uint32_t, add_i>);
  set(s_addc_u32, binary_carry<uint32_t, addc_u>);
  set(s_subb_u32, binary_carry<uint32_t, subb_u>);
  set(s_min_i32, binary_carry<int32_t, min_of<int32_t>>);
  set(s_min_u32, binary_carry<uint32_t, min_of<uint32_t>>);
  set(s_max_i32, binary_carry<int32_t, max_of<int32_t>>);
  set(s_max_u32, binary_carry<uint32_t, max_of<uint32_t>>);
  set(s_lshl1_add_u32, binary_carry<uint32_t, lshl_add<1>>);
  set(s_lshl2_add_u32, binary_carry<uint32_t, lshl_add<2>>);
  set(s_lshl3_add_u32, binary_carry<uint32_t, lshl_add<3>>);
  set(s_lshl4_add_u32, binary_carry<uint32_t, lshl_add<4>>);
  set(s_mul_i32, binary<uint32_t, [](uint32_t a, uint32_t b) { return a * b; }>);
  set(s_mulk_i32, binary<uint32_t, [](uint32_t a, uint32_t b) { return a * b; }>);
  set(s_mul_hi_u32, binary<uint32_t, [](uint32_t a, uint32_t b) { return (uint64_t{a} * b >> 32); }>);
  set(s_mul_hi_i32, binary<int32_t, [](int32_t a, int32_t b) { return (int64_t{a} * b >> 32); }>);
  set(s_absdiff_i32, binary_nz<uint32_t, [](uint32_t a, uint32_t b) {
        const uint32_t d = a - b;
        return static_cast<int32_t>(d) < 0 ? 0u - d : d;
      }>);
  set(s_abs_i32,
      unary_nz<uint32_t, uint32_t, [](uint32_t a) { return (static_cast<int32_t>(a) < 0 ? 0u - a : a); }>);
  set(s_sext_i32_i8, unary<int32_t, uint32_t, [](uint32_t a) { return (int32_t{static_cast<int8_t>(a)}); }>);
  set(s_sext_i32_i16,
      unary<int32_t, uint32_t, [](uint32_t a) { return (int32_t{static_cast<int16_t>(a)}); }>);
}

void add_shifts(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler h) { t[static_cast<unsigned>(o)] = h; };
  set(s_lshl_b32, binary_nz<uint32_t, [](uint32_t a, uint32_t b) { return a << (b & 31); }>);
  set(s_lshr_b32, binary_nz<uint32_t, [](uint32_t a, uint32_t b) { return (a >> (b & 31)); }>);
  set(s_ashr_i32, binary_nz<int32_t, [](int32_t a, uint32_t b) { return (a >> (b & 31)); }, uint32_t>);
  set(s_lshl_b64, binary_nz<uint64_t, [](uint64_t a, uint32_t b) { return a << (b & 63); }, uint32_t>);
  set(s_lshr_b64, binary_nz<uint64_t, [](uint64_t a, uint32_t b) { return (a >> (b & 63)); }, uint32_t>);
  set(s_ashr_i64, binary_nz<int64_t, [](int64_t a, uint32_t b) { return (a >> (b & 63)); }, uint32_t>);
  set(s_bfm_b32, binary<uint32_t, bitfield_mask<uint32_t>>);
  set(s_bfm_b64, [](Wave& w, const Step& s) {
    w.write64(s.in.dst[0], bitfield_mask<uint64_t>(w.read32(s.in.src[0]), w.read32(s.in.src[1])));
    return Flow::next;
  });
  set(s_bfe_u32, binary_nz<uint32_t, extract<uint32_t>, uint32_t>);
  set(s_bfe_i32, binary_nz<int32_t, extract<int32_t>, uint32_t>);
  set(s_bfe_u64, binary_nz<uint64_t, extract<uint64_t>, uint32_t>);
  set(s_bfe_i64, binary_nz<int64_t, extract<int64_t>, uint32_t>);
  set(s_pack_ll_b32_b16, binary<uint32_t, [](uint32_t a, uint32_t b) { return b << 16 | (a & 0xffff); }>);
  set(s_pack_lh_b32_b16,
      binary<uint32_t, [](uint32_t a, uint32_t b) { return (b & 0xffff0000) | (a & 0xffff); }>);
  set(s_pack_hh_b32_b16,
      binary<uint32_t, [](uint32_t a, uint32_t b) { return ((b & 0xffff0000) | a >> 16); }>);
}

template <class T>
Flow bitset(Wave& w, const Step& s) {
  const bool one = s.in.opcode == Opcode::s_bitset1_b32 || s.in.opcode == Opcode::s_bitset1_b64;
  const T bit = T{1} << w.read32(s.in.src[0]) % width<T>, old = read<T>(w, s.in.dst[0]);
  write(w, s.in.dst[0], static_cast<T>(one ? old | bit : old & ~bit));
  return Flow::next;
}

void add_scalar_bits(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler h) { t[static_cast<unsigned>(o)] = h; };
  set(s_not_b32, unary_nz<uint32_t, uint32_t, [](uint32_t a) { return ~a; }>);
  set(s_not_b64, unary_nz<uint64_t, uint64_t, [](uint64_t a) { return ~a; }>);
  set(s_wqm_b32, unary_nz<uint32_t, uint32_t, whole_quads<uint32_t>>);
  set(s_wqm_b64, unary_nz<uint64_t, uint64_t, whole_quads<uint64_t>>);
  set(s_quadmask_b32, unary_nz<uint32_t, uint32_t, quad_mask<uint32_t>>);
  set(s_quadmask_b64, unary_nz<uint64_t, uint64_t, quad_mask<uint64_t>>);
  set(s_brev_b32, unary<uint32_t, uint32_t, reverse<uint32_t>>);
  set(s_brev_b64, unary<uint64_t, uint64_t, reverse<uint64_t>>);
  set(s_bcnt0_i32_b32, unary_nz<int32_t, uint32_t, [](uint32_t a) { return std::popcount(~a); }>);
  set(s_bcnt0_i32_b64, unary_nz<int32_t, uint64_t, [](uint64_t a) { return std::popcount(~a); }>);
  set(s_bcnt1_i32_b32, unary_nz<int32_t, uint32_t, [](uint32_t a) { return std::popcount(a); }>);
  set(s_bcnt1_i32_b64, unary_nz<int32_t, uint64_t, [](uint64_t a) { return std::popcount(a); }>);
  set(s_ff0_i32_b32, unary<int32_t, uint32_t, [](uint32_t a) { return first_one(~a); }>);
  set(s_ff0_i32_b64, unary<int32_t, uint64_t, [](uint64_t a) { return first_one(~a); }>);
  set(s_ff1_i32_b32, unary<int32_t, uint32_t, first_one<uint32_t>>);
  set(s_ff1_i32_b64, unary<int32_t, uint64_t, first_one<uint64_t>>);
  set(s_flbit_i32_b32, unary<int32_t, uint32_t, leading_zeros<uint32_t>>);
  set(s_flbit_i32_b64, unary<int32_t, uint64_t, leading_zeros<uint64_t>>);
  set(s_flbit_i32, unary<int32_t, uint32_t, leading_signs<uint32_t>>);
  set(s_flbit_i32_i64, unary<int32_t, uint64_t, leading_signs<uint64_t>>);
  set(s_bitset0_b32, bitset<uint32_t>);
  set(s_bitset1_b32, bitset<uint32_t>);
  set(s_bitset0_b64, bitset<uint64_t>);
  set(s_bitset1_b64, bitset<uint64_t>);
  set(s_bitreplicate_b64_b32, unary<uint64_t, uint32_t, replicate>);
}

void add_moves(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler h) { t[static_cast<unsigned>(o)] = h; };
  set(s_mov_b32, unary<uint32_t, uint32_t, [](uint32_t a) { return a; }>);
  set(s_mov_b64, unary<uint64_t, uint64_t, [](uint64_t a) { return a; }>);
  set(s_movk_i32, unary<uint32_t, uint32_t, [](uint32_t a) { return a; }>);
  set(s_cmov_b32, conditional_move<uint32_t>);
  set(s_cmov_b64, conditional_move<uint64_t>);
  set(s_cmovk_i32, conditional_move<uint32_t>);
  set(s_cselect_b32,
      binary_carry<uint32_t, [](uint32_t a, uint32_t b, const bool& scc) { return scc ? a : b; }>);
  set(s_cselect_b64,
      binary_carry<uint64_t, [](uint64_t a, uint64_t b, const bool& scc) { return scc ? a : b; }>);
  set(s_movrels_b32, movrels<uint32_t>);
  set(s_movrels_b64, movrels<uint64_t>);
  set(s_movreld_b32, movreld<uint32_t>);
  set(s_movreld_b64, movreld<uint64_t>);
  set(s_movrelsd_2_b32, movrelsd_2);
}

void add_compares(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode a, Opcode b, Handler h) {
    t[static_cast<unsigned>(a)] = t[static_cast<unsigned>(b)] = h;
  };
  using i = int32_t;
  using u = uint32_t;
  set(s_cmp_eq_i32, s_cmpk_eq_i32, compare<i, [](i a, i b) { return a == b; }>);
  set(s_cmp_lg_i32, s_cmpk_lg_i32, compare<i, [](i a, i b) { return a != b; }>);
  set(s_cmp_gt_i32, s_cmpk_gt_i32, compare<i, [](i a, i b) { return (a > b); }>);
  set(s_cmp_ge_i32, s_cmpk_ge_i32, compare<i, [](i a, i b) { return (a >= b); }>);
  set(s_cmp_lt_i32, s_cmpk_lt_i32, compare<i, [](i a, i b) { return a < b; }>);
  set(s_cmp_le_i32, s_cmpk_le_i32, compare<i, [](i a, i b) { return a <= b; }>);
  set(s_cmp_eq_u32, s_cmpk_eq_u32, compare<u, [](u a, u b) { return a == b; }>);
  set(s_cmp_lg_u32, s_cmpk_lg_u32, compare<u, [](u a, u b) { return a != b; }>);
  set(s_cmp_gt_u32, s_cmpk_gt_u32, compare<u, [](u a, u b) { return (a > b); }>);
  set(s_cmp_ge_u32, s_cmpk_ge_u32, compare<u, [](u a, u b) { return (a >= b); }>);
  set(s_cmp_lt_u32, s_cmpk_lt_u32, compare<u, [](u a, u b) { return a < b; }>);
  set(s_cmp_le_u32, s_cmpk_le_u32, compare<u, [](u a, u b) { return a <= b; }>);
  const auto one = [&](Opcode a, Handler h) { t[static_cast<unsigned>(a)] = h; };
  one(s_bitcmp0_b32, compare<u, [](u a, u b) { return ((a >> (b & 31) & 1) == 0); }>);
  one(s_bitcmp1_b32, compare<u, [](u a, u b) { return ((a >> (b & 31) & 1) == 1); }>);
  one(s_bitcmp0_b64, compare<uint64_t, [](uint64_t a, u b) { return ((a >> (b & 63) & 1) == 0); }, u>);
  one(s_bitcmp1_b64, compare<uint64_t, [](uint64_t a, u b) { return ((a >> (b & 63) & 1) == 1); }, u>);
  one(s_cmp_eq_u64, compare<uint64_t, [](uint64_t a, uint64_t b) { return a == b; }>);
  one(s_cmp_lg_u64, compare<uint64_t, [](uint64_t a, uint64_t b) { return a != b; }>);
}

} // namespace

void add_salu(HandlerTable& t) {
  using enum Opcode;
  add_scalar_arithmetic(t);
  add_shifts(t);
  add_scalar_bits(t);
  add_moves(t);
  add_compares(t);
  add_logic<uint32_t>(
      t, {s_and_b32, s_or_b32, s_xor_b32, s_andn2_b32, s_orn2_b32, s_nand_b32, s_nor_b32, s_xnor_b32});
  add_logic<uint64_t>(
      t, {s_and_b64, s_or_b64, s_xor_b64, s_andn2_b64, s_orn2_b64, s_nand_b64, s_nor_b64, s_xnor_b64});
  add_saveexec<uint32_t>(t,
                         {s_and_saveexec_b32, s_or_saveexec_b32, s_xor_saveexec_b32, s_andn2_saveexec_b32,
                          s_orn2_saveexec_b32, s_nand_saveexec_b32, s_nor_saveexec_b32, s_xnor_saveexec_b32,
                          s_andn1_saveexec_b32, s_orn1_saveexec_b32, s_andn1_wrexec_b32, s_andn2_wrexec_b32});
  add_saveexec<uint64_t>(t,
                         {s_and_saveexec_b64, s_or_saveexec_b64, s_xor_saveexec_b64, s_andn2_saveexec_b64,
                          s_orn2_saveexec_b64, s_nand_saveexec_b64, s_nor_saveexec_b64, s_xnor_saveexec_b64,
                          s_andn1_saveexec_b64, s_orn1_saveexec_b64, s_andn1_wrexec_b64, s_andn2_wrexec_b64});
}

} // namespace lanewise::rdna2::emu
