// What vector loads, stores and atomics of all memory formats have in common.
#pragma once

#include "translate/translator.hpp"

#include <vector>

namespace lanewise::translate {

/// The access that an opcode makes, from its row in the opcode table.
struct Shape {
  ir::MemoryAccess access;
  uint8_t components = 1;
  bool d16 = false, d16_hi = false;
};
[[nodiscard]] Shape shape_of(const Instruction& i, ir::Space space);

/// Puts `count` components of a load into VGPRs from `first` on.
void set_loaded(Translator& t, const Shape& shape, unsigned first, Value loaded);

/// The registers of a store: one i32 for each component.
[[nodiscard]] std::vector<Value> stored_data(Translator& t, const Shape& shape, const Operand& data);

void load(Translator& t, const Instruction& i, ir::Space space, Value address);
void store(Translator& t, const Instruction& i, ir::Space space, Value address, const Operand& data);

/// An atomic's operands as values of its type, and its result back in VGPRs.
struct AtomicOperands {
  Value data, compare;
};
/// `data` holds the new value and, for compare-and-swap, the comparand behind it.
[[nodiscard]] AtomicOperands atomic_operands(Translator& t, const Instruction& i, ir::AtomicOp op,
                                             const Operand& data);
void set_atomic_result(Translator& t, const Instruction& i, Value old);
[[nodiscard]] ir::MemoryAccess atomic_access(const Instruction& i, ir::Space space, ir::AtomicOp op);

/// Registers `first`... as one value: i32 or i64, f32 or f64 for floating-point atomics.
[[nodiscard]] Value register_value(Translator& t, unsigned first, Type type);

} // namespace lanewise::translate
