// Conversions between integers and floats (RDNA2 ISA, 12.8 and 12.12). Results of f32 arithmetic round by
// MODE's single-precision mode, f16 and f64 results, and f64 narrowed to f32, by the other one.
#include "rdna2/emu_float_lanes.hpp"

#include <algorithm>

namespace lanewise::rdna2::emu {
namespace {

using u = uint32_t;
using h = uint16_t;
using d = uint64_t;

// Truncates; out of range and infinite values saturate, NaN is 0.
template <class Integer, class B>
Integer to_integer(B x, Mode m) {
  if (is_nan(x)) return 0;
  const double v = std::trunc(to_double(flush(x, FloatRules::of<B>(m).keep_in)));
  constexpr auto least = static_cast<double>(std::numeric_limits<Integer>::min());
  constexpr auto most = static_cast<double>(std::numeric_limits<Integer>::max());
  return static_cast<Integer>(std::clamp(v, least, most));
}
// As above after rounding by `round`: floor(x) or floor(x + 0.5), which are exact in double precision.
template <auto round>
int32_t to_rounded(u x, Mode m) {
  if (is_nan(x)) return 0;
  const double v = round(to_double(flush(x, FloatRules::single(m).keep_in)));
  return static_cast<int32_t>(std::clamp(v, -2147483648.0, 2147483647.0));
}

// A float result with output modifiers.
template <class B>
B finish(B x, const Step& s, Mode m) {
  if (!s.float_modifiers) return x;
  return output_modifiers<B>(x, s.in.omod, s.in.clamp, FloatRules::of<B>(m));
}
template <class B, auto number>
B from_integer(const Step& s, Mode m, auto x) {
  return finish<B>(from_double<B>(number(x), FloatRules::of<B>(m).round), s, m);
}

// Normalised integers: [-1, 1] or [0, 1] scaled to the range and rounded to nearest even.
template <class B>
double clamp_to(B x, Mode m, double least) {
  if (is_nan(x)) return 0;
  return std::clamp(to_double(flush(x, FloatRules::of<B>(m).keep_in)), least, 1.0);
}
template <class B>
u snorm16(B x, Mode m) {
  return static_cast<u>(static_cast<int>(std::nearbyint(clamp_to(x, m, -1.0) * 32767.0))) & 0xffff;
}
template <class B>
u unorm16(B x, Mode m) {
  return static_cast<u>(std::nearbyint(clamp_to(x, m, 0.0) * 65535.0));
}

u pack_round_to_zero(const Step& s, Mode m, u a, u b) {
  const FloatRules single = FloatRules::single(m), wide = FloatRules::wide(m);
  const auto narrow = [&](u x) {
    return output_modifiers<h>(convert<h, u>(x, single.keep_in, Round::zero, wide.keep_out), s.in.omod,
                               s.in.clamp, wide);
  };
  return narrow(a) | u{narrow(b)} << 16;
}

// The byte chosen by S1 is replaced in S2. The float rounds by MODE and saturates to 0..255.
u pack_byte(const Step&, Mode m, u x, u index, u old) {
  const FloatRules r = FloatRules::single(m);
  double v = is_nan(x) ? 0.0 : to_double(flush(x, r.keep_in));
  switch (r.round) {
  case Round::nearest: v = std::nearbyint(v); break;
  case Round::up: v = std::ceil(v); break;
  case Round::down: v = std::floor(v); break;
  case Round::zero: v = std::trunc(v); break;
  }
  const unsigned shift = 8 * (index & 3);
  return (old & ~(0xffu << shift)) | static_cast<u>(std::clamp(v, 0.0, 255.0)) << shift;
}

template <unsigned n>
u ubyte(const Step& s, Mode m, u x) {
  return finish<u>(std::bit_cast<u>(static_cast<float>(x >> 8 * n & 0xff)), s, m);
}

void add_to_integer(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler handler) { t[static_cast<unsigned>(o)] = handler; };
  set(v_cvt_i32_f32, lane_any<[](const Step&, Mode m, u x) { return u(to_integer<int32_t>(x, m)); }, u, u>);
  set(v_cvt_u32_f32, lane_any<[](const Step&, Mode m, u x) { return to_integer<u>(x, m); }, u, u>);
  set(v_cvt_i32_f64, lane_any<[](const Step&, Mode m, d x) { return u(to_integer<int32_t>(x, m)); }, u, d>);
  set(v_cvt_u32_f64, lane_any<[](const Step&, Mode m, d x) { return to_integer<u>(x, m); }, u, d>);
  set(v_cvt_i16_f16, lane_any<[](const Step&, Mode m, h x) { return h(to_integer<int16_t>(x, m)); }, h, h>);
  set(v_cvt_u16_f16, lane_any<[](const Step&, Mode m, h x) { return to_integer<h>(x, m); }, h, h>);
  set(v_cvt_flr_i32_f32, lane_any<[](const Step&, Mode m, u x) {
        return u(to_rounded<[](double v) { return std::floor(v); }>(x, m));
      },
                                  u, u>);
  set(v_cvt_rpi_i32_f32, lane_any<[](const Step&, Mode m, u x) {
        return u(to_rounded<[](double v) { return std::floor(v + 0.5); }>(x, m));
      },
                                  u, u>);
  set(v_cvt_norm_i16_f16, lane_any<[](const Step&, Mode m, h x) { return h(snorm16(x, m)); }, h, h>);
  set(v_cvt_norm_u16_f16, lane_any<[](const Step&, Mode m, h x) { return h(unorm16(x, m)); }, h, h>);
  set(v_cvt_pknorm_i16_f32,
      lane_any<[](const Step&, Mode m, u a, u b) { return snorm16(a, m) | snorm16(b, m) << 16; }, u, u, u>);
  set(v_cvt_pknorm_u16_f32,
      lane_any<[](const Step&, Mode m, u a, u b) { return unorm16(a, m) | unorm16(b, m) << 16; }, u, u, u>);
  set(v_cvt_pknorm_i16_f16,
      lane_any<[](const Step&, Mode m, h a, h b) { return snorm16(a, m) | snorm16(b, m) << 16; }, u, h, h>);
  set(v_cvt_pknorm_u16_f16,
      lane_any<[](const Step&, Mode m, h a, h b) { return unorm16(a, m) | unorm16(b, m) << 16; }, u, h, h>);
  set(v_cvt_pk_u8_f32, lane_any<pack_byte, u, u, u, u>);
}

void add_to_float(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler handler) { t[static_cast<unsigned>(o)] = handler; };
  constexpr auto as_signed = [](u x) { return static_cast<double>(static_cast<int32_t>(x)); };
  constexpr auto as_unsigned = [](u x) { return static_cast<double>(x); };
  constexpr auto as_signed_16 = [](h x) { return static_cast<double>(static_cast<int16_t>(x)); };
  constexpr auto as_unsigned_16 = [](h x) { return static_cast<double>(x); };
  // Interpolation weights: a signed 4-bit integer in sixteenths.
  constexpr auto as_offset = [](u x) {
    return static_cast<double>(static_cast<int32_t>(x << 28) >> 28) / 16;
  };
  set(v_cvt_f32_i32, lane_any<from_integer<u, as_signed, u>, u, u>);
  set(v_cvt_f32_u32, lane_any<from_integer<u, as_unsigned, u>, u, u>);
  set(v_cvt_off_f32_i4, lane_any<from_integer<u, as_offset, u>, u, u>);
  set(v_cvt_f64_i32, lane_any<from_integer<d, as_signed, u>, d, u>);
  set(v_cvt_f64_u32, lane_any<from_integer<d, as_unsigned, u>, d, u>);
  set(v_cvt_f16_i16, lane_any<from_integer<h, as_signed_16, h>, h, h>);
  set(v_cvt_f16_u16, lane_any<from_integer<h, as_unsigned_16, h>, h, h>);
  set(v_cvt_f32_ubyte0, lane_any<ubyte<0>, u, u>);
  set(v_cvt_f32_ubyte1, lane_any<ubyte<1>, u, u>);
  set(v_cvt_f32_ubyte2, lane_any<ubyte<2>, u, u>);
  set(v_cvt_f32_ubyte3, lane_any<ubyte<3>, u, u>);
}

// Operand denormals follow the operand's format, results the result's.
template <class To, class From>
To between(const Step& s, Mode m, From x) {
  const bool keep_in = FloatRules::of<From>(m).keep_in, keep_out = FloatRules::of<To>(m).keep_out;
  return finish<To>(convert<To, From>(x, keep_in, FloatRules::wide(m).round, keep_out), s, m);
}

} // namespace

void add_convert(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler handler) { t[static_cast<unsigned>(o)] = handler; };
  add_to_integer(t);
  add_to_float(t);
  set(v_cvt_f16_f32, lane_any<between<h, u>, h, u>);
  set(v_cvt_f32_f16, lane_any<between<u, h>, u, h>);
  set(v_cvt_f32_f64, lane_any<between<u, d>, u, d>);
  set(v_cvt_f64_f32, lane_any<between<d, u>, d, u>);
  set(v_cvt_pkrtz_f16_f32, lane_any<pack_round_to_zero, u, u, u>);
}

} // namespace lanewise::rdna2::emu
