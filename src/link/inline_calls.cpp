#include "link/inline_calls.hpp"

#include "container/guest_abi.hpp"
#include "ir/builder.hpp"
#include "ir/dominators.hpp"
#include "passes/replacements.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace lanewise::link {
namespace {

using namespace ir;

/// A way back into the caller: the block it comes from and what it leaves in the registers of
/// Callee::results.
struct Arrival {
  Block from;
  const Callee* callee = nullptr;
  std::vector<Value> results;
};

class Inliner {
 public:
  Inliner(Function& f, std::span<const uint16_t> interface, std::span<const SlotCallees> slots)
      : f_(f), slots_(slots), replaced_(f) {
    set_interface(interface);
  }

  void run() {
    std::vector<std::pair<Block, Value>> calls;
    std::map<Value, std::vector<Value>> users;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b)
      for (const Value v : f_.blocks[b].instructions) {
        if (f_[v].op == Op::call) calls.push_back({{b}, v});
        if (f_[v].op == Op::call_scalar || f_[v].op == Op::call_vector) users[f_.operand(v, 0)].push_back(v);
      }
    // From the last call of a block to the first, so that the blocks of those to come stay where they are.
    for (auto it = calls.rbegin(); it != calls.rend(); ++it)
      replace(it->first, it->second, users[it->second]);
    for (BasicBlock& b : f_.blocks)
      std::erase_if(b.instructions,
                    [&](Value v) { return f_[v].op == Op::call_scalar || f_[v].op == Op::call_vector; });
    replaced_.apply(f_);
  }

 private:
  void set_interface(std::span<const uint16_t> interface) {
    operand_of_.clear();
    for (uint32_t i = 0; i < interface.size(); ++i) operand_of_[interface[i]] = i + 1;
  }

  void replace(Block block, Value call, std::span<const Value> users) {
    const SlotCallees& slot = slots_[f_[call].imm];
    if (slot.interface) set_interface(*slot.interface);
    operands_.assign(f_.operands(call).begin(), f_.operands(call).end());
    arrivals_.clear();
    join_ = split(block, call);
    if (slot.entry_count == 0)
      branch(block, copy(slot.callees.front()));
    else
      choose(block, slot, f_[call].pc);
    for (const Arrival& a : arrivals_) f_[join_].predecessors.push_back(a.from);
    std::vector<Value> phis;
    for (const Value user : users) replaced_.set(user, result(user, phis));
    auto& list = f_[join_].instructions;
    list.insert(list.begin(), phis.begin(), phis.end());
  }

  /// What follows the call moves to a block of its own.
  Block split(Block block, Value call) {
    const Block rest = f_.add_block(f_[block].pc);
    BasicBlock &from = f_[block], &to = f_[rest];
    const auto at = std::ranges::find(from.instructions, call);
    to.instructions.assign(at + 1, from.instructions.end());
    from.instructions.erase(at, from.instructions.end());
    to.successors = from.successors;
    to.successor_count = from.successor_count;
    from.successor_count = 0;
    for (unsigned s = 0; s < to.successor_count; ++s)
      std::ranges::replace(f_[to.successors[s]].predecessors, block, rest);
    return rest;
  }

  void branch(Block from, Block to) {
    f_.append(from, Op::br, {});
    f_.add_edge(from, to);
  }

  /// One comparison for each callee, a trap where none is meant.
  void choose(Block from, const SlotCallees& slot, uint32_t pc) {
    Builder b(f_, from);
    b.pc = pc;
    const Value number = chosen(b, slot);
    for (uint32_t k = 0; k < slot.callees.size(); ++k) {
      const Block callee = copy(slot.callees[k]), other = f_.add_block(f_[from].pc);
      f_.append(b.block, Op::cond_br, {b.eq(number, b.i32(k))}, Type::none, 0, 1, pc);
      f_.add_edge(b.block, callee);
      f_.add_edge(b.block, other);
      b.block = other;
    }
    b.trap(TrapReason::bad_call_target);
  }

  Value chosen(Builder& b, const SlotCallees& slot) {
    namespace table = guest_abi::callee_table;
    const auto word = [&](uint32_t entry, uint32_t offset, Type type, uint8_t bytes) {
      const Value at =
          b.add(b.input(Input::dispatch_ptr),
                b.i64(guest_abi::packet::callees + uint64_t{table::entry_bytes} * entry + offset));
      return b.load(type, at, b.u1(true), {.bytes = bytes, .align = bytes, .invariant = true});
    };
    if (!slot.by_address) return word(slot.first_entry, table::callee, Type::i32, 4);
    Value number = b.i32(~0u);
    for (uint32_t e = slot.entry_count; e-- > 0;) {
      const Value address = word(slot.first_entry + e, table::address, Type::i64, 8);
      number = b.select(b.eq(operands_[0], address), word(slot.first_entry + e, table::callee, Type::i32, 4),
                        number);
    }
    return number;
  }

