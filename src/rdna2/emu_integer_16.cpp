// Vector ALU on 16-bit integers (VOP3 with op_sel; RDNA2 ISA, 12.12).
#include "rdna2/emu_integer_16.hpp"
#include "rdna2/emu_lanes.hpp"

#include <algorithm>

namespace lanewise::rdna2::emu {
namespace {

// f computes in 64 bits; the result wraps, or `saturate` limits it when clamp is set.
template <auto f, auto saturate>
Flow half_2(Wave& w, const Step& step) {
  Vector x(w, step);
  Lanes<h> a, b, out;
  x.source16(0, a);
  x.source16(1, b);
  if (step.in.clamp)
    each_lane(x.lanes(), [&](unsigned l) { out[l] = saturate(f(a[l], b[l])); });
  else
    each_lane(x.lanes(), [&](unsigned l) { out[l] = half(f(a[l], b[l])); });
  x.write16(out.at);
  return Flow::next;
}
template <auto f, auto saturate>
Flow half_3(Wave& w, const Step& step) {
  Vector x(w, step);
  Lanes<h> a, b, c, out;
  x.source16(0, a);
  x.source16(1, b);
  x.source16(2, c);
  if (step.in.clamp)
    each_lane(x.lanes(), [&](unsigned l) { out[l] = saturate(f(a[l], b[l], c[l])); });
  else
    each_lane(x.lanes(), [&](unsigned l) { out[l] = half(f(a[l], b[l], c[l])); });
  x.write16(out.at);
  return Flow::next;
}

// Products of 16-bit factors added to 32 bits.
template <bool is_signed>
Flow multiply_add_32(Wave& w, const Step& step) {
  Vector x(w, step);
  Lanes<h> a, b;
  Lanes<u> c, out;
  x.source16(0, a);
  x.source16(1, b);
  const u* r = x.source32(2, c);
  each_lane(x.lanes(), [&](unsigned l) {
    const int64_t sum =
        is_signed ? int64_t{s(a[l])} * s(b[l]) + static_cast<int32_t>(r[l]) : int64_t{a[l]} * b[l] + r[l];
    const int64_t least = is_signed ? INT32_MIN : 0, most = is_signed ? INT32_MAX : UINT32_MAX;
    out[l] = static_cast<u>(step.in.clamp ? std::clamp(sum, least, most) : sum);
  });
  x.write32(out.at);
  return Flow::next;
}

template <class T>
constexpr T median_of(T a, T b, T c) {
  return std::max(std::min(a, b), std::min(std::max(a, b), c));
}

} // namespace

void add_integer_16(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler handler) { t[static_cast<unsigned>(o)] = handler; };
  using l = int64_t;
  set(v_add_nc_u16, half_2<[](h a, h b) { return l{a} + b; }, saturate_u16>);
  set(v_sub_nc_u16, half_2<[](h a, h b) { return l{a} - b; }, saturate_u16>);
  set(v_add_nc_i16, half_2<[](h a, h b) { return l{s(a)} + s(b); }, saturate_i16>);
  set(v_sub_nc_i16, half_2<[](h a, h b) { return l{s(a)} - s(b); }, saturate_i16>);
  set(v_mul_lo_u16, half_2<[](h a, h b) { return l{a} * b; }, saturate_u16>);
  set(v_lshlrev_b16, half_2<[](h a, h b) { return l{b} << (a & 15); }, half>);
  set(v_lshrrev_b16, half_2<[](h a, h b) { return (l{b} >> (a & 15)); }, half>);
  set(v_ashrrev_i16, half_2<[](h a, h b) { return (l{s(b)} >> (a & 15)); }, half>);
  set(v_max_u16, half_2<[](h a, h b) { return l{std::max(a, b)}; }, half>);
  set(v_min_u16, half_2<[](h a, h b) { return l{std::min(a, b)}; }, half>);
  set(v_max_i16, half_2<[](h a, h b) { return l{std::max(s(a), s(b))}; }, half>);
  set(v_min_i16, half_2<[](h a, h b) { return l{std::min(s(a), s(b))}; }, half>);
  set(v_mad_u16, half_3<[](h a, h b, h c) { return l{a} * b + c; }, saturate_u16>);
  set(v_mad_i16, half_3<[](h a, h b, h c) { return l{s(a)} * s(b) + s(c); }, saturate_i16>);
  set(v_min3_i16, half_3<[](h a, h b, h c) { return l{std::min(std::min(s(a), s(b)), s(c))}; }, half>);
  set(v_max3_i16, half_3<[](h a, h b, h c) { return l{std::max(std::max(s(a), s(b)), s(c))}; }, half>);
  set(v_med3_i16, half_3<[](h a, h b, h c) { return l{median_of(s(a), s(b), s(c))}; }, half>);
  set(v_min3_u16, half_3<[](h a, h b, h c) { return l{std::min(std::min(a, b), c)}; }, half>);
  set(v_max3_u16, half_3<[](h a, h b, h c) { return l{std::max(std::max(a, b), c)}; }, half>);
  set(v_med3_u16, half_3<[](h a, h b, h c) { return l{median_of(a, b, c)}; }, half>);
  set(v_mad_u32_u16, multiply_add_32<false>);
  set(v_mad_i32_i16, multiply_add_32<true>);
}

} // namespace lanewise::rdna2::emu
