#include "ir/text.hpp"

#include "ir/text_graphics.hpp"

#include "ir/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <iterator>

namespace lanewise::ir {
namespace {

using namespace std::string_view_literals;

constexpr std::array kTypes{"none"sv, "u1"sv, "i8"sv, "i16"sv, "i32"sv, "i64"sv, "f16"sv, "f32"sv, "f64"sv};
constexpr std::array kInputs{"workgroup_id_x"sv, "workgroup_id_y"sv, "workgroup_id_z"sv, "wave_in_group"sv,
                             "kernarg_ptr"sv,    "dispatch_ptr"sv,   "queue_ptr"sv,      "dispatch_id"sv,
                             "image_base"sv,     "local_id_x"sv,     "local_id_y"sv,     "local_id_z"sv,
                             "initial_exec"sv};
constexpr std::array kTraps{"s_trap"sv, "bad_return"sv, "bad_call_target"sv, "fell_off_end"sv};
constexpr std::array kSpaces{"global"sv, "lds"sv, "scratch"sv, "flat"sv};
constexpr std::array kAtomics{"none"sv, "swap"sv, "cmpswap"sv, "add"sv,  "sub"sv,      "rsub"sv,
                              "smin"sv, "umin"sv, "smax"sv,    "umax"sv, "and"sv,      "or"sv,
                              "xor"sv,  "inc"sv,  "dec"sv,     "csub"sv, "fcmpswap"sv, "fmin"sv,
                              "fmax"sv, "fadd"sv, "mskor"sv,   "wrap"sv};
constexpr std::array kPatterns{"quad_perm"sv,  "row_shl"sv,         "row_shr"sv,   "row_ror"sv,
                               "row_mirror"sv, "row_half_mirror"sv, "row_share"sv, "row_xmask"sv,
                               "dpp8"sv,       "swizzle_xor"sv,     "rotate32"sv,  "fft"sv,
                               "half_swap"sv};
static_assert(kInputs.size() == static_cast<size_t>(Input::count_));

struct Flag {
  std::string_view name;
  uint64_t bits;
};

const std::array kControlFlags{
    Flag{"up", FloatControl{.round = 1}.pack()},
    Flag{"down", FloatControl{.round = 2}.pack()},
    Flag{"zero", FloatControl{.round = 3}.pack()},
    Flag{"flush_in", FloatControl{.flush_in = true}.pack()},
    Flag{"flush_out", FloatControl{.flush_out = true}.pack()},
    Flag{"ieee", FloatControl{.ieee = true}.pack()},
    Flag{"dx10_clamp", FloatControl{.dx10_clamp = true}.pack()},
};
constexpr uint64_t kControlBits = 63;

uint64_t access_bits(MemoryAccess with) {
  return with.pack() ^ MemoryAccess {}.pack();
}
const std::array kAccessFlags{
    Flag{"sext", access_bits({.sign_extend = true})},    Flag{"coherent", access_bits({.coherent = true})},
    Flag{"invariant", access_bits({.invariant = true})}, Flag{"idxen", access_bits({.idxen = true})},
    Flag{"offen", access_bits({.offen = true})},         Flag{"noreturn", access_bits({.return_old = false})},
    Flag{"flush_in", access_bits({.flush_in = true})},   Flag{"flush_out", access_bits({.flush_out = true})},
};

enum class Style : uint8_t {
  plain,
  input,
  index,
  half,
  pattern,
  control,
  compare,
  access,
  image,
  export_,
  trap,
  barrier
};

Style style(Op op) {
  switch (op) {
  case Op::input: return Style::input;
  case Op::extract: return Style::index;
  case Op::mbcnt: return Style::half;
  case Op::dpp: return Style::pattern;
  case Op::fcmp: return Style::compare;
  case Op::trap: return Style::trap;
  case Op::barrier: return Style::barrier;
  case Op::load:
  case Op::store:
  case Op::atomic:
  case Op::buffer_load:
  case Op::buffer_store:
  case Op::buffer_atomic: return Style::access;
  case Op::image_sample:
  case Op::image_sample_implicit: return Style::image;
  case Op::export_: return Style::export_;
  case Op::fneg:
  case Op::fabs: return Style::plain;
  default: return op >= Op::fadd && op <= Op::u2f ? Style::control : Style::plain;
  }
}

template <size_t N>
std::optional<size_t> find(const std::array<std::string_view, N>& names, std::string_view s) {
  const auto it = std::ranges::find(names, s);
  return it == names.end() ? std::nullopt : std::optional(static_cast<size_t>(it - names.begin()));
}

template <class T>
std::optional<T> number(std::string_view s) {
  int base = 10;
  if (s.starts_with("0x")) {
    s.remove_prefix(2);
    base = 16;
  }
  T value{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value, base);
  return error == std::errc{} && end == s.data() + s.size() ? std::optional(value) : std::nullopt;
}

// -- spelling
// ------------------------------------------------------------------------------------------------

std::string spell_control(uint64_t imm) {
  std::string s;
  if (imm & 3) s = fmt::format(".{}", kControlFlags[(imm & 3) - 1].name);
  for (const Flag& flag : std::span(kControlFlags).subspan(3)) {
    if (imm & flag.bits) s += fmt::format(".{}", flag.name);
  }
  return s;
}

std::string spell_compare(uint64_t imm) {
  const unsigned predicate = fcmp_predicate(imm);
  std::string s = ".";
  for (unsigned i = 0; i < 4; ++i) {
    if (predicate >> i & 1) s += "legu"[i];
  }
  if (predicate == 0) s += "never";
  return s + spell_control(imm & kControlBits);
}

std::string spell_access(uint64_t imm) {
  const MemoryAccess m = MemoryAccess::unpack(imm);
  std::string s;
  if (static_cast<size_t>(m.atomic) >= kAtomics.size()) return s;
  if (m.atomic != AtomicOp::none) s += fmt::format(".{}", name(m.atomic));
  s += fmt::format(".{}.{}", kSpaces[static_cast<size_t>(m.space)], m.bytes);
  if (m.align != m.bytes) s += fmt::format(".align{}", m.align);
  for (const Flag& flag : kAccessFlags) {
    if ((imm ^ MemoryAccess{}.pack()) & flag.bits) s += fmt::format(".{}", flag.name);
  }
  if (m.format) s += fmt::format(".format{}", m.format);
  return s;
}

std::string spell(Op op, uint64_t imm) {
  const auto named = [&](std::span<const std::string_view> names) {
    return imm < names.size() ? fmt::format(".{}", names[imm]) : std::string{};
  };
  switch (style(op)) {
  case Style::plain: return {};
  case Style::input: return named(kInputs);
  case Style::index: return fmt::format(".{}", imm);
  case Style::half: return imm == 0 ? ".lo" : ".hi";
  case Style::control: return spell_control(imm);
  case Style::compare: return spell_compare(imm);
  case Style::access: return spell_access(imm);
  case Style::image: return text::spell_image(imm);
  case Style::export_: return text::spell_export(imm);
  case Style::trap: return named(kTraps);
  case Style::barrier: return imm == kBarrierLdsOnly ? ".lds" : "";
  case Style::pattern: {
    const LanePattern p = LanePattern::unpack(imm);
    if (static_cast<size_t>(p.kind) >= kPatterns.size()) return {};
    return fmt::format(".{}.{:#x}", kPatterns[static_cast<size_t>(p.kind)], p.arg);
  }
  }
  return {};
}

// -- reading
// ---------------------------------------------------------------------------------------------------

/// Takes the next ".part" off `s`; empty at the end.
std::string_view next_part(std::string_view& s) {
  if (!s.starts_with('.')) return {};
  s.remove_prefix(1);
  const size_t end = std::min(s.find('.'), s.size());
  const std::string_view part = s.substr(0, end);
  s.remove_prefix(end);
  return part;
}

std::optional<uint64_t> read_flags(std::span<const Flag> flags, std::string_view s) {
  uint64_t bits = 0;
  while (!s.empty()) {
    const std::string_view part = next_part(s);
    const auto it = std::ranges::find(flags, part, &Flag::name);
    if (it == flags.end()) return {};
    bits |= it->bits;
  }
  return bits;
}

std::optional<uint64_t> read_compare(std::string_view s) {
  const std::string_view letters = next_part(s);
  uint64_t predicate = 0;
  if (letters != "never") {
    for (const char c : letters) {
      const size_t bit = "legu"sv.find(c);
      if (bit == std::string_view::npos) return {};
      predicate |= uint64_t{1} << bit;
    }
  }
  const auto control = read_flags(kControlFlags, s);
  if (!control) return {};
  return *control | predicate << 8;
}

std::optional<uint64_t> read_access(std::string_view s) {
  MemoryAccess m;
  std::string_view part = next_part(s);
  if (const auto atomic = find(kAtomics, part)) {
    m.atomic = static_cast<AtomicOp>(*atomic);
    part = next_part(s);
  }
  const auto space = find(kSpaces, part);
  const auto bytes = number<uint8_t>(next_part(s));
  if (!space || !bytes) return {};
  m.space = static_cast<Space>(*space);
  m.bytes = m.align = *bytes;
  uint64_t flags = 0;
  while (!s.empty()) {
    part = next_part(s);
    const auto flag = std::ranges::find(kAccessFlags, part, &Flag::name);
    if (flag != kAccessFlags.end()) {
      flags |= flag->bits;
    } else if (part.starts_with("align")) {
      const auto align = number<uint8_t>(part.substr(5));
      if (!align) return {};
      m.align = *align;
    } else if (part.starts_with("format")) {
      const auto format = number<uint8_t>(part.substr(6));
      if (!format) return {};
      m.format = *format;
    } else {
      return {};
    }
  }
  return m.pack() ^ flags;
}

std::optional<uint64_t> read_pattern(std::string_view s) {
  const auto kind = find(kPatterns, next_part(s));
  const auto arg = number<uint32_t>(next_part(s));
  if (!kind || !arg || !s.empty()) return {};
  return LanePattern{static_cast<LanePattern::Kind>(*kind), *arg}.pack();
}

template <size_t N>
std::optional<uint64_t> read_named(const std::array<std::string_view, N>& names, std::string_view s) {
  const auto i = find(names, next_part(s));
  return i && s.empty() ? std::optional<uint64_t>(*i) : std::nullopt;
}

std::optional<uint64_t> read_styled(Op op, std::string_view s) {
  switch (style(op)) {
  case Style::plain: return s.empty() ? std::optional<uint64_t>(0) : std::nullopt;
  case Style::input: return read_named(kInputs, s);
  case Style::trap: return read_named(kTraps, s);
  case Style::barrier:
    if (s.empty()) return 0;
    return s == ".lds" ? std::optional(kBarrierLdsOnly) : std::nullopt;
  case Style::half: return read_named(std::array{"lo"sv, "hi"sv}, s);
  case Style::index: {
    const auto i = number<uint64_t>(next_part(s));
    return s.empty() ? i : std::nullopt;
  }
  case Style::control: return read_flags(kControlFlags, s);
  case Style::compare: return read_compare(s);
  case Style::access: return read_access(s);
  case Style::image: return text::read_image(s);
  case Style::export_: return text::read_export(s);
  case Style::pattern: return read_pattern(s);
  }
  return {};
}

// -- float constants
// ---------------------------------------------------------------------------------------------

/// Exact value of f16 bits.
double half_value(uint64_t bits) {
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = static_cast<double>(bits & 1023);
  const double magnitude = exponent ? std::ldexp(fraction + 1024, exponent - 25) : std::ldexp(fraction, -24);
  return bits >> 15 & 1 ? -magnitude : magnitude;
}

bool is_finite(Type type, uint64_t bits) {
  switch (type) {
  case Type::f16: return (bits >> 10 & 31) != 31;
  case Type::f32: return (bits >> 23 & 255) != 255;
  default: return (bits >> 52 & 2047) != 2047;
  }
}

/// f16 bits of a decimal number that is exactly one; none otherwise.
std::optional<uint64_t> half_bits(double value) {
  const uint64_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (!(magnitude <= 65504)) return {};
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  exponent = std::max(exponent, -13);
  const double units = std::ldexp(magnitude, 11 - exponent); // of 2^-24 for denormals
  if (units != std::floor(units)) return {};
  const auto mantissa = static_cast<uint64_t>(units);
  return sign | (mantissa + (static_cast<uint64_t>(exponent + 13) << 10));
}

std::string float_text(Type type, uint64_t bits) {
  switch (type) {
  case Type::f16: return fmt::format("{}", half_value(bits));
  case Type::f32: return fmt::format("{}", std::bit_cast<float>(static_cast<uint32_t>(bits)));
  default: return fmt::format("{}", std::bit_cast<double>(bits));
  }
}

template <class T>
std::optional<T> decimal(std::string_view s) {
  T value{};
  const auto [end, error] = std::from_chars(s.data(), s.data() + s.size(), value);
  return error == std::errc{} && end == s.data() + s.size() ? std::optional(value) : std::nullopt;
}

std::optional<uint64_t> read_float(Type type, std::string_view text) {
  if (type == Type::f32) {
    const auto value = decimal<float>(text);
    if (value) return std::bit_cast<uint32_t>(*value);
    return {};
  }
  const auto value = decimal<double>(text);
  if (!value) return {};
  return type == Type::f16 ? half_bits(*value) : std::optional(std::bit_cast<uint64_t>(*value));
}

} // namespace

std::string_view name(Type t) { return kTypes[static_cast<size_t>(t)]; }

std::optional<Type> type_named(std::string_view s) {
  const auto i = find(kTypes, s);
  return i ? std::optional(static_cast<Type>(*i)) : std::nullopt;
}

std::string_view name(Op op) {
  std::string_view s = info(op).name;
  if (s.ends_with('_')) s.remove_suffix(1);
  return s;
}

std::optional<Op> op_named(std::string_view s) {
  static const auto ops = [] {
    std::unordered_map<std::string_view, Op> map;
    for (unsigned i = 0; i < kOpCount; ++i) map.emplace(name(static_cast<Op>(i)), static_cast<Op>(i));
    return map;
  }();
  const auto it = ops.find(s);
  return it == ops.end() ? std::nullopt : std::optional(it->second);
}

std::string_view name(Input i) { return i < Input::count_ ? kInputs[static_cast<size_t>(i)] : "?"sv; }
std::string_view name(TrapReason r) {
  return static_cast<size_t>(r) < kTraps.size() ? kTraps[static_cast<size_t>(r)] : "?"sv;
}
std::string_view name(AtomicOp a) {
  return static_cast<size_t>(a) < kAtomics.size() ? kAtomics[static_cast<size_t>(a)] : "?"sv;
}

void spell_immediate(std::string& out, Op op, uint64_t imm) {
  if (style(op) == Style::plain && imm == 0) return;
  const std::string s = spell(op, imm);
  if (read_styled(op, s) == imm) {
    out += s;
  } else {
    fmt::format_to(std::back_inserter(out), ".imm{:#x}", imm);
  }
}

std::optional<uint64_t> read_immediate(Op op, std::string_view suffix) {
  if (suffix.starts_with(".imm")) return number<uint64_t>(suffix.substr(4));
  return read_styled(op, suffix);
}

void spell_constant(std::string& out, Type type, uint64_t bits) {
  const auto to = std::back_inserter(out);
  if (type == Type::u1) {
    out += bits ? "true" : "false";
  } else if (is_float(type) && is_finite(type, bits)) {
    const std::string text = float_text(type, bits);
    if (text.size() <= 16 && read_float(type, text) == bits) {
      out += text;
    } else {
      fmt::format_to(to, "{:#x}", bits);
    }
  } else if (is_float(type)) {
    fmt::format_to(to, "{:#x}", bits);
  } else if (const int64_t value = sign_extend(bits, bit_width(type)); value < 0 && value >= -4096) {
    fmt::format_to(to, "{}", value);
  } else if (bits < 65536) {
    fmt::format_to(to, "{}", bits);
  } else {
    fmt::format_to(to, "{:#x}", bits);
  }
}

std::optional<uint64_t> read_constant(Type type, std::string_view text) {
  if (type == Type::u1) {
    if (text == "true") return 1;
    if (text == "false") return 0;
    return {};
  }
  if (is_float(type) && !text.starts_with("0x")) return read_float(type, text);
  if (text.starts_with('-')) {
    const auto value = number<int64_t>(text);
    if (!value || (bit_width(type) < 64 && *value < -(int64_t{1} << (bit_width(type) - 1)))) return {};
    return truncate(type, static_cast<uint64_t>(*value));
  }
  const auto value = number<uint64_t>(text);
  return value && truncate(type, *value) == *value ? value : std::nullopt;
}

} // namespace lanewise::ir
