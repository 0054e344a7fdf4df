// The meaning of the lane-local operations, one lane at a time: operand bits in, result bits out. Constant
// folding and the interpreter both use it; nothing of it is shared with the guest ISA's emulator.
#pragma once

#include "ir/ir.hpp"

namespace lanewise::ir {

/// One lane of one operation. All bits above a value's width are zero, in operands and results alike.
struct LaneOperation {
  Type type{};         ///< of the result
  Type operand_type{}; ///< of operand 0
  uint64_t imm = 0;
  std::array<uint64_t, 4> v{};
};

using Evaluator = uint64_t (*)(const LaneOperation&);

/// Null for operations that are no lane-local function of their operands (see OpKind::pure), and for extract.
[[nodiscard]] Evaluator evaluator(Op);

/// The evaluator is what every host computes too; false for the transcendental operations, which hosts
/// approximate.
[[nodiscard]] bool is_exact(Op);

[[nodiscard]] constexpr uint64_t low_bits(unsigned width) {
  return width >= 64 ? ~uint64_t{0} : (uint64_t{1} << width) - 1;
}
[[nodiscard]] constexpr uint64_t truncate(Type type, uint64_t bits) {
  return bits & low_bits(bit_width(type));
}
[[nodiscard]] constexpr int64_t sign_extend(uint64_t bits, unsigned width) {
  const unsigned shift = 64 - width;
  return width == 0 ? 0 : static_cast<int64_t>(bits << shift) >> shift;
}

} // namespace lanewise::ir
