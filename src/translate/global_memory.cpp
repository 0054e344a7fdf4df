// FLAT, GLOBAL and SCRATCH (RDNA2 ISA, section 9).
#include "translate/memory_access.hpp"

namespace lanewise::translate {
namespace {

using ir::AtomicOp;
using ir::Space;

Value offset64(Translator& t, const Instruction& i) { return t.b.i64(static_cast<uint64_t>(int64_t{i.imm})); }

/// Beside a scalar base the VGPR is an unsigned 32-bit offset.
Value global_address(Translator& t, const Instruction& i) {
  auto& b = t.b;
  if (i.src[1].is_none()) return b.add(t.raw64(i.src[0]), offset64(t, i));
  const Value base = b.add(t.scalar64(i.src[1]), offset64(t, i));
  return i.src[0].is_none() ? base : b.add(base, b.zext(t.raw32(i.src[0]), Type::i64));
}
Value flat_address(Translator& t, const Instruction& i) { return t.b.add(t.raw64(i.src[0]), offset64(t, i)); }
Value scratch_address(Translator& t, const Instruction& i) {
  const Value imm = t.b.i32(static_cast<uint32_t>(i.imm));
  if (!i.src[0].is_none()) return t.b.add(t.raw32(i.src[0]), imm);
  return i.src[1].is_none() ? imm : t.b.add(t.scalar32(i.src[1]), imm);
}
Value addtid_address(Translator& t, const Instruction& i) {
  const Value lane_offset = t.b.shl(t.b.lane_id(), t.b.i32(2));
  const Value base = global_address(t, i);
  return t.b.add(base, t.b.zext(lane_offset, Type::i64));
}

template <Space S>
Value address(Translator& t, const Instruction& i) {
  return S == Space::global ? global_address(t, i)
         : S == Space::flat ? flat_address(t, i)
                            : scratch_address(t, i);
}

bool is_plain_access(Translator& t, const Instruction& i) {
  if (!i.lds) return true;
  t.unsupported(i, "load to LDS");
  return false;
}

template <Space S>
void load_from(Translator& t, const Instruction& i) {
  if (is_plain_access(t, i)) load(t, i, S, address<S>(t, i));
}
template <Space S>
void store_to(Translator& t, const Instruction& i) {
  store(t, i, S, address<S>(t, i), i.src[2]);
}

void load_addtid(Translator& t, const Instruction& i) { load(t, i, Space::global, addtid_address(t, i)); }
void store_addtid(Translator& t, const Instruction& i) {
  store(t, i, Space::global, addtid_address(t, i), i.src[2]);
}

template <Space S, AtomicOp A>
void atomic(Translator& t, const Instruction& i) {
  const AtomicOperands o = atomic_operands(t, i, A, i.src[2]);
  const Value where = address<S>(t, i);
  t.before_access(true, S);
  const Value old = t.b.atomic(where, t.active(), o.data, atomic_access(i, S, A), o.compare);
  t.after_access(true, S);
  set_atomic_result(t, i, old);
}

using enum Opcode;

#define LANEWISE_LOADS(format, space)                                                                        \
  {format##_load_ubyte, load_from<space>}, {format##_load_sbyte, load_from<space>},                          \
      {format##_load_ushort, load_from<space>}, {format##_load_sshort, load_from<space>},                    \
      {format##_load_dword, load_from<space>}, {format##_load_dwordx2, load_from<space>},                    \
      {format##_load_dwordx3, load_from<space>}, {format##_load_dwordx4, load_from<space>},                  \
      {format##_load_ubyte_d16, load_from<space>}, {format##_load_ubyte_d16_hi, load_from<space>},           \
      {format##_load_sbyte_d16, load_from<space>}, {format##_load_sbyte_d16_hi, load_from<space>},           \
      {format##_load_short_d16, load_from<space>}, {format##_load_short_d16_hi, load_from<space>},           \
      {format##_store_byte, store_to<space>}, {format##_store_byte_d16_hi, store_to<space>},                 \
      {format##_store_short, store_to<space>}, {format##_store_short_d16_hi, store_to<space>},               \
      {format##_store_dword, store_to<space>}, {format##_store_dwordx2, store_to<space>},                    \
      {format##_store_dwordx3, store_to<space>}, {                                                           \
    format##_store_dwordx4, store_to<space>                                                                  \
  }
#define LANEWISE_ATOMIC(format, space, name, op)                                                             \
  {format##_atomic_##name, atomic<space, AtomicOp::op>}, {                                                   \
    format##_atomic_##name##_x2, atomic<space, AtomicOp::op>                                                 \
  }
#define LANEWISE_ATOMICS(format, space)                                                                      \
  LANEWISE_ATOMIC(format, space, swap, swap), LANEWISE_ATOMIC(format, space, cmpswap, cmpswap),              \
      LANEWISE_ATOMIC(format, space, add, add), LANEWISE_ATOMIC(format, space, sub, sub),                    \
      LANEWISE_ATOMIC(format, space, smin, smin), LANEWISE_ATOMIC(format, space, umin, umin),                \
      LANEWISE_ATOMIC(format, space, smax, smax), LANEWISE_ATOMIC(format, space, umax, umax),                \
      LANEWISE_ATOMIC(format, space, and, and_), LANEWISE_ATOMIC(format, space, or, or_),                    \
      LANEWISE_ATOMIC(format, space, xor, xor_), LANEWISE_ATOMIC(format, space, inc, inc),                   \
      LANEWISE_ATOMIC(format, space, dec, dec), LANEWISE_ATOMIC(format, space, fcmpswap, fcmpswap),          \
      LANEWISE_ATOMIC(format, space, fmin, fmin), LANEWISE_ATOMIC(format, space, fmax, fmax)

constexpr Meaning global_memory_meanings[] = {
    LANEWISE_LOADS(flat, Space::flat),       LANEWISE_LOADS(global, Space::global),
    LANEWISE_LOADS(scratch, Space::scratch), LANEWISE_ATOMICS(flat, Space::flat),
    LANEWISE_ATOMICS(global, Space::global), {global_atomic_csub, atomic<Space::global, AtomicOp::csub>},
    {global_load_dword_addtid, load_addtid}, {global_store_dword_addtid, store_addtid},
};

#undef LANEWISE_LOADS
#undef LANEWISE_ATOMIC
#undef LANEWISE_ATOMICS

} // namespace

std::span<const Meaning> global_memory() { return global_memory_meanings; }

} // namespace lanewise::translate
