// Reciprocals, roots, exponentials and trigonometry (RDNA2 ISA, 12.8). The hardware is within 1 ULP and no
// public model of its bits exists; here each result is the exact function's, rounded to nearest once. The f32
// forms other than sine and cosine flush denormal operands and results whatever MODE says.
#include "rdna2/emu_float_lanes.hpp"

#include <numbers>

namespace lanewise::rdna2::emu {
namespace {

using R = const FloatRules&;

/// A function with its own precision: double first, and long double where double cannot decide the rounding.
struct Function {
  double (*quick)(double);
  long double (*slow)(long double);
  double (*for_double)(double) = nullptr; ///< the f64 form; exact but for the reciprocal root's last bit
};

// Rounds f(x) to the format. The quick result errs by at most a few units in 2^-53; if both ends of that
// interval round alike, the result is known, otherwise the slow one (2^-64) decides.
template <class B>
B rounded(const Function& f, double x) {
  const double y = sizeof(B) == 8 ? f.for_double(x) : f.quick(x);
  if (std::isnan(y)) return invalid<B>;
  if (sizeof(B) == 8 || y == 0 || std::isinf(y)) return from_double<B>(y, Round::nearest);
  constexpr double error = 0x1p-50;
  const B low = from_double<B>(y * (1 - error), Round::nearest),
          high = from_double<B>(y * (1 + error), Round::nearest);
  if (low == high) return low;
  // To odd: the long double's lost bits must not look like a tie.
  const long double exact = f.slow(x);
  auto near = static_cast<double>(exact);
  const long double rest = exact - static_cast<long double>(near);
  auto bits = std::bit_cast<uint64_t>(near);
  if (rest != 0 && (bits & 1) == 0) bits += (rest > 0) == (near > 0) ? uint64_t{1} : ~uint64_t{0};
  return from_double<B>(std::bit_cast<double>(bits), Round::nearest);
}

// sin(2 pi x) and cos(2 pi x): whole turns go first, exactly; quarter turns give exact results.
template <bool cosine, class F>
F turns(F x) {
  const F r = x - std::nearbyint(x); // [-1/2, 1/2]
  if constexpr (cosine) {
    if (std::fabs(r) == F{0.25}) return 0;
    if (std::fabs(r) > F{0.125}) // as a sine: keeps precision near the quarter turns, where it is 0
      return std::sin(2 * std::numbers::pi_v<F> * (F{0.25} - std::fabs(r)));
    return std::cos(2 * std::numbers::pi_v<F> * r);
  } else {
    if (r == 0 || std::fabs(r) == F{0.5}) return x == 0 ? x : 0;
    if (std::fabs(r) > F{0.25}) // sin(pi - a) keeps precision near half turns
      return std::sin(2 * std::numbers::pi_v<F> * (std::copysign(F{0.5}, r) - r));
    return std::sin(2 * std::numbers::pi_v<F> * r);
  }
}

constexpr Function reciprocal{[](double x) { return 1 / x; }, [](long double x) { return 1 / x; },
                              [](double x) { return 1 / x; }};
constexpr Function square_root{[](double x) { return std::sqrt(x); },
                               [](long double x) { return std::sqrt(x); },
                               [](double x) { return std::sqrt(x); }};
constexpr Function reciprocal_root{
    [](double x) { return 1 / std::sqrt(x); }, [](long double x) { return 1 / std::sqrt(x); },
    [](double x) { return static_cast<double>(1 / std::sqrt(static_cast<long double>(x))); }};
constexpr Function exponential{[](double x) { return std::exp2(x); },
                               [](long double x) { return std::exp2(x); }};
constexpr Function logarithm{[](double x) { return std::log2(x); },
                             [](long double x) { return std::log2(x); }};
constexpr Function sine{turns<false, double>, turns<false, long double>};
constexpr Function cosine{turns<true, double>, turns<true, long double>};

template <class B, const Function& f, bool flushes>
B apply(B x, R r) {
  if (is_nan(x)) return quiet(x);
  x = flush(x, r.keep_in && !flushes);
  return flush(rounded<B>(f, to_double(x)), r.keep_out && !flushes);
}

// Zero keeps its sign in a root, and the reciprocal root of either zero is an infinity of that sign.
template <class B, const Function& f>
constexpr Handler handler = float_lanes<B, 1, apply<B, f, false>>;
template <const Function& f>
constexpr Handler flushing = float_lanes<uint32_t, 1, apply<uint32_t, f, true>>;

} // namespace

void add_transcendental(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler h) { t[static_cast<unsigned>(o)] = h; };
  set(v_rcp_f32, flushing<reciprocal>);
  set(v_rcp_iflag_f32, flushing<reciprocal>);
  set(v_rsq_f32, flushing<reciprocal_root>);
  set(v_sqrt_f32, flushing<square_root>);
  set(v_exp_f32, flushing<exponential>);
  set(v_log_f32, flushing<logarithm>);
  set(v_sin_f32, handler<uint32_t, sine>);
  set(v_cos_f32, handler<uint32_t, cosine>);
  set(v_rcp_f16, handler<uint16_t, reciprocal>);
  set(v_rsq_f16, handler<uint16_t, reciprocal_root>);
  set(v_sqrt_f16, handler<uint16_t, square_root>);
  set(v_exp_f16, handler<uint16_t, exponential>);
  set(v_log_f16, handler<uint16_t, logarithm>);
  set(v_sin_f16, handler<uint16_t, sine>);
  set(v_cos_f16, handler<uint16_t, cosine>);
  set(v_rcp_f64, handler<uint64_t, reciprocal>);
  set(v_rsq_f64, handler<uint64_t, reciprocal_root>);
  set(v_sqrt_f64, handler<uint64_t, square_root>);
}

} // namespace lanewise::rdna2::emu
