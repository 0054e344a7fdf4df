// Vector ALU on 32-bit integers and bits (RDNA2 ISA, 12.7, 12.8 and 12.12).
#include "rdna2/emu_lanes.hpp"

#include <algorithm>

namespace lanewise::rdna2::emu {
namespace {

using u = uint32_t;

constexpr int32_t i(u a) { return static_cast<int32_t>(a); }
constexpr u word(int32_t a) { return static_cast<u>(a); }
constexpr int32_t i24(u a) { return static_cast<int32_t>(a << 8) >> 8; }
constexpr u u24(u a) { return a & 0xff'ffff; }
constexpr u low(uint64_t a) { return static_cast<u>(a); }
constexpr u high(uint64_t a) { return static_cast<u>(a >> 32); }
constexpr u saturate_u(uint64_t a) { return a > 0xffff'ffff ? 0xffff'ffff : low(a); }
constexpr u saturate_i(int64_t a) {
  return a > INT32_MAX ? word(INT32_MAX) : a < INT32_MIN ? word(INT32_MIN) : low(static_cast<uint64_t>(a));
}

// Wraps around, or saturates when the instruction's clamp bit is set.
template <auto wrapping, auto saturating>
Flow clamped_2(Wave& w, const Step& s) {
  return s.in.clamp ? lane32_2<saturating>(w, s) : lane32_2<wrapping>(w, s);
}
template <auto wrapping, auto saturating>
Flow clamped_3(Wave& w, const Step& s) {
  return s.in.clamp ? lane32_3<saturating>(w, s) : lane32_3<wrapping>(w, s);
}

constexpr u reverse(u v) {
  v = (v >> 1 & 0x5555'5555) | (v & 0x5555'5555) << 1;
  v = (v >> 2 & 0x3333'3333) | (v & 0x3333'3333) << 2;
  v = (v >> 4 & 0x0f0f'0f0f) | (v & 0x0f0f'0f0f) << 4;
  return v >> 24 | (v >> 8 & 0xff00) | (v & 0xff00) << 8 | v << 24;
}
constexpr u leading_zeros(u a) { return a == 0 ? ~0u : word(std::countl_zero(a)); }
constexpr u leading_signs(u a) { return leading_zeros(i(a) < 0 ? ~a : a); }
constexpr u first_one(u a) { return a == 0 ? ~0u : word(std::countr_zero(a)); }

constexpr u bfe_u(u a, u offset, u width) { return (a >> (offset & 31)) & ((1u << (width & 31)) - 1); }
// A field that runs past bit 31 is filled with the sign.
constexpr u bfe_i(u a, u offset, u width) {
  offset &= 31, width &= 31;
  if (width == 0) return 0;
  const u field = word(i(a) >> offset);
  if (offset + width >= 32) return field;
  return word(static_cast<int32_t>(field << (32 - width)) >> (32 - width));
}
constexpr u bfi(u mask, u a, u b) { return (mask & a) | (~mask & b); }
constexpr u align(u a, u b, unsigned shift) { return low((uint64_t{a} << 32 | b) >> shift); }

constexpr u perm(u a, u b, u select) {
  const uint64_t in = uint64_t{a} << 32 | b;
  u out = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const u sel = select >> 8 * k & 0xff;
    u byte = 0;
    if (sel >= 13)
      byte = 0xff;
    else if (sel == 12)
      byte = 0;
    else if (sel >= 8)
      byte = (in >> (16 * (sel - 8) + 15) & 1) != 0 ? 0xff : 0; // sign of byte 1, 3, 5, 7
    else
      byte = low(in >> 8 * sel) & 0xff;
    out |= byte << 8 * k;
  }
  return out;
}

constexpr u lerp_u8(u a, u b, u round) {
  u out = 0;
  for (unsigned k = 0; k < 32; k += 8)
    out |= ((a >> k & 0xff) + (b >> k & 0xff) + (round >> k & 1)) >> 1 << k;
  return out;
}

constexpr u difference(u a, u b) { return a > b ? a - b : b - a; }
constexpr uint64_t sad_u8(u a, u b, u c) {
  uint64_t sum = c;
  for (unsigned k = 0; k < 32; k += 8) sum += difference(a >> k & 0xff, b >> k & 0xff);
  return sum;
}
constexpr uint64_t sad_hi_u8(u a, u b, u c) { return (sad_u8(a, b, 0) << 16) + c; }
constexpr uint64_t sad_u16(u a, u b, u c) {
  return uint64_t{c} + difference(a & 0xffff, b & 0xffff) + difference(a >> 16, b >> 16);
}
constexpr uint64_t sad_u32(u a, u b, u c) { return uint64_t{difference(a, b)} + c; }
// Bytes where the reference (second operand) is 0 do not count.
constexpr uint64_t msad_u8(u a, u b, u c) {
  uint64_t sum = c;
  for (unsigned k = 0; k < 32; k += 8)
    if ((b >> k & 0xff) != 0) sum += difference(a >> k & 0xff, b >> k & 0xff);
  return sum;
}
template <auto f>
Flow sum_of_differences(Wave& w, const Step& s) {
  return clamped_3<[](u a, u b, u c) { return low(f(a, b, c)); },
                   [](u a, u b, u c) { return saturate_u(f(a, b, c)); }>(w, s);
}

template <class T>
constexpr u median(T a, T b, T c) {
  const T most = std::max(std::max(a, b), c);
  if (most == a) return static_cast<u>(std::max(b, c));
  if (most == b) return static_cast<u>(std::max(a, c));
  return static_cast<u>(std::max(a, b));
}

constexpr u saturate_byte(u half) {
  const auto v = static_cast<int16_t>(half);
  return v < 0 ? 0u : v > 255 ? 255u : static_cast<u>(v);
}

void add_vector_arithmetic(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler h) { t[static_cast<unsigned>(o)] = h; };
  set(v_add_nc_u32,
      clamped_2<[](u a, u b) { return a + b; }, [](u a, u b) { return saturate_u(uint64_t{a} + b); }>);
  set(v_sub_nc_u32, clamped_2<[](u a, u b) { return a - b; }, [](u a, u b) { return a < b ? 0 : a - b; }>);
  set(v_subrev_nc_u32, clamped_2<[](u a, u b) { return b - a; }, [](u a, u b) { return b < a ? 0 : b - a; }>);
  set(v_add_nc_i32,
      clamped_2<[](u a, u b) { return a + b; }, [](u a, u b) { return saturate_i(int64_t{i(a)} + i(b)); }>);
  set(v_sub_nc_i32,
      clamped_2<[](u a, u b) { return a - b; }, [](u a, u b) { return saturate_i(int64_t{i(a)} - i(b)); }>);
  set(v_mul_lo_u32, lane32_2<[](u a, u b) { return a * b; }>);
  set(v_mul_hi_u32, lane32_2<[](u a, u b) { return high(uint64_t{a} * b); }>);
  set(v_mul_hi_i32, lane32_2<[](u a, u b) { return (high(static_cast<uint64_t>(int64_t{i(a)} * i(b)))); }>);
  set(v_mul_i32_i24,
      clamped_2<[](u a, u b) { return (low(static_cast<uint64_t>(int64_t{i24(a)} * i24(b)))); },
                [](u a, u b) { return saturate_i(int64_t{i24(a)} * i24(b)); }>);
  set(v_mul_hi_i32_i24,
      lane32_2<[](u a, u b) { return (high(static_cast<uint64_t>(int64_t{i24(a)} * i24(b)))); }>);
  set(v_mul_u32_u24, clamped_2<[](u a, u b) { return low(uint64_t{u24(a)} * u24(b)); },
                               [](u a, u b) { return saturate_u(uint64_t{u24(a)} * u24(b)); }>);
  set(v_mul_hi_u32_u24, lane32_2<[](u a, u b) { return high(uint64_t{u24(a)} * u24(b)); }>);
  set(v_mad_i32_i24,
      clamped_3<[](u a, u b, u c) { return (low(static_cast<uint64_t>(int64_t{i24(a)} * i24(b) + i(c)))); },
                [](u a, u b, u c) { return saturate_i(int64_t{i24(a)} * i24(b) + i(c)); }>);
  set(v_mad_u32_u24, clamped_3<[](u a, u b, u c) { return low(uint64_t{u24(a)} * u24(b) + c); },
                               [](u a, u b, u c) { return saturate_u(uint64_t{u24(a)} * u24(b) + c); }>);
  set(v_add3_u32, lane32_3<[](u a, u b, u c) { return a + b + c; }>);
  set(v_lshl_add_u32, lane32_3<[](u a, u b, u c) { return (a << (b & 31)) + c; }>);
  set(v_add_lshl_u32, lane32_3<[](u a, u b, u c) { return (a + b) << (c & 31); }>);
  set(v_xad_u32, lane32_3<[](u a, u b, u c) { return (a ^ b) + c; }>);
}

void add_order(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler h) { t[static_cast<unsigned>(o)] = h; };
  set(v_min_i32, lane32_2<[](u a, u b) { return i(a) < i(b) ? a : b; }>);
  set(v_max_i32, lane32_2<[](u a, u b) { return (i(a) >= i(b) ? a : b); }>);
  set(v_min_u32, lane32_2<[](u a, u b) { return a < b ? a : b; }>);
  set(v_max_u32, lane32_2<[](u a, u b) { return (a >= b ? a : b); }>);
  set(v_min3_i32, lane32_3<[](u a, u b, u c) { return word(std::min(std::min(i(a), i(b)), i(c))); }>);
  set(v_max3_i32, lane32_3<[](u a, u b, u c) { return word(std::max(std::max(i(a), i(b)), i(c))); }>);
  set(v_med3_i32, lane32_3<[](u a, u b, u c) { return median(i(a), i(b), i(c)); }>);
  set(v_min3_u32, lane32_3<[](u a, u b, u c) { return std::min(std::min(a, b), c); }>);
  set(v_max3_u32, lane32_3<[](u a, u b, u c) { return std::max(std::max(a, b), c); }>);
  set(v_med3_u32, lane32_3<[](u a, u b, u c) { return median(a, b, c); }>);
}

