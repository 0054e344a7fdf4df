// Integer vector ALU against host computations written another way: wide arithmetic and loops over bits.
#include "emulator_harness.hpp"

#include <algorithm>

namespace lanewise::rdna2::emu {
namespace {

using enum Opcode;
using u = uint32_t;
using i64 = int64_t;
using u64 = uint64_t;

i64 s32(u v) { return static_cast<int32_t>(v); }
i64 s16(u v) { return static_cast<int16_t>(v); }
i64 s24(u v) { return (v & 0x800000) != 0 ? i64{v & 0xffffff} - 0x1000000 : i64{v & 0xffffff}; }
bool bit(u64 v, unsigned n) { return (v >> n & 1) != 0; }
u field(u v, unsigned low, unsigned count) {
  u out = 0;
  for (unsigned k = 0; k < count && low + k < 32; ++k) out |= u{bit(v, low + k)} << k;
  return out;
}

struct IntegerRow {
  Opcode opcode;
  u (*expected)(u a, u b, u c);
  bool clamp = false;
};

u median(i64 a, i64 b, i64 c) {
  std::array<i64, 3> v{a, b, c};
  std::sort(v.begin(), v.end());
  return static_cast<u>(v[1]);
}
u bytes(u a, u b, u (*f)(u, u)) {
  u out = 0;
  for (unsigned k = 0; k < 4; ++k) out += f(field(a, 8 * k, 8), field(b, 8 * k, 8));
  return out;
}
u distance(u a, u b) { return static_cast<u>(std::abs(i64{a} - i64{b})); }
u clamp_signed(i64 v) { return static_cast<u>(std::min<i64>(std::max<i64>(v, INT32_MIN), INT32_MAX)); }
u clamp_unsigned(i64 v) { return static_cast<u>(std::min<i64>(std::max<i64>(v, 0), UINT32_MAX)); }

const IntegerRow integer_rows[] = {
    {v_mov_b32, [](u a, u, u) { return a; }},
    {v_not_b32, [](u a, u, u) { return a ^ 0xffffffff; }},
    {v_bfrev_b32, [](u a, u, u) { u r = 0; for (unsigned k = 0; k < 32; ++k) r |= u{bit(a, k)} << (31 - k); return r; }},
    {v_ffbh_u32, [](u a, u, u) { for (unsigned k = 0; k < 32; ++k) if (bit(a, 31 - k)) return k; return ~0u; }},
    {v_ffbh_i32, [](u a, u, u) { for (unsigned k = 1; k < 32; ++k) if (bit(a, 31 - k) != bit(a, 31)) return k; return ~0u; }},
    {v_ffbl_b32, [](u a, u, u) { for (unsigned k = 0; k < 32; ++k) if (bit(a, k)) return k; return ~0u; }},
    {v_add_nc_u32, [](u a, u b, u) { return static_cast<u>(u64{a} + b); }},
    {v_add_nc_u32, [](u a, u b, u) { return clamp_unsigned(i64{a} + b); }, true},
    {v_sub_nc_u32, [](u a, u b, u) { return static_cast<u>(u64{a} - b); }},
    {v_sub_nc_u32, [](u a, u b, u) { return clamp_unsigned(i64{a} - b); }, true},
    {v_subrev_nc_u32, [](u a, u b, u) { return static_cast<u>(u64{b} - a); }},
    {v_add_nc_i32, [](u a, u b, u) { return clamp_signed(s32(a) + s32(b)); }, true},
    {v_sub_nc_i32, [](u a, u b, u) { return clamp_signed(s32(a) - s32(b)); }, true},
    {v_mul_lo_u32, [](u a, u b, u) { return static_cast<u>(u64{a} * b); }},
    {v_mul_hi_u32, [](u a, u b, u) { return static_cast<u>(static_cast<unsigned __int128>(a) * b >> 32); }},
    {v_mul_hi_i32, [](u a, u b, u) { return static_cast<u>(static_cast<__int128>(s32(a)) * s32(b) >> 32); }},
    {v_mul_i32_i24, [](u a, u b, u) { return static_cast<u>(s24(a) * s24(b)); }},
    {v_mul_hi_i32_i24, [](u a, u b, u) { return static_cast<u>(s24(a) * s24(b) >> 32); }},
    {v_mul_u32_u24, [](u a, u b, u) { return static_cast<u>(u64{field(a, 0, 24)} * field(b, 0, 24)); }},
    {v_mul_hi_u32_u24, [](u a, u b, u) { return static_cast<u>(u64{field(a, 0, 24)} * field(b, 0, 24) >> 32); }},
    {v_mad_i32_i24, [](u a, u b, u c) { return static_cast<u>(s24(a) * s24(b) + s32(c)); }},
    {v_mad_i32_i24, [](u a, u b, u c) { return clamp_signed(s24(a) * s24(b) + s32(c)); }, true},
    {v_mad_u32_u24, [](u a, u b, u c) { return static_cast<u>(u64{field(a, 0, 24)} * field(b, 0, 24) + c); }},
    {v_mad_u32_u24, [](u a, u b, u c) { return clamp_unsigned(i64{field(a, 0, 24)} * field(b, 0, 24) + c); }, true},
    {v_add3_u32, [](u a, u b, u c) { return static_cast<u>(u64{a} + b + c); }},
    {v_lshl_add_u32, [](u a, u b, u c) { return static_cast<u>((u64{a} << b % 32) + c); }},
    {v_add_lshl_u32, [](u a, u b, u c) { return static_cast<u>((u64{a} + b) << c % 32); }},
    {v_xad_u32, [](u a, u b, u c) { return static_cast<u>(u64{a ^ b} + c); }},
    {v_min_i32, [](u a, u b, u) { return static_cast<u>(std::min(s32(a), s32(b))); }},
    {v_max_i32, [](u a, u b, u) { return static_cast<u>(std::max(s32(a), s32(b))); }},
    {v_min_u32, [](u a, u b, u) { return std::min(a, b); }},
    {v_max_u32, [](u a, u b, u) { return std::max(a, b); }},
    {v_min3_i32, [](u a, u b, u c) { return static_cast<u>(std::min({s32(a), s32(b), s32(c)})); }},
    {v_max3_i32, [](u a, u b, u c) { return static_cast<u>(std::max({s32(a), s32(b), s32(c)})); }},
    {v_med3_i32, [](u a, u b, u c) { return median(s32(a), s32(b), s32(c)); }},
    {v_min3_u32, [](u a, u b, u c) { return std::min({a, b, c}); }},
    {v_max3_u32, [](u a, u b, u c) { return std::max({a, b, c}); }},
    {v_med3_u32, [](u a, u b, u c) { return median(a, b, c); }},
    {v_and_b32, [](u a, u b, u) { return a & b; }},
    {v_or_b32, [](u a, u b, u) { return a | b; }},
    {v_xor_b32, [](u a, u b, u) { return a ^ b; }},
    {v_xnor_b32, [](u a, u b, u) { return ~a ^ b; }},
    {v_xor3_b32, [](u a, u b, u c) { return a ^ b ^ c; }},
    {v_or3_b32, [](u a, u b, u c) { return a | b | c; }},
    {v_and_or_b32, [](u a, u b, u c) { return (a & b) | c; }},
    {v_lshl_or_b32, [](u a, u b, u c) { return static_cast<u>(u64{a} << b % 32) | c; }},
    {v_lshlrev_b32, [](u a, u b, u) { return static_cast<u>(u64{b} << a % 32); }},
    {v_lshrrev_b32, [](u a, u b, u) { return b >> a % 32; }},
    {v_ashrrev_i32, [](u a, u b, u) { return static_cast<u>(s32(b) >> a % 32); }},
    {v_bfm_b32, [](u a, u b, u) { u r = 0; for (unsigned k = 0; k < a % 32 && k + b % 32 < 32; ++k) r |= 1u << (k + b % 32); return r; }},
    {v_bcnt_u32_b32, [](u a, u b, u) { for (unsigned k = 0; k < 32; ++k) b += bit(a, k); return b; }},
    {v_bfe_u32, [](u a, u b, u c) { return field(a, b % 32, c % 32); }},
    {v_bfe_i32, [](u a, u b, u c) {
       const unsigned at = b % 32, count = c % 32;
       if (count == 0) return 0u;
       u r = 0;
       for (unsigned k = 0; k < 32; ++k) r |= u{bit(a, std::min(31u, at + std::min(k, count - 1)))} << k;
       return r;
     }},
    {v_bfi_b32, [](u a, u b, u c) { u r = 0; for (unsigned k = 0; k < 32; ++k) r |= u{bit(bit(a, k) ? b : c, k)} << k; return r; }},
    {v_alignbit_b32, [](u a, u b, u c) { u r = 0; for (unsigned k = 0; k < 32; ++k) r |= u{bit(u64{a} << 32 | b, k + c % 32)} << k; return r; }},
    {v_alignbyte_b32, [](u a, u b, u c) { return static_cast<u>((u64{a} << 32 | b) >> 8 * (c % 4)); }},
    {v_perm_b32, [](u a, u b, u c) {
       const auto in = [&](u k) { return field(k < 4 ? b : a, 8 * (k % 4), 8); };
       u r = 0;
       for (unsigned k = 0; k < 4; ++k) {
         const u sel = field(c, 8 * k, 8);
         u byte = 0xff;
         if (sel < 8) byte = in(sel);
         if (sel >= 8 && sel <= 11) byte = bit(in(2 * (sel - 8) + 1), 7) ? 0xff : 0;
         if (sel == 12) byte = 0;
         r |= byte << 8 * k;
       }
       return r;
     }},
    {v_lerp_u8, [](u a, u b, u c) {
       u r = 0;
       for (unsigned k = 0; k < 32; k += 8) r |= (field(a, k, 8) + field(b, k, 8) + bit(c, k)) / 2 << k;
       return r;
     }},
    {v_sad_u8, [](u a, u b, u c) { return c + bytes(a, b, distance); }},
    {v_sad_hi_u8, [](u a, u b, u c) { return c + bytes(a, b, distance) * 65536; }},
    {v_sad_u16, [](u a, u b, u c) { return c + distance(a & 0xffff, b & 0xffff) + distance(a >> 16, b >> 16); }},
    {v_sad_u32, [](u a, u b, u c) { return c + distance(a, b); }},
    {v_sad_u32, [](u a, u b, u c) { return clamp_unsigned(i64{c} + distance(a, b)); }, true},
    {v_msad_u8, [](u a, u b, u c) { return c + bytes(a, b, [](u p, u q) { return q == 0 ? 0 : distance(p, q); }); }},
    {v_sat_pk_u8_i16, [](u a, u, u) {
       const auto sat = [](i64 v) { return static_cast<u>(std::min<i64>(std::max<i64>(v, 0), 255)); };
       return sat(s16(a)) | sat(s16(a >> 16)) << 8;
     }},
    {v_cvt_pk_u16_u32, [](u a, u b, u) { return std::min(a, 65535u) | std::min(b, 65535u) << 16; }},
    {v_cvt_pk_i16_i32, [](u a, u b, u) {
       const auto sat = [](i64 v) { return static_cast<u>(std::min<i64>(std::max<i64>(v, -32768), 32767)) & 0xffff; };
       return sat(s32(a)) | sat(s32(b)) << 16;
     }},
    {v_mad_u32_u16, [](u a, u b, u c) { return static_cast<u>(u64{a & 0xffff} * (b & 0xffff) + c); }},
    {v_mad_i32_i16, [](u a, u b, u c) { return static_cast<u>(s16(a) * s16(b) + s32(c)); }},
};

TEST(EmulatorInteger, LaneLocal32) {
  Patterns patterns(1);
  OneWave w;
  for (const IntegerRow& row : integer_rows) {
    for (unsigned round = 0; round < 12; ++round) {
      for (unsigned l = 0; l < 32; ++l)
        w.wave.v(0)[l] = patterns.next32(), w.wave.v(1)[l] = patterns.next32(),
        w.wave.v(2)[l] = patterns.next32();
      ASSERT_EQ(
          w.run(Vop3{
              .opcode = row.opcode, .dst = 8, .src0 = V(0), .src1 = V(1), .src2 = V(2), .clamp = row.clamp}
                    .words()),
          Flow::next);
      for (unsigned l = 0; l < 32; ++l)
        ASSERT_EQ(w.wave.v(8)[l], row.expected(w.wave.v(0)[l], w.wave.v(1)[l], w.wave.v(2)[l]))
            << w.text << std::hex << " of " << w.wave.v(0)[l] << ", " << w.wave.v(1)[l] << ", "
            << w.wave.v(2)[l];
    }
  }
}

struct Row16 {
  Opcode opcode;
  i64 (*expected)(u a, u b, u c);
  i64 least = 0, most = 0; // limits when clamped; 0, 0: not clamped
};

const Row16 half_rows[] = {
    {v_add_nc_u16, [](u a, u b, u) { return i64{a} + b; }},
    {v_add_nc_u16, [](u a, u b, u) { return i64{a} + b; }, 0, 65535},
    {v_sub_nc_u16, [](u a, u b, u) { return i64{a} - b; }, 0, 65535},
    {v_add_nc_i16, [](u a, u b, u) { return s16(a) + s16(b); }, -32768, 32767},
    {v_sub_nc_i16, [](u a, u b, u) { return s16(a) - s16(b); }},
    {v_mul_lo_u16, [](u a, u b, u) { return i64{a} * b; }},
    {v_lshlrev_b16, [](u a, u b, u) { return i64{b} << a % 16; }},
    {v_lshrrev_b16, [](u a, u b, u) { return i64{b} >> a % 16; }},
    {v_ashrrev_i16, [](u a, u b, u) { return s16(b) >> a % 16; }},
    {v_max_u16, [](u a, u b, u) { return i64{std::max(a, b)}; }},
    {v_min_u16, [](u a, u b, u) { return i64{std::min(a, b)}; }},
    {v_max_i16, [](u a, u b, u) { return std::max(s16(a), s16(b)); }},
    {v_min_i16, [](u a, u b, u) { return std::min(s16(a), s16(b)); }},
    {v_mad_u16, [](u a, u b, u c) { return i64{a} * b + c; }},
    {v_mad_u16, [](u a, u b, u c) { return i64{a} * b + c; }, 0, 65535},
    {v_mad_i16, [](u a, u b, u c) { return s16(a) * s16(b) + s16(c); }, -32768, 32767},
    {v_min3_i16,
     [](u a, u b, u c) {
       return std::min({s16(a), s16(b), s16(c)});
     }},
    {v_max3_i16,
     [](u a, u b, u c) {
       return std::max({s16(a), s16(b), s16(c)});
     }},
    {v_med3_i16, [](u a, u b, u c) { return s16(median(s16(a), s16(b), s16(c))); }},
    {v_min3_u16,
     [](u a, u b, u c) {
       return i64{std::min({a, b, c})};
     }},
    {v_max3_u16,
     [](u a, u b, u c) {
       return i64{std::max({a, b, c})};
     }},
    {v_med3_u16, [](u a, u b, u c) { return i64{median(a, b, c)}; }},
};

// Low and high halves of sources and results; the other half of the result stays.
TEST(EmulatorInteger, LaneLocal16) {
  Patterns patterns(2);
  OneWave w;
  for (const Row16& row : half_rows) {
    const bool selects = info(row.opcode).has(OpcodeFlag::op_sel);
    for (unsigned round = 0; round < 16; ++round) {
      const unsigned op_sel = selects ? round : 0;
      for (unsigned l = 0; l < 32; ++l)
        for (unsigned r : {0, 1, 2, 8}) w.wave.v(r)[l] = patterns.next32();
      const std::vector<uint32_t> old = w.lanes_of(8);
      const bool clamp = row.least != row.most;
      ASSERT_EQ(w.run(Vop3{.opcode = row.opcode,
                           .dst = 8,
                           .src0 = V(0),
                           .src1 = V(1),
                           .src2 = V(2),
                           .op_sel = op_sel,
                           .clamp = clamp}
                          .words()),
                Flow::next);
      for (unsigned l = 0; l < 32; ++l) {
        const auto half = [&](unsigned r) {
          return w.wave.v(r)[l] >> ((op_sel >> r & 1) != 0 ? 16 : 0) & 0xffff;
        };
        i64 e = row.expected(half(0), half(1), half(2));
        if (clamp) e = std::min(std::max(e, row.least), row.most);
        const u result = static_cast<u>(e) & 0xffff;
        const u whole = (op_sel & 8) != 0 ? result << 16 | (old[l] & 0xffff) : result | (old[l] & 0xffff0000);
        ASSERT_EQ(w.wave.v(8)[l], whole) << w.text;
      }
    }
  }
}

struct RowPacked {
  Opcode opcode;
  i64 (*expected)(u a, u b, u c);
  i64 least = 0, most = 0;
};
const RowPacked packed_rows[] = {
    {v_pk_mad_i16, [](u a, u b, u c) { return s16(a) * s16(b) + s16(c); }},
    {v_pk_mad_u16, [](u a, u b, u c) { return i64{a} * b + c; }, 0, 65535},
    {v_pk_mul_lo_u16, [](u a, u b, u) { return i64{a} * b; }},
    {v_pk_add_i16, [](u a, u b, u) { return s16(a) + s16(b); }, -32768, 32767},
    {v_pk_sub_i16, [](u a, u b, u) { return s16(a) - s16(b); }},
    {v_pk_add_u16, [](u a, u b, u) { return i64{a} + b; }},
    {v_pk_sub_u16, [](u a, u b, u) { return i64{a} - b; }, 0, 65535},
    {v_pk_lshlrev_b16, [](u a, u b, u) { return i64{b} << a % 16; }},
    {v_pk_lshrrev_b16, [](u a, u b, u) { return i64{b} >> a % 16; }},
    {v_pk_ashrrev_i16, [](u a, u b, u) { return s16(b) >> a % 16; }},
    {v_pk_max_i16, [](u a, u b, u) { return std::max(s16(a), s16(b)); }},
    {v_pk_min_i16, [](u a, u b, u) { return std::min(s16(a), s16(b)); }},
    {v_pk_max_u16, [](u a, u b, u) { return i64{std::max(a, b)}; }},
    {v_pk_min_u16, [](u a, u b, u) { return i64{std::min(a, b)}; }},
};

TEST(EmulatorInteger, Packed) {
  Patterns patterns(3);
  OneWave w;
  for (const RowPacked& row : packed_rows)
    for (unsigned round = 0; round < 12; ++round) {
      const unsigned op_sel = round == 0 ? 0 : patterns.raw() & 7,
                     op_sel_hi = round == 0 ? 7 : patterns.raw() & 7;
      for (unsigned l = 0; l < 32; ++l)
        for (unsigned r : {0, 1, 2}) w.wave.v(r)[l] = patterns.next32();
      const bool clamp = row.least != row.most;
      ASSERT_EQ(w.run(Vop3p{.opcode = row.opcode,
                            .dst = 8,
                            .src0 = V(0),
                            .src1 = V(1),
                            .src2 = V(2),
                            .op_sel = op_sel,
                            .op_sel_hi = op_sel_hi,
                            .clamp = clamp}
                          .words()),
                Flow::next);
      for (unsigned l = 0; l < 32; ++l) {
        u whole = 0;
        for (unsigned part = 0; part < 2; ++part) {
          const unsigned select = part == 0 ? op_sel : op_sel_hi;
          const auto half = [&](unsigned r) {
            return w.wave.v(r)[l] >> ((select >> r & 1) != 0 ? 16 : 0) & 0xffff;
          };
          i64 e = row.expected(half(0), half(1), half(2));
          if (clamp) e = std::min(std::max(e, row.least), row.most);
          whole |= (static_cast<u>(e) & 0xffff) << 16 * part;
        }
        ASSERT_EQ(w.wave.v(8)[l], whole) << w.text;
      }
    }
}

TEST(EmulatorInteger, DotProducts) {
  struct {
    Opcode opcode;
    unsigned bits;
    bool is_signed;
  } const dots[] = {{v_dot2_i32_i16, 16, true}, {v_dot2_u32_u16, 16, false}, {v_dot4_i32_i8, 8, true},
                    {v_dot4_u32_u8, 8, false},  {v_dot8_i32_i4, 4, true},    {v_dot8_u32_u4, 4, false}};
  Patterns patterns(4);
  OneWave w;
  for (const auto& dot : dots)
    for (bool clamp : {false, true})
      for (unsigned round = 0; round < 8; ++round) {
        for (unsigned l = 0; l < 32; ++l)
          for (unsigned r : {0, 1, 2}) w.wave.v(r)[l] = patterns.next32();
        ASSERT_EQ(
            w.run(Vop3p{
                .opcode = dot.opcode, .dst = 8, .src0 = V(0), .src1 = V(1), .src2 = V(2), .clamp = clamp}
                      .words()),
            Flow::next);
        for (unsigned l = 0; l < 32; ++l) {
          const auto element = [&](u v, unsigned k) {
            i64 e = field(v, k * dot.bits, dot.bits);
            if (dot.is_signed && bit(static_cast<u64>(e), dot.bits - 1)) e -= i64{1} << dot.bits;
            return e;
          };
          const u a = w.wave.v(0)[l], b = w.wave.v(1)[l], c = w.wave.v(2)[l];
          i64 sum = dot.is_signed ? s32(c) : i64{c};
          for (unsigned k = 0; k < 32 / dot.bits; ++k) sum += element(a, k) * element(b, k);
          const u want = !clamp          ? static_cast<u>(sum)
                         : dot.is_signed ? clamp_signed(sum)
                                         : clamp_unsigned(sum);
          ASSERT_EQ(w.wave.v(8)[l], want) << w.text;
        }
      }
}

struct RowCarry {
  Opcode opcode;
  i64 (*expected)(u a, u b, u in);
};
TEST(EmulatorInteger, Carries) {
  const RowCarry carries[] = {
      {v_add_co_u32, [](u a, u b, u) { return i64{a} + b; }},
      {v_sub_co_u32, [](u a, u b, u) { return i64{a} - b; }},
      {v_subrev_co_u32, [](u a, u b, u) { return i64{b} - a; }},
      {v_add_co_ci_u32, [](u a, u b, u in) { return i64{a} + b + in; }},
      {v_sub_co_ci_u32, [](u a, u b, u in) { return i64{a} - b - in; }},
      {v_subrev_co_ci_u32, [](u a, u b, u in) { return i64{b} - a - in; }},
  };
  Patterns patterns(5);
  OneWave w;
  for (const RowCarry& row : carries)
    for (unsigned round = 0; round < 8; ++round) {
      const u exec = static_cast<u>(patterns.raw());
      w.set_exec(exec);
      w.wave.sgpr[10] = static_cast<u>(patterns.raw()), w.wave.sgpr[13] = 77;
      for (unsigned l = 0; l < 32; ++l)
        w.wave.v(0)[l] = patterns.next32(), w.wave.v(1)[l] = patterns.next32();
      ASSERT_EQ(w.run(Vop3{.opcode = row.opcode, .dst = 8, .src0 = V(0), .src1 = V(1), .src2 = 10, .sdst = 12}
                          .words()),
                Flow::next);
      u out = 0;
      for (unsigned l = 0; l < 32; ++l) {
        if (!bit(exec, l)) continue;
        const i64 e = row.expected(w.wave.v(0)[l], w.wave.v(1)[l], w.wave.sgpr[10] >> l & 1);
        ASSERT_EQ(w.wave.v(8)[l], static_cast<u>(e)) << w.text;
        out |= u{e < 0 || e > 0xffffffff} << l;
      }
      ASSERT_EQ(w.wave.sgpr[12], out) << w.text;
      ASSERT_EQ(w.wave.sgpr[13], 77u) << "wave32 masks are one dword";
    }
}

TEST(EmulatorInteger, Wide) {
  Patterns patterns(6);
  OneWave w(64);
  for (unsigned round = 0; round < 40; ++round) {
    for (unsigned l = 0; l < 64; ++l) {
      w.wave.v(0)[l] = patterns.next32(), w.wave.v(1)[l] = patterns.next32();
      w.set64(2, l, patterns.next64());
    }
    const auto run = [&](Opcode o) {
      ASSERT_EQ(
          w.run(Vop3{.opcode = o, .dst = 8, .src0 = V(0), .src1 = V(1), .src2 = V(2), .sdst = 12}.words()),
          Flow::next);
    };
    const auto shift = [&](Opcode o) {
      ASSERT_EQ(w.run(Vop3{.opcode = o, .dst = 8, .src0 = V(0), .src1 = V(2)}.words()), Flow::next);
    };
    run(v_mad_u64_u32);
    for (unsigned l = 0; l < 64; ++l) {
      const unsigned __int128 e =
          static_cast<unsigned __int128>(w.wave.v(0)[l]) * w.wave.v(1)[l] + w.get64(2, l);
      ASSERT_EQ(w.get64(8, l), static_cast<u64>(e));
      ASSERT_EQ(bit(w.wave.pair(12), l), e >> 64 != 0);
    }
    run(v_mad_i64_i32);
    for (unsigned l = 0; l < 64; ++l)
      ASSERT_EQ(w.get64(8, l), static_cast<u64>(s32(w.wave.v(0)[l]) * s32(w.wave.v(1)[l])) + w.get64(2, l));
    shift(v_lshlrev_b64);
    for (unsigned l = 0; l < 64; ++l) ASSERT_EQ(w.get64(8, l), w.get64(2, l) << w.wave.v(0)[l] % 64);
    shift(v_lshrrev_b64);
    for (unsigned l = 0; l < 64; ++l) ASSERT_EQ(w.get64(8, l), w.get64(2, l) >> w.wave.v(0)[l] % 64);
    shift(v_ashrrev_i64);
    for (unsigned l = 0; l < 64; ++l)
      ASSERT_EQ(w.get64(8, l), static_cast<u64>(static_cast<i64>(w.get64(2, l)) >> w.wave.v(0)[l] % 64));
  }
}

TEST(EmulatorInteger, QuadSums) {
  OneWave w;
  w.fill(0, 0x04030201), w.fill(1, 0x08070605); // window: bytes 1..8
  w.fill(2, 0x01010001);                        // reference, its byte 1 is 0
  w.fill(4, 0x00020001), w.fill(5, 0x00040003);
  (void)w.run(Vop3{.opcode = v_qsad_pk_u16_u8, .dst = 8, .src0 = V(0), .src1 = V(2), .src2 = V(4)}.words());
  // |1-1|+|2-0|+|3-1|+|4-1| = 7, then 3+... one more byte each: 1+3+3+4 = 11, 15, 19
  EXPECT_EQ(w.get64(8, 3), 0x0017'0012'000d'0008u);
  (void)w.run(Vop3{.opcode = v_mqsad_pk_u16_u8, .dst = 8, .src0 = V(0), .src1 = V(2), .src2 = V(4)}.words());
  // without the byte under the 0: 5, 8, 11, 14
  EXPECT_EQ(w.get64(8, 3), 0x0012'000e'000a'0006u);
  for (unsigned k = 0; k < 4; ++k) w.fill(4 + k, k);
  (void)w.run(Vop3{.opcode = v_mqsad_u32_u8, .dst = 8, .src0 = V(0), .src1 = V(2), .src2 = V(4)}.words());
  for (unsigned k = 0; k < 4; ++k) EXPECT_EQ(w.wave.v(8 + k)[0], 5 + 3 * k + k);
}

} // namespace
} // namespace lanewise::rdna2::emu
