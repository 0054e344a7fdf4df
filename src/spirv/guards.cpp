// Instructions of one block. Memory operations that ask for the same `active` value share one `if`:
//
//   a = load p, m          q' = f(q)           q' = f(q)
//   q' = f(q)              if (m) {            if (m) { a' = load p; b' = load q' }
//   b = load q', m    ->     a' = load p   ->  a = phi(a', 0); b = phi(b', 0)
//   c = g(a)                 b' = load q'      c = g(a)
//
// What stands between them and does not need them moves up, what needs them moves down; the order of memory
// operations stays. A lone operation asks inside its helper function, which is shorter.
#include "spirv/control.hpp"

namespace lanewise::spirv {

using ir::Op;
using ir::OpKind;
using ir::Value;

bool is_guarded(const ir::Function& f, Value v) {
  const OpKind kind = ir::info(f[v].op).kind;
  const bool memory = kind == OpKind::load || kind == OpKind::store || kind == OpKind::atomic;
  return memory && !f.is_constant(f.operand(v, 1), 1);
}

bool has_guards(const ir::Function& f, ir::Block b) {
  for (const Value v : f[b].instructions)
    if (is_guarded(f, v)) return true;
  return false;
}

namespace {

class BlockWriter {
 public:
  BlockWriter(Emitter& e, ir::Block b, const std::function<void(Value)>& after)
      : e_(e), f_(e.f), list_(f_[b].instructions), after_(after) {}

  void run() {
    size_t i = 0;
    while (i < list_.size() && f_[list_[i]].op == Op::phi) ++i;
    const size_t end = list_.size() - 1; // the terminator
    while (i < end && !e_.shared.error) {
      if (is_guarded(f_, list_[i]))
        i = gather(i, end);
      else
        plain(list_[i++]);
    }
  }

 private:
  void plain(Value v) {
    e_.write(v);
    after_(v);
  }

  [[nodiscard]] bool needs(Value v, const std::vector<Value>& made) const {
    for (const Value o : f_.operands(v))
      for (const Value m : made)
        if (o == m) return true;
    return false;
  }

  /// Collects a group that starts at `first`, writes it, and returns where to go on.
  size_t gather(size_t first, size_t end) {
    constexpr size_t longest = 64; // values that wait; keeps the search linear
    group_.assign(1, list_[first]);
    deferred_.clear();
    size_t i = first + 1;
    for (; i < end && group_.size() + deferred_.size() < longest; ++i) {
      const Value v = list_[i];
      if (is_guarded(f_, v)) {
        if (f_.operand(v, 1) != f_.operand(list_[first], 1) || needs(v, deferred_)) break;
        group_.push_back(v);
      } else if (!is_free(v)) {
        break;
      } else if (needs(v, group_) || needs(v, deferred_)) {
        deferred_.push_back(v);
      } else {
        plain(v);
      }
    }
    write_group();
    for (const Value v : std::vector<Value>(deferred_)) plain(v);
    return i;
  }

  /// May stand on either side of a memory operation.
  [[nodiscard]] bool is_free(Value v) const {
    const OpKind kind = ir::info(f_[v].op).kind;
    return kind == OpKind::pure || kind == OpKind::gather || kind == OpKind::reduce || kind == OpKind::input;
  }

  void write_group() {
    if (group_.size() == 1) {
      plain(group_[0]);
      return;
    }
    Code& c = e_.code;
    e_.mark(group_[0]);
    const Id then = e_.module.new_id(), merge = e_.module.new_id();
    const Id active = e_.operand_id(group_[0], 1), before = c.block;
    std::vector<Id> outside, inside;
    c.selection(merge);
    c.branch_if(active, then, merge);
    c.start(then);
    for (const Value v : group_) {
      e_.mark(v);
      if (f_[v].type == ir::Type::none) {
        write_access(e_, v);
        continue;
      }
      outside.push_back(e_.define(v)); // what others call it
      e_.rebind(v, e_.module.new_id());
      write_access(e_, v);
      inside.push_back(e_.id(v));
    }
    c.branch(merge);
    c.start(merge);
    size_t i = 0;
    for (const Value v : group_) {
      if (f_[v].type == ir::Type::none) continue;
      e_.rebind(v, outside[i]);
      const Id type = e_.type_of(v);
      e_.mark(v);
      c.op_as(outside[i], spv::Op::OpPhi, type, {inside[i], then, e_.module.null(type), before});
      ++i;
    }
    for (const Value v : group_) after_(v);
  }

  Emitter& e_;
  const ir::Function& f_;
  const std::vector<Value>& list_;
  const std::function<void(Value)>& after_;
  std::vector<Value> group_, deferred_;
};

} // namespace

void write_instructions(Emitter& e, ir::Block b, const std::function<void(Value)>& after) {
  BlockWriter(e, b, after).run();
}

} // namespace lanewise::spirv
