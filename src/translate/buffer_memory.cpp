// MUBUF and MTBUF (RDNA2 ISA, section 8). Descriptors stay operands: passes/lower_buffers works out
// addresses.
#include "container/guest_abi.hpp"
#include "translate/memory_access.hpp"

namespace lanewise::translate {
namespace {

using ir::AtomicOp;
using ir::Op;
using rdna2::OpcodeFlag;

/// The private segment buffer as the dispatcher sets it up: scratch belongs to the lane, so no other lane's
/// access can meet it.
bool is_scratch(const ir::Function& f, std::span<const Value> operands) {
  return f.is_constant(operands[0], guest_abi::scratch_rsrc_word0) &&
         f.is_constant(operands[1], guest_abi::scratch_rsrc_word1);
}

/// r0 .. r3, index, offset, soffset, active. The offset holds the instruction's immediate too; a sum of more
/// than 32 bits, which lies behind every buffer, becomes the largest number.
std::array<Value, 8> buffer_operands(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const auto vaddr = [&](unsigned k) { return t.raw32(i.src[0], k); };
  const auto r = [&](unsigned k) { return t.scalar32(i.src[1], k); };
  const std::array<Value, 4> words{r(0), r(1), r(2), r(3)};
  const Value immediate = b.i32(static_cast<uint32_t>(i.imm));
  Value offset = immediate;
  if (i.offen) {
    const Value sum = b.add(vaddr(i.idxen ? 1 : 0), immediate);
    const bool may_wrap = i.imm != 0 && !is_scratch(b.function, words);
    offset = may_wrap ? b.select(b.ult(sum, immediate), b.i32(~0u), sum) : sum;
  }
  return {
      words[0],  words[1], words[2], words[3], i.idxen ? vaddr(0) : b.i32(0), offset, t.scalar32(i.src[2]),
      t.active()};
}

bool is_plain_buffer_access(Translator& t, const Instruction& i) {
  if (i.lds) t.unsupported(i, "load to LDS");
  if (i.tfe) t.unsupported(i, "TFE");
  return !i.lds && !i.tfe;
}

Shape buffer_shape(const Instruction& i) {
  Shape s = shape_of(i, ir::Space::global);
  s.access.idxen = i.idxen;
  s.access.offen = i.offen;
  return s;
}

void load_buffer(Translator& t, const Instruction& i) {
  if (!is_plain_buffer_access(t, i)) return;
  const Shape shape = buffer_shape(i);
  const auto operands = buffer_operands(t, i);
  const bool ordered = !is_scratch(t.b.function, operands);
  if (ordered) t.before_access(false, ir::Space::global);
  const Value v = t.b.emit(Op::buffer_load, operands, Type::i32, shape.access.pack(), shape.components);
  if (ordered) t.after_access(false, ir::Space::global);
  set_loaded(t, shape, i.dst[0].reg, v);
}

void store_buffer(Translator& t, const Instruction& i) {
  if (!is_plain_buffer_access(t, i)) return;
  const Shape shape = buffer_shape(i);
  const auto fixed = buffer_operands(t, i);
  const bool ordered = !is_scratch(t.b.function, fixed);
  std::vector<Value> operands(fixed.begin(), fixed.end());
  const auto data = stored_data(t, shape, i.src[3]);
  operands.insert(operands.end(), data.begin(), data.end());
  if (ordered) t.before_access(true, ir::Space::global);
  t.b.emit(Op::buffer_store, operands, Type::none, shape.access.pack());
  if (ordered) t.after_access(true, ir::Space::global);
}

template <AtomicOp A>
void atomic_in_buffer(Translator& t, const Instruction& i) {
  if (!is_plain_buffer_access(t, i)) return;
  const AtomicOperands o = atomic_operands(t, i, A, i.src[3]);
  ir::MemoryAccess access = atomic_access(i, ir::Space::global, A);
  access.idxen = i.idxen;
  access.offen = i.offen;
  const auto fixed = buffer_operands(t, i);
  std::vector<Value> operands(fixed.begin(), fixed.end());
  operands.push_back(o.data);
  if (o.compare) operands.push_back(o.compare);
  t.before_access(true, ir::Space::global);
  const Value old = t.b.emit(Op::buffer_atomic, operands, t.b.function[o.data].type, access.pack());
  t.after_access(true, ir::Space::global);
  set_atomic_result(t, i, old);
}

using enum Opcode;

#define LANEWISE_ATOMIC(name, op)                                                                            \
  {buffer_atomic_##name, atomic_in_buffer<AtomicOp::op>}, {                                                  \
    buffer_atomic_##name##_x2, atomic_in_buffer<AtomicOp::op>                                                \
  }

constexpr Meaning buffer_memory_meanings[] = {
    {buffer_load_ubyte, load_buffer},
    {buffer_load_sbyte, load_buffer},
    {buffer_load_ushort, load_buffer},
    {buffer_load_sshort, load_buffer},
    {buffer_load_dword, load_buffer},
    {buffer_load_dwordx2, load_buffer},
    {buffer_load_dwordx3, load_buffer},
    {buffer_load_dwordx4, load_buffer},
    {buffer_load_ubyte_d16, load_buffer},
    {buffer_load_ubyte_d16_hi, load_buffer},
    {buffer_load_sbyte_d16, load_buffer},
    {buffer_load_sbyte_d16_hi, load_buffer},
    {buffer_load_short_d16, load_buffer},
    {buffer_load_short_d16_hi, load_buffer},
    {buffer_store_byte, store_buffer},
    {buffer_store_byte_d16_hi, store_buffer},
    {buffer_store_short, store_buffer},
    {buffer_store_short_d16_hi, store_buffer},
    {buffer_store_dword, store_buffer},
    {buffer_store_dwordx2, store_buffer},
    {buffer_store_dwordx3, store_buffer},
    {buffer_store_dwordx4, store_buffer},
    LANEWISE_ATOMIC(swap, swap),
    LANEWISE_ATOMIC(cmpswap, cmpswap),
    LANEWISE_ATOMIC(add, add),
    LANEWISE_ATOMIC(sub, sub),
    LANEWISE_ATOMIC(smin, smin),
    LANEWISE_ATOMIC(umin, umin),
    LANEWISE_ATOMIC(smax, smax),
    LANEWISE_ATOMIC(umax, umax),
    LANEWISE_ATOMIC(and, and_),
    LANEWISE_ATOMIC(or, or_),
    LANEWISE_ATOMIC(xor, xor_),
    LANEWISE_ATOMIC(inc, inc),
    LANEWISE_ATOMIC(dec, dec),
    LANEWISE_ATOMIC(fcmpswap, fcmpswap),
    LANEWISE_ATOMIC(fmin, fmin),
    LANEWISE_ATOMIC(fmax, fmax),
    {buffer_atomic_csub, atomic_in_buffer<AtomicOp::csub>},
};

#undef LANEWISE_ATOMIC

} // namespace

std::span<const Meaning> buffer_memory() { return buffer_memory_meanings; }

} // namespace lanewise::translate
