#include "v3d/pack.hpp"

#include "v3d/pack_operation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace lanewise::v3d {

using namespace packing;

namespace {

// Field positions of an ALU word; see the instruction layout in docs/v3d.md.
struct Field {
  unsigned shift, width;
};
constexpr Field op_mul{58, 6}, f_sig{53, 5}, f_cond{46, 7}, waddr_m{38, 6}, waddr_a{32, 6}, op_add{24, 8};
constexpr Field mux_mul_b{21, 3}, mux_mul_a{18, 3}, mux_add_b{15, 3}, mux_add_a{12, 3};
constexpr Field raddr_c{18, 6}, raddr_d{12, 6}, f_raddr_a{6, 6}, f_raddr_b{0, 6};
constexpr std::uint64_t magic_m = 1ull << 45;
constexpr std::uint64_t magic_a = 1ull << 44;

unsigned get(std::uint64_t bits, Field f) {
  return static_cast<unsigned>(bits >> f.shift & ((1ull << f.width) - 1));
}
void put(std::uint64_t& bits, Field f, std::uint64_t value) {
  bits |= (value & ((1ull << f.width) - 1)) << f.shift;
}

bool is_vpm_out(Op op) { return op == Op::ldvpmv_out || op == Op::ldvpmd_out || op == Op::ldvpmg_out; }

Op vpm_out_of(Op op) {
  switch (op) {
  case Op::ldvpmv_in: return Op::ldvpmv_out;
  case Op::ldvpmd_in: return Op::ldvpmd_out;
  case Op::ldvpmg_in: return Op::ldvpmg_out;
  default: return op;
  }
}

Reg destination(Gpu gpu, unsigned address, bool is_magic) {
  if (!is_magic) {
    return rf(address);
  }
  if (address == magic::nop) {
    return {Reg::null};
  }
  return gpu == Gpu::v42 && address <= 5 ? acc(address) : peripheral(address);
}

std::optional<std::pair<unsigned, bool>> address_of(const Reg& r) {
  switch (r.kind) {
  case Reg::none:
  case Reg::null: return std::pair{unsigned{magic::nop}, true};
  case Reg::rf: return std::pair{r.index, false};
  case Reg::acc:
  case Reg::magic: return std::pair{r.index, true};
  default: return std::nullopt;
  }
}

// The 7-bit condition field, both ways.
bool decode_conditions(unsigned c, Alu& add, Alu& mul) {
  if (c == 0) {
    return true;
  }
  if (c == 0x10) {
    return false;
  }
  if ((c & 0x40) != 0) {
    mul.cond = static_cast<Cond>((c >> 4 & 3) + 1);
    if ((c & 15) >= 4) {
      add.update = static_cast<Update>((c & 15) - 3);
    } else {
      add.cond = static_cast<Cond>((c & 3) + 1);
    }
  } else if ((c & 0x20) != 0) {
    Alu& conditional = (c & 0x10) != 0 ? mul : add;
    Alu& pushing = (c & 0x10) != 0 ? add : mul;
    conditional.cond = static_cast<Cond>((c >> 2 & 3) + 1);
    pushing.push = static_cast<Push>(c & 3);
  } else {
    Alu& op = (c & 0x10) != 0 ? mul : add;
    if ((c & 15) >= 4) {
      op.update = static_cast<Update>((c & 15) - 3);
    } else {
      op.push = static_cast<Push>(c & 3);
    }
  }
  return true;
}

std::optional<unsigned> encode_conditions(const Alu& add, const Alu& mul) {
  const auto cc = [](Cond c) { return static_cast<unsigned>(c) - 1; };
  const auto uu = [](Update u) { return static_cast<unsigned>(u) + 3; };
  const auto pp = [](Push p) { return static_cast<unsigned>(p); };
  const bool ac = add.cond != Cond::none, mc = mul.cond != Cond::none;
  const bool ap = add.push != Push::none, mp = mul.push != Push::none;
  const bool au = add.update != Update::none, mu = mul.update != Update::none;
  const unsigned set = ac * 1u + mc * 2u + ap * 4u + mp * 8u + au * 16u + mu * 32u;
  switch (set) {
  case 0: return 0;
  case 1:
  case 1 + 8: return 0x20 | cc(add.cond) << 2 | pp(mul.push);
  case 2:
  case 2 + 4: return 0x30 | cc(mul.cond) << 2 | pp(add.push);
  case 3: return 0x40 | cc(mul.cond) << 4 | cc(add.cond);
  case 4: return pp(add.push);
  case 8: return 0x10 | pp(mul.push);
  case 16: return uu(add.update);
  case 32: return 0x10 | uu(mul.update);
  case 2 + 16: return 0x40 | cc(mul.cond) << 4 | uu(add.update);
  default: return std::nullopt;
  }
}

Src operand42(unsigned mux, std::uint64_t bits, bool imm_b, Unpack u) {
  if (mux < 6) {
    return {acc(mux), u, 0};
  }
  if (mux == 6) {
    return {rf(get(bits, f_raddr_a)), u, 0};
  }
  const unsigned b = get(bits, f_raddr_b);
  return {imm_b ? Reg{Reg::imm, b} : rf(b), u, 1};
}

Expected<Word> unpack_branch(std::uint64_t bits) {
  Word w;
  w.is_branch = true;
  const unsigned cond = get(bits, {32, 3});
  const unsigned msfign = get(bits, {21, 2});
  if (cond == 1 || msfign == 3) {
    return fail(ErrorKind::input, "reserved branch condition", fmt::format("word {:#018x}", bits));
  }
  w.branch.cond = static_cast<BranchCond>(cond);
  w.branch.msfign = static_cast<Msfign>(msfign);
  w.branch.to = static_cast<BranchDest>(get(bits, {12, 2}));
  w.branch.moves_uniforms = (bits >> 14 & 1) != 0;
  w.branch.uniforms_to = static_cast<BranchDest>(get(bits, {15, 2}));
  w.branch.raddr = static_cast<std::uint8_t>(get(bits, f_raddr_a));
  w.branch.offset = static_cast<std::int32_t>(get(bits, {24, 8}) << 24 | get(bits, {35, 21}) << 3);
  return w;
}

Expected<std::uint64_t> pack_branch(const Branch& b) {
  std::uint64_t bits = 2ull << 56;
  const auto offset = static_cast<std::uint32_t>(b.offset);
  if ((offset & 7) != 0) {
    return fail(ErrorKind::input, "branch offset is not a multiple of eight bytes");
  }
  put(bits, {35, 21}, offset >> 3);
  put(bits, {24, 8}, offset >> 24);
  put(bits, {32, 3}, static_cast<unsigned>(b.cond));
  put(bits, {21, 2}, static_cast<unsigned>(b.msfign));
  put(bits, {12, 2}, static_cast<unsigned>(b.to));
  put(bits, {14, 1}, b.moves_uniforms);
  put(bits, {15, 3}, static_cast<unsigned>(b.uniforms_to));
  put(bits, f_raddr_a, b.raddr);
  return bits;
}

} // namespace

