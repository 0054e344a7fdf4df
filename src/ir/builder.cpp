#include "ir/builder.hpp"

#include "ir/fold.hpp"
#include "ir/value_table.hpp"

#include <algorithm>

namespace lanewise::ir {
namespace {

/// A copy of operands: rules make instructions, which may move the pool that the original lies in.
class Operands {
 public:
  Operands(const Function& f, Op op, std::span<const Value> from) : count_(from.size()) {
    if (count_ > near_.size())
      far_.assign(from.begin(), from.end());
    else
      for (size_t i = 0; i < count_; ++i) near_[i] = from[i];
    Value* p = data();
    if (is_commutative(op) && goes_first(f, p[1], p[0])) std::swap(p[0], p[1]);
  }
  [[nodiscard]] std::span<const Value> get() { return {data(), count_}; }

 private:
  [[nodiscard]] Value* data() { return far_.empty() ? near_.data() : far_.data(); }
  size_t count_;
  std::array<Value, 12> near_;
  std::vector<Value> far_;
};

} // namespace

/// Instructions that the rules may ask for on behalf of one request from outside. Rules follow chains of
/// operands without remembering what they saw, so this bounds the cost of a request.
static constexpr unsigned kFoldBudget = 48;

Value Builder::folded(const Request& request) {
  if (nesting_ == 0) budget_ = kFoldBudget;
  if (budget_ == 0) return {};
  --budget_;
  ++nesting_;
  const Value v = fold(*this, request);
  --nesting_;
  return v;
}

Value Builder::append(Op op, std::span<const Value> operands, Type type, uint64_t imm, uint8_t components) {
  const Value v = function.create(op, operands, type, imm, components, pc);
  list().push_back(v);
  return v;
}

Value Builder::emit(Op op, std::span<const Value> operands, Type type, uint64_t imm, uint8_t components) {
  if (!folding) return append(op, operands, type, imm, components);
  Operands copy(function, op, operands);
  const Request request{op, copy.get(), function.result_type(op, copy.get(), type), imm, components};
  if (const Value v = folded(request)) return v;
  if (!table || !ValueTable::takes(request)) return append(op, copy.get(), type, imm, components);
  if (const Value v = table->find(request)) return v;
  const Value v = append(op, copy.get(), type, imm, components);
  table->insert(v);
  return v;
}

Value Builder::place(Value existing) {
  const Inst inst = function[existing];
  Operands copy(function, inst.op, function.operands(existing));
  const Request request{inst.op, copy.get(), inst.type, inst.imm, inst.components};
  if (const Value v = folded(request)) return v;
  const bool numbered = table && ValueTable::takes(request);
  if (numbered) {
    if (const Value v = table->find(request)) return v;
  }
  const std::span<Value> operands = function.operands(existing);
  for (size_t i = 0; i < operands.size(); ++i) operands[i] = copy.get()[i];
  function[existing].uniform = function.derive_uniform(inst.op, copy.get(), inst.imm);
  list().push_back(existing);
  if (numbered) table->insert(existing);
  return existing;
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
