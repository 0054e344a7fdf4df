// The graph as SSA construction wants it: nodes in reverse post order, predecessors, and for each loop the
// variables that it may change, so that a loop's header gets phis for those only. A register that a loop
// leaves alone keeps its one value, and with it what is known of it. The same for places where paths merge:
// what nobody wrote since the paths parted needs no phi.
#pragma once

#include "translate/graph.hpp"
#include "translate/registers.hpp"
#include "translate/relative_reach.hpp"

#include <span>
#include <vector>

namespace lanewise::translate {

class Flow {
 public:
  explicit Flow(const Graph& graph);

  [[nodiscard]] const std::vector<uint32_t>& order() const { return order_; }
  /// Position of a node in order().
  [[nodiscard]] uint32_t position(uint32_t node) const { return position_[node]; }
  /// Predecessors of a node, each once.
  [[nodiscard]] std::span<const uint32_t> predecessors(uint32_t node) const {
    return {predecessors_.data() + first_[node], first_[node + 1] - first_[node]};
  }
  /// Whether `variable` may change between two visits of `node`, the header of a loop. True when the loop has
  /// a second entry, where nothing is known.
  [[nodiscard]] bool changes(uint32_t node, unsigned variable) const {
    return irreducible_[node] || written_.contains(node, variable);
  }

  /// Immediate dominator, Flow::none of the entry.
  static constexpr uint32_t none = UINT32_MAX;
  [[nodiscard]] uint32_t dominator(uint32_t node) const { return dominator_[node]; }
  /// Whether `variable` may change on a way from the end of the node's immediate dominator to the node, the
  /// loop that the node is the header of included. False: both places see one value.
  [[nodiscard]] bool changes_since_dominator(uint32_t node, unsigned variable) const {
    return dominator_[node] == none || since_unknown_[node] || since_dominator_.contains(node, variable);
  }

  /// Number of a register's variable; only of registers that the program writes.
  static constexpr uint16_t no_variable = UINT16_MAX;
  [[nodiscard]] uint16_t variable(unsigned reg) const { return variable_[reg]; }
  [[nodiscard]] bool loop_changes(uint32_t header, unsigned reg) const {
    return variable_[reg] != no_variable && changes(header, variable_[reg]);
  }
  /// How many registers a relative access may choose from.
  [[nodiscard]] const RelativeReach& relative_reach() const { return reach_; }
  [[nodiscard]] unsigned variable_count() const { return static_cast<unsigned>(registers_.size()); }
  [[nodiscard]] unsigned register_of(unsigned variable) const { return registers_[variable]; }

 private:
  void number_variables(const Graph& graph);
  void order_nodes(const Graph& graph);
  void collect_predecessors(const Graph& graph);
  void find_written(const Graph& graph);
  void merge_loops();
  void merge_loop(uint32_t header);
  void find_dominators(const Graph& graph);
  void collect_changes(uint32_t node, std::vector<uint32_t>& seen);
  uint32_t representative(uint32_t node);

  RelativeReach reach_;
  std::vector<uint32_t> order_, position_, first_, predecessors_;
  std::vector<uint32_t> inner_; ///< union-find: outermost loop header seen so far that holds a node
  std::vector<bool> irreducible_;
  std::array<uint16_t, reg::count> variable_{};
  std::vector<uint16_t> registers_;
  VariableSets written_{0, 0}; ///< by the node; by the whole loop if it is a header
  std::vector<uint32_t> dominator_;
  VariableSets since_dominator_{0, 0};
  std::vector<bool> since_unknown_; ///< a loop with a second entry lies in between
};

} // namespace lanewise::translate