Expected<Word> unpack(Gpu gpu, std::uint64_t bits) {
  const unsigned mul_op = get(bits, op_mul);
  if (mul_op == 0) {
    if (get(bits, {56, 2}) == 2) {
      return unpack_branch(bits);
    }
    return fail(ErrorKind::input, "neither an ALU word nor a branch", fmt::format("word {:#018x}", bits));
  }
  const auto bad = [&](std::string_view what) {
    return fail(ErrorKind::input, std::string(what), fmt::format("word {:#018x}", bits));
  };
  Word w;
  const auto sigs = signal_set(gpu, static_cast<std::uint8_t>(get(bits, f_sig)));
  if (!sigs) {
    return bad("reserved signal");
  }
  w.sigs = *sigs & ~sig::imms;
  w.raddr_a = static_cast<std::uint8_t>(get(bits, f_raddr_a));
  w.raddr_b = static_cast<std::uint8_t>(get(bits, f_raddr_b));
  const unsigned cond = get(bits, f_cond);
  if ((w.sigs & sig::addressed) != 0) {
    w.sig_dst = destination(gpu, cond & 63, (cond & 64) != 0);
  } else if (!decode_conditions(cond, w.add, w.mul)) {
    return bad("reserved condition");
  }
  const bool is42 = gpu == Gpu::v42;
  const Coded add{get(bits, op_add), is42 ? get(bits, mux_add_a) : get(bits, f_raddr_a),
                  is42 ? get(bits, mux_add_b) : get(bits, f_raddr_b)};
  const Coded mul{mul_op, is42 ? get(bits, mux_mul_a) : get(bits, raddr_c),
                  is42 ? get(bits, mux_mul_b) : get(bits, raddr_d)};
  const auto fill = [&](Unit unit, Alu& op, Coded c, std::uint32_t imm_first, std::uint32_t imm_second) {
    const auto m = decode(gpu, unit, c);
    if (!m) {
      return false;
    }
    op.op = m->row->op;
    op.pack = m->modifiers.pack;
    const std::array codes{c.a, c.b};
    const std::array unpacks{m->modifiers.a, m->modifiers.b};
    const std::array imms{imm_first, imm_second};
    for (unsigned i = 0; i < source_count(op); ++i) {
      op.src[i] = is42 ? operand42(codes[i], bits, (*sigs & sig::imm_b) != 0, unpacks[i])
                       : Src{(*sigs & imms[i]) != 0 ? Reg{Reg::imm, codes[i]} : rf(codes[i]), unpacks[i], 0};
      if (op.src[i].reg.kind == Reg::imm && op.src[i].reg.index >= 48) {
        return false;
      }
    }
    return true;
  };
  if (!fill(Unit::add, w.add, add, sig::imm_a, sig::imm_b)) {
    return bad("unknown add operation");
  }
  if (!fill(Unit::mul, w.mul, mul, sig::imm_c, sig::imm_d)) {
    return bad("unknown mul operation");
  }
  if (is_ordered_pair(w.add.op) && first_is_larger(gpu, w.add, add)) {
    w.add.op = w.add.op == Op::fadd ? Op::faddnf : Op::fmax;
  }
  const unsigned wa = get(bits, waddr_a);
  if (has(w.add.op, vpm_store)) {
    if (wa > 2) {
      return bad("unknown VPM store");
    }
    w.add.op = wa == 0 ? Op::stvpmv : wa == 1 ? Op::stvpmd : Op::stvpmp;
    w.add.dst = {Reg::null};
  } else if ((bits & magic_a) != 0 && vpm_out_of(w.add.op) != w.add.op) {
    w.add.op = vpm_out_of(w.add.op);
    w.add.dst = rf(wa);
  } else {
    w.add.dst = destination(gpu, wa, (bits & magic_a) != 0);
  }
  w.mul.dst = destination(gpu, get(bits, waddr_m), (bits & magic_m) != 0);
  return w;
}

