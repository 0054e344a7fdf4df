// Writes the structured form of a function: labels, merges, branches, phis.
#pragma once

#include "cfg/structurize.hpp"
#include "spirv/emitter.hpp"

namespace lanewise::spirv {

/// A phi of the IR becomes OpPhi in its block. Where its block is reached through guards and joins, its value
/// travels with the ways there, as does the number of the block that a way is to lead to. Uses that the
/// structured form moved out from under their definition (exits of loops to several places) go through a
/// Function variable.
class Control {
 public:
  Control(Emitter& e, const cfg::Structured& s);
  /// The code from the first label to the last terminator, into e.code.
  void write();

 private:
  struct InEdge {
    uint32_t node;
    uint8_t slot;
  };
  /// What a guard, join or continue node carries: the value of a phi (none: the number of the target block).
  struct Route {
    ir::Value phi;
    Id id;
  };

  void collect_in_edges();
  void find_broken_dominance();
  void write_node(uint32_t node);
  void write_block(uint32_t node);
  void write_header(uint32_t node);
  void write_synthetic(uint32_t node);
  void entry_phis(uint32_t node);
  void carry(uint32_t node);
  void write_branch(uint32_t node, Id condition);
  void loop_merge(uint32_t header);
  void preload_edges(uint32_t node);
  [[nodiscard]] bool needs_preload(uint32_t block) const;
  [[nodiscard]] bool direct_back(uint32_t continue_node) const;
  [[nodiscard]] uint32_t test_behind(uint32_t node) const;
  [[nodiscard]] Id label_on(InEdge e, uint32_t to);

  [[nodiscard]] Id label(uint32_t node);
  [[nodiscard]] bool folds(uint32_t header) const;
  [[nodiscard]] std::span<const InEdge> in_edges(uint32_t node) const {
    return {in_edge_.data() + in_begin_[node], in_begin_[node + 1] - in_begin_[node]};
  }
  [[nodiscard]] std::span<const ir::Value> phis_of(uint32_t block) const;
  [[nodiscard]] const cfg::StructuredEdge& edge(InEdge e) const {
    return s_.nodes[e.node].successors[e.slot];
  }
  [[nodiscard]] bool leads_to(InEdge e, uint32_t block) const;
  [[nodiscard]] Id value_on(InEdge e, ir::Value phi, uint32_t block);
  [[nodiscard]] Id operand_on(uint32_t pred_block, ir::Value phi, uint32_t block);
  [[nodiscard]] Id target_on(InEdge e);
  [[nodiscard]] Id carried(uint32_t node, ir::Value phi) const;
  Id merge(uint32_t node, Id type, std::span<const Id> incoming, Id forced);
  [[nodiscard]] Id end_label(uint32_t node);

  Emitter& e_;
  const cfg::Structured& s_;
  std::vector<Id> labels_, end_labels_;
  std::vector<InEdge> in_edge_;
  std::vector<uint32_t> in_begin_;
  std::vector<std::vector<Route>> routes_;
  std::unordered_map<uint32_t, Id> tests_; ///< of continue nodes: whether to go around, asked by the block before
  // Broken dominance only:
  std::vector<uint32_t> block_of_;             ///< of each value
  cfg::Dominators dominators_;                 ///< of the structured nodes
  std::unordered_map<uint32_t, Id> spilled_;   ///< value -> Function variable
  std::unordered_map<uint64_t, Id> preloaded_; ///< (block, phi) -> what it gets from there
  uint32_t current_ = 0;
};

/// Writes the instructions of a block between its phis and its terminator. `after` is told each value that is
/// written. Memory operations that ask for the same `active` value share one `if` (guards.cpp).
void write_instructions(Emitter& e, ir::Block b, const std::function<void(ir::Value)>& after);
/// The block holds a memory operation that may be asked for being active.
[[nodiscard]] bool has_guards(const ir::Function& f, ir::Block b);

} // namespace lanewise::spirv
