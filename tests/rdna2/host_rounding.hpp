// The host's arithmetic in the guest's rounding modes.
#pragma once

#include <cfenv>

namespace lanewise::rdna2::emu {

/// By the guest's number of the mode.
inline constexpr int host_modes[] = {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};

/// Runs f in a host rounding mode.
template <class F>
auto rounded(unsigned mode, F f) {
  std::fesetround(host_modes[mode]);
  const volatile auto result = f();
  std::fesetround(FE_TONEAREST);
  return result;
}

} // namespace lanewise::rdna2::emu
