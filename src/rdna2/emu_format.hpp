// Buffer formats of gfx10 ("unified formats", RDNA2 ISA, "Buffer image formats"): what the components of an
// element look like in memory.
#pragma once

#include <array>
#include <cstdint>

namespace lanewise::rdna2::emu {

enum class Numeric : uint8_t { unorm, snorm, uscaled, sscaled, uint, sint, floating };

struct BufferFormat {
  uint8_t components = 0;        ///< 0: not a format
  std::array<uint8_t, 4> bits{}; ///< of x, y, z, w; x in the lowest bits
  Numeric numeric{};
  [[nodiscard]] unsigned bytes() const { return (bits[0] + bits[1] + bits[2] + bits[3]) / 8u; }
  [[nodiscard]] bool is_integer() const { return numeric == Numeric::uint || numeric == Numeric::sint; }
};

/// By the 7-bit code of MTBUF and of the resource descriptor.
[[nodiscard]] BufferFormat buffer_format(unsigned code);

/// A component as stored -> the 32-bit value a load returns (a float unless the format is an integer one).
[[nodiscard]] uint32_t load_component(uint32_t stored, unsigned bits, Numeric numeric);
/// The same as 16 bits, for d16 loads.
[[nodiscard]] uint16_t load_component_16(uint32_t stored, unsigned bits, Numeric numeric);
/// A 32-bit register value -> the component as stored. Normalised numbers round to nearest even and saturate,
/// integers lose their high bits.
[[nodiscard]] uint32_t store_component(uint32_t value, unsigned bits, Numeric numeric);

} // namespace lanewise::rdna2::emu
