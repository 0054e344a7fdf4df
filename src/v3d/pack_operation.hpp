// One unit's operation as opcode and operand selects, without the word around it.
#pragma once

#include "v3d/pack.hpp"

#include <optional>

namespace lanewise::v3d::packing {

// The opcode and the two operand-select values (mux on 4.2, raddr on 7.1) of one unit.
struct Coded {
  unsigned opcode, a, b;
};

struct Modifiers {
  Pack pack = Pack::none;
  Unpack a = Unpack::none, b = Unpack::none;
};

struct Match {
  const Encoding* row;
  Modifiers modifiers;
};

/// The row of the table that covers a code, with the modifiers.
[[nodiscard]] std::optional<Match> decode(Gpu gpu, Unit unit, Coded c);

/// Opcode and operand selects of an operation; exchanges the operands where their order says which operation
/// it is.
[[nodiscard]] Expected<Coded> encode_unit(Gpu gpu, Unit unit, Alu& op);

/// fadd/faddnf and fmin/fmax share an opcode: the operand whose key is larger stands first in faddnf and
/// fmax.
[[nodiscard]] bool first_is_larger(Gpu gpu, const Alu& op, Coded c);
[[nodiscard]] inline bool is_ordered_pair(Op op) {
  return op == Op::fadd || op == Op::faddnf || op == Op::fmin || op == Op::fmax;
}
[[nodiscard]] inline bool wants_larger_first(Op op) { return op == Op::faddnf || op == Op::fmax; }

} // namespace lanewise::v3d::packing
