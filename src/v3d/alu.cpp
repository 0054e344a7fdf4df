// What each ALU operation computes, lane by lane. NaNs are canonical and zeros of fmin/fmax ordered, so that
// exchanging the operands of a commutative operation never shows.
#include "v3d/machine.hpp"

#include <bit>
#include <cmath>
#include <limits>

namespace lanewise::v3d {

namespace {

float f(std::uint32_t v) { return std::bit_cast<float>(v); }

std::uint32_t u(float v) { return std::isnan(v) ? 0x7fc00000u : std::bit_cast<std::uint32_t>(v); }

float half_to_float(std::uint32_t h) {
  const std::uint32_t sign = (h & 0x8000u) << 16;
  const std::uint32_t exponent = h >> 10 & 31;
  const std::uint32_t fraction = h & 0x3ffu;
  if (exponent == 0) {
    const float m = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -m : m;
  }
  const std::uint32_t e = exponent == 31 ? 255u : exponent + 112;
  return f(sign | e << 23 | fraction << 13);
}

std::uint32_t float_to_half(float x) {
  const std::uint32_t b = u(x);
  const std::uint32_t sign = b >> 16 & 0x8000u;
  if (std::isnan(x)) {
    return 0x7e00u;
  }
  const float m = std::fabs(x);
  if (m >= 65520.0f) {
    return sign | 0x7c00u;
  }
  if (m < std::ldexp(1.0f, -14)) {
    return sign | static_cast<std::uint32_t>(std::lrint(std::ldexp(m, 24)));
  }
  // Round to nearest even on the 13 bits that go.
  const std::uint32_t bits = b & 0x7fffffffu;
  return sign | ((bits - (112u << 23) + 0xfffu + (bits >> 13 & 1)) >> 13);
}

std::int32_t s(std::uint32_t v) { return static_cast<std::int32_t>(v); }

std::uint32_t to_int(float x) {
  if (std::isnan(x)) {
    return 0;
  }
  if (x >= 2147483648.0f) {
    return 0x7fffffffu;
  }
  return x < -2147483648.0f ? 0x80000000u : static_cast<std::uint32_t>(static_cast<std::int32_t>(x));
}

std::uint32_t to_uint(float x) {
  if (std::isnan(x) || x <= 0.0f) {
    return 0;
  }
  return x >= 4294967296.0f ? ~0u : static_cast<std::uint32_t>(x);
}

float minimum(float a, float b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : a == b && std::signbit(b) ? b : b < a ? b : a;
}
float maximum(float a, float b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : a == b && std::signbit(a) ? b : b > a ? b : a;
}

std::uint32_t pair(float low, float high) { return float_to_half(low) | float_to_half(high) << 16; }

std::uint32_t unpacked(std::uint32_t v, Unpack m, std::uint16_t properties) {
  const bool is_float = (properties & float_sources) != 0;
  const std::uint32_t low = v & 0xffffu, high = v >> 16;
  switch (m) {
  case Unpack::abs: return v & 0x7fffffffu;
  case Unpack::l: return is_float ? u(half_to_float(low)) : low;
  case Unpack::h: return is_float ? u(half_to_float(high)) : high;
  case Unpack::sat: return u(minimum(maximum(f(v), 0.0f), 1.0f));
  case Unpack::nsat: return u(minimum(maximum(f(v), -1.0f), 1.0f));
  case Unpack::max0: return u(maximum(f(v), 0.0f));
  case Unpack::ff: return float_to_half(f(v)) * 0x10001u;
  case Unpack::ll: return low * 0x10001u;
  case Unpack::hh: return high * 0x10001u;
  case Unpack::swp: return low << 16 | high;
  case Unpack::ul: return low;
  case Unpack::uh: return high;
  case Unpack::il: return static_cast<std::uint32_t>(static_cast<std::int16_t>(low));
  case Unpack::ih: return static_cast<std::uint32_t>(static_cast<std::int16_t>(high));
  case Unpack::none: break;
  }
  return v;
}

struct Value {
  std::uint32_t v;
  bool carry;
};

template <class F>
std::uint32_t halves(std::uint32_t a, std::uint32_t b, F g) {
  return pair(g(half_to_float(a & 0xffffu), half_to_float(b & 0xffffu)),
              g(half_to_float(a >> 16), half_to_float(b >> 16)));
}

// Floating point: both generations, either unit.
std::optional<Value> float_op(Op op, std::uint32_t a, std::uint32_t b) {
  const float x = f(a), y = f(b);
  switch (op) {
  case Op::fadd:
  case Op::faddnf: return Value{u(x + y), false};
  case Op::fsub: return Value{u(x - y), x < y};
  case Op::fcmp: return Value{u(x == y ? 0.0f : x - y), x > y};
  case Op::fmin: return Value{u(minimum(x, y)), x > y};
  case Op::fmax: return Value{u(maximum(x, y)), x > y};
  case Op::fmul: return Value{u(x * y), false};
  case Op::fmov: return Value{u(x), false};
  case Op::vfpack: return Value{pair(x, y), false};
  case Op::vfmin: return Value{halves(a, b, minimum), false};
  case Op::vfmax: return Value{halves(a, b, maximum), false};
  case Op::vfmul: return Value{halves(a, b, [](float p, float q) { return p * q; }), false};
  case Op::fround: return Value{u(std::nearbyint(x)), false};
  case Op::ftrunc: return Value{u(std::trunc(x)), false};
  case Op::ffloor: return Value{u(std::floor(x)), false};
  case Op::fceil: return Value{u(std::ceil(x)), false};
  case Op::ftoin: return Value{to_int(std::nearbyint(x)), false};
  case Op::ftoiz: return Value{to_int(x), false};
  case Op::ftouz: return Value{to_uint(x), false};
  case Op::ftoc: return Value{to_int(std::nearbyint(x * 65536.0f)), false};
  case Op::itof: return Value{u(static_cast<float>(s(a))), false};
  case Op::utof: return Value{u(static_cast<float>(a)), false};
  case Op::recip: return Value{u(1.0f / x), false};
  case Op::rsqrt:
  case Op::rsqrt2: return Value{u(1.0f / std::sqrt(x)), false};
  case Op::exp: return Value{u(std::exp2(x)), false};
  case Op::log: return Value{u(std::log2(x)), false};
  case Op::sin:
    return Value{u(std::isinf(x) ? std::numeric_limits<float>::quiet_NaN() : std::sin(x * 3.14159265f)),
                 false};
  case Op::ftounorm16:
    return Value{to_uint(std::nearbyint(minimum(maximum(x, 0.0f), 1.0f) * 65535.0f)), false};
  case Op::ftosnorm16:
    return Value{to_int(std::nearbyint(minimum(maximum(x, -1.0f), 1.0f) * 32767.0f)) & 0xffffu, false};
  default: return std::nullopt;
  }
}

std::optional<Value> int_op(Op op, std::uint32_t a, std::uint32_t b) {
  switch (op) {
  case Op::add: return Value{a + b, a + b < a};
  case Op::sub: return Value{a - b, a < b};
  case Op::min: return Value{s(a) < s(b) ? a : b, s(a) > s(b)};
  case Op::max: return Value{s(a) > s(b) ? a : b, s(a) > s(b)};
  case Op::umin: return Value{a < b ? a : b, a > b};
  case Op::umax: return Value{a > b ? a : b, a > b};
  case Op::shl: return Value{a << (b & 31), (b & 31) != 0 && (a >> (32 - (b & 31)) & 1) != 0};
  case Op::shr: return Value{a >> (b & 31), (b & 31) != 0 && (a >> ((b & 31) - 1) & 1) != 0};
  case Op::asr:
    return Value{static_cast<std::uint32_t>(s(a) >> (b & 31)),
                 (b & 31) != 0 && (a >> ((b & 31) - 1) & 1) != 0};
  case Op::ror: return Value{std::rotr(a, static_cast<int>(b & 31)), false};
  case Op::and_: return Value{a & b, false};
  case Op::or_: return Value{a | b, false};
  case Op::xor_: return Value{a ^ b, false};
  case Op::not_: return Value{~a, false};
  case Op::neg: return Value{0 - a, a != 0};
  case Op::clz: return Value{static_cast<std::uint32_t>(std::countl_zero(a)), false};
  case Op::vadd:
    return Value{(((a & 0xffffu) + (b & 0xffffu)) & 0xffffu) | ((a >> 16) + (b >> 16)) << 16, false};
  case Op::vsub:
    return Value{(((a & 0xffffu) - (b & 0xffffu)) & 0xffffu) | ((a >> 16) - (b >> 16)) << 16, false};
  case Op::smul24: {
    const auto x = static_cast<std::int64_t>(s(a << 8) >> 8) * (s(b << 8) >> 8);
    return Value{static_cast<std::uint32_t>(x), false};
  }
  case Op::vpack: return Value{(a & 0xffffu) | b << 16, false};
  case Op::v8pack:
    return Value{(a & 0xffu) | (a >> 8 & 0xff00u) | (b & 0xffu) << 16 | (b >> 16 & 0xffu) << 24, false};
  case Op::v10pack:
    return Value{(a & 0x3ffu) | (a >> 16 & 0x3ffu) << 10 | (b & 0x3ffu) << 20 | (b >> 16 & 3u) << 30, false};
  case Op::mov: return Value{a, false};
  default: return std::nullopt;
  }
}

} // namespace

Lanes Machine::evaluate(const Alu& a, const std::array<Lanes, 2>& sources, Mask& carry) {
  const OpInfo& row = info(a.op);
  Lanes r;
  carry = 0;
  std::array<Lanes, 2> in = sources;
  Mask undef = 0;
  for (unsigned n = 0; n < row.sources; ++n) {
    const Unpack m = a.src[n].unpack;
    const bool low_only = m == Unpack::l || m == Unpack::ul || m == Unpack::il || m == Unpack::ll;
    const bool high_only = m == Unpack::h || m == Unpack::uh || m == Unpack::ih || m == Unpack::hh;
    undef |= high_only ? in[n].undef_high : low_only ? in[n].undef_low : in[n].undef();
    for (auto& v : in[n].v) {
      v = unpacked(v, m, row.properties);
    }
  }
  if (row.sources == 0 || (row.properties & (cross_lane | reads_flags | reads_rtop | writes_rtop | vpm_load |
                                             touches_msf)) != 0) {
    r = special(a.op, in);
    r.undef_low |= undef;
    r.undef_high |= undef;
    return r;
  }
  for (unsigned l = 0; l < lane_count; ++l) {
    auto value = float_op(a.op, in[0].v[l], in[1].v[l]);
    if (!value) {
      value = int_op(a.op, in[0].v[l], in[1].v[l]);
    }
    if (!value) {
      // Rare conversions: any fixed function of the operands serves the comparison.
      value = Value{
          static_cast<std::uint32_t>(hash(static_cast<std::uint64_t>(a.op), in[0].v[l], in[1].v[l])), false};
    }
    r.v[l] = value->v;
    carry |= static_cast<Mask>(value->carry << l);
  }
  r.undef_low = r.undef_high = undef;
  if (a.op == Op::mov && a.src[0].unpack == Unpack::none) {
    r.undef_low = sources[0].undef_low;
    r.undef_high = sources[0].undef_high;
  }
  if (a.pack != Pack::none) {
    for (auto& v : r.v) {
      v = float_to_half(f(v));
      v |= v << 16;
    }
  }
  return r;
}

Lanes Machine::special(Op op, const std::array<Lanes, 2>& in) {
  Lanes r;
  const auto per_lane = [&](auto g) {
    for (unsigned l = 0; l < lane_count; ++l) {
      r.v[l] = g(l);
    }
    return r;
  };
  const auto spread_quads = [&](Mask m) {
    Mask q = 0;
    for (unsigned l = 0; l < lane_count; ++l) {
      q |= static_cast<Mask>((m >> (l & ~3u) & 15u) != 0 ? 1u << l : 0u);
    }
    return q;
  };
  const auto flag_value = [&](const Flags& flags, bool negate) {
    r.undef_low = r.undef_high = flags.undef;
    return per_lane([&](unsigned l) { return static_cast<std::uint32_t>((flags.bits >> l & 1) != negate); });
  };
  switch (op) {
  case Op::fdx:
  case Op::fdy: {
    const unsigned step = op == Op::fdx ? 1 : 2;
    r = per_lane([&](unsigned l) { return u(f(in[0].v[l | step]) - f(in[0].v[l & ~step])); });
    r.undef_low = r.undef_high = spread_quads(in[0].undef());
    return r;
  }
  case Op::multop:
    rtop_ = per_lane([&](unsigned l) {
      const std::uint32_t x = in[0].v[l], y = in[1].v[l];
      return (x >> 24) * y + (x & 0xffffffu) * (y >> 24);
    });
    rtop_.undef_low = rtop_.undef_high = in[0].undef() | in[1].undef();
    return r;
  case Op::umul24:
    r = per_lane(
        [&](unsigned l) { return (in[0].v[l] & 0xffffffu) * (in[1].v[l] & 0xffffffu) + (rtop_.v[l] << 24); });
    r.undef_low = r.undef_high = rtop_.undef();
    return r;
  case Op::eidx: return per_lane([](unsigned l) { return l; });
  case Op::tidx: return per_lane([&](unsigned) { return static_cast<std::uint32_t>(hash(1) & 3); });
  case Op::vfla: return flag_value(a_, false);
  case Op::vflna: return flag_value(a_, true);
  case Op::vflb: return flag_value(b_, false);
  case Op::vflnb: return flag_value(b_, true);
  case Op::msf: return per_lane([&](unsigned l) { return msf_[l]; });
  case Op::ldvpmv_in:
  case Op::ldvpmd_in:
  case Op::ldvpmp:
    // A load after a store would see what was stored: the input is made up from the count of stores.
    return per_lane([&](unsigned l) {
      return static_cast<std::uint32_t>(hash(0x76706du + vpm_stores_, in[0].v[l], l)) & 0x3fffffffu;
    });
  case Op::nop:
  case Op::tmuwt:
  case Op::vpmwt:
  case Op::setmsf: return in[0];
  default: {
    Mask any = in[0].undef() | in[1].undef();
    if (has(op, cross_lane)) {
      any = any != 0 ? all_lanes : Mask{0};
      std::uint64_t all = 0;
      for (unsigned l = 0; l < lane_count; ++l) {
        all = hash(all, in[0].v[l], in[1].v[l]);
      }
      r = per_lane(
          [&](unsigned l) { return static_cast<std::uint32_t>(hash(all, static_cast<unsigned>(op), l)); });
    } else {
      r = made_up(static_cast<std::uint64_t>(op) + 1000);
    }
    r.undef_low = r.undef_high = any;
    return r;
  }
  }
}

} // namespace lanewise::v3d
