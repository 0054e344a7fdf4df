#include "v3d/pack_operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace lanewise::v3d::packing {

namespace {

constexpr Unpack float_unpacks[] = {Unpack::abs, Unpack::none, Unpack::l,   Unpack::h,
                                    Unpack::sat, Unpack::nsat, Unpack::max0};
constexpr Unpack half_unpacks[] = {Unpack::none, Unpack::ff, Unpack::ll, Unpack::hh, Unpack::swp};
constexpr Unpack int_unpacks[] = {Unpack::none, Unpack::ul, Unpack::uh, Unpack::il, Unpack::ih};

template <std::size_t n>
int code_of(const Unpack (&table)[n], Unpack u) {
  const auto* it = std::ranges::find(table, u);
  return it == std::end(table) ? -1 : static_cast<int>(it - table);
}

std::optional<Pack> pack_of(unsigned code) {
  return code <= 2 ? std::optional(static_cast<Pack>(code)) : std::nullopt;
}

// If the row covers the code: its modifiers.
std::optional<Modifiers> match(const Encoding& e, Coded c) {
  const unsigned rel = c.opcode - e.opcode;
  const unsigned sel = c.b - e.selector;
  Modifiers m;
  const auto with_pack = [&](unsigned code) -> std::optional<Modifiers> {
    const auto p = pack_of(code);
    if (!p) {
      return std::nullopt;
    }
    m.pack = *p;
    return m;
  };
  switch (e.form) {
  case Form::two:
  case Form::store: return rel == 0 ? std::optional(m) : std::nullopt;
  case Form::float2:
  case Form::float2_plain:
    if (rel >= (e.form == Form::float2 ? 48u : 16u)) {
      return std::nullopt;
    }
    m.a = float_unpacks[rel >> 2 & 3];
    m.b = float_unpacks[rel & 3];
    return with_pack(rel >> 4);
  case Form::vfpack:
    if (rel >= 16 || (rel >> 2) == 0 || (rel & 3) == 0) {
      return std::nullopt;
    }
    m.a = float_unpacks[rel >> 2];
    m.b = float_unpacks[rel & 3];
    return m;
  case Form::half2:
    if (rel >= 5) {
      return std::nullopt;
    }
    m.a = half_unpacks[rel];
    return m;
  case Form::one: return rel == 0 && sel == 0 ? std::optional(m) : std::nullopt;
  case Form::one_pack: return rel == 0 ? with_pack(sel) : std::nullopt;
  case Form::zero:
  case Form::zero_pack: break; // handled by the caller, which knows the generation
  case Form::round42:
  case Form::convert42:
    if ((c.opcode & 0xf3) != (e.opcode & 0xf3u) || (c.opcode >> 2 & 3) == 0) {
      return std::nullopt;
    }
    m.a = float_unpacks[c.opcode >> 2 & 3];
    if (e.form == Form::convert42) {
      return sel == 0 ? std::optional(m) : std::nullopt;
    }
    return with_pack(sel);
  case Form::round71:
  case Form::convert71:
    if (rel != 0 || sel >= 16) {
      return std::nullopt;
    }
    m.a = float_unpacks[sel >> 2];
    if (e.form == Form::convert71) {
      return (sel & 3) == 0 ? std::optional(m) : std::nullopt;
    }
    return with_pack(sel & 3);
  case Form::fmov42:
    if (rel > 1 || (rel == 1 && c.b > 3)) {
      return std::nullopt;
    }
    m.a = float_unpacks[c.b & 3];
    return with_pack((rel & 1) * 2 + (c.b >> 2 & 1));
  case Form::fmov71:
    if (rel != 0 || c.b >= 28) {
      return std::nullopt;
    }
    m.a = float_unpacks[c.b >> 2];
    return with_pack(c.b & 3);
  case Form::mov71:
    if (rel != 0 || c.b >= 20 || (c.b & 3) != 3) {
      return std::nullopt;
    }
    m.a = int_unpacks[c.b >> 2];
    return m;
  }
  return std::nullopt;
}

std::optional<Modifiers> match(Gpu gpu, const Encoding& e, Coded c) {
  if (e.form != Form::zero && e.form != Form::zero_pack) {
    return match(e, c);
  }
  if (c.opcode != e.opcode) {
    return std::nullopt;
  }
  const unsigned sel = (gpu == Gpu::v42 ? c.b * 8 + c.a : c.b) - e.selector;
  if (e.form == Form::zero) {
    return sel == 0 ? std::optional(Modifiers{}) : std::nullopt;
  }
  const auto p = pack_of(sel);
  return p ? std::optional(Modifiers{*p, Unpack::none, Unpack::none}) : std::nullopt;
}

// Opcode and selector for an operation with its modifiers; the operand selects are filled in by the caller.
std::optional<Coded> encode(Gpu gpu, const Encoding& e, const Alu& op) {
  const auto pack_code = static_cast<unsigned>(op.pack);
  const int fa = code_of(float_unpacks, op.src[0].unpack);
  const int fb = code_of(float_unpacks, op.src[1].unpack);
  const bool plain = op.src[0].unpack == Unpack::none && op.src[1].unpack == Unpack::none;
  const bool plain_b = op.src[1].unpack == Unpack::none;
  Coded c{e.opcode, 0, e.selector};
  const auto no_pack = op.pack == Pack::none;
  switch (e.form) {
  case Form::two:
  case Form::store:
  case Form::one: return plain && no_pack ? std::optional(c) : std::nullopt;
  case Form::float2:
  case Form::float2_plain:
    if (fa < 0 || fa > 3 || fb < 0 || fb > 3 || (e.form == Form::float2_plain && !no_pack)) {
      return std::nullopt;
    }
    c.opcode += pack_code * 16 + static_cast<unsigned>(fa * 4 + fb);
    return c;
  case Form::vfpack:
    if (fa < 1 || fa > 3 || fb < 1 || fb > 3 || !no_pack) {
      return std::nullopt;
    }
    c.opcode += static_cast<unsigned>(fa * 4 + fb);
    return c;
  case Form::half2: {
    const int ha = code_of(half_unpacks, op.src[0].unpack);
    if (ha < 0 || !plain_b || !no_pack) {
      return std::nullopt;
    }
    c.opcode += static_cast<unsigned>(ha);
    return c;
  }
  case Form::one_pack: c.b += pack_code; return plain ? std::optional(c) : std::nullopt;
  case Form::zero:
  case Form::zero_pack: {
    const unsigned sel = e.selector + (e.form == Form::zero_pack ? pack_code : 0);
    c.b = gpu == Gpu::v42 ? sel >> 3 : sel;
    c.a = gpu == Gpu::v42 ? sel & 7 : 0;
    return no_pack || e.form == Form::zero_pack ? std::optional(c) : std::nullopt;
  }
  case Form::round42:
  case Form::convert42:
    if (fa < 1 || fa > 3 || (e.form == Form::convert42 && !no_pack)) {
      return std::nullopt;
    }
    c.opcode = (e.opcode & 0xf3u) | static_cast<unsigned>(fa) << 2;
    c.b += pack_code;
    return c;
  case Form::round71:
  case Form::convert71:
    if (fa < 0 || fa > 3 || (e.form == Form::convert71 && !no_pack)) {
      return std::nullopt;
    }
    c.b += static_cast<unsigned>(fa) * 4 + pack_code;
    return c;
  case Form::fmov42:
    if (fa < 0 || fa > 3) {
      return std::nullopt;
    }
    c.opcode += pack_code >> 1;
    c.b = (pack_code & 1) * 4 + static_cast<unsigned>(fa);
    return c;
  case Form::fmov71:
    if (fa < 0) {
      return std::nullopt;
    }
    c.b = static_cast<unsigned>(fa) * 4 + pack_code;
    return c;
  case Form::mov71: {
    const int ia = code_of(int_unpacks, op.src[0].unpack);
    if (ia < 0 || !no_pack) {
      return std::nullopt;
    }
    c.b = 3 + static_cast<unsigned>(ia) * 4;
    return c;
  }
  }
  return std::nullopt;
}

std::optional<unsigned> operand_code(Gpu gpu, const Src& s) {
  if (gpu == Gpu::v71) {
    return s.reg.kind == Reg::rf || s.reg.kind == Reg::imm ? std::optional(s.reg.index) : std::nullopt;
  }
  switch (s.reg.kind) {
  case Reg::acc: return s.reg.index;
  case Reg::rf: return 6u + s.port;
  case Reg::imm: return 7u;
  default: return std::nullopt;
  }
}

} // namespace

