// VOP3 on the bytes of registers: permutation, averages, sums of absolute differences.
#include "translate/translator.hpp"

namespace lanewise::translate {
namespace {

Value byte(Translator& t, Value v, unsigned k) { return t.b.ubfe(v, t.b.i32(8 * k), t.b.i32(8)); }

void perm(Translator& t, const Instruction& i) {
  t.set_b32(i, t.b.byte_perm(t.b32(i, 0), t.b32(i, 1), t.b32(i, 2)));
}

void lerp(Translator& t, const Instruction& i) { // (x + y + rounding bit) / 2, byte by byte
  auto& b = t.b;
  const Value x = t.b32(i, 0), y = t.b32(i, 1), round = t.b32(i, 2);
  Value result = b.i32(0);
  for (unsigned k = 0; k < 4; ++k) {
    const Value up = b.ubfe(round, b.i32(8 * k), b.i32(1));
    const Value mean = b.lshr(b.add(b.add(byte(t, x, k), byte(t, y, k)), up), b.i32(1));
    result = b.or_(result, b.shl(mean, b.i32(8 * k)));
  }
  t.set_b32(i, result);
}

// -- sums of absolute differences
// -----------------------------------------------------------------------------------------

Value distance(Translator& t, Value x, Value y) { return t.b.sub(t.b.umax(x, y), t.b.umin(x, y)); }

/// Masked: bytes of the reference y that are 0 do not count.
Value sad8(Translator& t, Value x, Value y, bool masked) {
  auto& b = t.b;
  Value sum = b.i32(0);
  for (unsigned k = 0; k < 4; ++k) {
    const Value reference = byte(t, y, k);
    Value d = distance(t, byte(t, x, k), reference);
    if (masked) d = b.select(b.eq(reference, b.i32(0)), b.i32(0), d);
    sum = b.add(sum, d);
  }
  return sum;
}
void accumulate(Translator& t, const Instruction& i, Value sum) {
  auto& b = t.b;
  const Value z = t.b32(i, 2), total = b.add(sum, z);
  t.set_b32(i, i.clamp ? b.select(b.ult(total, z), b.i32(~0u), total) : total);
}
template <bool Masked>
void sad_u8(Translator& t, const Instruction& i) {
  accumulate(t, i, sad8(t, t.b32(i, 0), t.b32(i, 1), Masked));
}
void sad_hi_u8(Translator& t, const Instruction& i) {
  accumulate(t, i, t.b.shl(sad8(t, t.b32(i, 0), t.b32(i, 1), false), t.b.i32(16)));
}
void sad_u16(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const Value x = t.b32(i, 0), y = t.b32(i, 1);
  const auto part = [&](Value v, unsigned k) { return b.ubfe(v, b.i32(16 * k), b.i32(16)); };
  accumulate(t, i, b.add(distance(t, part(x, 0), part(y, 0)), distance(t, part(x, 1), part(y, 1))));
}
void sad_u32(Translator& t, const Instruction& i) { accumulate(t, i, distance(t, t.b32(i, 0), t.b32(i, 1))); }

/// Four sums: of src0's 64 bits from byte k on, against src1.
std::array<Value, 4> quad_sad(Translator& t, const Instruction& i, bool masked) {
  const Value x = t.b64(i, 0), y = t.b32(i, 1);
  std::array<Value, 4> sums;
  for (unsigned k = 0; k < 4; ++k) sums[k] = sad8(t, t.b.lo32(t.b.lshr(x, t.b.i64(8 * k))), y, masked);
  return sums;
}
template <bool Masked>
void quad_sad_pk_u16(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const auto sums = quad_sad(t, i, Masked);
  std::array<Value, 4> results;
  for (unsigned k = 0; k < 4; ++k) {
    const Value word = t.raw32(i.src[2], k / 2),
                old = b.zext(k % 2 ? t.high16(word) : t.low16(word), Type::i32);
    const Value total = b.add(sums[k], old);
    results[k] = b.trunc(i.clamp ? b.umin(total, b.i32(0xffff)) : total, Type::i16);
  }
  const Value lo = t.pack16(results[0], results[1]), hi = t.pack16(results[2], results[3]);
  t.set_vgpr(i.dst[0].reg, lo);
  t.set_vgpr(i.dst[0].reg + 1u, hi);
}
void mqsad_u32_u8(Translator& t, const Instruction& i) {
  auto& b = t.b;
  const auto sums = quad_sad(t, i, true);
  std::array<Value, 4> results;
  for (unsigned k = 0; k < 4; ++k) {
    const Value old = t.raw32(i.src[2], k), total = b.add(sums[k], old);
    results[k] = i.clamp ? b.select(b.ult(total, old), b.i32(~0u), total) : total;
  }
  for (unsigned k = 0; k < 4; ++k) t.set_vgpr(i.dst[0].reg + k, results[k]);
}

using enum Opcode;
constexpr Meaning vector_bytes_meanings[] = {
    {v_perm_b32, perm},
    {v_lerp_u8, lerp},
    {v_sad_u8, sad_u8<false>},
    {v_msad_u8, sad_u8<true>},
    {v_sad_hi_u8, sad_hi_u8},
    {v_sad_u16, sad_u16},
    {v_sad_u32, sad_u32},
    {v_qsad_pk_u16_u8, quad_sad_pk_u16<false>},
    {v_mqsad_pk_u16_u8, quad_sad_pk_u16<true>},
    {v_mqsad_u32_u8, mqsad_u32_u8},
};

} // namespace

std::span<const Meaning> vector_bytes() { return vector_bytes_meanings; }

} // namespace lanewise::translate
