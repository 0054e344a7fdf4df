// Expressions that occur again and again become helper functions: the rounds of a hash are a few shapes, each
// of them dozens of times.
//
//   %5 = and %e, %f    %6 = not %e    %7 = and %6, %g    %8 = or %5, %7         (19 words each time)
//   ->  %8 = OpFunctionCall %shape %e %f %g                                      (7 words; the body once)
//
// A tree is made of 32-bit integer operations of one block of which each is read by the next one only. Its
// shape is the operations and which leaves are one value. A shape that does not pay is taken apart from the
// top: the operation there is written as it is, and what it reads may be trees again. NVIDIA's driver inlines
// all functions.
#pragma once

#include <array>
#include <map>
#include <string>
#include <vector>

#include "spirv/patterns.hpp"

namespace lanewise::spirv {

/// Operations in the order in which a stack machine runs them; see ExpressionTrees.
using TreeShape = std::string;

/// Shapes that the functions of a module have as helpers, with their numbers.
using TreeShapes = std::map<TreeShape, uint32_t>;

class ExpressionTrees {
 public:
  /// Growth: near linear in values; trees are small.
  ExpressionTrees(const ir::Function& f, const Patterns& patterns, TreeShapes& shapes);

  /// Written by the call of a tree that it is inside of.
  [[nodiscard]] bool inside(ir::Value v) const { return !inside_.empty() && inside_[v.index]; }
  /// The shape of the tree that the value is the top of, or null.
  [[nodiscard]] const TreeShapes::value_type* shape_of(ir::Value v) const {
    return shape_.empty() ? nullptr : shape_[v.index];
  }
  /// What the helper is called with, in the order of its parameters.
  [[nodiscard]] std::vector<ir::Value> leaves(ir::Value top) const;

  // A byte of a shape: a leaf, or an operation; shifts and funnels have their count behind them.
  static constexpr uint8_t kLeaf = 0x80, kFunnel = 0x7f, kRotate = 0x7e;
  static constexpr size_t kMaxLeaves = 8, kMaxOperations = 24;

 private:
  struct Tree {
    TreeShape shape;
    std::vector<ir::Value> leaves;
    size_t operations = 0, words = 0; ///< words of its operations where they stand
    [[nodiscard]] bool fits() const { return operations <= kMaxOperations && leaves.size() <= kMaxLeaves; }
  };
  struct Children {
    std::array<ir::Value, 3> values{};
    unsigned count = 0;
  };

  void count_uses();
  [[nodiscard]] bool is_operation(ir::Value v) const;
  [[nodiscard]] Children children(ir::Value v) const;
  [[nodiscard]] bool is_inner(ir::Value v) const { return inner_[v.index]; }
  void build(ir::Value v, Tree& tree) const;
  void accept(ir::Value v);

  const ir::Function& f_;
  const Patterns& patterns_;
  std::vector<bool> inner_;  ///< may be inside the tree of its user
  std::vector<bool> inside_; ///< is
  std::vector<const TreeShapes::value_type*> shape_;
};

} // namespace lanewise::spirv