Expected<std::uint64_t> pack(Gpu gpu, Word w) {
  if (w.is_branch) {
    return pack_branch(w.branch);
  }
  const auto add = encode_unit(gpu, Unit::add, w.add);
  if (!add) {
    return std::unexpected(add.error());
  }
  const auto mul = encode_unit(gpu, Unit::mul, w.mul);
  if (!mul) {
    return std::unexpected(mul.error());
  }
  std::uint64_t bits = 0;
  put(bits, op_add, add->opcode);
  put(bits, op_mul, mul->opcode);
  std::uint32_t imms = 0;
  constexpr std::array flags{sig::imm_a, sig::imm_b, sig::imm_c, sig::imm_d};
  unsigned operand = 0;
  for (const Alu* op : {&w.add, &w.mul}) {
    for (unsigned i = 0; i < 2; ++i, ++operand) {
      if (i < source_count(*op) && op->src[i].reg.kind == Reg::imm) {
        imms |= gpu == Gpu::v42 ? sig::imm_b : flags[operand];
      }
    }
  }
  const auto code = signal_code(gpu, w.sigs | imms);
  if (!code) {
    return fail(ErrorKind::input, "the hardware has no such combination of signals and immediates");
  }
  put(bits, f_sig, *code);
  if (gpu == Gpu::v42) {
    put(bits, mux_add_a, add->a);
    put(bits, mux_add_b, add->b);
    put(bits, mux_mul_a, mul->a);
    put(bits, mux_mul_b, mul->b);
    put(bits, f_raddr_a, w.raddr_a);
    put(bits, f_raddr_b, w.raddr_b);
  } else {
    put(bits, f_raddr_a, add->a);
    put(bits, f_raddr_b, add->b);
    put(bits, raddr_c, mul->a);
    put(bits, raddr_d, mul->b);
  }
  if ((w.sigs & sig::addressed) != 0) {
    const auto address = address_of(w.sig_dst);
    if (!address || writes_flags(w.add) || writes_flags(w.mul) || w.add.cond != Cond::none ||
        w.mul.cond != Cond::none) {
      return fail(ErrorKind::input, "a signal with a destination excludes conditions and flags");
    }
    put(bits, f_cond, address->first | (address->second ? 64u : 0u));
  } else {
    const auto cond = encode_conditions(w.add, w.mul);
    if (!cond) {
      return fail(ErrorKind::input, "the condition field cannot hold these conditions and flags");
    }
    put(bits, f_cond, *cond);
  }
  const auto write = [&](const Alu& op, Field f, std::uint64_t magic_bit) {
    const auto address = address_of(op.dst);
    if (!address || address->first > 63) {
      return false;
    }
    if (has(op.op, vpm_store)) {
      put(bits, f, op.op == Op::stvpmv ? 0 : op.op == Op::stvpmd ? 1 : 2);
      return true;
    }
    put(bits, f, address->first);
    bits |= address->second || is_vpm_out(op.op) ? magic_bit : 0;
    return true;
  };
  if (!write(w.add, waddr_a, magic_a) || !write(w.mul, waddr_m, magic_m)) {
    return fail(ErrorKind::input, "a destination is not a register");
  }
  return bits;
}

