// byte_perm: one helper for selectors that are computed, one for each constant.
#include "ir/byte_selectors.hpp"
#include "spirv/emitter.hpp"

namespace lanewise::spirv {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

Expr insert_byte(Expr into, Expr byte, unsigned k) {
  Code& c = *into.code;
  return c.expr(c.op(spv::Op::OpBitFieldInsert, c.types[Type::i32],
                     {into.id, byte.id, c.module.u32(8 * k), c.module.u32(8)}),
                Type::i32);
}

Expr byte_of(Expr x, unsigned k) {
  Code& c = *x.code;
  return c.expr(
      c.op(spv::Op::OpBitFieldUExtract, c.types[Type::i32], {x.id, c.module.u32(8 * k), c.module.u32(8)}),
      Type::i32);
}

/// The table that selectors look up: bytes 0..7 the operands, 8..11 their signs, 12 zero, 13..15 ones, which
/// stand for all selectors above.
Expr permute(Expr high, Expr low, Expr selectors) {
  Code& c = *high.code;
  const auto signs = [&](Expr x, unsigned bit) { return ashr(x << (31 - bit), same(x, 31)); };
  Expr sign = signs(low, 15);
  sign = insert_byte(sign, signs(low, 31), 1);
  sign = insert_byte(sign, signs(high, 15), 2);
  sign = insert_byte(sign, signs(high, 31), 3);
  const Expr fixed = same(high, 0xffff'ff00);
  Expr result = same(high, 0);
  for (unsigned k = 0; k < 4; ++k) {
    const Expr wanted = byte_of(selectors, k);
    const Expr s =
        c.expr(c.glsl(GLSLstd450UMin, c.types[Type::i32], {wanted.id, c.module.u32(15)}), Type::i32);
    const Expr upper = (s & 4) != 0;
    const Expr word = select(s < 8, select(upper, high, low), select(upper, fixed, sign));
    const Expr byte = word >> ((s & 3) << 3);
    result = k == 0 ? byte & 0xff : insert_byte(result, byte, k);
  }
  return result;
}

/// Of a value of 16 bits the bytes change places, and nothing else is in the result.
bool swaps_half(const ir::ByteSelection& s) {
  return s.ones == 0 && s.parts.size() == 2 && s.parts[0].operand == s.parts[1].operand &&
         s.parts[0].right == 8 && s.parts[0].mask == 0xff && s.parts[1].right == -8 &&
         s.parts[1].mask == 0xff00;
}

/// `x >> 8 & 0xff | x << 8 & 0xff00` that is stored as 16 bits comes out of NVIDIA's compiler (580.159, H200)
/// as 0 or 2 x, with `^` in place of `|` as well; it is right when the upper byte is inserted.
Expr swap_half(Expr x) { return insert_byte(x >> 8 & 0xff, x, 1); }

Expr permute(Expr high, Expr low, const ir::ByteSelection& selection) {
  if (swaps_half(selection)) return swap_half(selection.parts[0].operand == 0 ? high : low);
  Expr result{};
  for (const ir::SelectedBytes& p : selection.parts) {
    Expr x = p.operand == 0 ? high : low;
    if (p.right > 0) x = x >> static_cast<uint64_t>(p.right);
    if (p.right < 0) x = x << static_cast<uint64_t>(-p.right);
    if (!p.mask_is_implied()) x = x & p.mask;
    result = result.id == 0 ? x : result | x;
  }
  if (result.id == 0) return same(high, selection.ones);
  return selection.ones != 0 ? result | selection.ones : result;
}

void write_byte_perm(Emitter& e, Value v) {
  const Value selectors = e.f.operand(v, 2);
  const Id type = e.types[Type::i32];
  const auto key = [&](uint64_t constant) {
    return Helpers::Key{static_cast<uint8_t>(Helper::integer), index_of(Op::byte_perm) << 8 | constant << 16};
  };
  if (e.f.is_constant(selectors)) {
    const auto bytes = static_cast<uint32_t>(e.f[selectors].imm);
    if (const auto selection = ir::byte_selection(bytes, false)) {
      const Id function =
          e.helpers.get(key(uint64_t{1} << 32 | bytes), "byte_perm", type, std::array{Type::i32, Type::i32},
                        [&](Code&, std::span<const Expr> x) { return permute(x[0], x[1], *selection); });
      return e.make_call(v, function, {e.operand_id(v, 0), e.operand_id(v, 1)});
    }
  }
  const Id function = e.helpers.get(key(0), "byte_perm", type, std::array{Type::i32, Type::i32, Type::i32},
                                    [](Code&, std::span<const Expr> x) { return permute(x[0], x[1], x[2]); });
  e.make_call(v, function, {e.operand_id(v, 0), e.operand_id(v, 1), e.id(selectors)});
}

} // namespace

void add_byte_handlers(HandlerTable& t) { t[index_of(Op::byte_perm)] = write_byte_perm; }

} // namespace lanewise::spirv
