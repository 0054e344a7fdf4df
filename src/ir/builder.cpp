#include "ir/builder.hpp"

#include "ir/fold.hpp"

#include <algorithm>

namespace lanewise::ir {
Value Builder::append(Op op, std::span<const Value> operands, Type type, uint64_t imm, uint8_t components) {
  const Value v = function.create(op, operands, type, imm, components, pc);
  (list_ ? *list_ : function[block].instructions).push_back(v);
  return v;
}

Value Builder::emit(Op op, std::span<const Value> operands, Type type, uint64_t imm, uint8_t components) {
  if (!folding) return append(op, operands, type, imm, components);
  std::array<Value, 2> swapped;
  if (is_commutative(op) && goes_first(function, operands[1], operands[0])) {
    swapped = {operands[1], operands[0]};
    operands = swapped;
  }
  const Request request{op, operands, function.result_type(op, operands, type), imm, components};
  if (const Value v = fold(*this, request)) return v;
  return append(op, operands, type, imm, components);
}

Value Builder::input(Input which) {
  return emit(Op::input, {}, type_of(which), static_cast<uint64_t>(which));
}

Value Builder::phi(Type type, Block where) {
  const Value v = function.create(Op::phi, {}, type, 0, 1, pc);
  auto& list = function[where].instructions;
  const auto end_of_phis = std::ranges::find_if(list, [&](Value i) { return function[i].op != Op::phi; });
  list.insert(end_of_phis, v);
  return v;
}

Value Builder::store(Value address, Value active, std::span<const Value> data, MemoryAccess m) {
  std::vector<Value> operands{address, active};
  operands.insert(operands.end(), data.begin(), data.end());
  return emit(Op::store, operands, Type::none, m.pack());
}

Value Builder::atomic(Value address, Value active, Value data, MemoryAccess m, Value compare) {
  const std::array operands{address, active, data, compare};
  return emit(Op::atomic, std::span(operands).first(compare ? 4 : 3), function[data].type, m.pack());
}

void Builder::br(Block target) {
  emit(Op::br, {});
  function.add_edge(block, target);
}

void Builder::cond_br(Value condition, Block if_true, Block if_false) {
  emit(Op::cond_br, {condition});
  function.add_edge(block, if_true);
  function.add_edge(block, if_false);
}

} // namespace lanewise::ir
