// VOPC and its VOP3 forms: v_cmp writes a mask, v_cmpx writes EXEC.
#include "translate/translator.hpp"

namespace lanewise::translate {
namespace {

using ir::Op;

// -- integers
// ---------------------------------------------------------------------------------------------------------

enum class Compare { f, lt, eq, le, gt, ne, ge, t };

Value compare(ir::Builder& b, Compare c, bool is_signed, Value x, Value y) {
  switch (c) {
  case Compare::f: return b.u1(false);
  case Compare::lt: return is_signed ? b.slt(x, y) : b.ult(x, y);
  case Compare::eq: return b.eq(x, y);
  case Compare::le: return is_signed ? b.sle(x, y) : b.ule(x, y);
  case Compare::gt: return is_signed ? b.slt(y, x) : b.ult(y, x);
  case Compare::ne: return b.ne(x, y);
  case Compare::ge: return is_signed ? b.sle(y, x) : b.ule(y, x);
  case Compare::t: break;
  }
  return b.u1(true);
}

template <Compare C, unsigned Bits, bool Signed>
void integer(Translator& t, const Instruction& i) {
  const auto read = [&](unsigned n) {
    return Bits == 16 ? t.b16(i, n) : Bits == 32 ? t.b32(i, n) : t.b64(i, n);
  };
  const Value x = read(0), y = read(1);
  t.set_compare(i, compare(t.b, C, Signed, x, y));
}

// -- floats
// -----------------------------------------------------------------------------------------------------------

/// Predicate of the 16 float compares: the set of outcomes that give true (ir::FloatCompare). The second half
/// of the opcodes is the opposite of the first half, unordered included.
template <unsigned Predicate, Type T>
void floating(Translator& t, const Instruction& i) {
  const auto read = [&](unsigned n) {
    return T == Type::f16 ? t.f16(i, n) : T == Type::f32 ? t.f32(i, n) : t.f64(i, n);
  };
  const Value x = read(0), y = read(1);
  t.set_compare(i, t.b.fcmp(x, y, Predicate, t.control(T)));
}
template <bool Value_>
void constant(Translator& t, const Instruction& i) {
  t.set_compare(i, t.b.u1(Value_));
}

template <Type T>
void classify(Translator& t, const Instruction& i) {
  const Value x = T == Type::f16 ? t.f16(i, 0) : T == Type::f32 ? t.f32(i, 0) : t.f64(i, 0);
  const Value which = T == Type::f16 ? t.b.zext(t.b16(i, 1), Type::i32) : t.b32(i, 1);
  t.set_compare(i, t.b.fclass(x, which, t.control(T)));
}

constexpr unsigned lt = ir::kLess, eq = ir::kEqual, gt = ir::kGreater, un = ir::kUnordered;

using enum Opcode;

#define LANEWISE_INTEGERS(x, suffix, bits, is_signed)                                                        \
  {v_cmp##x##_lt_##suffix, integer<Compare::lt, bits, is_signed>},                                           \
      {v_cmp##x##_eq_##suffix, integer<Compare::eq, bits, is_signed>},                                       \
      {v_cmp##x##_le_##suffix, integer<Compare::le, bits, is_signed>},                                       \
      {v_cmp##x##_gt_##suffix, integer<Compare::gt, bits, is_signed>},                                       \
      {v_cmp##x##_ne_##suffix, integer<Compare::ne, bits, is_signed>}, {                                     \
    v_cmp##x##_ge_##suffix, integer<Compare::ge, bits, is_signed>                                            \
  }
#define LANEWISE_ALWAYS(x, suffix)                                                                           \
  {v_cmp##x##_f_##suffix, constant<false>}, { v_cmp##x##_t_##suffix, constant<true> }
#define LANEWISE_FLOATS(x, suffix)                                                                           \
  {v_cmp##x##_f_##suffix, constant<false>}, {v_cmp##x##_tru_##suffix, constant<true>},                       \
      {v_cmp##x##_lt_##suffix, floating<lt, Type::suffix>},                                                  \
      {v_cmp##x##_eq_##suffix, floating<eq, Type::suffix>},                                                  \
      {v_cmp##x##_le_##suffix, floating<lt | eq, Type::suffix>},                                             \
      {v_cmp##x##_gt_##suffix, floating<gt, Type::suffix>},                                                  \
      {v_cmp##x##_lg_##suffix, floating<lt | gt, Type::suffix>},                                             \
      {v_cmp##x##_ge_##suffix, floating<gt | eq, Type::suffix>},                                             \
      {v_cmp##x##_o_##suffix, floating<lt | eq | gt, Type::suffix>},                                         \
      {v_cmp##x##_u_##suffix, floating<un, Type::suffix>},                                                   \
      {v_cmp##x##_nge_##suffix, floating<un | lt, Type::suffix>},                                            \
      {v_cmp##x##_nlg_##suffix, floating<un | eq, Type::suffix>},                                            \
      {v_cmp##x##_ngt_##suffix, floating<un | lt | eq, Type::suffix>},                                       \
      {v_cmp##x##_nle_##suffix, floating<un | gt, Type::suffix>},                                            \
      {v_cmp##x##_neq_##suffix, floating<un | lt | gt, Type::suffix>},                                       \
      {v_cmp##x##_nlt_##suffix, floating<un | gt | eq, Type::suffix>}, {                                     \
    v_cmp##x##_class_##suffix, classify<Type::suffix>                                                        \
  }
#define LANEWISE_COMPARES(x)                                                                                 \
  LANEWISE_INTEGERS(x, i16, 16, true), LANEWISE_INTEGERS(x, u16, 16, false),                                 \
      LANEWISE_INTEGERS(x, i32, 32, true), LANEWISE_INTEGERS(x, u32, 32, false),                             \
      LANEWISE_INTEGERS(x, i64, 64, true), LANEWISE_INTEGERS(x, u64, 64, false), LANEWISE_ALWAYS(x, i32),    \
      LANEWISE_ALWAYS(x, u32), LANEWISE_ALWAYS(x, i64), LANEWISE_ALWAYS(x, u64), LANEWISE_FLOATS(x, f16),    \
      LANEWISE_FLOATS(x, f32), LANEWISE_FLOATS(x, f64)

constexpr Meaning vector_compare_meanings[] = {LANEWISE_COMPARES(), LANEWISE_COMPARES(x)};

#undef LANEWISE_INTEGERS
#undef LANEWISE_ALWAYS
#undef LANEWISE_FLOATS
#undef LANEWISE_COMPARES

} // namespace

std::span<const Meaning> vector_compare() { return vector_compare_meanings; }

} // namespace lanewise::translate
