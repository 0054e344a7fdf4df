// Loads and stores.
#include "spirv/unaligned_access.hpp"

#include "spirv/float_format.hpp"

#include <algorithm>

namespace lanewise::spirv {
namespace {

using ir::MemoryAccess;
using ir::Op;
using ir::Space;
using ir::Type;
using ir::Value;

// -- global memory: any scalar type, vectors and arrays of it
// --------------------------------------------------

/// The type that lies in memory: narrower integers where the access is narrower than the value.
Type memory_type(const AccessSite& s) {
  if (s.access.bytes * 8 == ir::bit_width(s.type)) return s.type;
  return s.access.bytes == 1 ? Type::i8 : s.access.bytes == 2 ? Type::i16 : Type::i32;
}

void need_narrow_storage(Emitter& e, unsigned bytes) {
  if (bytes == 1) e.module.capability(spv::Capability::StorageBuffer8BitAccess);
  if (bytes == 2) e.module.capability(spv::Capability::StorageBuffer16BitAccess);
}

uint32_t alignment(const AccessSite& s) { return std::max(s.access.align, s.access.bytes); }

Id load_global(const AccessSite& s) {
  const Type in_memory = memory_type(s);
  need_narrow_storage(s.e, s.access.bytes);
  const Id type = s.c.types.tuple(in_memory, s.components);
  const Id pointer = global_pointer(s.e, s.c, s.address, type);
  const Id loaded = s.c.op(spv::Op::OpLoad, type, {pointer, memory_operands(s), alignment(s)});
  return resize(s.c.expr(loaded, in_memory), s.type, s.access.sign_extend).id;
}

Id store_global(const AccessSite& s) {
  const Type in_memory = memory_type(s);
  need_narrow_storage(s.e, s.access.bytes);
  const Id type = s.c.types.tuple(in_memory, s.components);
  const Id pointer = global_pointer(s.e, s.c, s.address, type);
  std::vector<uint32_t> parts{type, 0};
  for (const Expr& d : s.data)
    parts.push_back(in_memory == s.type ? bitcast(d, s.type).id : resize(d, in_memory).id);
  Id value = parts[2];
  if (s.components > 1) {
    value = parts[1] = s.e.module.new_id();
    append_instruction(s.c.words, spv::Op::OpCompositeConstruct, parts);
  }
  s.c.effect(spv::Op::OpStore, {pointer, value, memory_operands(s), alignment(s)});
  return 0;
}

// -- LDS and scratch: arrays of 32-bit words
// -----------------------------------------------------------------------

/// A 16-bit part of a word, or the lower half of one, as the access' result.
Expr narrow(const AccessSite& s, Expr shifted, unsigned width) {
  const unsigned up = 32 - width;
  const Expr high = shifted << up;
  const Expr value = s.access.sign_extend ? ashr(high, same(high, up)) : high >> up;
  return bitcast(resize(value, integer_like(s.type)), s.type);
}

/// One component, `at` bytes behind the address.
Expr load_component(const AccessSite& s, uint32_t at) {
  const Expr index = word_index(s);
  const unsigned width = s.access.bytes * 8u;
  if (width == 64) {
    const Expr low = load_word(s, index, at / 4), high = load_word(s, index, at / 4 + 1);
    return bitcast(resize(low, Type::i64) | resize(high, Type::i64) << 32, s.type);
  }
  if (width == 32) return bitcast(load_word(s, index, at / 4), s.type);
  const Expr byte = at == 0 ? s.address : s.address + at;
  return narrow(s, load_word(s, byte >> 2, 0) >> ((byte & 3) << 3), width);
}

/// The components of an access whose dwords these are.
Expr component(const AccessSite& s, std::span<const Expr> dwords, unsigned i) {
  if (s.access.bytes == 2) return narrow(s, dwords[0], 16);
  if (s.access.bytes == 4) return bitcast(resize(dwords[i], integer_like(s.type)), s.type);
  const Expr low = dwords[2 * i], high = dwords[2 * i + 1];
  return bitcast(resize(low, Type::i64) | resize(high, Type::i64) << 32, s.type);
}

Id load_words(const AccessSite& s) {
  std::vector<Expr> dwords;
  if (s.unaligned) dwords = load_anywhere(s, s.components * s.access.bytes);
  std::vector<uint32_t> parts{s.c.types.tuple(s.type, s.components), 0};
  for (unsigned i = 0; i < s.components; ++i)
    parts.push_back((s.unaligned ? component(s, dwords, i) : load_component(s, i * s.access.bytes)).id);
  if (s.components == 1) return parts[2];
  parts[1] = s.e.module.new_id();
  append_instruction(s.c.words, spv::Op::OpCompositeConstruct, parts);
  return parts[1];
}

/// The bits of `mask` in a word (or a 64-bit unit) become those of `bits`. In LDS other lanes may write the
/// rest of it at the same time.
void replace(const AccessSite& s, Id pointer, Type unit, Expr bits, Expr mask) {
  Code& c = s.c;
  const Id type = c.types[unit];
  if (s.space == Space::lds) {
    const Id workgroup = s.e.scope(spv::Scope::Workgroup), relaxed = c.module.u32(0);
    (void)c.op(spv::Op::OpAtomicAnd, type, {pointer, workgroup, relaxed, (~mask).id});
    (void)c.op(spv::Op::OpAtomicOr, type, {pointer, workgroup, relaxed, bits.id});
    return;
  }
  const Expr old = c.expr(c.op(spv::Op::OpLoad, type, {pointer}), unit);
  c.effect(spv::Op::OpStore, {pointer, ((old & ~mask) | bits).id});
}

void store_part(const AccessSite& s, Id pointer, Type unit, Expr value, Expr shift, uint64_t ones) {
  const Expr by = resize(shift, unit), mask = s.c.constant(unit, ones);
  replace(s, pointer, unit, (resize(value, unit) & mask) << by, mask << by);
}

/// The low `bytes` bytes of the data, which lie in one word.
void store_narrow(const AccessSite& s, Expr data, Expr byte, unsigned bytes) {
  const uint64_t ones = (uint64_t{1} << (bytes * 8)) - 1;
  if (is_wide(s))
    return store_part(s, wide_lds_pointer(s.e, s.c, byte), Type::i64, data, (byte & 7) << 3, ones);
  store_part(s, word_pointer(s.e, s.c, s.space, byte >> 2, 0, s.inside), Type::i32, data, (byte & 3) << 3,
             ones);
}

/// The data as dwords; 16-bit data is one.
std::vector<Expr> dwords_of(const AccessSite& s) {
  std::vector<Expr> dwords;
  for (const Expr& component : s.data) {
    const Expr data = bitcast(component, integer_like(component.type));
    dwords.push_back(resize(data, Type::i32));
    if (s.access.bytes == 8) dwords.push_back(resize(data >> 32, Type::i32));
  }
  return dwords;
}

Id store_words(const AccessSite& s) {
  if (s.unaligned) return store_anywhere(s, dwords_of(s), s.components * s.access.bytes), 0;
  const Expr index = word_index(s);
  for (unsigned i = 0; i < s.components; ++i) {
    const uint32_t at = i * s.access.bytes;
    const Expr data = bitcast(s.data[i], integer_like(s.data[i].type));
    if (s.access.bytes == 8) {
      store_word(s, index, at / 4, resize(data, Type::i32));
      store_word(s, index, at / 4 + 1, resize(data >> 32, Type::i32));
    } else if (s.access.bytes == 4) {
      store_word(s, index, at / 4, resize(data, Type::i32));
    } else {
      store_narrow(s, data, at == 0 ? s.address : s.address + at, s.access.bytes);
    }
  }
  return 0;
}

bool is_whole(const AccessSite& s) { return s.space == Space::global && !s.unaligned; }
Id load(const AccessSite& s) { return is_whole(s) ? load_global(s) : load_words(s); }
Id store(const AccessSite& s) { return is_whole(s) ? store_global(s) : store_words(s); }

void write_memory(Emitter& e, Value v) { write_load_store(e, v, is_guarded(e.f, v)); }

} // namespace

Expr load_word(const AccessSite& s, Expr index, uint32_t plus) {
  Code& c = s.c;
  if (is_wide(s)) {
    const Expr at = plus == 0 ? index : index + plus;
    const Id pointer = wide_lds_pointer(s.e, c, at << 2);
    const Expr unit = c.expr(c.op(spv::Op::OpLoad, c.types[Type::i64], {pointer}), Type::i64);
    return resize(unit >> resize((at & 1) << 5, Type::i64), Type::i32);
  }
  const Id pointer = word_pointer(s.e, c, s.space, index, plus, s.inside);
  const Id type = c.types[Type::i32];
  if (s.space == Space::global)
    return c.expr(c.op(spv::Op::OpLoad, type, {pointer, memory_operands(s), 4}), Type::i32);
  return c.expr(c.op(spv::Op::OpLoad, type, {pointer}), Type::i32);
}

void store_word(const AccessSite& s, Expr index, uint32_t plus, Expr word) {
  if (is_wide(s)) {
    const Expr at = plus == 0 ? index : index + plus;
    return store_part(s, wide_lds_pointer(s.e, s.c, at << 2), Type::i64, word, (at & 1) << 5, 0xffff'ffff);
  }
  s.c.effect(spv::Op::OpStore, {word_pointer(s.e, s.c, s.space, index, plus, s.inside), word.id});
}

void replace_bits(const AccessSite& s, Expr index, Expr bits, Expr mask) {
  if (!is_wide(s)) return replace(s, word_pointer(s.e, s.c, s.space, index), Type::i32, bits, mask);
  const Expr by = resize((index & 1) << 5, Type::i64);
  const auto placed = [&](Expr x) { return resize(x, Type::i64) << by; };
  replace(s, wide_lds_pointer(s.e, s.c, index << 2), Type::i64, placed(bits), placed(mask));
}

void write_load_store(Emitter& e, Value v, bool ask_active) {
  const MemoryAccess m = MemoryAccess::unpack(e.f[v].imm);
  const bool is_load = e.f[v].op == Op::load;
  const Type type = is_load ? e.f[v].type : e.f[e.f.operand(v, 2)].type;
  const unsigned components = is_load ? e.f[v].components : e.f[v].operand_count - 2u;
  const bool narrow = m.bytes * 8 != ir::bit_width(type);
  if (narrow && (components != 1 || ir::is_float(type) || m.bytes * 8 > ir::bit_width(type)))
    return e.refuse(v, "tuple of narrow components");
  write_access_call(e, v, Helper::memory, ask_active, is_load ? load : store);
}

void write_access(Emitter& e, Value v) {
  if (e.f[v].op == Op::atomic)
    write_atomic(e, v, false);
  else
    write_load_store(e, v, false);
}

void add_memory_handlers(HandlerTable& t) {
  t[index_of(Op::load)] = write_memory;
  t[index_of(Op::store)] = write_memory;
}

} // namespace lanewise::spirv
