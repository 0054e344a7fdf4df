// Loads and stores.
#include "spirv/memory_access.hpp"

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

uint32_t memory_operands(const AccessSite& s) {
  const auto aligned = static_cast<uint32_t>(spv::MemoryAccessMask::Aligned);
  return s.access.coherent ? aligned | static_cast<uint32_t>(spv::MemoryAccessMask::Volatile) : aligned;
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

// -- arrays of 32-bit words: LDS and scratch, and global memory where an access is not aligned
// -----------------------------------------------------------------------

/// 32 bits at any byte. Reads the words that hold them and no other.
Expr load_anywhere(const AccessSite& s, Expr byte) {
  const Expr low = load_word(s, byte >> 2, 0), high = load_word(s, (byte + 3) >> 2, 0);
  const Expr both = resize(low, Type::i64) | resize(high, Type::i64) << 32;
  return resize(both >> resize((byte & 3) << 3, Type::i64), Type::i32);
}

/// What all accesses of global memory share that are not aligned: one helper for each way to do it.
Helpers::Key anywhere_key(const AccessSite& s, bool is_load, unsigned bytes) {
  constexpr uint64_t of_its_own = uint64_t{1} << 55; // no variant of write_access_call
  return {static_cast<uint8_t>(Helper::memory),
          of_its_own | uint64_t{is_load} << 9 | uint64_t{s.access.coherent} << 8 | bytes};
}

Expr dword_at(const AccessSite& s, uint32_t at) {
  const Expr byte = at == 0 ? s.address : s.address + at;
  if (s.space != Space::global) return load_anywhere(s, byte);
  const Id function =
      s.e.helpers.get(anywhere_key(s, true, 4), "load_anywhere", s.c.types[Type::i32], std::array{Type::i64},
                      [&](Code& k, std::span<const Expr> x) {
                        return load_anywhere({s.e, k, s.space, x[0], {}, s.access, Type::i32, 1, true}, x[0]);
                      });
  return call(s.c, function, Type::i32, {byte});
}

Expr load_unaligned(const AccessSite& s, uint32_t at) {
  const Expr low = dword_at(s, at);
  if (s.access.bytes == 4) return bitcast(resize(low, integer_like(s.type)), s.type);
  if (s.access.bytes == 8) {
    const Expr high = dword_at(s, at + 4);
    return bitcast(resize(low, Type::i64) | resize(high, Type::i64) << 32, s.type);
  }
  const Expr up = low << 16;
  const Expr value = s.access.sign_extend ? ashr(up, same(up, 16)) : up >> 16;
  return bitcast(resize(value, integer_like(s.type)), s.type);
}

/// One component, `at` bytes behind the address.
Expr load_component(const AccessSite& s, uint32_t at) {
  if (s.unaligned) return load_unaligned(s, at);
  const Expr index = s.address >> 2;
  const unsigned width = s.access.bytes * 8u;
  if (width == 64) {
    const Expr low = load_word(s, index, at / 4), high = load_word(s, index, at / 4 + 1);
    return bitcast(resize(low, Type::i64) | resize(high, Type::i64) << 32, s.type);
  }
  if (width == 32) return bitcast(load_word(s, index, at / 4), s.type);
  const Expr byte = at == 0 ? s.address : s.address + at;
  const Expr shifted = load_word(s, byte >> 2, 0) >> ((byte & 3) << 3);
  const unsigned up = 32 - width;
  const Expr high = shifted << up;
  const Expr value = s.access.sign_extend ? ashr(high, same(high, up)) : high >> up;
  return bitcast(resize(value, integer_like(s.type)), s.type);
}

Id load_words(const AccessSite& s) {
  std::vector<uint32_t> parts{s.c.types.tuple(s.type, s.components), 0};
  for (unsigned i = 0; i < s.components; ++i) parts.push_back(load_component(s, i * s.access.bytes).id);
  if (s.components == 1) return parts[2];
  parts[1] = s.e.module.new_id();
  append_instruction(s.c.words, spv::Op::OpCompositeConstruct, parts);
  return parts[1];
}

/// Part of a word (or of a 64-bit unit). In LDS other lanes may write the rest of it at the same time.
void store_part(const AccessSite& s, Id pointer, Type unit, Expr value, Expr shift, uint64_t ones) {
  Code& c = s.c;
  const Expr by = resize(shift, unit);
  const Expr placed = (resize(value, unit) & ones) << by, keep = ~(c.constant(unit, ones) << by);
  const Id type = c.types[unit];
  if (s.space == Space::lds) {
    const Id workgroup = s.e.scope(spv::Scope::Workgroup), relaxed = c.module.u32(0);
    (void)c.op(spv::Op::OpAtomicAnd, type, {pointer, workgroup, relaxed, keep.id});
    (void)c.op(spv::Op::OpAtomicOr, type, {pointer, workgroup, relaxed, placed.id});
    return;
  }
  const Expr old = c.expr(c.op(spv::Op::OpLoad, type, {pointer}), unit);
  c.effect(spv::Op::OpStore, {pointer, ((old & keep) | placed).id});
}

/// The low `bytes` bytes of `data` (at most 4) at any byte of global memory, where other lanes may write what
/// is around them at the same time. The second word is the first one again where the bytes do not reach it.
void store_anywhere(const AccessSite& s, Expr data, Expr byte, unsigned bytes) {
  Code& c = s.c;
  const Expr shift = (byte & 3) << 3, ones = c.constant(Type::i64, (uint64_t{1} << (bytes * 8)) - 1);
  const Expr placed = (resize(data, Type::i64) & ones) << shift, cleared = ~(ones << shift);
  const Id type = c.types[Type::i32], device = s.e.scope(spv::Scope::Device), relaxed = c.module.u32(0);
  for (const unsigned half : {0u, 1u}) {
    const Id pointer = word_pointer(s.e, c, s.space, (half == 0 ? byte : byte + (bytes - 1)) >> 2);
    const auto part = [&](Expr x) { return resize(half == 0 ? x : x >> 32, Type::i32).id; };
    (void)c.op(spv::Op::OpAtomicAnd, type, {pointer, device, relaxed, part(cleared)});
    (void)c.op(spv::Op::OpAtomicOr, type, {pointer, device, relaxed, part(placed)});
  }
}

void put_at(const AccessSite& s, uint32_t at, Expr data, unsigned bytes) {
  const Id function = s.e.helpers.get(
      anywhere_key(s, false, bytes), "store_anywhere", s.c.types[Type::none],
      std::array{Type::i64, Type::i32}, [&](Code& k, std::span<const Expr> x) {
        store_anywhere({s.e, k, s.space, x[0], {}, s.access, Type::i32, 1, true}, x[1], x[0], bytes);
        return Expr{};
      });
  (void)call(s.c, function, Type::none, {at == 0 ? s.address : s.address + at, resize(data, Type::i32)});
}

/// The low `bytes` bytes of the data, which lie in one word.
void store_narrow(const AccessSite& s, Expr data, Expr byte, unsigned bytes) {
  const uint64_t ones = (uint64_t{1} << (bytes * 8)) - 1;
  if (is_wide(s))
    return store_part(s, wide_lds_pointer(s.e, s.c, byte), Type::i64, data, (byte & 7) << 3, ones);
  store_part(s, word_pointer(s.e, s.c, s.space, byte >> 2), Type::i32, data, (byte & 3) << 3, ones);
}

Id store_words(const AccessSite& s) {
  const Expr index = s.address >> 2;
  for (unsigned i = 0; i < s.components; ++i) {
    const uint32_t at = i * s.access.bytes;
    const Expr data = bitcast(s.data[i], integer_like(s.data[i].type));
    if (s.unaligned && s.space == Space::global) {
      put_at(s, at, data, std::min<unsigned>(s.access.bytes, 4));
      if (s.access.bytes == 8) put_at(s, at + 4, data >> 32, 4);
    } else if (s.unaligned) {
      for (unsigned k = 0; k < s.access.bytes; ++k)
        store_narrow(s, k == 0 ? data : data >> (8 * k), s.address + (at + k), 1);
    } else if (s.access.bytes == 8) {
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
  const Id pointer = word_pointer(s.e, c, s.space, index, plus);
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
  s.c.effect(spv::Op::OpStore, {word_pointer(s.e, s.c, s.space, index, plus), word.id});
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
