#include "ir/evaluate_float.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace lanewise::ir {
namespace {

using L = LaneOperation;
using soft::Format;

// -- arithmetic: the host's where it rounds the same way, else in integers
// ---------------------------------------

/// `compute` on host numbers if rounding is to nearest even, which every host does, and the result is no NaN.
template <class Compute>
bool on_host(const L& x, unsigned operands, Compute compute, uint64_t& result) {
  const auto run = [&]<class T, class Bits>(T, Bits) {
    std::array<T, 3> v{};
    for (unsigned i = 0; i < operands; ++i) v[i] = std::bit_cast<T>(static_cast<Bits>(input(x, i)));
    const T r = compute(v[0], v[1], v[2]);
    if (std::isnan(r)) return false;
    result = output(x, std::bit_cast<Bits>(r));
    return true;
  };
  if (control(x).round != 0) return false;
  if (x.type == Type::f32) return run(float{}, uint32_t{});
  return x.type == Type::f64 && run(double{}, uint64_t{});
}

uint64_t fadd(const L& x) {
  uint64_t r = 0;
  if (on_host(x, 2, [](auto a, auto b, auto) { return a + b; }, r)) return r;
  return soft::add(format(x), x.v[0], x.v[1], control(x));
}

uint64_t fmul(const L& x) {
  uint64_t r = 0;
  if (on_host(x, 2, [](auto a, auto b, auto) { return a * b; }, r)) return r;
  return soft::multiply(format(x), x.v[0], x.v[1], control(x));
}

uint64_t ffma(const L& x) {
  uint64_t r = 0;
  if (on_host(x, 3, [](auto a, auto b, auto c) { return std::fma(a, b, c); }, r)) return r;
  return soft::fma(format(x), x.v[0], x.v[1], x.v[2], control(x));
}

// -- order
// -----------------------------------------------------------------------------------------------------------

/// A number that orders like the float, -0 below +0; not for NaN.
int64_t order(Format f, uint64_t x) {
  const auto magnitude = static_cast<int64_t>(x & ~f.sign_bit());
  return soft::is_negative(f, x) ? -magnitude - 1 : magnitude;
}

/// FloatCompare outcome.
unsigned outcome(Format f, uint64_t a, uint64_t b) {
  if (soft::is_nan(f, a) || soft::is_nan(f, b)) return kUnordered;
  if (a == b || (soft::is_zero(f, a) && soft::is_zero(f, b))) return kEqual;
  return order(f, a) < order(f, b) ? kLess : kGreater;
}

// RDNA2 ISA, V_MIN_F32 and V_MAX_F32: with IEEE a signalling NaN comes out quiet; else the operand that is a
// number, and of two NaNs the second.
uint64_t min_max(const L& x, bool max) {
  const Format f = format(x);
  const uint64_t a = input(x, 0), b = input(x, 1);
  if (control(x).ieee) {
    if (soft::is_signaling(f, a)) return a | f.quiet_bit();
    if (soft::is_signaling(f, b)) return b | f.quiet_bit();
  }
  if (soft::is_nan(f, a)) return output(x, b);
  if (soft::is_nan(f, b)) return output(x, a);
  return output(x, (order(f, a) < order(f, b)) != max ? a : b);
}

uint64_t fclamp(const L& x) {
  const Format f = format(x);
  const uint64_t a = input(x, 0);
  if (soft::is_nan(f, a)) return control(x).dx10_clamp ? 0 : a | f.quiet_bit();
  if (soft::is_negative(f, a)) return 0;
  return a > f.one() ? f.one() : output(x, a);
}

uint64_t fclass(const L& x) {
  const Format f = format(x);
  const uint64_t a = x.v[0];
  unsigned bit; // of the mask, as in V_CMP_CLASS_F32
  if (soft::is_nan(f, a)) {
    bit = soft::is_signaling(f, a) ? 0 : 1;
  } else {
    const unsigned magnitude = soft::is_infinite(f, a)   ? 0
                               : soft::is_zero(f, a)     ? 3
                               : soft::is_denormal(f, a) ? 2
                                                         : 1;
    bit = soft::is_negative(f, a) ? 2 + magnitude : 9 - magnitude;
  }
  return x.v[1] >> bit & 1;
}

// -- rounding to integers
// ----------------------------------------------------------------------------------------------

/// Rounded to an integral value; `mode` as FloatControl::round. Zero keeps its sign.
uint64_t integral(const L& x, unsigned mode) {
  const Format f = format(x);
  const uint64_t a = input(x, 0);
  if (soft::is_nan(f, a)) return a | f.quiet_bit();
  const int units = soft::biased_exponent(f, a) - f.bias() - static_cast<int>(f.fraction_bits);
  if (units >= 0) return a; // integral already, or infinite
  soft::Number n = soft::unpack(f, a);
  const auto down = static_cast<unsigned>(std::min(-n.exponent, 120));
  const auto mantissa = static_cast<uint64_t>(n.mantissa);
  uint64_t kept = down > 63 ? 0 : mantissa >> down;
  const uint64_t rest = down > 63 ? mantissa : mantissa & low_bits(down);
  const bool negative = n.negative;
  bool up = false;
  if (mode == 0 && down <= 63) {
    const uint64_t half = uint64_t{1} << (down - 1);
    up = rest > half || (rest == half && (kept & 1));
  } else if (mode == 1 || mode == 2) {
    up = rest != 0 && negative == (mode == 2);
  }
  kept += up;
  return soft::round(f, {negative, kept, 0}, 3);
}

uint64_t ffract(const L& x) {
  const Format f = format(x);
  const uint64_t a = input(x, 0);
  if (soft::is_nan(f, a)) return a | f.quiet_bit();
  const uint64_t floor = integral(x, 2);
  const uint64_t rest = soft::add(f, a, floor ^ f.sign_bit(), control(x));
  return !soft::is_nan(f, rest) && rest >= f.one() && !soft::is_negative(f, rest) ? f.one() - 1 : rest;
}

// -- exponent and mantissa
// -----------------------------------------------------------------------------------------------

uint64_t ffrexp_mant(const L& x) {
  const Format f = format(x);
  const uint64_t a = input(x, 0);
  if (soft::is_nan(f, a)) return a | f.quiet_bit();
  if (soft::is_infinite(f, a) || soft::is_zero(f, a)) return a;
  soft::Number n = soft::unpack(f, a);
  n.exponent = -static_cast<int>(std::bit_width(static_cast<uint64_t>(n.mantissa)));
  return soft::round(f, n, 0);
}

uint64_t ffrexp_exp(const L& x) {
  const Format f = format(x);
  const uint64_t a = input(x, 0);
  if (soft::is_nan(f, a) || soft::is_infinite(f, a) || soft::is_zero(f, a)) return 0;
  const soft::Number n = soft::unpack(f, a);
  return static_cast<uint32_t>(n.exponent +
                               static_cast<int>(std::bit_width(static_cast<uint64_t>(n.mantissa))));
}

// -- conversions
// -------------------------------------------------------------------------------------------------------------

uint64_t to_integer(const L& x, bool is_signed) {
  const Format f = format(x);
  const uint64_t a = input(x, 0);
  if (soft::is_nan(f, a)) return 0;
  const unsigned width = bit_width(x.type);
  const bool negative = soft::is_negative(f, a);
  if (negative && !is_signed) return 0;
  const uint64_t limit = !is_signed ? low_bits(width) : low_bits(width - 1) + (negative ? 1 : 0);
  uint64_t magnitude = limit;
  if (!soft::is_infinite(f, a)) {
    const soft::Number n = soft::unpack(f, a);
    const auto mantissa = static_cast<uint64_t>(n.mantissa);
    if (n.exponent <= -64) {
      magnitude = 0;
    } else if (n.exponent <= 0) {
      magnitude = mantissa >> -n.exponent;
    } else if (n.exponent < 64 && std::bit_width(mantissa) + n.exponent <= 64) {
      magnitude = mantissa << n.exponent;
    }
  }
  magnitude = std::min(magnitude, limit);
  return truncate(x.type, negative ? 0 - magnitude : magnitude);
}

uint64_t from_integer(const L& x, bool is_signed) {
  const Format f = soft::format(x.type);
  const int64_t value = is_signed ? sign_extend(x.v[0], bit_width(x.operand_type)) : 0;
  const bool negative = value < 0;
  const uint64_t magnitude =
      is_signed ? (negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value)) : x.v[0];
  return soft::round(f, {negative, magnitude, 0}, control(x).round);
}

} // namespace

