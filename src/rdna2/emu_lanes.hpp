// Vector instructions as loops over lanes: how sources are fetched (DPP, SDWA, modifiers, broadcast), how
// results are written under EXEC, and wrappers that make handlers out of functions of one lane.
#pragma once

#include "rdna2/emu_machine.hpp"

#include <tuple>
#include <type_traits>
#include <utility>

namespace lanewise::rdna2::emu {

inline constexpr unsigned max_lanes = 64;

/// One value for each lane.
template <class T>
struct alignas(64) Lanes {
  T at[max_lanes];
  T& operator[](unsigned i) { return at[i]; }
  const T& operator[](unsigned i) const { return at[i]; }
};

/// Calls f(lane) for all lanes, in runs of 32 that compilers turn into vector code.
template <class F>
inline void each_lane(unsigned lanes, F f) {
  const unsigned end = lanes == 32 ? 32 : max_lanes;
  for (unsigned base = 0; base < end; base += 32)
    for (unsigned i = 0; i < 32; ++i) f(base + i);
}

/// Calls f(lane) for the lanes of a mask, lowest first.
template <class F>
inline void each_active(uint64_t mask, F f) {
  for (; mask != 0; mask &= mask - 1) f(static_cast<unsigned>(std::countr_zero(mask)));
}

/// The active lanes in the order in which their stores and atomics take effect: lowest first, so that the
/// highest of several that store to one address has the last word. The architecture does not say; with
/// Dispatch::other_turns it is the other way round.
class LanesInTurn {
 public:
  explicit LanesInTurn(const Wave& w) : rest_(w.exec()), highest_first_(w.launch->other_turns != 0) {}
  [[nodiscard]] bool any() const { return rest_ != 0; }
  /// The next one, if there is any.
  [[nodiscard]] unsigned take() {
    const int lane = highest_first_ ? 63 - std::countl_zero(rest_) : std::countr_zero(rest_);
    rest_ ^= uint64_t{1} << lane;
    return static_cast<unsigned>(lane);
  }

 private:
  uint64_t rest_;
  bool highest_first_;
};

/// A vector instruction being run.
class Vector {
 public:
  Vector(Wave& w, const Step& s) : wave(w), step(s), in(s.in), active(w.exec()) {}

  Wave& wave;
  const Step& step;
  const Instruction& in;
  uint64_t active; ///< lanes that run: EXEC, less those that DPP switches off (known after source 0 is read)

  [[nodiscard]] unsigned lanes() const { return wave.lanes; }

  /// Source `i` as 32 bits, 64 bits, or the 16 bits that op_sel or SDWA chooses. `buffer` holds the values
  /// where they are not simply a register.
  [[nodiscard]] const uint32_t* source32(unsigned i, Lanes<uint32_t>& buffer) {
    const Operand& o = in.src[i];
    if (o.is_vgpr() && (step.modified >> i & 1) == 0) return wave.v(o.reg);
    read32(i, buffer);
    return buffer.at;
  }
  void source64(unsigned i, Lanes<uint64_t>& out);
  void source16(unsigned i, Lanes<uint16_t>& out);
  /// Source `i` as a lane mask.
  [[nodiscard]] uint64_t source_mask(unsigned i) const {
    return wave.lanes == 32 ? wave.read32(in.src[i]) : wave.read64(in.src[i]);
  }
  /// As source32, source16 or source64, by the type.
  template <class T>
  void source(unsigned i, Lanes<T>& out);

  /// Results, written in active lanes only. 16-bit results leave the other half of the register alone.
  void write32(const uint32_t* values, unsigned slot = 0);
  void write64(const uint64_t* values, unsigned slot = 0);
  void write16(const uint16_t* values);
  template <class T>
  void write(const Lanes<T>& values);
  /// A result with one bit per lane: 0 in lanes that are off.
  void write_mask(uint64_t bits, unsigned slot = 0) {
    const Operand& o = in.dst[slot];
    if (wave.lanes == 32)
      wave.write32(o, static_cast<uint32_t>(bits & active));
    else
      wave.write64(o, bits & active);
  }

 private:
  void read32(unsigned i, Lanes<uint32_t>& out);
  void permute_dpp(Lanes<uint32_t>& values);
  void select_sdwa(const Operand& o, Lanes<uint32_t>& values) const;
  void write_sdwa(uint32_t* row, const uint32_t* values) const;
};

template <class T>
void Vector::source(unsigned i, Lanes<T>& out) {
  static_assert(std::is_unsigned_v<T> && sizeof(T) >= 2);
  if constexpr (sizeof(T) == 2) {
    source16(i, out);
  } else if constexpr (sizeof(T) == 8) {
    source64(i, out);
  } else {
    const uint32_t* p = source32(i, out);
    if (p != out.at) each_lane(lanes(), [&](unsigned l) { out[l] = p[l]; });
  }
}

template <class T>
void Vector::write(const Lanes<T>& values) {
  static_assert(std::is_unsigned_v<T> && sizeof(T) >= 2);
  if constexpr (sizeof(T) == 2)
    write16(values.at);
  else if constexpr (sizeof(T) == 8)
    write64(values.at);
  else
    write32(values.at);
}

/// Handlers of lane-local functions on 32-bit words: R f(uint32_t...).
template <auto f>
Flow lane32_1(Wave& wave, const Step& step) {
  Vector x(wave, step);
  Lanes<uint32_t> a, out;
  const uint32_t* p = x.source32(0, a);
  each_lane(x.lanes(), [&](unsigned l) { out[l] = f(p[l]); });
  x.write32(out.at);
  return Flow::next;
}

template <auto f>
Flow lane32_2(Wave& wave, const Step& step) {
  Vector x(wave, step);
  Lanes<uint32_t> a, b, out;
  const uint32_t* p = x.source32(0, a);
  const uint32_t* q = x.source32(1, b);
  each_lane(x.lanes(), [&](unsigned l) { out[l] = f(p[l], q[l]); });
  x.write32(out.at);
  return Flow::next;
}

template <auto f>
Flow lane32_3(Wave& wave, const Step& step) {
  Vector x(wave, step);
  Lanes<uint32_t> a, b, c, out;
  const uint32_t* p = x.source32(0, a);
  const uint32_t* q = x.source32(1, b);
  const uint32_t* r = x.source32(2, c);
  each_lane(x.lanes(), [&](unsigned l) { out[l] = f(p[l], q[l], r[l]); });
  x.write32(out.at);
  return Flow::next;
}

/// Handlers of functions of any operand widths, run for active lanes only: R f(const Step&, Mode, A...).
/// For whatever is too costly to compute in lanes that are off.
template <auto f, class R, class... A>
Flow lane_any(Wave& wave, const Step& step) {
  Vector x(wave, step);
  std::tuple<Lanes<A>...> sources;
  Lanes<R> out;
  [&]<std::size_t... i>(std::index_sequence<i...>) {
    (x.source(i, std::get<i>(sources)), ...);
    each_active(x.active, [&](unsigned l) { out[l] = f(step, wave.mode, std::get<i>(sources)[l]...); });
  }(std::index_sequence_for<A...>{});
  x.write(out);
  return Flow::next;
}

} // namespace lanewise::rdna2::emu
