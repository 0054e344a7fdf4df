// Vector ALU on 16-bit floats (RDNA2 ISA, 12.7, 12.8 and 12.12).
#include "rdna2/emu_float_lanes.hpp"

namespace lanewise::rdna2::emu {
namespace {

using h = uint16_t; // bits of a half
using R = const FloatRules&;

// Additions of the negated operand, NaN included: compilers take one for the other.
h subtract_16(h a, h b, R r) { return add(a, negate(b), r); }
h subtract_reversed_16(h a, h b, R r) { return subtract_16(b, a, r); }
// Packing moves its operands as floats: flushed where operands are, quieted in IEEE mode.
h packed(h x, R r) { return r.ieee && is_signaling(x) ? quiet(x) : flush(x, r.keep_in); }
template <bool greater>
h extreme3_16(h a, h b, h c, R r) {
  return extreme<h, greater>(extreme<h, greater>(a, b, r), c, r);
}

} // namespace

void add_float_16(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler handler) { t[static_cast<unsigned>(o)] = handler; };
  set(v_add_f16, float_lanes<h, 2, add<h>>);
  set(v_sub_f16, float_lanes<h, 2, subtract_16>);
  set(v_subrev_f16, float_lanes<h, 2, subtract_reversed_16>);
  set(v_mul_f16, float_lanes<h, 2, multiply<h>>);
  for (Opcode o : {v_fma_f16, v_fmac_f16, v_fmamk_f16, v_fmaak_f16}) set(o, float_lanes<h, 3, fma<h>>);
  set(v_min_f16, float_lanes<h, 2, extreme<h, false>>);
  set(v_max_f16, float_lanes<h, 2, extreme<h, true>>);
  set(v_min3_f16, float_lanes<h, 3, extreme3_16<false>>);
  set(v_max3_f16, float_lanes<h, 3, extreme3_16<true>>);
  set(v_med3_f16, float_lanes<h, 3, median3<h>>);
  set(v_trunc_f16, float_lanes<h, 1, [](h x, R r) { return round_to_integer(x, ToInteger::trunc, r); }>);
  set(v_ceil_f16, float_lanes<h, 1, [](h x, R r) { return round_to_integer(x, ToInteger::ceil, r); }>);
  set(v_rndne_f16,
      float_lanes<h, 1, [](h x, R r) { return round_to_integer(x, ToInteger::nearest_even, r); }>);
  set(v_floor_f16, float_lanes<h, 1, [](h x, R r) { return round_to_integer(x, ToInteger::floor, r); }>);
  set(v_fract_f16, float_lanes<h, 1, fract<h>>);
  set(v_frexp_mant_f16, float_lanes<h, 1, frexp_mantissa<h>>);
  set(v_frexp_exp_i16_f16, lane_any<[](const Step&, Mode m, h x) {
        return static_cast<uint16_t>(frexp_exponent(x, FloatRules::wide(m)));
      },
                                    uint16_t, uint16_t>);
  // The exponent is a 16-bit integer.
  set(v_ldexp_f16, float_lanes<h, 2, [](h x, h n, R r) { return scale(x, static_cast<int16_t>(n), r); }>);
  set(v_pack_b32_f16, lane_any<[](const Step&, Mode m, h a, h b) {
        const FloatRules r = FloatRules::wide(m);
        return static_cast<uint32_t>(packed(a, r)) | static_cast<uint32_t>(packed(b, r)) << 16;
      },
                               uint32_t, uint16_t, uint16_t>);
}

} // namespace lanewise::rdna2::emu