  /// A copy of a callee; the block it starts with.
  Block copy(const Callee& callee) {
    const Function& g = *callee.function;
    const Dominators dominators(g);
    std::vector<Block> blocks(g.blocks.size());
    for (const Block b : dominators.reverse_postorder()) blocks[b.index] = f_.add_block(g[b].pc);
    values_.assign(g.value_count(), {});
    std::vector<Value> phis;
    for (const Block b : dominators.reverse_postorder()) {
      for (const Value v : g[b].instructions) copy(g, callee, v, blocks[b.index], phis);
      BasicBlock& to = f_[blocks[b.index]];
      for (const Block p : g[b].predecessors)
        if (dominators.reachable(p)) to.predecessors.push_back(blocks[p.index]);
      if (f_[g_end(to)].op == Op::br && g[b].successor_count == 0) continue; // a return, linked already
      to.successor_count = g[b].successor_count;
      for (unsigned s = 0; s < to.successor_count; ++s) to.successors[s] = blocks[g[b].successors[s].index];
    }
    for (const Value v : phis) {
      std::vector<Value> incoming;
      for (const Value o : g.operands(v)) incoming.push_back(mapped(g, o));
      f_.set_operands(values_[v.index], incoming);
    }
    return blocks[0];
  }

  [[nodiscard]] static Value g_end(const BasicBlock& b) { return b.instructions.back(); }

  void copy(const Function& g, const Callee& callee, Value v, Block to, std::vector<Value>& phis) {
    const Inst inst = g[v];
    switch (inst.op) {
    case Op::param_scalar:
    case Op::param_vector: values_[v.index] = operand(static_cast<uint16_t>(inst.imm), inst.type); return;
    case Op::call_return: {
      Arrival a{to, &callee, {}};
      for (const Value o : g.operands(v)) a.results.push_back(mapped(g, o));
      arrivals_.push_back(std::move(a));
      f_.append(to, Op::br, {}, Type::none, 0, 1, inst.pc);
      f_[to].successors[0] = join_;
      f_[to].successor_count = 1;
      return;
    }
    case Op::phi: {
      const Value phi = f_.append(to, Op::phi, {}, inst.type, 0, 1, inst.pc);
      f_[phi].uniform = inst.uniform;
      values_[v.index] = phi;
      phis.push_back(v);
      return;
    }
    case Op::input:
      if (callee.same_image || static_cast<Input>(inst.imm) != Input::image_base) break;
      values_[v.index] = f_.append(to, Op::sub, {operands_[0], f_.constant(Type::i64, callee.entry)},
                                   Type::none, 0, 1, inst.pc);
      return;
    default: break;
    }
    std::vector<Value> list;
    for (const Value o : g.operands(v)) list.push_back(mapped(g, o));
    values_[v.index] =
        f_.append(to, inst.op, std::span<const Value>(list), inst.type, inst.imm, inst.components, inst.pc);
  }

  Value mapped(const Function& g, Value v) {
    return g.is_constant(v) ? f_.constant(g[v].type, g[v].imm) : values_[v.index];
  }

  /// What the call passes in a register.
  Value operand(uint16_t reg, Type type) {
    const auto it = operand_of_.find(reg);
    return it == operand_of_.end() ? f_.constant(type, 0) : operands_[it->second];
  }

  /// What stands for `call_scalar.REG` or `call_vector.REG` behind the call.
  Value result(Value user, std::vector<Value>& phis) {
    const auto reg = static_cast<uint16_t>(f_[user].imm);
    const Type type = f_[user].type;
    std::vector<Value> incoming;
    for (const Arrival& a : arrivals_) {
      const auto at = std::ranges::find(a.callee->results, reg);
      incoming.push_back(at == a.callee->results.end()
                             ? operand(reg, type)
                             : a.results[static_cast<size_t>(at - a.callee->results.begin())]);
    }
    if (incoming.empty()) return f_.constant(type, 0); // nothing comes back
    if (std::ranges::all_of(incoming, [&](Value v) { return v == incoming.front(); }))
      return incoming.front();
    const Value phi = f_.create(Op::phi, incoming, type);
    f_[phi].uniform = f_[user].op == Op::call_scalar;
    phis.push_back(phi);
    return phi;
  }

  Function& f_;
  std::span<const SlotCallees> slots_;
  passes::Replacements replaced_;
  std::map<uint16_t, uint32_t> operand_of_; ///< register -> operand of the call
  std::vector<Value> operands_;             ///< of the call in work
  std::vector<Value> values_;               ///< of the callee in work -> copies
  std::vector<Arrival> arrivals_;
  Block join_;
};

} // namespace

void inline_calls(Function& f, std::span<const uint16_t> interface, std::span<const SlotCallees> slots) {
  Inliner(f, interface, slots).run();
}

Function composed(const Program& program) {
  const auto numbers = [](const std::vector<InterfaceRegister>& list) {
    std::vector<uint16_t> all;
    for (const InterfaceRegister& r : list) all.push_back(r.number);
    return all;
  };
  std::vector<Function> whole; // callees with theirs inside
  std::vector<std::vector<uint16_t>> results;
  std::vector<SlotCallees> slots;
  whole.reserve(program.callees.size());
  results.reserve(program.callees.size());
  Function main = program.main;
  for (const CalleeFunction& c : program.callees) {
    inline_calls(whole.emplace_back(c.function), {}, slots);
    main.divergent = main.divergent || c.function.divergent;
    results.push_back(numbers(c.results));
    slots.push_back({.callees = {{&whole.back(), results.back(), 0, true}}, .interface = numbers(c.params)});
  }
  inline_calls(main, {}, slots);
  return main;
}

} // namespace lanewise::link