void add_vector_bits(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler h) { t[static_cast<unsigned>(o)] = h; };
  set(v_mov_b32, lane32_1<[](u a) { return a; }>);
  set(v_not_b32, lane32_1<[](u a) { return ~a; }>);
  set(v_bfrev_b32, lane32_1<reverse>);
  set(v_ffbh_u32, lane32_1<leading_zeros>);
  set(v_ffbh_i32, lane32_1<leading_signs>);
  set(v_ffbl_b32, lane32_1<first_one>);
  set(v_and_b32, lane32_2<[](u a, u b) { return a & b; }>);
  set(v_or_b32, lane32_2<[](u a, u b) { return a | b; }>);
  set(v_xor_b32, lane32_2<[](u a, u b) { return a ^ b; }>);
  set(v_xnor_b32, lane32_2<[](u a, u b) { return ~(a ^ b); }>);
  set(v_lshlrev_b32, lane32_2<[](u a, u b) { return b << (a & 31); }>);
  set(v_lshrrev_b32, lane32_2<[](u a, u b) { return (b >> (a & 31)); }>);
  set(v_ashrrev_i32, lane32_2<[](u a, u b) { return (word(i(b) >> (a & 31))); }>);
  set(v_bfm_b32, lane32_2<[](u a, u b) { return ((1u << (a & 31)) - 1) << (b & 31); }>);
  set(v_bcnt_u32_b32, lane32_2<[](u a, u b) { return word(std::popcount(a)) + b; }>);
  set(v_bfe_u32, lane32_3<bfe_u>);
  set(v_bfe_i32, lane32_3<bfe_i>);
  set(v_bfi_b32, lane32_3<bfi>);
  set(v_xor3_b32, lane32_3<[](u a, u b, u c) { return a ^ b ^ c; }>);
  set(v_or3_b32, lane32_3<[](u a, u b, u c) { return a | b | c; }>);
  set(v_and_or_b32, lane32_3<[](u a, u b, u c) { return (a & b) | c; }>);
  set(v_lshl_or_b32, lane32_3<[](u a, u b, u c) { return (a << (b & 31)) | c; }>);
  set(v_alignbit_b32, lane32_3<[](u a, u b, u c) { return align(a, b, c & 31); }>);
  set(v_alignbyte_b32, lane32_3<[](u a, u b, u c) { return align(a, b, 8 * (c & 3)); }>);
  set(v_perm_b32, lane32_3<perm>);
  set(v_lerp_u8, lane32_3<lerp_u8>);
  set(v_sad_u8, sum_of_differences<sad_u8>);
  set(v_sad_hi_u8, sum_of_differences<sad_hi_u8>);
  set(v_sad_u16, sum_of_differences<sad_u16>);
  set(v_sad_u32, sum_of_differences<sad_u32>);
  set(v_msad_u8, sum_of_differences<msad_u8>);
  set(v_sat_pk_u8_i16, lane32_1<[](u a) { return (saturate_byte(a) | saturate_byte(a >> 16) << 8); }>);
  set(v_cvt_pk_u16_u32, lane32_2<[](u a, u b) { return std::min(a, 0xffffu) | std::min(b, 0xffffu) << 16; }>);
  set(v_cvt_pk_i16_i32, lane32_2<[](u a, u b) {
        return (word(std::clamp(i(a), -32768, 32767)) & 0xffff) | word(std::clamp(i(b), -32768, 32767)) << 16;
      }>);
}

// v_cndmask: the mask chooses the second source.
Flow conditional_mask(Wave& w, const Step& s) {
  Vector x(w, s);
  Lanes<u> a, b, out;
  const u* p = x.source32(0, a);
  const u* q = x.source32(1, b);
  const uint64_t mask = x.source_mask(2);
  each_lane(x.lanes(), [&](unsigned l) { out[l] = (mask >> l & 1) != 0 ? q[l] : p[l]; });
  x.write32(out.at);
  return Flow::next;
}

} // namespace

void add_integer(HandlerTable& t) {
  add_vector_arithmetic(t);
  add_order(t);
  add_vector_bits(t);
  t[static_cast<unsigned>(Opcode::v_cndmask_b32)] = conditional_mask;
}

} // namespace lanewise::rdna2::emu
