// Handlers of floating-point functions of one lane, written once for all formats.
#pragma once

#include "rdna2/emu_float.hpp"
#include "rdna2/emu_lanes.hpp"

namespace lanewise::rdna2::emu {

/// No quick form of a function.
struct NoFast {};

/// Whether the host's own arithmetic gives the guest's results for a format, NaN aside.
template <class B>
[[nodiscard]] bool host_like(Mode mode) {
  return sizeof(B) == 4 ? mode.host_like_32() : mode.host_like_64();
}

/// D = exact(sources..., rules), then output modifiers. `fast`, if given, is exact without rules for nearest
/// rounding and kept denormals, in a form that compilers turn into vector code.
template <class B, unsigned sources, auto exact, auto fast = NoFast{}>
Flow float_lanes(Wave& w, const Step& s) {
  Vector x(w, s);
  Lanes<B> a, b, c, out;
  x.source(0, a);
  if constexpr (sources > 1) x.source(1, b);
  if constexpr (sources > 2) x.source(2, c);
  const FloatRules rules = FloatRules::of<B>(w.mode);
  bool done = false;
  if constexpr (!std::is_same_v<std::remove_const_t<decltype(fast)>, NoFast>) {
    if (host_like<B>(w.mode)) {
      each_lane(x.lanes(), [&](unsigned l) {
        if constexpr (sources == 1) out[l] = fast(a[l]);
        if constexpr (sources == 2) out[l] = fast(a[l], b[l]);
        if constexpr (sources == 3) out[l] = fast(a[l], b[l], c[l]);
      });
      done = true;
    }
  }
  if (!done)
    each_active(x.active, [&](unsigned l) {
      if constexpr (sources == 1) out[l] = exact(a[l], rules);
      if constexpr (sources == 2) out[l] = exact(a[l], b[l], rules);
      if constexpr (sources == 3) out[l] = exact(a[l], b[l], c[l], rules);
    });
  if (s.float_modifiers)
    each_active(x.active,
                [&](unsigned l) { out[l] = output_modifiers<B>(out[l], s.in.omod, s.in.clamp, rules); });
  x.write(out);
  return Flow::next;
}

} // namespace lanewise::rdna2::emu
