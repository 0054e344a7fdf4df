// Scalar instructions that work on EXEC or on masks of quads.
#include "translate/translator.hpp"

namespace lanewise::translate {
namespace {

/// What becomes of the source mask and EXEC.
using Combine = Value (*)(ir::Builder& b, Value source, Value exec);

/// A 32-bit form in wave64 works on EXEC_LO only, a 64-bit form in wave32 on EXEC_HI too: as numbers.
/// Otherwise masks stay masks.
template <class F>
void on_exec(Translator& t, const Instruction& i, bool wide, bool saves, F combine) {
  auto& b = t.b;
  Operand exec{.kind = OperandKind::sgpr, .dwords = static_cast<uint8_t>(wide ? 2 : 1), .reg = reg::exec_lo};
  if (wide == t.wave64()) {
    const Value before = t.exec(), after = combine(b, t.mask(i.src[0]), before);
    t.set_mask(i.dst[0], saves ? before : after);
    t.set_exec(after);
    t.set_scc(b.any(after));
    return;
  }
  const Value before = wide ? t.scalar64(exec) : t.scalar32(exec);
  const Value after = combine(b, wide ? t.scalar64(i.src[0]) : t.scalar32(i.src[0]), before);
  const auto set = [&](const Operand& o, Value v) { wide ? t.set_scalar64(o, v) : t.set_scalar32(o, v); };
  set(i.dst[0], saves ? before : after);
  set(exec, after);
  t.set_scc(b.ne(after, b.constant(wide ? Type::i64 : Type::i32, 0)));
}

constexpr Combine c_and = [](ir::Builder& b, Value s, Value e) { return b.and_(s, e); };
constexpr Combine c_or = [](ir::Builder& b, Value s, Value e) { return b.or_(s, e); };
constexpr Combine c_xor = [](ir::Builder& b, Value s, Value e) { return b.xor_(s, e); };
constexpr Combine c_andn2 = [](ir::Builder& b, Value s, Value e) { return b.andn(s, e); };
constexpr Combine c_orn2 = [](ir::Builder& b, Value s, Value e) { return b.or_(s, b.not_(e)); };
constexpr Combine c_nand = [](ir::Builder& b, Value s, Value e) { return b.not_(b.and_(s, e)); };
constexpr Combine c_nor = [](ir::Builder& b, Value s, Value e) { return b.not_(b.or_(s, e)); };
constexpr Combine c_xnor = [](ir::Builder& b, Value s, Value e) { return b.not_(b.xor_(s, e)); };
constexpr Combine c_andn1 = [](ir::Builder& b, Value s, Value e) { return b.andn(e, s); };
constexpr Combine c_orn1 = [](ir::Builder& b, Value s, Value e) { return b.or_(b.not_(s), e); };

template <Combine C, bool Wide>
void save(Translator& t, const Instruction& i) {
  on_exec(t, i, Wide, true, C);
}
template <Combine C, bool Wide>
void write(Translator& t, const Instruction& i) {
  on_exec(t, i, Wide, false, C);
}

/// One bit for each quad that has a lane, in the lowest bit of the quad's place.
Value quad_any(ir::Builder& b, Value v, Type type) {
  const auto c = [&](uint64_t bits) { return b.constant(type, bits); };
  const Value pairs = b.or_(v, b.lshr(v, c(1)));
  return b.and_(b.or_(pairs, b.lshr(pairs, c(2))), c(0x1111111111111111));
}

template <bool Wide>
void set_nonzero(Translator& t, const Instruction& i, Value v) {
  Wide ? t.set_scalar64(i.dst[0], v) : t.set_scalar32(i.dst[0], v);
  t.set_scc(t.b.ne(v, t.b.constant(Wide ? Type::i64 : Type::i32, 0)));
}

template <bool Wide>
void wqm(Translator& t, const Instruction& i) {
  constexpr Type type = Wide ? Type::i64 : Type::i32;
  const Value any = quad_any(t.b, Wide ? t.scalar64(i.src[0]) : t.scalar32(i.src[0]), type);
  set_nonzero<Wide>(t, i, t.b.mul(any, t.b.constant(type, 15)));
}

/// Gathers every fourth bit (the reverse of interleaving, two steps of two bits each).
template <bool Wide>
void quadmask(Translator& t, const Instruction& i) {
  constexpr Type type = Wide ? Type::i64 : Type::i32;
  auto& b = t.b;
  const auto c = [&](uint64_t bits) { return b.constant(type, bits); };
  Value v = quad_any(b, Wide ? t.scalar64(i.src[0]) : t.scalar32(i.src[0]), type);
  v = b.and_(b.or_(v, b.lshr(v, c(3))), c(0x0303030303030303));
  v = b.and_(b.or_(v, b.lshr(v, c(6))), c(0x000f000f000f000f));
  v = b.and_(b.or_(v, b.lshr(v, c(12))), c(0x000000ff000000ff));
  if (Wide) v = b.and_(b.or_(v, b.lshr(v, c(24))), c(0xffff));
  set_nonzero<Wide>(t, i, v);
}

using enum Opcode;
constexpr Meaning scalar_mask_meanings[] = {
    {s_and_saveexec_b32, save<c_and, false>},
    {s_and_saveexec_b64, save<c_and, true>},
    {s_or_saveexec_b32, save<c_or, false>},
    {s_or_saveexec_b64, save<c_or, true>},
    {s_xor_saveexec_b32, save<c_xor, false>},
    {s_xor_saveexec_b64, save<c_xor, true>},
    {s_andn2_saveexec_b32, save<c_andn2, false>},
    {s_andn2_saveexec_b64, save<c_andn2, true>},
    {s_orn2_saveexec_b32, save<c_orn2, false>},
    {s_orn2_saveexec_b64, save<c_orn2, true>},
    {s_nand_saveexec_b32, save<c_nand, false>},
    {s_nand_saveexec_b64, save<c_nand, true>},
    {s_nor_saveexec_b32, save<c_nor, false>},
    {s_nor_saveexec_b64, save<c_nor, true>},
    {s_xnor_saveexec_b32, save<c_xnor, false>},
    {s_xnor_saveexec_b64, save<c_xnor, true>},
    {s_andn1_saveexec_b32, save<c_andn1, false>},
    {s_andn1_saveexec_b64, save<c_andn1, true>},
    {s_orn1_saveexec_b32, save<c_orn1, false>},
    {s_orn1_saveexec_b64, save<c_orn1, true>},
    {s_andn1_wrexec_b32, write<c_andn1, false>},
    {s_andn1_wrexec_b64, write<c_andn1, true>},
    {s_andn2_wrexec_b32, write<c_andn2, false>},
    {s_andn2_wrexec_b64, write<c_andn2, true>},
    {s_wqm_b32, wqm<false>},
    {s_wqm_b64, wqm<true>},
    {s_quadmask_b32, quadmask<false>},
    {s_quadmask_b64, quadmask<true>},
};

} // namespace

std::span<const Meaning> scalar_mask() { return scalar_mask_meanings; }

} // namespace lanewise::translate
