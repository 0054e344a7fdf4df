#include "spirv/memory_access.hpp"

#include "container/guest_abi.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::spirv {

using ir::MemoryAccess;
using ir::Space;
using ir::Type;
using ir::Value;

namespace {

/// Of LDS or scratch, as the module has it.
uint32_t array_bytes(Emitter& e, Space space) {
  const uint32_t bytes = space == Space::lds ? e.lds_bytes() : e.shared.scratch_bytes;
  return std::max(1u, (bytes + 3) / 4) * 4;
}

Expr smaller(Code& c, Expr x, uint32_t limit) {
  return c.expr(c.glsl(GLSLstd450UMin, c.types[x.type], {x.id, c.module.u32(limit)}), x.type);
}

struct Frame {
  Emitter& e;
  MemoryAccess access;
  Type type;
  unsigned components;
  Id result_type;
  bool has_value;
  AccessBody body;
  std::span<const Expr> data;
  unsigned size; ///< bytes that the access covers
  bool maybe_unaligned, inside;
  Expr words_behind;

  /// An aligned access. In an array of words its address is kept so far from the end that all of it fits.
  Id aligned(Code& c, Space space, Expr address) const {
    AccessSite site{.e = e,
                    .c = c,
                    .space = space,
                    .address = address,
                    .data = data,
                    .access = access,
                    .type = type,
                    .components = components,
                    .words_behind = words_behind};
    if (space == Space::global) return body(site);
    const uint32_t all = array_bytes(e, space);
    site.inside = all >= size && !is_wide(site);
    if (site.inside && !inside) site.address = smaller(c, address, all - size);
    return body(site);
  }

  Id at(Code& c, Space space, Expr address) const {
    const bool words = space != Space::global;
    if (!maybe_unaligned || (!words && e.options.device.unaligned_global)) return aligned(c, space, address);
    const auto part = [&](bool unaligned) {
      return [&, unaligned](Code& k) {
        if (!unaligned) return aligned(k, space, address);
        return body({e, k, space, address, data, access, type, components, true});
      };
    };
    // Two words of scratch are cheaper than a branch.
    if (space == Space::scratch) return part(true)(c);
    // In an array of words a component of two bytes only leaves its word when it starts at the last byte.
    const Expr in_word = address & (words ? 3u : access.bytes - 1u);
    const Expr fits = words && access.bytes == 2 ? in_word != 3 : in_word == 0;
    return choose(c, fits, result_type, has_value, part(false), part(true));
  }

  /// Which memory a flat address means is in its high half.
  Id flat(Code& c, Expr address) const {
    const Expr high = resize(address >> 32, Type::i32), low = resize(address, Type::i32);
    const CodePart global = [&](Code& k) { return at(k, Space::global, address); };
    const CodePart scratch = [&](Code& k) {
      if (e.f.scratch_bytes == 0) return global(k);
      return choose(
          k, high == guest_abi::private_aperture_hi, result_type, has_value,
          [&](Code& p) { return at(p, Space::scratch, low); }, global);
    };
    if (e.lds_bytes() == 0) return scratch(c);
    return choose(
        c, high == guest_abi::shared_aperture_hi, result_type, has_value,
        [&](Code& p) { return at(p, Space::lds, low); }, scratch);
  }

  Id anywhere(Code& c, Expr address) const {
    return access.space == Space::flat ? flat(c, address) : at(c, access.space, address);
  }
};

} // namespace

