// Packed 16-bit math, dot products and mixed-precision fma (VOP3P; RDNA2 ISA, 12.11).
#include "rdna2/emu_float_lanes.hpp"
#include "rdna2/emu_integer_16.hpp"

#include <algorithm>

namespace lanewise::rdna2::emu {
namespace {

using R = const FloatRules&;

/// Which half of each source feeds which half of the result, and which of them is negated.
struct Halves {
  std::array<std::array<unsigned, 3>, 2> shift{}; // [result half][source]
  std::array<std::array<h, 3>, 2> flip{};         // sign bits to flip, floats only
  Halves(const Instruction& in, bool floats) {
    // VOP2 forms have no selectors: low with low, high with high.
    const unsigned high = in.encoding == Encoding::vop3p ? in.op_sel_hi : 7;
    for (unsigned i = 0; i < 3; ++i) {
      shift[0][i] = (in.op_sel >> i & 1) != 0 ? 16 : 0;
      shift[1][i] = (high >> i & 1) != 0 ? 16 : 0;
      if (!floats || in.encoding != Encoding::vop3p) continue;
      flip[0][i] = in.src[i].neg ? 0x8000 : 0;
      flip[1][i] = in.src[i].abs ? 0x8000 : 0;
    }
  }
};

// f on each half: h f(h a, h b, h c, const Step&, rules).
template <auto f, unsigned sources, bool floats>
Flow packed(Wave& w, const Step& step) {
  Vector x(w, step);
  std::array<Lanes<u>, 3> buffers;
  std::array<const u*, 3> p{};
  for (unsigned i = 0; i < sources; ++i) p[i] = x.source32(i, buffers[i]);
  for (unsigned i = sources; i < 3; ++i) p[i] = p[0];
  const Halves halves(step.in, floats);
  const FloatRules rules = FloatRules::wide(w.mode);
  Lanes<u> out;
  const auto run = [&](unsigned l) {
    u result = 0;
    for (unsigned part = 0; part < 2; ++part) {
      const auto& shift = halves.shift[part];
      const auto& flip = halves.flip[part];
      const auto value = [&](unsigned i) { return static_cast<h>((p[i][l] >> shift[i]) ^ flip[i]); };
      result |= u{f(value(0), value(1), value(2), step, rules)} << 16 * part;
    }
    out[l] = result;
  };
  if constexpr (floats)
    each_active(x.active, run);
  else
    each_lane(x.lanes(), run);
  x.write32(out.at);
  return Flow::next;
}

// Integer functions in 64 bits, wrapped or saturated.
template <auto f, auto saturate>
h integer(h a, h b, h c, const Step& step, R) {
  const int64_t r = f(a, b, c);
  return step.in.clamp ? saturate(r) : half(r);
}
template <auto f, unsigned sources, auto saturate = half>
constexpr Handler packed_integer = packed<integer<f, saturate>, sources, false>;

template <auto f>
h packed_floating(h a, h b, h c, const Step& step, R r) {
  return output_modifiers<h>(f(a, b, c, r), 0, step.in.clamp, r);
}
template <auto f, unsigned sources>
constexpr Handler packed_float = packed<packed_floating<f>, sources, true>;

// Integer dot products: `bits` wide elements, 32-bit sum that wraps or saturates.
template <unsigned bits, bool is_signed, bool halves>
Flow dot_integer(Wave& w, const Step& step) {
  Vector x(w, step);
  Lanes<u> a, b, c, out;
  const u *p = x.source32(0, a), *q = x.source32(1, b), *r = x.source32(2, c);
  const Halves select(step.in, false);
  const auto element = [](u value, unsigned shift) -> int64_t {
    const u raised = value << (32 - bits - shift);
    return is_signed ? int64_t{static_cast<int32_t>(raised) >> (32 - bits)} : int64_t{raised >> (32 - bits)};
  };
  each_active(x.active, [&](unsigned l) {
    int64_t sum = is_signed ? int64_t{static_cast<int32_t>(r[l])} : int64_t{r[l]};
    for (unsigned k = 0; k < 32 / bits; ++k) {
      const unsigned sa = halves ? select.shift[k][0] : k * bits, sb = halves ? select.shift[k][1] : k * bits;
      sum += element(p[l], sa) * element(q[l], sb);
    }
    if (step.in.clamp)
      sum = std::clamp<int64_t>(sum, is_signed ? INT32_MIN : 0, is_signed ? INT32_MAX : UINT32_MAX);
    out[l] = static_cast<u>(sum);
  });
  x.write32(out.at);
  return Flow::next;
}

u widen(h x, R r) { return convert<u, h>(x, r.keep_in, Round::nearest, true); }

// (S0.lo * S1.lo + S0.hi * S1.hi) + S2: products of halves are exact, each addition rounds.
Flow dot_half(Wave& w, const Step& step) {
  Vector x(w, step);
  Lanes<u> a, b, c, out;
  const u *p = x.source32(0, a), *q = x.source32(1, b), *r = x.source32(2, c);
  const Halves select(step.in, true);
  const FloatRules wide = FloatRules::wide(w.mode), single = FloatRules::single(w.mode);
  const bool packed_form = step.in.encoding == Encoding::vop3p;
  each_active(x.active, [&](unsigned l) {
    std::array<u, 4> v{};
    for (unsigned part = 0; part < 2; ++part) {
      v[part] = widen(static_cast<h>((p[l] >> select.shift[part][0]) ^ select.flip[part][0]), wide);
      v[2 + part] = widen(static_cast<h>((q[l] >> select.shift[part][1]) ^ select.flip[part][1]), wide);
    }
    u last = r[l];
    if (packed_form && step.in.src[2].abs) last = magnitude(last);
    if (packed_form && step.in.src[2].neg) last = negate(last);
    const u products = fma<u>(v[0], v[2], multiply<u>(v[1], v[3], single), single);
    out[l] = output_modifiers<u>(add<u>(products, last, single), 0, step.in.clamp, single);
  });
  x.write32(out.at);
  return Flow::next;
}

// Sources are f32, or (op_sel_hi) one half of the register as f16; the fma rounds to f32, mixlo and mixhi
// then round again to f16.
struct MixSource {
  const u* words;
  bool is_half, neg, abs;
  unsigned shift;
  [[nodiscard]] u get(unsigned lane, R wide) const {
    u v = words[lane];
    if (is_half) v = widen(static_cast<h>(v >> shift), wide);
    if (abs) v = magnitude(v);
    return neg ? negate(v) : v;
  }
};

template <int target_half>
Flow mix(Wave& w, const Step& step) {
  Vector x(w, step);
  std::array<Lanes<u>, 3> buffers;
  std::array<MixSource, 3> source{};
  for (unsigned i = 0; i < 3; ++i)
    source[i] = {x.source32(i, buffers[i]), (step.in.op_sel_hi >> i & 1) != 0, step.in.src[i].neg,
                 step.in.src[i].abs, (step.in.op_sel >> i & 1) != 0 ? 16u : 0u};
  const FloatRules wide = FloatRules::wide(w.mode), single = FloatRules::single(w.mode);
  u* row = w.v(step.in.dst[0].reg);
  each_active(x.active, [&](unsigned l) {
    const u sum = fma<u>(source[0].get(l, wide), source[1].get(l, wide), source[2].get(l, wide), single);
    if constexpr (target_half < 0) {
      row[l] = output_modifiers<u>(sum, 0, step.in.clamp, single);
    } else {
      const h rounded = convert<h, u>(sum, true, wide.round, wide.keep_out);
      const h result = output_modifiers<h>(rounded, 0, step.in.clamp, wide);
      constexpr unsigned shift = 16 * static_cast<unsigned>(target_half < 0 ? 0 : target_half);
      row[l] = (row[l] & ~(0xffffu << shift)) | u{result} << shift;
    }
  });
  return Flow::next;
}

} // namespace

void add_packed(HandlerTable& t) {
  using enum Opcode;
  const auto set = [&](Opcode o, Handler handler) { t[static_cast<unsigned>(o)] = handler; };
  using l = int64_t;
  set(v_pk_mad_i16, packed_integer<[](h a, h b, h c) { return l{s(a)} * s(b) + s(c); }, 3, saturate_i16>);
  set(v_pk_mad_u16, packed_integer<[](h a, h b, h c) { return l{a} * b + c; }, 3, saturate_u16>);
  set(v_pk_mul_lo_u16, packed_integer<[](h a, h b, h) { return l{a} * b; }, 2>);
  set(v_pk_add_i16, packed_integer<[](h a, h b, h) { return l{s(a)} + s(b); }, 2, saturate_i16>);
  set(v_pk_sub_i16, packed_integer<[](h a, h b, h) { return l{s(a)} - s(b); }, 2, saturate_i16>);
  set(v_pk_add_u16, packed_integer<[](h a, h b, h) { return l{a} + b; }, 2, saturate_u16>);
  set(v_pk_sub_u16, packed_integer<[](h a, h b, h) { return l{a} - b; }, 2, saturate_u16>);
  set(v_pk_lshlrev_b16, packed_integer<[](h a, h b, h) { return l{b} << (a & 15); }, 2>);
  set(v_pk_lshrrev_b16, packed_integer<[](h a, h b, h) { return (l{b} >> (a & 15)); }, 2>);
  set(v_pk_ashrrev_i16, packed_integer<[](h a, h b, h) { return (l{s(b)} >> (a & 15)); }, 2>);
  set(v_pk_max_i16, packed_integer<[](h a, h b, h) { return l{std::max(s(a), s(b))}; }, 2>);
  set(v_pk_min_i16, packed_integer<[](h a, h b, h) { return l{std::min(s(a), s(b))}; }, 2>);
  set(v_pk_max_u16, packed_integer<[](h a, h b, h) { return l{std::max(a, b)}; }, 2>);
  set(v_pk_min_u16, packed_integer<[](h a, h b, h) { return l{std::min(a, b)}; }, 2>);
  set(v_pk_fma_f16, packed_float<[](h a, h b, h c, R r) { return fma(a, b, c, r); }, 3>);
  set(v_pk_fmac_f16, packed_float<[](h a, h b, h c, R r) { return fma(a, b, c, r); }, 3>);
  set(v_pk_add_f16, packed_float<[](h a, h b, h, R r) { return add(a, b, r); }, 2>);
  set(v_pk_mul_f16, packed_float<[](h a, h b, h, R r) { return multiply(a, b, r); }, 2>);
  set(v_pk_min_f16, packed_float<[](h a, h b, h, R r) { return (extreme<h, false>(a, b, r)); }, 2>);
  set(v_pk_max_f16, packed_float<[](h a, h b, h, R r) { return (extreme<h, true>(a, b, r)); }, 2>);
  set(v_dot2_f32_f16, dot_half);
  set(v_dot2c_f32_f16, dot_half);
  set(v_dot2_i32_i16, dot_integer<16, true, true>);
  set(v_dot2_u32_u16, dot_integer<16, false, true>);
  set(v_dot4_i32_i8, dot_integer<8, true, false>);
  set(v_dot4c_i32_i8, dot_integer<8, true, false>);
  set(v_dot4_u32_u8, dot_integer<8, false, false>);
  set(v_dot8_i32_i4, dot_integer<4, true, false>);
  set(v_dot8_u32_u4, dot_integer<4, false, false>);
  set(v_fma_mix_f32, mix<-1>);
  set(v_fma_mixlo_f16, mix<0>);
  set(v_fma_mixhi_f16, mix<1>);
}

} // namespace lanewise::rdna2::emu
