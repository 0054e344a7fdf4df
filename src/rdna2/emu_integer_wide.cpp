// Vector ALU on 64-bit integers, with carries, and the quad sums of absolute differences (RDNA2 ISA, 12.12).
#include "rdna2/emu_lanes.hpp"

#include <algorithm>

namespace lanewise::rdna2::emu {
namespace {

// Results of an add or subtract with carry in and out.
struct Carried {
  uint32_t value;
  bool out;
};
constexpr Carried add_carried(uint32_t a, uint32_t b, bool in) {
  const uint64_t sum = uint64_t{a} + b + (in ? 1 : 0);
  return {static_cast<uint32_t>(sum), sum >> 32 != 0};
}
constexpr Carried sub_carried(uint32_t a, uint32_t b, bool in) {
  const uint64_t taken = uint64_t{b} + (in ? 1 : 0);
  return {static_cast<uint32_t>(a - taken), taken > a};
}
constexpr Carried subrev_carried(uint32_t a, uint32_t b, bool in) { return sub_carried(b, a, in); }

// dst1 receives the carries, source 2 (if any) brings them in. Clamp saturates: to all ones when an addition
// overflows, to 0 when a subtraction does.
template <auto f, bool carry_in, bool subtracts>
Flow carry_2(Wave& w, const Step& s) {
  Vector x(w, s);
  Lanes<uint32_t> a, b, out;
  const uint32_t* p = x.source32(0, a);
  const uint32_t* q = x.source32(1, b);
  const uint64_t in = carry_in ? x.source_mask(2) : 0;
  uint64_t carries = 0;
  for (unsigned l = 0; l < x.lanes(); ++l) {
    const Carried r = f(p[l], q[l], (in >> l & 1) != 0);
    out[l] = r.out && s.in.clamp ? (subtracts ? 0 : ~0u) : r.value;
    carries |= uint64_t{r.out} << l;
  }
  x.write32(out.at);
  x.write_mask(carries, 1);
  return Flow::next;
}

// {carry, D} = S0 * S1 + S2 on 32-bit factors.
template <bool is_signed>
Flow multiply_add_64(Wave& w, const Step& s) {
  Vector x(w, s);
  Lanes<uint32_t> a, b;
  Lanes<uint64_t> c, out;
  const uint32_t* p = x.source32(0, a);
  const uint32_t* q = x.source32(1, b);
  x.source64(2, c);
  uint64_t carries = 0;
  for (unsigned l = 0; l < x.lanes(); ++l) {
    bool carry = false;
    if constexpr (is_signed) {
      const __int128 sum =
          static_cast<__int128>(int64_t{static_cast<int32_t>(p[l])} * static_cast<int32_t>(q[l])) +
          static_cast<int64_t>(c[l]);
      out[l] = static_cast<uint64_t>(sum);
      carry = sum != static_cast<int64_t>(out[l]);
      if (carry && s.in.clamp) out[l] = sum < 0 ? uint64_t{1} << 63 : ~uint64_t{0} >> 1;
    } else {
      const unsigned __int128 sum = static_cast<unsigned __int128>(uint64_t{p[l]} * q[l]) + c[l];
      out[l] = static_cast<uint64_t>(sum);
      carry = sum >> 64 != 0;
      if (carry && s.in.clamp) out[l] = ~uint64_t{0};
    }
    carries |= uint64_t{carry} << l;
  }
  x.write64(out.at);
  x.write_mask(carries, 1);
  return Flow::next;
}

template <auto f>
Flow shift_64(Wave& w, const Step& s) {
  Vector x(w, s);
  Lanes<uint32_t> counts;
  Lanes<uint64_t> value, out;
  const uint32_t* p = x.source32(0, counts);
  x.source64(1, value);
  each_lane(x.lanes(), [&](unsigned l) { out[l] = f(value[l], p[l] & 63); });
  x.write64(out.at);
  return Flow::next;
}

uint64_t byte_difference(uint32_t a, uint32_t b, bool masked) {
  uint64_t sum = 0;
  for (unsigned k = 0; k < 32; k += 8) {
    const uint32_t p = a >> k & 0xff, q = b >> k & 0xff;
    if (!masked || q != 0) sum += p > q ? p - q : q - p;
  }
  return sum;
}

// Four sums over 4-byte windows of the first source, one byte apart, each added to a 16-bit field.
template <bool masked>
Flow quad_sad_16(Wave& w, const Step& s) {
  Vector x(w, s);
  Lanes<uint32_t> reference;
  Lanes<uint64_t> window, sums, out;
  x.source64(0, window);
  const uint32_t* q = x.source32(1, reference);
  x.source64(2, sums);
  each_active(x.active, [&](unsigned l) {
    out[l] = 0;
    for (unsigned k = 0; k < 4; ++k) {
      uint64_t sum = (sums[l] >> 16 * k & 0xffff) +
                     byte_difference(static_cast<uint32_t>(window[l] >> 8 * k), q[l], masked);
      if (s.in.clamp) sum = std::min<uint64_t>(sum, 0xffff);
      out[l] |= (sum & 0xffff) << 16 * k;
    }
  });
  x.write64(out.at);
  return Flow::next;
}

// As above with 32-bit fields in four registers.
Flow quad_sad_32(Wave& w, const Step& s) {
  Vector x(w, s);
  Lanes<uint32_t> reference;
  Lanes<uint64_t> window;
  x.source64(0, window);
  const uint32_t* q = x.source32(1, reference);
  each_active(x.active, [&](unsigned l) {
    std::array<uint32_t, 4> out{};
    for (unsigned k = 0; k < 4; ++k) {
      const Operand& o = s.in.src[2];
      const uint32_t start = o.is_vgpr()   ? w.v(o.reg + k)[l]
                             : o.is_sgpr() ? w.sgpr[(o.reg + k) % scalar_registers]
                                           : (k == 0 ? static_cast<uint32_t>(o.value) : 0);
      const uint64_t sum = start + byte_difference(static_cast<uint32_t>(window[l] >> 8 * k), q[l], true);
      out[k] = s.in.clamp && sum > 0xffff'ffff ? ~0u : static_cast<uint32_t>(sum);
    }
    for (unsigned k = 0; k < 4; ++k) w.v(s.in.dst[0].reg + k)[l] = out[k];
  });
  return Flow::next;
}

} // namespace

void add_integer_wide(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler h) { t[static_cast<unsigned>(o)] = h; };
  set(v_add_co_u32, carry_2<add_carried, false, false>);
  set(v_sub_co_u32, carry_2<sub_carried, false, true>);
  set(v_subrev_co_u32, carry_2<subrev_carried, false, true>);
  set(v_add_co_ci_u32, carry_2<add_carried, true, false>);
  set(v_sub_co_ci_u32, carry_2<sub_carried, true, true>);
  set(v_subrev_co_ci_u32, carry_2<subrev_carried, true, true>);
  set(v_mad_u64_u32, multiply_add_64<false>);
  set(v_mad_i64_i32, multiply_add_64<true>);
  set(v_lshlrev_b64, shift_64<[](uint64_t v, uint32_t n) { return v << n; }>);
  set(v_lshrrev_b64, shift_64<[](uint64_t v, uint32_t n) { return (v >> n); }>);
  set(v_ashrrev_i64,
      shift_64<[](uint64_t v, uint32_t n) { return (static_cast<uint64_t>(static_cast<int64_t>(v) >> n)); }>);
  set(v_qsad_pk_u16_u8, quad_sad_16<false>);
  set(v_mqsad_pk_u16_u8, quad_sad_16<true>);
  set(v_mqsad_u32_u8, quad_sad_32);
}

} // namespace lanewise::rdna2::emu