void write_access_call(Emitter& e, Value v, Helper kind, bool ask_active, AccessBody body) {
  const ir::Inst& inst = e.f[v];
  const auto operands = e.f.operands(v);
  const auto data = operands.subspan(2);
  const MemoryAccess access = MemoryAccess::unpack(inst.imm);
  const bool has_value = inst.type != Type::none;
  const Type type = has_value ? inst.type : e.f[data[0]].type;
  const unsigned components = has_value ? inst.components : static_cast<unsigned>(data.size());
  // A 64-bit address that was put together just now goes in as its halves.
  const bool halves = e.patterns.address_in_halves(v);
  const bool asks = access.space != Space::global || !e.options.device.unaligned_global;
  const bool in_words = access.space == Space::lds || access.space == Space::scratch;
  const auto whole_at = static_cast<unsigned>(std::countr_zero(unsigned{access.bytes})); // low zeros
  const bool maybe_unaligned =
      kind == Helper::memory && asks && access.bytes > 1 &&
      e.addresses.low_zeros(operands[0]) < (in_words ? std::min(whole_at, 2u) : whole_at);
  const unsigned size = access_size(e.f, v);
  const bool inside = e.addresses.inside_lds(v);
  const auto split = kind == Helper::memory ? e.addresses.split_lds(v) : AddressFacts::Split{};

  std::vector<Type> types;
  std::vector<Id> arguments;
  const auto pass = [&](Value o) {
    types.push_back(e.f[o].type);
    arguments.push_back(e.id(o));
  };
  if (ask_active) pass(operands[1]);
  if (halves) {
    pass(e.f.operand(operands[0], 0));
    pass(e.f.operand(operands[0], 1));
  } else {
    pass(split.base ? split.base : operands[0]);
  }
  if (split.base) {
    types.push_back(Type::i32);
    arguments.push_back(e.module.u32(split.words));
  }
  for (const Value d : data) pass(d);

  MemoryAccess id = access; // what makes two helpers differ
  id.align = std::max(access.align, access.bytes);
  id.invariant = false;
  const uint64_t variant = (id.pack() & 0x3fff'ffff) | uint64_t{ask_active} << 30 | uint64_t{halves} << 31 |
                           static_cast<uint64_t>(type) << 32 | uint64_t{components} << 36 |
                           uint64_t{has_value} << 44 | uint64_t{access.flush_in} << 45 |
                           uint64_t{access.flush_out} << 46 | uint64_t{maybe_unaligned} << 47 |
                           uint64_t{inside} << 48 | uint64_t{split.base.index != 0} << 49;
  const Id result_type = e.type_of(v);
  const auto whole = [&](Code& c, std::span<const Expr> x) {
    const size_t at = ask_active ? 1 : 0;
    Expr address = x[at];
    if (halves) {
      const Id pair =
          c.op(spv::Op::OpCompositeConstruct, c.types.tuple(Type::i32, 2), {x[at].id, x[at + 1].id});
      address = c.expr(c.op(spv::Op::OpBitcast, c.types[Type::i64], {pair}), Type::i64);
    }
    const Frame frame{e,           access,          type,   components,
                      result_type, has_value,       body,   x.subspan(at + (halves || split.base ? 2 : 1)),
                      size,        maybe_unaligned, inside, split.base ? x[at + 1] : Expr{}};
    Id result = 0;
    if (ask_active)
      result =
          choose(c, x[0], result_type, has_value, [&](Code& k) { return frame.anywhere(k, address); }, {});
    else
      result = frame.anywhere(c, address);
    return c.expr(result, type);
  };
  const Id function =
      e.helpers.get({static_cast<uint8_t>(kind), variant}, ir::info(inst.op).name, result_type, types, whole);
  e.make_call(v, function, arguments);
}

Expr word_index(const AccessSite& s) {
  const Expr index = s.address >> 2;
  return s.words_behind.id != 0 ? index + s.words_behind : index;
}

Id word_pointer(Emitter& e, Code& c, Space space, Expr index, uint32_t plus, bool inside) {
  if (space == Space::global)
    return global_pointer(e, c, (plus != 0 ? index + plus : index) << 2, c.types[Type::i32]);
  const bool lds = space == Space::lds;
  const Id array = lds ? e.lds() : e.scratch();
  if (plus != 0) index = index + plus;
  if (!inside) index = smaller(c, index, array_bytes(e, space) / 4 - 1);
  const auto storage = lds ? spv::StorageClass::Workgroup : spv::StorageClass::Private;
  return c.op(spv::Op::OpAccessChain, c.module.type_pointer(storage, c.types[Type::i32]), {array, index.id});
}

Id wide_lds_pointer(Emitter& e, Code& c, Expr byte_address) {
  const Expr index = byte_address >> 3;
  const Id inside = c.glsl(GLSLstd450UMin, c.types[Type::i32],
                           {index.id, c.module.u32(std::max(8u, e.lds_bytes()) / 8 - 1)});
  return c.op(spv::Op::OpAccessChain, c.module.type_pointer(spv::StorageClass::Workgroup, c.types[Type::i64]),
              {e.lds(), inside});
}

uint32_t memory_operands(const AccessSite& s) {
  const auto aligned = static_cast<uint32_t>(spv::MemoryAccessMask::Aligned);
  return s.access.coherent ? aligned | static_cast<uint32_t>(spv::MemoryAccessMask::Volatile) : aligned;
}

Id global_pointer(Emitter& e, Code& c, Expr address, Id pointee) {
  const Id pointer = e.module.type_pointer(spv::StorageClass::PhysicalStorageBuffer, pointee);
  return c.op(spv::Op::OpConvertUToPtr, pointer, {address.id});
}

} // namespace lanewise::spirv
