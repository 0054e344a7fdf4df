// The integer, mask and representation operations of evaluate.hpp, and the table of all evaluators.
#include "ir/evaluate.hpp"

#include "ir/evaluate_float.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::ir {
namespace {

using L = LaneOperation;
using Table = std::array<Evaluator, kOpCount>;
__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

uint64_t cut(const L& x, uint64_t bits) { return truncate(x.type, bits); }
/// Operand as a signed number of operand 0's width.
int64_t number(const L& x, unsigned i) { return sign_extend(x.v[i], bit_width(x.operand_type)); }
/// A shift count, taken modulo the width.
unsigned count(const L& x, unsigned i) {
  return static_cast<unsigned>(x.v[i] & (bit_width(x.operand_type) - 1));
}
unsigned width(const L& x) { return bit_width(x.operand_type); }

uint64_t bit_reverse(const L& x) {
  uint64_t result = 0;
  for (unsigned i = 0; i < width(x); ++i) result |= (x.v[0] >> i & 1) << (width(x) - 1 - i);
  return result;
}

/// Offset and count are taken modulo 32; a field that reaches over bit 31 ends there.
uint64_t unsigned_field(const L& x) {
  return (x.v[0] & 0xffff'ffff) >> (x.v[1] & 31) & low_bits(static_cast<unsigned>(x.v[2] & 31));
}
uint64_t signed_field(const L& x) {
  const auto offset = static_cast<unsigned>(x.v[1] & 31);
  const unsigned bits = std::min(static_cast<unsigned>(x.v[2] & 31), 32 - offset);
  return cut(x, static_cast<uint64_t>(sign_extend(unsigned_field(x), bits)));
}

/// v_perm_b32: byte by byte, out of {signs and constants, operand 0, operand 1}.
uint64_t byte_perm(const L& x) {
  const uint64_t bytes = x.v[0] << 32 | (x.v[1] & 0xffff'ffff);
  uint64_t result = 0;
  for (unsigned k = 0; k < 4; ++k) {
    const uint64_t selector = x.v[2] >> (8 * k) & 0xff;
    uint64_t byte = selector == 12 ? 0 : 0xff;
    if (selector < 8) byte = bytes >> (8 * selector) & 0xff;
    if (selector >= 8 && selector < 12) byte = bytes >> (16 * (selector - 8) + 15) & 1 ? 0xff : 0;
    result |= byte << (8 * k);
  }
  return result;
}

void add_representation(Table& t) {
  const auto at = [&](Op op) -> Evaluator& { return t[static_cast<unsigned>(op)]; };
  at(Op::select) = [](const L& x) { return x.v[0] ? x.v[1] : x.v[2]; };
  at(Op::bitcast) = [](const L& x) { return x.v[0]; };
  at(Op::zext) = [](const L& x) { return x.v[0]; };
  at(Op::sext) = [](const L& x) { return cut(x, static_cast<uint64_t>(number(x, 0))); };
  at(Op::trunc) = [](const L& x) { return cut(x, x.v[0]); };
  at(Op::pack64) = [](const L& x) { return x.v[0] | x.v[1] << 32; };
  at(Op::lo32) = [](const L& x) { return x.v[0] & 0xffff'ffff; };
  at(Op::hi32) = [](const L& x) { return x.v[0] >> 32; };
}

void add_arithmetic(Table& t) {
  const auto at = [&](Op op) -> Evaluator& { return t[static_cast<unsigned>(op)]; };
  at(Op::add) = [](const L& x) { return cut(x, x.v[0] + x.v[1]); };
  at(Op::sub) = [](const L& x) { return cut(x, x.v[0] - x.v[1]); };
  at(Op::mul) = [](const L& x) { return cut(x, x.v[0] * x.v[1]); };
  at(Op::mul_hi_u) = [](const L& x) {
    return cut(x, static_cast<uint64_t>(Wide{x.v[0]} * x.v[1] >> width(x)));
  };
  at(Op::mul_hi_s) = [](const L& x) {
    return cut(x, static_cast<uint64_t>(SignedWide{number(x, 0)} * number(x, 1) >> width(x)));
  };
  at(Op::umin) = [](const L& x) { return std::min(x.v[0], x.v[1]); };
  at(Op::umax) = [](const L& x) { return std::max(x.v[0], x.v[1]); };
  at(Op::smin) = [](const L& x) { return number(x, 0) < number(x, 1) ? x.v[0] : x.v[1]; };
  at(Op::smax) = [](const L& x) { return number(x, 0) > number(x, 1) ? x.v[0] : x.v[1]; };
  at(Op::add_c) = [](const L& x) { return cut(x, x.v[0] + x.v[1] + x.v[2]); };
  at(Op::carry) = [](const L& x) {
    return static_cast<uint64_t>((Wide{x.v[0]} + x.v[1] + x.v[2]) >> width(x) & 1);
  };
  at(Op::sub_c) = [](const L& x) { return cut(x, x.v[0] - x.v[1] - x.v[2]); };
  at(Op::borrow) = [](const L& x) { return uint64_t{Wide{x.v[0]} < Wide{x.v[1]} + x.v[2]}; };
}

void add_bits(Table& t) {
  const auto at = [&](Op op) -> Evaluator& { return t[static_cast<unsigned>(op)]; };
  at(Op::and_) = [](const L& x) { return x.v[0] & x.v[1]; };
  at(Op::or_) = [](const L& x) { return x.v[0] | x.v[1]; };
  at(Op::xor_) = [](const L& x) { return x.v[0] ^ x.v[1]; };
  at(Op::not_) = [](const L& x) { return cut(x, ~x.v[0]); };
  at(Op::shl) = [](const L& x) { return cut(x, x.v[0] << count(x, 1)); };
  at(Op::lshr) = [](const L& x) { return x.v[0] >> count(x, 1); };
  at(Op::ashr) = [](const L& x) { return cut(x, static_cast<uint64_t>(number(x, 0) >> count(x, 1))); };
  at(Op::bit_reverse) = bit_reverse;
  at(Op::popcount) = [](const L& x) { return static_cast<uint64_t>(std::popcount(x.v[0])); };
  at(Op::find_lsb) = [](const L& x) {
    return x.v[0] ? static_cast<uint64_t>(std::countr_zero(x.v[0])) : 0xffff'ffffu;
  };
  at(Op::find_msb) = [](const L& x) {
    return x.v[0] ? static_cast<uint64_t>(63 - std::countl_zero(x.v[0])) : 0xffff'ffffu;
  };
  at(Op::ubfe) = unsigned_field;
  at(Op::sbfe) = signed_field;
  at(Op::byte_perm) = byte_perm;
}

void add_comparisons(Table& t) {
  const auto at = [&](Op op) -> Evaluator& { return t[static_cast<unsigned>(op)]; };
  at(Op::eq) = [](const L& x) { return uint64_t{x.v[0] == x.v[1]}; };
  at(Op::ne) = [](const L& x) { return uint64_t{x.v[0] != x.v[1]}; };
  at(Op::ult) = [](const L& x) { return uint64_t{x.v[0] < x.v[1]}; };
  at(Op::ule) = [](const L& x) { return uint64_t{x.v[0] <= x.v[1]}; };
  at(Op::slt) = [](const L& x) { return uint64_t{number(x, 0) < number(x, 1)}; };
  at(Op::sle) = [](const L& x) { return uint64_t{number(x, 0) <= number(x, 1)}; };
}

Table make_table() {
  Table t{};
  add_representation(t);
  add_arithmetic(t);
  add_bits(t);
  add_comparisons(t);
  add_float_evaluators(t);
  return t;
}

} // namespace

Evaluator evaluator(Op op) {
  static const Table table = make_table();
  return table[static_cast<unsigned>(op)];
}

bool is_exact(Op op) {
  switch (op) {
  case Op::frcp:
  case Op::frsq:
  case Op::fsqrt:
  case Op::fexp2:
  case Op::flog2:
  case Op::fsin:
  case Op::fcos:
  case Op::ftrig_preop: return false;
  default: return evaluator(op) != nullptr;
  }
}

} // namespace lanewise::ir
