// DS: local data share (RDNA2 ISA, section 10). Addresses are i32 byte offsets into the workgroup's LDS; M0
// is not used but by the instructions that say so.
#include "translate/memory_access.hpp"

namespace lanewise::translate {
namespace {

using ir::AtomicOp;
using ir::Space;
using rdna2::OpcodeFlag;

bool is_lds(Translator& t, const Instruction& i) {
  if (i.gds) t.unsupported(i, "global data share");
  return !i.gds;
}

Value at(Translator& t, Value base, unsigned offset) { return t.b.add(base, t.b.i32(offset)); }
Value address(Translator& t, const Instruction& i) {
  return at(t, t.raw32(i.src[0]), static_cast<uint32_t>(i.imm));
}

void read(Translator& t, const Instruction& i) {
  if (is_lds(t, i)) load(t, i, Space::lds, address(t, i));
}
void write(Translator& t, const Instruction& i) {
  if (is_lds(t, i)) store(t, i, Space::lds, address(t, i), i.src[1]);
}

// -- two addresses
// -----------------------------------------------------------------------------------------------------

struct TwoAddresses {
  std::array<unsigned, 2> offsets;
  uint8_t dwords; ///< of one element
  Shape element;
  bool adjacent; ///< one access of both
};
TwoAddresses two_addresses(const Instruction& i) {
  const auto& row = rdna2::info(i.opcode);
  const unsigned bytes = row.access.bytes / 2, scale = bytes * (row.has(OpcodeFlag::stride64) ? 64 : 1);
  TwoAddresses two{{i.offset0 * scale, i.offset1 * scale},
                   static_cast<uint8_t>(bytes / 4),
                   shape_of(i, Space::lds),
                   false};
  two.element.components = two.dwords;
  two.adjacent = two.offsets[1] == two.offsets[0] + bytes;
  return two;
}

void read2(Translator& t, const Instruction& i) {
  if (!is_lds(t, i)) return;
  TwoAddresses two = two_addresses(i);
  const Value base = t.raw32(i.src[0]);
  const auto load = [&](unsigned k, uint8_t components) {
    return t.b.load(Type::i32, at(t, base, two.offsets[k]), t.active(), two.element.access, components);
  };
  t.before_access(false, Space::lds);
  t.after_access(false, Space::lds);
  if (two.adjacent) {
    two.element.components = static_cast<uint8_t>(2 * two.dwords);
    return set_loaded(t, two.element, i.dst[0].reg, load(0, two.element.components));
  }
  const Value first = load(0, two.dwords), second = load(1, two.dwords);
  set_loaded(t, two.element, i.dst[0].reg, first);
  set_loaded(t, two.element, i.dst[0].reg + unsigned{two.dwords}, second);
}

void write2(Translator& t, const Instruction& i) {
  if (!is_lds(t, i)) return;
  const TwoAddresses two = two_addresses(i);
  const Value base = t.raw32(i.src[0]);
  auto first = stored_data(t, two.element, i.src[1]);
  const auto second = stored_data(t, two.element, i.src[2]);
  t.before_access(true, Space::lds);
  t.after_access(true, Space::lds);
  if (two.adjacent) {
    first.insert(first.end(), second.begin(), second.end());
    t.b.store(at(t, base, two.offsets[0]), t.active(), first, two.element.access);
    return;
  }
  t.b.store(at(t, base, two.offsets[0]), t.active(), first, two.element.access);
  t.b.store(at(t, base, two.offsets[1]), t.active(), second, two.element.access);
}

/// The two exchanges follow each other.
void exchange2(Translator& t, const Instruction& i) {
  if (!is_lds(t, i)) return;
  const TwoAddresses two = two_addresses(i);
  const Type type = two.dwords == 2 ? Type::i64 : Type::i32;
  const auto bytes = static_cast<uint8_t>(4 * two.dwords);
  const ir::MemoryAccess m{
      .space = Space::lds, .atomic = AtomicOp::swap, .bytes = bytes, .align = bytes, .coherent = true};
  const Value base = t.raw32(i.src[0]);
  const Value x = register_value(t, i.src[1].reg, type), y = register_value(t, i.src[2].reg, type);
  t.before_access(true, Space::lds);
  const Value first = t.b.atomic(at(t, base, two.offsets[0]), t.active(), x, m);
  const Value second = t.b.atomic(at(t, base, two.offsets[1]), t.active(), y, m);
  t.after_access(true, Space::lds);
  const auto set = [&](unsigned r, Value v) {
    if (two.dwords == 1) return t.set_vgpr(r, v);
    t.set_vgpr(r, t.b.lo32(v));
    t.set_vgpr(r + 1, t.b.hi32(v));
  };
  set(i.dst[0].reg, first);
  set(i.dst[0].reg + unsigned{two.dwords}, second);
}

// -- atomics
// ---------------------------------------------------------------------------------------------------------------

template <AtomicOp A>
void atomic_in_lds(Translator& t, const Instruction& i) {
  if (!is_lds(t, i)) return;
  AtomicOperands o = atomic_operands(t, i, A == AtomicOp::cmpswap ? AtomicOp::swap : A, i.src[1]);
  // Two operands: compare and store has the comparand first, the others (mskor, wrap) keep their order.
  if (!i.src[2].is_none()) o.compare = register_value(t, i.src[2].reg, t.b.function[o.data].type);
  if (A == AtomicOp::cmpswap || A == AtomicOp::fcmpswap) std::swap(o.data, o.compare);
  const Value where = address(t, i);
  ir::MemoryAccess access = atomic_access(i, Space::lds, A);
  if (A == AtomicOp::fadd) { // rounds to nearest even, but treats denormals as MODE says
    const ir::FloatControl c = t.control(Type::f32);
    access.flush_in = c.flush_in, access.flush_out = c.flush_out;
  }
  t.before_access(true, Space::lds);
  const Value old = t.b.atomic(where, t.active(), o.data, access, o.compare);
  t.after_access(true, Space::lds);
  set_atomic_result(t, i, old);
}

/// Each half of the data whose top bit is set replaces its half of memory, without that bit.
void conditional_exchange(Translator& t, const Instruction& i) {
  if (!is_lds(t, i)) return;
  auto& b = t.b;
  const Value where = b.and_(address(t, i), b.i32(~7u));
  const ir::MemoryAccess m{.space = Space::lds, .atomic = AtomicOp::mskor, .coherent = true};
  std::array<Value, 2> old;
  t.before_access(true, Space::lds);
  for (unsigned k = 0; k < 2; ++k) {
    const Value data = t.raw32(i.src[1], k), mask = b.ashr(data, b.i32(31));
    const Value bits = b.and_(b.and_(data, b.i32(0x7fff'ffff)), mask);
    old[k] = b.atomic(at(t, where, 4 * k), t.active(), mask, m, bits);
  }
  t.after_access(true, Space::lds);
  for (unsigned k = 0; k < 2; ++k) t.set_vgpr(i.dst[0].reg + k, old[k]);
}

/// One addition of the number of lanes that are on, by the first of them; all get the old value.
template <bool Append>
void append(Translator& t, const Instruction& i) {
  if (!is_lds(t, i)) return;
  auto& b = t.b;
  const Value lanes = b.ballot(t.exec());
  const Value first = b.and_(t.exec(), b.eq(b.lane_id(), b.find_lsb(lanes)));
  const Value where = at(t, b.and_(t.sgpr(reg::m0), b.i32(0xffff)), static_cast<uint32_t>(i.imm));
  t.before_access(true, Space::lds);
  const Value old = b.atomic(where, first, b.popcount(lanes),
                             atomic_access(i, Space::lds, Append ? AtomicOp::add : AtomicOp::sub));
  t.after_access(true, Space::lds);
  t.set_vgpr(i.dst[0].reg, b.read_first(old, t.exec()));
}

// -- lane addresses
// ----------------------------------------------------------------------------------------------------------

Value addtid(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value base = at(t, b.and_(t.sgpr(reg::m0), b.i32(0xffff)), static_cast<uint32_t>(i.imm));
  return b.add(base, b.shl(b.lane_id(), b.i32(2)));
}
void read_addtid(Translator& t, const Instruction& i) {
  if (is_lds(t, i)) load(t, i, Space::lds, addtid(t, i));
}
void write_addtid(Translator& t, const Instruction& i) {
  if (is_lds(t, i)) store(t, i, Space::lds, addtid(t, i), i.src[1]);
}

using enum Opcode;

#define LANEWISE_ATOMIC(name, type, op)                                                                      \
  {ds_##name##_##type, atomic_in_lds<AtomicOp::op>}, { ds_##name##_rtn_##type, atomic_in_lds<AtomicOp::op> }
#define LANEWISE_ATOMICS(name, kind, op)                                                                     \
  LANEWISE_ATOMIC(name, kind##32, op), LANEWISE_ATOMIC(name, kind##64, op)

constexpr Meaning lds_meanings[] = {
    {ds_read_b32, read},
    {ds_read_b64, read},
    {ds_read_b96, read},
    {ds_read_b128, read},
    {ds_read_u8, read},
    {ds_read_i8, read},
    {ds_read_u16, read},
    {ds_read_i16, read},
    {ds_read_u8_d16, read},
    {ds_read_u8_d16_hi, read},
    {ds_read_i8_d16, read},
    {ds_read_i8_d16_hi, read},
    {ds_read_u16_d16, read},
    {ds_read_u16_d16_hi, read},
    {ds_write_b8, write},
    {ds_write_b16, write},
    {ds_write_b8_d16_hi, write},
    {ds_write_b16_d16_hi, write},
    {ds_write_b32, write},
    {ds_write_b64, write},
    {ds_write_b96, write},
    {ds_write_b128, write},
    {ds_read2_b32, read2},
    {ds_read2_b64, read2},
    {ds_read2st64_b32, read2},
    {ds_read2st64_b64, read2},
    {ds_write2_b32, write2},
    {ds_write2_b64, write2},
    {ds_write2st64_b32, write2},
    {ds_write2st64_b64, write2},
    {ds_wrxchg_rtn_b32, atomic_in_lds<AtomicOp::swap>},
    {ds_wrxchg_rtn_b64, atomic_in_lds<AtomicOp::swap>},
    {ds_wrxchg2_rtn_b32, exchange2},
    {ds_wrxchg2_rtn_b64, exchange2},
    {ds_wrxchg2st64_rtn_b32, exchange2},
    {ds_wrxchg2st64_rtn_b64, exchange2},
    {ds_read_addtid_b32, read_addtid},
    {ds_write_addtid_b32, write_addtid},
    {ds_append, append<true>},
    {ds_consume, append<false>},
    {ds_wrap_rtn_b32, atomic_in_lds<AtomicOp::wrap>},
    {ds_condxchg32_rtn_b64, conditional_exchange},
    {ds_nop, nothing},
    LANEWISE_ATOMICS(add, u, add),
    LANEWISE_ATOMICS(sub, u, sub),
    LANEWISE_ATOMICS(rsub, u, rsub),
    LANEWISE_ATOMICS(inc, u, inc),
    LANEWISE_ATOMICS(dec, u, dec),
    LANEWISE_ATOMICS(min, i, smin),
    LANEWISE_ATOMICS(max, i, smax),
    LANEWISE_ATOMICS(min, u, umin),
    LANEWISE_ATOMICS(max, u, umax),
    LANEWISE_ATOMICS(and, b, and_),
    LANEWISE_ATOMICS(or, b, or_),
    LANEWISE_ATOMICS(xor, b, xor_),
    LANEWISE_ATOMICS(mskor, b, mskor),
    LANEWISE_ATOMICS(cmpst, b, cmpswap),
    LANEWISE_ATOMICS(cmpst, f, fcmpswap),
    LANEWISE_ATOMICS(min, f, fmin),
    LANEWISE_ATOMICS(max, f, fmax),
    LANEWISE_ATOMIC(add, f32, fadd),
};

#undef LANEWISE_ATOMIC
#undef LANEWISE_ATOMICS

} // namespace

std::span<const Meaning> lds() { return lds_meanings; }

} // namespace lanewise::translate
