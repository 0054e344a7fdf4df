#include "spirv/expression_trees.hpp"

#include <algorithm>
#include <unordered_map>

namespace lanewise::spirv {

using ir::Op;
using ir::Type;
using ir::Value;

namespace {

static_assert(ir::kOpCount <= ExpressionTrees::kRotate, "operations, rotations and leaves share a byte");

bool is_shift(Op op) { return op == Op::shl || op == Op::lshr || op == Op::ashr; }

/// Words of an operation where it stands; a funnel is a call there.
size_t words_of(Op op) {
  if (op == Op::not_) return 4;
  return op == Op::select ? 6 : 5;
}

/// Of the operation in a helper's body.
size_t body_words(Op op) { return op == Op::lo32 ? 15 : words_of(op); }

/// A helper, and the type of it.
size_t function_words(size_t leaves, size_t body) { return 5 + 3 * leaves + 2 + body + 2 + 1 + 3 + leaves; }

} // namespace

ExpressionTrees::ExpressionTrees(const ir::Function& f, const Patterns& patterns, TreeShapes& shapes)
    : f_(f), patterns_(patterns) {
  count_uses();
  std::vector<Value> tops, below;
  for (const auto& b : f.blocks)
    for (const Value v : b.instructions)
      if (is_operation(v) && !inner_[v.index] && !patterns.absorbed(v)) tops.push_back(v);
  struct Use {
    size_t count = 0, saved = 0, cost = 0;
  };
  std::unordered_map<TreeShape, Use> uses;
  std::vector<Tree> trees;
  while (!tops.empty()) {
    uses.clear();
    trees.assign(tops.size(), {});
    for (size_t i = 0; i < tops.size(); ++i) {
      Tree& t = trees[i];
      build(tops[i], t);
      if (!t.fits() || t.operations < 2) continue;
      Use& u = uses[t.shape];
      const size_t call = 4 + t.leaves.size();
      if (t.words > call) u.saved += t.words - call;
      if (u.count++ == 0) {
        size_t body = 0;
        for (size_t k = 0; k < t.shape.size(); ++k) {
          const auto code = static_cast<uint8_t>(t.shape[k]);
          if (code & kLeaf) continue;
          const bool funnel = code == kFunnel || code == kRotate;
          body += body_words(funnel ? Op::lo32 : static_cast<Op>(code));
          if (funnel || is_shift(static_cast<Op>(code))) ++k;
        }
        u.cost = shapes.contains(t.shape) ? 0 : function_words(t.leaves.size(), body);
      }
    }
    below.clear();
    for (size_t i = 0; i < tops.size(); ++i) {
      const Tree& t = trees[i];
      const auto use = t.fits() && t.operations >= 2 ? uses.find(t.shape) : uses.end();
      if (use != uses.end() && use->second.saved > use->second.cost) {
        if (shape_.empty()) {
          shape_.resize(f.value_count());
          inside_.resize(f.value_count());
        }
        shape_[tops[i].index] = &*shapes.try_emplace(t.shape, static_cast<uint32_t>(shapes.size())).first;
        accept(tops[i]);
        continue;
      }
      const Children c = children(tops[i]);
      for (unsigned k = 0; k < c.count; ++k)
        if (is_inner(c.values[k])) below.push_back(c.values[k]);
    }
    tops.swap(below);
  }
}

bool ExpressionTrees::is_operation(Value v) const {
  if (f_[v].type != Type::i32) return false;
  switch (f_[v].op) {
  case Op::add:
  case Op::sub:
  case Op::and_:
  case Op::or_:
  case Op::xor_:
  case Op::not_:
  case Op::select: return true;
  case Op::shl:
  case Op::lshr:
  case Op::ashr: return f_.is_constant(f_.operand(v, 1));
  case Op::lo32: return patterns_.funnel(v).from != 0;
  default: return false;
  }
}

/// Operands that may be trees or leaves. Those of a funnel are the dwords that it is made of.
ExpressionTrees::Children ExpressionTrees::children(Value v) const {
  if (f_[v].op == Op::lo32) {
    const auto funnel = patterns_.funnel(v);
    return {{funnel.low, funnel.high}, funnel.low == funnel.high ? 1u : 2u};
  }
  Children c;
  c.count = is_shift(f_[v].op) ? 1 : f_[v].operand_count;
  for (unsigned k = 0; k < c.count; ++k) c.values[k] = f_.operand(v, k);
  return c;
}

/// An operation may stand inside the tree of its only user, which is one of the same block. What the inner
/// operations of a funnel read is read by the funnel, if these are not written.
void ExpressionTrees::count_uses() {
  std::vector<uint32_t> uses(f_.value_count()), user(f_.value_count());
  std::vector<bool> part(f_.value_count()); // of one funnel alone
  for (const auto& b : f_.blocks)
    for (const Value v : b.instructions)
      for (const Value o : f_.operands(v)) ++uses[o.index];
  for (const auto& b : f_.blocks)
    for (const Value v : b.instructions) {
      if (f_[v].op != Op::lo32 || patterns_.funnel(v).from == 0) continue;
      const Value shift = f_.operand(v, 0), pack = f_.operand(shift, 0);
      if (uses[shift.index] == 1 && uses[pack.index] == 1) part[shift.index] = part[pack.index] = true;
    }
  std::ranges::fill(uses, 0);
  inner_.resize(f_.value_count());
  for (const auto& b : f_.blocks) {
    for (const Value v : b.instructions) {
      if (part[v.index]) continue;
      const bool funnel = f_[v].op == Op::lo32 && part[f_.operand(v, 0).index];
      const auto use = [&](Value o) {
        ++uses[o.index];
        user[o.index] = v.index;
      };
      if (funnel) {
        const Children c = children(v);
        for (unsigned k = 0; k < c.count; ++k) use(c.values[k]);
      } else {
        for (const Value o : f_.operands(v)) use(o);
      }
    }
  }
  for (const auto& b : f_.blocks) {
    // Values of this block come first, users behind them: `user` says which of them are in it.
    for (const Value v : b.instructions) {
      if (!is_operation(v) || patterns_.absorbed(v)) continue;
      const Children c = children(v);
      const bool whole = f_[v].op != Op::lo32 || part[f_.operand(v, 0).index];
      for (unsigned k = 0; k < c.count && whole; ++k) {
        const Value o = c.values[k];
        if (uses[o.index] == 1 && user[o.index] == v.index && is_operation(o) && !patterns_.absorbed(o) &&
            patterns_.in_one_block(o, v))
          inner_[o.index] = true;
      }
    }
  }
}

void ExpressionTrees::build(Value v, Tree& tree) const {
  if (++tree.operations > kMaxOperations || tree.leaves.size() > kMaxLeaves) return;
  tree.words += words_of(f_[v].op);
  const Children c = children(v);
  for (unsigned k = 0; k < c.count; ++k) {
    if (is_inner(c.values[k])) {
      build(c.values[k], tree);
      continue;
    }
    auto at = std::ranges::find(tree.leaves, c.values[k]);
    if (at == tree.leaves.end()) at = tree.leaves.insert(at, c.values[k]);
    tree.shape.push_back(static_cast<char>(kLeaf | (at - tree.leaves.begin())));
  }
  const Op op = f_[v].op;
  if (op == Op::lo32) {
    tree.shape.push_back(static_cast<char>(c.count == 1 ? kRotate : kFunnel));
    tree.shape.push_back(static_cast<char>(patterns_.funnel(v).from));
    return;
  }
  tree.shape.push_back(static_cast<char>(op));
  if (is_shift(op)) tree.shape.push_back(static_cast<char>(f_[f_.operand(v, 1)].imm & 31));
}

void ExpressionTrees::accept(Value v) {
  const Children c = children(v);
  for (unsigned k = 0; k < c.count; ++k)
    if (is_inner(c.values[k])) {
      inside_[c.values[k].index] = true;
      accept(c.values[k]);
    }
}

std::vector<Value> ExpressionTrees::leaves(Value top) const {
  Tree tree;
  build(top, tree);
  return std::move(tree.leaves);
}

} // namespace lanewise::spirv
