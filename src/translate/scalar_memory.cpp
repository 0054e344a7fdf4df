// SMEM: loads through the scalar cache, and the clocks (RDNA2 ISA, section 7).
#include "translate/translator.hpp"

#include "translate/constants.hpp"

namespace lanewise::translate {
namespace {

using ir::Op;

constexpr ir::MemoryAccess access{.bytes = 4, .align = 4, .invariant = true};

/// Offset of an address from the image base, if it is one: `add(input image_base, constant)`.
std::optional<uint64_t> image_offset(Translator& t, Value address) {
  const auto& f = t.b.function;
  const Value base = t.input(ir::Input::image_base);
  if (address == base) return 0;
  if (f[address].op != Op::add || f.operand(address, 0) != base || !f.is_constant(f.operand(address, 1)))
    return {};
  return f[f.operand(address, 1)].imm;
}

/// A dword that is known when the image never changes; none otherwise.
Value constant_dword(Translator& t, uint64_t offset) {
  const Known k = image_dword(t.binary(), offset);
  if (k.assumed) return {};
  switch (k.kind) {
  case Known::Kind::number: return t.b.i32(k.payload);
  case Known::Kind::address_lo: return t.b.lo32(t.image_address(k.payload));
  case Known::Kind::address_hi: return t.b.hi32(t.image_address(k.payload));
  case Known::Kind::origin:
  case Known::Kind::unknown: break;
  }
  return {};
}

bool load_constants(Translator& t, const Instruction& i, Value address) {
  const auto offset = image_offset(t, address);
  if (!offset) return false;
  std::array<Value, 16> words;
  for (unsigned k = 0; k < i.dst[0].dwords; ++k)
    if (!(words[k] = constant_dword(t, (*offset & ~uint64_t{3}) + 4 * k))) return false;
  for (unsigned k = 0; k < i.dst[0].dwords; ++k) t.set_sgpr(i.dst[0].reg + k, words[k]);
  return true;
}

/// Pointers that the dispatcher makes are aligned; of others the two low bits do not count.
bool is_aligned(const ir::Function& f, Value address) {
  const ir::Inst& inst = f[address];
  if (inst.op == Op::input) return true;
  if (inst.op == Op::constant) return inst.imm % 4 == 0;
  if (inst.op == Op::add) return is_aligned(f, f.operand(address, 0)) && is_aligned(f, f.operand(address, 1));
  return false;
}

/// What the dispatcher wrote, or the image holds, nobody writes. Other words may be: clang loads by SMEM what
/// the program stores to later. The load is over when its value is used, in all lanes; so the store waits for
/// it.
void order_later_stores(Translator& t, Value address) {
  const auto& f = t.b.function;
  const bool sum = f[address].op == Op::add && f.is_constant(f.operand(address, 1));
  const Value base = sum ? f.operand(address, 0) : address;
  if (f[base].op != Op::input) t.after_access(false, ir::Space::global);
}

void load(Translator& t, const Instruction& i) {
  auto& b = t.b;
  Value address = b.add(t.scalar64(i.src[0]), b.i64(static_cast<uint64_t>(int64_t{i.imm})));
  if (!i.src[1].is_none()) address = b.add(address, b.zext(t.scalar32(i.src[1]), Type::i64));
  if (load_constants(t, i, address)) return;
  if (!is_aligned(b.function, address)) address = b.and_(address, b.i64(~uint64_t{3}));
  ir::MemoryAccess m = access;
  m.coherent = i.glc || i.dlc;
  const Value v = b.load(Type::i32, address, b.u1(true), m, i.dst[0].dwords);
  for (unsigned k = 0; k < i.dst[0].dwords; ++k) t.set_sgpr(i.dst[0].reg + k, b.extract(v, k));
  order_later_stores(t, address);
}

/// The buffer is read without its swizzle; dwords past its end are 0 (RDNA2 ISA, 7.2.2). It has num_records
/// bytes, or records of `stride` bytes.
void buffer_load(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const auto word = [&](unsigned k) { return t.scalar32(i.src[0], k); };
  const Value base = b.pack64(word(0), b.and_(word(1), b.i32(0xffff)));
  const Value stride = b.ubfe(word(1), b.i32(16), b.i32(14)), records = b.zext(word(2), Type::i64);
  const Value size = b.select(b.eq(stride, b.i32(0)), records, b.mul(records, b.zext(stride, Type::i64)));
  Value offset = b.i64(static_cast<uint32_t>(i.imm));
  if (!i.src[1].is_none()) offset = b.add(offset, b.zext(t.scalar32(i.src[1]), Type::i64));
  offset = b.and_(offset, b.i64(~uint64_t{3}));
  std::array<Value, 16> words;
  for (unsigned k = 0; k < i.dst[0].dwords; ++k) {
    const Value at = b.add(offset, b.i64(4 * k));
    words[k] = b.load(Type::i32, b.add(base, at), b.ule(b.add(at, b.i64(4)), size), access);
  }
  for (unsigned k = 0; k < i.dst[0].dwords; ++k) t.set_sgpr(i.dst[0].reg + k, words[k]);
  order_later_stores(t, base);
}

void read_clock(Translator& t, const Instruction& i) { t.set_scalar64(i.dst[0], t.b.clock()); }

using enum Opcode;
constexpr Meaning scalar_memory_meanings[] = {
    {s_load_dword, load},
    {s_load_dwordx2, load},
    {s_load_dwordx4, load},
    {s_load_dwordx8, load},
    {s_load_dwordx16, load},
    {s_buffer_load_dword, buffer_load},
    {s_buffer_load_dwordx2, buffer_load},
    {s_buffer_load_dwordx4, buffer_load},
    {s_buffer_load_dwordx8, buffer_load},
    {s_buffer_load_dwordx16, buffer_load},
    {s_memtime, read_clock},
    {s_memrealtime, read_clock},
    {s_gl1_inv, invalidate},
    {s_dcache_inv, invalidate},
};

} // namespace

std::span<const Meaning> scalar_memory() { return scalar_memory_meanings; }

} // namespace lanewise::translate
