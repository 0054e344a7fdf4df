#include "ir/builder.hpp"
#include "ir/value_table.hpp"
#include "passes/passes.hpp"
#include "passes/replacements.hpp"

namespace lanewise::passes {

using namespace ir;

namespace {

/// Walks over the function again when a loop's phi turned out to be one value; each walk is linear, and a
/// chain of loops that needs more than this is left to the next run of the pass.
constexpr unsigned kMaxWalks = 4;

class Simplify {
 public:
  explicit Simplify(Function& f) : f_(f), dominators_(f), replaced_(f) {}

  bool run() {
    for (unsigned i = 0; i < kMaxWalks; ++i) {
      walk();
      if (!resolve_phis(i + 1 < kMaxWalks)) break;
    }
    for (uint32_t i = 0; i < f_.blocks.size(); ++i) {
      if (dominators_.reachable({i})) continue;
      for (const Value v : f_.blocks[i].instructions) replaced_.apply(f_, v);
    }
    return changed_;
  }

 private:
  void walk() {
    ValueTable table(f_, dominators_);
    std::vector<Value> old;
    for (const Block block : dominators_.reverse_postorder()) {
      table.current = block;
      old.clear();
      old.swap(f_[block].instructions);
      Builder b(f_, block);
      b.table = &table;
      f_[block].instructions.reserve(old.size());
      for (const Value v : old) visit(b, v);
    }
  }

  void visit(Builder& b, Value v) {
    replaced_.apply(f_, v);
    if (writes_nothing(v)) {
      changed_ = true;
      return;
    }
    b.pc = f_[v].pc;
    const Value now = f_[v].op == Op::phi ? phi(b, v) : b.place(v);
    if (now == v) return;
    replaced_.set(v, now);
    changed_ = true;
  }

  /// A store in no lane.
  [[nodiscard]] bool writes_nothing(Value v) const {
    if (info(f_[v].op).kind != OpKind::store) return false;
    return f_.is_constant(f_.operand(v, f_[v].op == Op::store ? 1 : 7), 0);
  }

  Value phi(Builder& b, Value v) {
    if (const Value only = only_operand(v)) return only;
    f_[b.block].instructions.push_back(v);
    return v;
  }

  /// x of phi(x, x, itself), or none.
  [[nodiscard]] Value only_operand(Value v) const {
    Value only;
    for (const Value o : f_.operands(v)) {
      if (o == v || o == only) continue;
      if (only) return {};
      only = o;
    }
    return only;
  }

  /// Operands over back edges are known only now. True if a phi went away and the function needs another
  /// walk.
  bool resolve_phis(bool may_replace) {
    bool again = false;
    for (const Block block : dominators_.reverse_postorder()) {
      for (const Value v : f_[block].instructions) {
        if (f_[v].op != Op::phi) break;
        replaced_.apply(f_, v);
        const Value only = may_replace ? only_operand(v) : Value{};
        if (!only) continue;
        replaced_.set(v, only);
        again = true;
      }
    }
    return again;
  }

  Function& f_;
  Dominators dominators_;
  Replacements replaced_;
  bool changed_ = false;
};

} // namespace

bool simplify(Function& f) { return Simplify(f).run(); }

} // namespace lanewise::passes