std::optional<Match> decode(Gpu gpu, Unit unit, Coded c) {
  // Rows that may cover an opcode, by [gpu][unit][opcode]; built once.
  static const auto index = [] {
    std::array<std::array<std::array<std::vector<const Encoding*>, 256>, 2>, 2> t;
    for (const Encoding& e : encodings()) {
      for (unsigned g = 0; g < 2; ++g) {
        for (unsigned o = 0; (e.gpus >> g & 1) != 0 && o < 256; ++o) {
          const unsigned width = e.form == Form::float2 ? 48 : 16;
          if (o >= e.opcode && o < e.opcode + width) {
            t[g][static_cast<std::size_t>(e.unit)][o].push_back(&e);
          }
        }
      }
    }
    return t;
  }();
  for (const Encoding* e : index[static_cast<std::size_t>(gpu)][static_cast<std::size_t>(unit)][c.opcode]) {
    if (const auto m = match(gpu, *e, c)) {
      return Match{e, *m};
    }
  }
  return std::nullopt;
}

bool first_is_larger(Gpu gpu, const Alu& op, Coded c) {
  const auto key = [&](const Src& s, unsigned operand) {
    const unsigned u = static_cast<unsigned>(code_of(float_unpacks, s.unpack));
    return gpu == Gpu::v42 ? u * 8 + operand : (s.reg.kind == Reg::imm ? 256u : 0u) + u * 64 + operand;
  };
  return key(op.src[0], c.a) > key(op.src[1], c.b);
}

