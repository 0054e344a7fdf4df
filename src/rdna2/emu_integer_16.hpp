// Integers of 16 bits, as the single and the packed instructions compute them: in 64 bits, then cut or
// limited.
#pragma once

#include <algorithm>
#include <cstdint>

namespace lanewise::rdna2::emu {

using h = uint16_t;
using u = uint32_t;

constexpr int32_t s(u a) { return static_cast<int16_t>(a); }
constexpr h half(int64_t a) { return static_cast<h>(a); }
constexpr h saturate_u16(int64_t a) { return half(std::clamp<int64_t>(a, 0, 0xffff)); }
constexpr h saturate_i16(int64_t a) { return half(std::clamp<int64_t>(a, -0x8000, 0x7fff)); }

} // namespace lanewise::rdna2::emu
