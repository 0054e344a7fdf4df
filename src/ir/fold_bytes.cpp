// Folding of byte_perm with known selectors. What takes more than a few operations stays one.
#include "ir/byte_selectors.hpp"
#include "ir/fold_rules.hpp"

namespace lanewise::ir::rules {
namespace {

constexpr unsigned kFewOperations = 3;

unsigned operations(const ByteSelection& s) {
  unsigned n = s.parts.empty() ? 0 : static_cast<unsigned>(s.parts.size()) - 1;
  for (const SelectedBytes& p : s.parts) n += (p.right != 0) + !p.mask_is_implied();
  return n + (s.ones != 0);
}

Value build(Builder& b, const View& v, const ByteSelection& s) {
  Value result = b.i32(s.ones);
  for (const SelectedBytes& p : s.parts) {
    Value x = v[p.operand];
    if (p.right > 0) x = b.lshr(x, b.i32(static_cast<uint32_t>(p.right)));
    if (p.right < 0) x = b.shl(x, b.i32(static_cast<uint32_t>(-p.right)));
    if (!p.mask_is_implied()) x = b.and_(x, b.i32(p.mask));
    result = b.or_(result, x);
  }
  return result;
}

/// Selectors of bytes 4..7 become those of bytes 0..3.
uint32_t of_low_operand(uint32_t selectors) {
  for (unsigned k = 0; k < 4; ++k)
    if ((selectors >> (8 * k) & 0xff) < 8) selectors &= ~(uint32_t{4} << (8 * k));
  return selectors;
}

// byte_perm(x, x, 0x04010607) -> byte_perm(0, x, 0x00010203)
// byte_perm(x, y, 0x07060504) -> x        byte_perm(x, y, 0x06050403) -> x << 8 | y >> 24
// byte_perm(x, y, 0x00010203) -> byte_perm(0, y, 0x00010203): x is nowhere in the result
Value fold_byte_perm(Builder& b, const Request& r) {
  const View v(b, r);
  if (!v.is_constant(v[2])) return {};
  const auto selectors = static_cast<uint32_t>(v.bits(v[2]));
  const auto selection = byte_selection(selectors, v[0] == v[1]);
  if (!selection) return {};
  if (operations(*selection) <= kFewOperations) return build(b, v, *selection);
  if (v[0] == v[1]) return b.byte_perm(b.i32(0), v[1], b.i32(of_low_operand(selectors)));
  for (unsigned operand = 0; operand < 2; ++operand) {
    bool used = v.is_zero(v[operand]);
    for (const SelectedBytes& p : selection->parts) used = used || p.operand == operand;
    if (!used) return operand == 0 ? b.byte_perm(b.i32(0), v[1], v[2]) : b.byte_perm(v[0], b.i32(0), v[2]);
  }
  return {};
}

} // namespace

void add_byte_rules(RuleTable& t) { t[static_cast<unsigned>(Op::byte_perm)] = fold_byte_perm; }

} // namespace lanewise::ir::rules