Expected<Coded> encode_unit(Gpu gpu, Unit unit, Alu& op) {
  const Encoding* e = find_encoding(gpu, unit, op.op);
  if (e == nullptr) {
    return fail(ErrorKind::input,
                fmt::format("the {} unit has no {}", unit == Unit::add ? "add" : "mul", info(op.op).name));
  }
  auto c = encode(gpu, *e, op);
  if (!c) {
    return fail(ErrorKind::input, fmt::format("{} cannot have these modifiers", info(op.op).name));
  }
  const unsigned n = source_count(op);
  for (unsigned i = 0; i < n; ++i) {
    const auto code = operand_code(gpu, op.src[i]);
    if (!code || *code > 63) {
      return fail(ErrorKind::input, fmt::format("operand {} of {} is not a register", i, info(op.op).name));
    }
    (i == 0 ? c->a : c->b) = *code;
  }
  if (unit == Unit::add && is_ordered_pair(op.op) &&
      first_is_larger(gpu, op, *c) != wants_larger_first(op.op)) {
    std::swap(op.src[0], op.src[1]);
    std::swap(c->a, c->b);
    const unsigned mods = c->opcode & 15;
    c->opcode = (c->opcode & ~15u) | (mods & 3) << 2 | mods >> 2;
    if (first_is_larger(gpu, op, *c) != wants_larger_first(op.op)) {
      return fail(ErrorKind::input,
                  fmt::format("{} of two equal operands has no encoding", info(op.op).name));
    }
  }
  return *c;
}

} // namespace lanewise::v3d::packing
