// Rounding to integers on the bits, for devices whose own operations lose signs or digits.
#include "spirv/float_call.hpp"

namespace lanewise::spirv {

using ir::Type;

// The magnitude is an exponent and a fraction in one number, so that adding to it carries into the next power
// of two as it should: (m + add) & ~mask, where mask covers the digits behind the point.
Expr soft_round(GLSLstd450 op, Expr x) {
  if (x.type == Type::f16) { // every f16 is an f32
    Code& c = *x.code;
    return c.unary(spv::Op::OpFConvert, soft_round(op, c.unary(spv::Op::OpFConvert, x, Type::f32)),
                   Type::f16);
  }
  const FloatFormat f = format_of(x.type);
  const auto k = [&](uint64_t value) { return x.code->constant(integer_like(x.type), value); };
  const Expr m = magnitude(x, f), sign = sign_of(x, f);
  const Expr below_one = m < f.one();
  // Of no use below one, and zero from where there are no digits behind the point.
  const Expr whole_digits = select(below_one, k(0), (m >> f.mantissa) - f.bias());
  const Expr whole = whole_digits >= f.mantissa; // infinities and NaN too
  const Expr behind = k(f.mantissa) - select(whole, k(f.mantissa), whole_digits);
  const Expr unit = k(1) << behind, mask = unit - 1;
  Expr add = k(0), small = k(0); // small: the magnitude of what is below one
  switch (op) {
  case GLSLstd450RoundEven:
    // The lowest bit of an odd bias is that of the integer one.
    add = (mask >> 1) + ((m >> behind) & 1);
    add = select(whole, k(0), add);
    small = select(m > f.power(-1), k(f.one()), k(0));
    break;
  case GLSLstd450Floor:
  case GLSLstd450Ceil: {
    const Expr away = op == GLSLstd450Floor ? sign != 0 : sign == 0;
    add = select(away, mask, k(0));
    small = select(away & (m != 0), k(f.one()), k(0));
    break;
  }
  default: break; // Trunc
  }
  return as_float(select(below_one, small, (m + add) & ~mask) | sign, x.type);
}

} // namespace lanewise::spirv
