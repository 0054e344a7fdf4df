// Calls of the helpers that expressions became, and their bodies.
#include "spirv/emitter.hpp"

namespace lanewise::spirv {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;

/// Runs the shape with the parameters as its leaves.
Expr body(const TreeShape& shape, std::span<const Expr> leaves) {
  std::vector<Expr> stack;
  const auto pop = [&] {
    const Expr x = stack.back();
    stack.pop_back();
    return x;
  };
  for (size_t k = 0; k < shape.size(); ++k) {
    const auto code = static_cast<uint8_t>(shape[k]);
    const auto count = [&] { return static_cast<uint64_t>(static_cast<uint8_t>(shape[++k])); };
    if (code & ExpressionTrees::kLeaf) {
      stack.push_back(leaves[code & ~ExpressionTrees::kLeaf]);
      continue;
    }
    const Expr last = pop();
    if (code == ExpressionTrees::kRotate || code == ExpressionTrees::kFunnel) {
      const Expr low = code == ExpressionTrees::kRotate ? last : pop();
      const uint64_t from = count();
      stack.push_back(low >> from | last << (32 - from));
      continue;
    }
    switch (static_cast<Op>(code)) {
    case Op::not_: stack.push_back(~last); break;
    case Op::shl: stack.push_back(last << count()); break;
    case Op::lshr: stack.push_back(last >> count()); break;
    case Op::ashr: stack.push_back(ashr(last, same(last, count()))); break;
    case Op::add: stack.push_back(pop() + last); break;
    case Op::sub: stack.push_back(pop() - last); break;
    case Op::and_: stack.push_back(pop() & last); break;
    case Op::or_: stack.push_back(pop() | last); break;
    case Op::xor_: stack.push_back(pop() ^ last); break;
    default: { // select
      const Expr yes = pop(), condition = pop();
      stack.push_back(select(condition, yes, last));
    }
    }
  }
  return stack.back();
}

} // namespace

void write_tree(Emitter& e, Value top, const TreeShapes::value_type& shape) {
  std::vector<Type> types;
  std::vector<Id> arguments;
  for (const Value leaf : e.trees.leaves(top)) {
    types.push_back(e.f[leaf].type);
    arguments.push_back(e.id(leaf));
  }
  const Id function =
      e.helpers.get({static_cast<uint8_t>(Helper::tree), shape.second}, "expression", e.types[Type::i32],
                    types, [&](Code&, std::span<const Expr> x) { return body(shape.first, x); });
  e.make_call(top, function, arguments);
}

} // namespace lanewise::spirv
