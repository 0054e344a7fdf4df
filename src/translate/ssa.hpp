// SSA construction on the fly (Braun et al., "Simple and Efficient Construction of Static Single Assignment
// Form", 2013) for nodes that are visited in reverse post order.
//
// A phi that turns out to be one value is not replaced in its users at once: `forward_` remembers what it is,
// reads go through it, and finish() rewrites all operands in one pass.
#pragma once

#include "ir/builder.hpp"
#include "translate/flow.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace lanewise::translate {

/// Growth: near linear in instructions plus edges times the variables that live across them.
class Ssa {
 public:
  /// `initial(register)` makes the value that a register has when the kernel starts, in the entry block.
  using Initial = std::function<ir::Value(unsigned reg)>;
  Ssa(ir::Function& function, const Flow& flow, Initial initial);

  /// Instructions that follow are those of `node`. Nodes must begin in Flow::order().
  void begin(uint32_t node) { current_ = node; }
  [[nodiscard]] ir::Value read(unsigned reg) {
    const uint16_t v = flow_->variable(reg);
    if (v == Flow::no_variable) return initial_value(reg);
    if (const uint32_t value = at(current_, v)) return resolve({value});
    return read_from_predecessors(v);
  }
  void write(unsigned reg, ir::Value value) { at(current_, flow_->variable(reg)) = value.index; }

  /// All nodes have been visited: gives loop phis their operands and puts phis and final operands into the
  /// function. A block's predecessors must be those of Flow::predecessors(node) in that order; the entry
  /// node, if it has any, has the block that starts the kernel in front of them. `blocks`: by node.
  void finish(const std::vector<ir::Block>& blocks);

 private:
  struct Phi {
    ir::Value value;
    uint32_t node;
    uint16_t variable;
  };
  /// A phi whose operands are being read; the work of one call of the paper's recursive read.
  struct Frame {
    Phi phi;
    uint32_t next = 0;        ///< predecessor to read next
    size_t first_operand = 0; ///< in operands_
  };

  uint32_t& at(uint32_t node, unsigned variable) {
    return definitions_[size_t{node} * flow_->variable_count() + variable];
  }
  ir::Value resolve(ir::Value v);
  ir::Value initial_value(unsigned reg);
  ir::Value read_from_predecessors(uint16_t variable);
  ir::Value read_at_end(uint32_t node, uint16_t variable);
  void fill(const Phi& phi);
  bool step(Frame& frame);
  /// A definition that reaches the end of `node`, or none and the node where paths merge.
  ir::Value find(uint32_t node, uint16_t variable, uint32_t& merge);
  Phi make_phi(uint32_t node, uint16_t variable);
  [[nodiscard]] bool waits(uint32_t node, uint16_t variable) const;
  ir::Value complete(const Frame& frame);
  void forward_redundant();
  void rewrite_operands();

  ir::Function* function_;
  const Flow* flow_;
  Initial initial_;
  uint32_t current_ = 0;
  std::unique_ptr<uint32_t[], void (*)(void*)> definitions_; ///< by node and variable; 0 = none
  std::vector<uint32_t> forward_;                            ///< by value: what it was found to be, or 0
  std::array<ir::Value, reg::count> initial_values_{};
  std::vector<Phi> phis_, incomplete_;
  std::vector<Frame> stack_;
  std::vector<ir::Value> operands_;
  bool all_visited_ = false, any_forward_ = false;
};

} // namespace lanewise::translate