bool assign_ports(Gpu gpu, Word& w) {
  unsigned used = 0; // 4.2: bit 0 port A, bit 1 port B
  bool has_imm = false;
  const auto sources = [&](auto&& f) {
    for (Alu* op : {&w.add, &w.mul}) {
      for (unsigned i = 0; i < source_count(*op); ++i) {
        f(op->src[i]);
      }
    }
  };
  unsigned imm_count = 0;
  bool ok = true;
  sources([&](Src& s) {
    if (s.reg.kind != Reg::imm) {
      return;
    }
    ok = ok && (!has_imm || (gpu == Gpu::v42 && w.raddr_b == s.reg.index));
    has_imm = true;
    ++imm_count;
    s.port = 1;
    if (gpu == Gpu::v42) {
      w.raddr_b = static_cast<std::uint8_t>(s.reg.index);
      used |= 2;
    }
  });
  if (gpu == Gpu::v71) {
    return imm_count <= 1;
  }
  sources([&](Src& s) {
    if (s.reg.kind != Reg::rf) {
      return;
    }
    if ((used & 1) != 0 && w.raddr_a == s.reg.index) {
      s.port = 0;
    } else if (!has_imm && (used & 2) != 0 && w.raddr_b == s.reg.index) {
      s.port = 1;
    } else if ((used & 1) == 0) {
      w.raddr_a = static_cast<std::uint8_t>(s.reg.index);
      s.port = 0;
      used |= 1;
    } else if ((used & 2) == 0) {
      w.raddr_b = static_cast<std::uint8_t>(s.reg.index);
      s.port = 1;
      used |= 2;
    } else {
      ok = false;
    }
  });
  if ((used & 1) == 0) {
    w.raddr_a = 0;
  }
  if ((used & 2) == 0) {
    w.raddr_b = 0;
  }
  // The ports can be exchanged so that an ordered pair need not exchange its operands.
  const Src &a = w.add.src[0], &b = w.add.src[1];
  if (ok && !has_imm && is_ordered_pair(w.add.op) && a.reg.kind == Reg::rf && b.reg.kind == Reg::rf &&
      a.unpack == b.unpack && (a.port > b.port) != wants_larger_first(w.add.op) && a.port != b.port) {
    std::swap(w.raddr_a, w.raddr_b);
    sources([](Src& s) { s.port = s.reg.kind == Reg::rf ? s.port ^ 1u : s.port; });
  }
  return ok;
}

} // namespace lanewise::v3d