void add_float_evaluators(std::array<Evaluator, kOpCount>& t) {
  const auto at = [&](Op op) -> Evaluator& { return t[static_cast<unsigned>(op)]; };
  at(Op::fadd) = fadd;
  at(Op::fmul) = fmul;
  at(Op::ffma) = ffma;
  at(Op::fmin) = [](const L& x) { return min_max(x, false); };
  at(Op::fmax) = [](const L& x) { return min_max(x, true); };
  at(Op::fneg) = [](const L& x) { return x.v[0] ^ format(x).sign_bit(); };
  at(Op::fabs) = [](const L& x) { return x.v[0] & ~format(x).sign_bit(); };
  at(Op::fcanonicalize) = [](const L& x) {
    const uint64_t a = output(x, input(x, 0));
    return soft::is_nan(format(x), a) ? a | format(x).quiet_bit() : a;
  };
  at(Op::fclamp) = fclamp;
  at(Op::ftrunc) = [](const L& x) { return output(x, integral(x, 3)); };
  at(Op::ffloor) = [](const L& x) { return output(x, integral(x, 2)); };
  at(Op::fceil) = [](const L& x) { return output(x, integral(x, 1)); };
  at(Op::frndne) = [](const L& x) { return output(x, integral(x, 0)); };
  at(Op::ffract) = ffract;
  at(Op::fldexp) = [](const L& x) {
    return soft::scale(format(x), x.v[0], static_cast<int>(sign_extend(x.v[1], 32)), control(x));
  };
  at(Op::ffrexp_mant) = ffrexp_mant;
  at(Op::ffrexp_exp) = ffrexp_exp;
  at(Op::fclass) = fclass;
  at(Op::fcmp) = [](const L& x) {
    return uint64_t{(outcome(format(x), input(x, 0), input(x, 1)) & fcmp_predicate(x.imm)) != 0};
  };
  at(Op::f2f) = [](const L& x) { return soft::convert(soft::format(x.type), format(x), x.v[0], control(x)); };
  at(Op::f2s) = [](const L& x) { return to_integer(x, true); };
  at(Op::f2u) = [](const L& x) { return to_integer(x, false); };
  at(Op::s2f) = [](const L& x) { return from_integer(x, true); };
  at(Op::u2f) = [](const L& x) { return from_integer(x, false); };
  add_transcendental_evaluators(t);
}

} // namespace lanewise::ir
