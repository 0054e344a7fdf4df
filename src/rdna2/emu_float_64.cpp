// Vector ALU on 64-bit floats (RDNA2 ISA, 12.8 and 12.12).
#include "rdna2/emu_float_lanes.hpp"

namespace lanewise::rdna2::emu {
namespace {

using d = uint64_t; // bits of a double
using R = const FloatRules&;

double value(d bits) { return std::bit_cast<double>(bits); }
d fast_add_64(d a, d b) {
  const double r = value(a) + value(b);
  return r != r ? nan_of(a, b) : std::bit_cast<d>(r);
}
d fast_multiply_64(d a, d b) {
  const double r = value(a) * value(b);
  return r != r ? nan_of(a, b) : std::bit_cast<d>(r);
}

} // namespace

void add_float_64(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler h) { t[static_cast<unsigned>(o)] = h; };
  set(v_add_f64, float_lanes<d, 2, add<d>, fast_add_64>);
  set(v_mul_f64, float_lanes<d, 2, multiply<d>, fast_multiply_64>);
  set(v_fma_f64, float_lanes<d, 3, fma<d>>);
  set(v_min_f64, float_lanes<d, 2, extreme<d, false>>);
  set(v_max_f64, float_lanes<d, 2, extreme<d, true>>);
  set(v_trunc_f64, float_lanes<d, 1, [](d x, R r) { return round_to_integer(x, ToInteger::trunc, r); }>);
  set(v_ceil_f64, float_lanes<d, 1, [](d x, R r) { return round_to_integer(x, ToInteger::ceil, r); }>);
  set(v_rndne_f64,
      float_lanes<d, 1, [](d x, R r) { return round_to_integer(x, ToInteger::nearest_even, r); }>);
  set(v_floor_f64, float_lanes<d, 1, [](d x, R r) { return round_to_integer(x, ToInteger::floor, r); }>);
  set(v_fract_f64, float_lanes<d, 1, fract<d>>);
  set(v_frexp_mant_f64, float_lanes<d, 1, frexp_mantissa<d>>);
  set(v_frexp_exp_i32_f64, lane_any<[](const Step&, Mode m, d x) {
        return static_cast<uint32_t>(frexp_exponent(x, FloatRules::wide(m)));
      },
                                    uint32_t, uint64_t>);
  // The exponent is a 32-bit integer.
  set(v_ldexp_f64, lane_any<[](const Step& s, Mode m, d x, uint32_t n) {
        const FloatRules r = FloatRules::wide(m);
        return output_modifiers(scale(x, static_cast<int32_t>(n), r), s.in.omod, s.in.clamp, r);
      },
                            uint64_t, uint64_t, uint32_t>);
}

} // namespace lanewise::rdna2::emu
