// Typed buffer memory: MTBUF, and MUBUF with format conversion.
#include "rdna2/emu_format.hpp"

#include "rdna2/emu_buffer.hpp"
#include "rdna2/emu_float.hpp"

#include <algorithm>
#include <string_view>

namespace lanewise::rdna2::emu {
namespace {

using enum Numeric;

/// A run of codes that differ in the kind of number: unorm, snorm, uscaled, sscaled, uint, sint, and float
/// where there is one; 32-bit components have no normalised kinds.
struct FormatRow {
  uint8_t first, components;
  std::array<uint8_t, 4> bits;
  bool has_small, has_float;
};
constexpr FormatRow rows[] = {
    {1, 1, {8, 0, 0, 0}, true, false},     {7, 1, {16, 0, 0, 0}, true, true},
    {14, 2, {8, 8, 0, 0}, true, false},    {20, 1, {32, 0, 0, 0}, false, true},
    {23, 2, {16, 16, 0, 0}, true, true},   {30, 3, {11, 11, 10, 0}, true, true},
    {37, 3, {10, 11, 11, 0}, true, true},  {44, 4, {2, 10, 10, 10}, true, false},
    {50, 4, {10, 10, 10, 2}, true, false}, {56, 4, {8, 8, 8, 8}, true, false},
    {62, 2, {32, 32, 0, 0}, false, true},  {65, 4, {16, 16, 16, 16}, true, true},
    {72, 3, {32, 32, 32, 0}, false, true}, {75, 4, {32, 32, 32, 32}, false, true},
};

constexpr std::array<BufferFormat, 128> make_formats() {
  std::array<BufferFormat, 128> out{};
  for (const FormatRow& row : rows) {
    unsigned code = row.first;
    for (unsigned n = row.has_small ? 0 : 4; n < (row.has_float ? 7u : 6u); ++n)
      out[code++] = {row.components, row.bits, static_cast<Numeric>(n)};
  }
  return out;
}
constexpr std::array<BufferFormat, 128> formats = make_formats();

double sign_extended(uint32_t v, unsigned bits) {
  return static_cast<int32_t>(v << (32 - bits)) >> (32 - bits);
}

// Floats of 10 and 11 bits: no sign, 5 bits of exponent; they are halves without their low bits.
uint16_t small_float(uint32_t v, unsigned bits) {
  return static_cast<uint16_t>(bits == 16 ? v : v << (15 - bits));
}

double number(uint32_t v, unsigned bits, Numeric numeric) {
  const double most = bits == 32 ? 4294967295.0 : static_cast<double>((1u << bits) - 1);
  switch (numeric) {
  case unorm: return v / most;
  case snorm: return std::max(-1.0, sign_extended(v, bits) / static_cast<double>((1u << (bits - 1)) - 1));
  case uscaled: return v;
  case sscaled: return sign_extended(v, bits);
  default: return 0;
  }
}

uint32_t integer(uint32_t v, unsigned bits, Numeric numeric) {
  return numeric == sint ? static_cast<uint32_t>(static_cast<int32_t>(v << (32 - bits)) >> (32 - bits)) : v;
}

} // namespace

BufferFormat buffer_format(unsigned code) { return formats[code & 127]; }

uint32_t load_component(uint32_t stored, unsigned bits, Numeric numeric) {
  if (numeric == uint || numeric == sint) return integer(stored, bits, numeric);
  if (numeric == floating)
    return bits == 32 ? stored
                      : convert<uint32_t, uint16_t>(small_float(stored, bits), true, Round::nearest, true);
  return from_double<uint32_t>(number(stored, bits, numeric), Round::nearest);
}

uint16_t load_component_16(uint32_t stored, unsigned bits, Numeric numeric) {
  if (numeric == uint || numeric == sint) return static_cast<uint16_t>(integer(stored, bits, numeric));
  if (numeric == floating)
    return bits == 32 ? convert<uint16_t, uint32_t>(stored, true, Round::nearest, true)
                      : small_float(stored, bits);
  return from_double<uint16_t>(number(stored, bits, numeric), Round::nearest);
}

uint32_t store_component(uint32_t value, unsigned bits, Numeric numeric) {
  const uint32_t mask = bits == 32 ? ~0u : (1u << bits) - 1;
  if (numeric == uint || numeric == sint) return value & mask;
  if (numeric == floating) {
    if (bits == 32) return value;
    const uint16_t half = convert<uint16_t, uint32_t>(value, true, Round::nearest, true);
    if (bits == 16) return half;
    return is_nan(half) ? mask : is_negative(half) ? 0 : static_cast<uint32_t>(half >> (15 - bits));
  }
  const double x = is_nan(value) ? 0.0 : to_double(value);
  const double low = numeric == unorm || numeric == uscaled ? 0.0
                     : numeric == snorm                     ? -1.0
                                                            : -std::ldexp(1.0, int(bits) - 1);
  const double high = numeric == unorm || numeric == snorm ? 1.0
                      : numeric == uscaled                 ? mask
                                                           : std::ldexp(1.0, int(bits) - 1) - 1;
  const double scale = numeric == unorm ? mask : numeric == snorm ? mask >> 1 : 1.0;
  return static_cast<uint32_t>(static_cast<int64_t>(std::nearbyint(std::clamp(x, low, high) * scale))) & mask;
}

namespace {

/// A typed instruction: its element format and how many components the registers hold.
struct Typed {
  BufferFormat format;
  unsigned components = 0;
  bool d16, d16_hi;
  Typed(const Step& s, const BufferDescriptor& d)
      : format(buffer_format(s.in.encoding == Encoding::mtbuf ? s.in.format : d.format)),
        d16(s.info->has(OpcodeFlag::d16)), d16_hi(s.info->has(OpcodeFlag::d16_hi)) {
    const std::string_view name = s.info->name;
    components = static_cast<unsigned>(name.size() - 1 - name.rfind('_')); // x, xy, xyz, xyzw
  }
};

bool ready(Wave& w, const Step& s, const Typed& typed) {
  if (s.in.tfe || s.in.lds)
    (void)w.fail(ErrorKind::unsupported, "texture fail enable and loads to LDS are not supported");
  else if (typed.format.components == 0)
    (void)w.fail(ErrorKind::input, "the buffer format is not one that gfx1030 has");
  else
    return true;
  return false;
}

/// The bits of an element, fetched whole.
using Element = std::array<uint32_t, 4>;
uint32_t component(const Element& e, const BufferFormat& f, unsigned i) {
  unsigned at = 0;
  for (unsigned k = 0; k < i; ++k) at += f.bits[k];
  const uint64_t word = e[at / 32] | (at / 32 < 3 ? uint64_t{e[at / 32 + 1]} << 32 : 0);
  const auto value = static_cast<uint32_t>(word >> at % 32);
  return f.bits[i] == 32 ? value : value & ((1u << f.bits[i]) - 1);
}
void set_component(Element& e, const BufferFormat& f, unsigned i, uint32_t value) {
  unsigned at = 0;
  for (unsigned k = 0; k < i; ++k) at += f.bits[k];
  e[at / 32] |= value << at % 32; // no format has a component across dwords
}

// Reads or writes a whole element in pieces of at most 4 bytes.
template <bool write>
bool transfer(BufferAccess& access, unsigned lane, unsigned bytes, Element& e, bool& in_range) {
  for (unsigned at = 0; at < bytes; at += 4) {
    const unsigned part = std::min(4u, bytes - at);
    Place place;
    if (!access.locate(lane, at, part, bytes, write, place)) return false;
    if (place.p == nullptr) in_range = false;
    if constexpr (write)
      store(place, part, {{e[at / 4]}});
    else
      e[at / 4] = fetch(place, part).at[0];
  }
  return true;
}

// DST_SEL chooses what each result component shows. Components that the format lacks are 0, and 1 for w.
uint32_t selected(const Element& e, const Typed& t, unsigned select, bool half) {
  const bool integers = t.format.is_integer();
  const uint32_t unit = integers ? 1u : half ? uint32_t{one<uint16_t>} : one<uint32_t>;
  if (select == 0) return 0;
  if (select == 1) return unit;
  const unsigned i = select & 3;
  if (i >= t.format.components) return i == 3 ? unit : 0;
  const uint32_t stored = component(e, t.format, i);
  return half ? uint32_t{load_component_16(stored, t.format.bits[i], t.format.numeric)}
              : load_component(stored, t.format.bits[i], t.format.numeric);
}

Flow load_typed(Wave& w, const Step& s) {
  BufferAccess access(w, s);
  const Typed t(s, access.descriptor);
  if (!ready(w, s, t)) return Flow::fault;
  const unsigned reg = s.in.dst[0].reg;
  for (uint64_t rest = w.exec(); rest != 0; rest &= rest - 1) {
    const auto lane = static_cast<unsigned>(std::countr_zero(rest));
    Element e{};
    bool in_range = true;
    if (!transfer<false>(access, lane, t.format.bytes(), e, in_range)) return Flow::fault;
    std::array<uint32_t, 4> values{};
    if (in_range)
      for (unsigned i = 0; i < t.components; ++i)
        values[i] = selected(e, t, access.descriptor.select[i], t.d16 || t.d16_hi);
    if (t.d16_hi) {
      w.v(reg)[lane] = (w.v(reg)[lane] & 0xffff) | values[0] << 16;
    } else if (t.d16) {
      // Two halves to a register; a lone last one leaves the register's high half alone.
      for (unsigned i = 0; i < t.components; i += 2) {
        uint32_t& target = w.v(reg + i / 2)[lane];
        target = values[i] | (i + 1 < t.components ? values[i + 1] << 16 : target & 0xffff0000);
      }
    } else {
      for (unsigned i = 0; i < t.components; ++i) w.v(reg + i)[lane] = values[i];
    }
  }
  return Flow::next;
}

uint32_t register_value(const Wave& w, const Typed& t, unsigned reg, unsigned i, unsigned lane) {
  if (!t.d16 && !t.d16_hi) return w.v(reg + i)[lane];
  const uint32_t pair = w.v(reg + i / 2)[lane];
  const auto half = static_cast<uint16_t>(t.d16_hi || i % 2 != 0 ? pair >> 16 : pair);
  if (t.format.numeric == sint) return static_cast<uint32_t>(int32_t{static_cast<int16_t>(half)});
  if (t.format.numeric == uint) return half;
  return convert<uint32_t, uint16_t>(half, true, Round::nearest, true);
}

Flow store_typed(Wave& w, const Step& s) {
  BufferAccess access(w, s);
  const Typed t(s, access.descriptor);
  if (!ready(w, s, t)) return Flow::fault;
  for (LanesInTurn turn(w); turn.any();) {
    const unsigned lane = turn.take();
    Element e{};
    for (unsigned i = 0; i < std::min<unsigned>(t.components, t.format.components); ++i)
      set_component(e, t.format, i,
                    store_component(register_value(w, t, s.in.src[3].reg, i, lane), t.format.bits[i],
                                    t.format.numeric));
    bool in_range = true;
    if (!transfer<true>(access, lane, t.format.bytes(), e, in_range)) return Flow::fault;
  }
  return Flow::next;
}

} // namespace

void add_typed_buffer(HandlerTable& t) {
  for (unsigned i = 0; i < opcode_count; ++i) {
    const OpcodeInfo& row = opcode_table[i];
    if (!row.has(OpcodeFlag::formatted) ||
        (row.encoding != Encoding::mubuf && row.encoding != Encoding::mtbuf))
      continue;
    t[i] = row.access.kind == Access::Kind::load ? load_typed : store_typed;
  }
}

} // namespace lanewise::rdna2::emu
