#include "translate/flow.hpp"

#include "cfg/dominators.hpp"

#include <algorithm>

namespace lanewise::translate {

namespace {

/// Registers that a call through a slot may change, and what it does to memory.
template <class F>
void for_each_result(const Graph& graph, const CallSlot& slot, F f) {
  if (const CalledFunction* callee = graph.function_of(slot))
    for (const uint16_t r : callee->results) f(unsigned{r});
  else
    for_each_interface(graph.vgprs, f);
  f(unsigned{reg::loads});
  f(unsigned{reg::stores});
}

} // namespace

Flow::Flow(const Graph& graph) : reach_(graph), irreducible_(graph.nodes.size()) {
  number_variables(graph);
  order_nodes(graph);
  collect_predecessors(graph);
  find_written(graph);
  merge_loops();
  find_dominators(graph);
}

void Flow::number_variables(const Graph& graph) {
  std::array<bool, reg::count> written{};
  for (const CodeBlock& b : graph.code.blocks())
    for (const auto& i : graph.code.instructions(b))
      for_each_written(i, graph.code.wave(), reach_.registers(i), [&](unsigned r) { written[r] = true; });
  for (const CallSlot& s : graph.slots) for_each_result(graph, s, [&](unsigned r) { written[r] = true; });
  variable_.fill(no_variable);
  for (unsigned r = 0; r < reg::count; ++r) {
    if (!written[r]) continue;
    variable_[r] = static_cast<uint16_t>(registers_.size());
    registers_.push_back(static_cast<uint16_t>(r));
  }
}

/// Depth first without recursion. The second successor is visited first, so that a taken branch's target
/// comes behind the fall-through code in the order.
void Flow::order_nodes(const Graph& graph) {
  struct Frame {
    uint32_t node;
    uint8_t next;
  };
  std::vector<bool> seen(graph.nodes.size());
  std::vector<Frame> stack{{0, 0}};
  seen[0] = true;
  while (!stack.empty()) {
    Frame& f = stack.back();
    const Node& n = graph.nodes[f.node];
    if (f.next == n.successor_count) {
      order_.push_back(f.node);
      stack.pop_back();
      continue;
    }
    const uint32_t s = n.successors[f.next++];
    if (!seen[s]) {
      seen[s] = true;
      stack.push_back({s, 0});
    }
  }
  std::ranges::reverse(order_);
  position_.resize(graph.nodes.size());
  for (uint32_t p = 0; p < order_.size(); ++p) position_[order_[p]] = p;
}

void Flow::collect_predecessors(const Graph& graph) {
  const auto for_each_edge = [&](auto&& f) {
    for (uint32_t n = 0; n < graph.nodes.size(); ++n) {
      const Node& node = graph.nodes[n];
      for (unsigned s = 0; s < node.successor_count; ++s)
        if (s == 0 || node.successors[1] != node.successors[0]) f(n, node.successors[s]);
    }
  };
  first_.assign(graph.nodes.size() + 1, 0);
  for_each_edge([&](uint32_t, uint32_t to) { ++first_[to + 1]; });
  for (size_t n = 0; n < graph.nodes.size(); ++n) first_[n + 1] += first_[n];
  predecessors_.resize(first_.back());
  std::vector<uint32_t> at(first_.begin(), first_.end() - 1);
  for_each_edge([&](uint32_t from, uint32_t to) { predecessors_[at[to]++] = from; });
}

void Flow::find_written(const Graph& graph) {
  written_ = VariableSets(graph.nodes.size(), variable_count());
  for (const CallSlot& s : graph.slots)
    for_each_result(graph, s, [&](unsigned r) { written_.insert(s.node, variable_[r]); });
  for (uint32_t n = 0; n < graph.nodes.size(); ++n)
    for (const auto& i : graph.code.instructions(graph.block(graph.nodes[n])))
      for_each_written(i, graph.code.wave(), reach_.registers(i),
                       [&](unsigned r) { written_.insert(n, variable_[r]); });
}

uint32_t Flow::representative(uint32_t node) {
  while (inner_[node] != node) node = inner_[node] = inner_[inner_[node]];
  return node;
}

/// Loops from the inside out (Tarjan, "Testing flow graph reducibility", 1974): a loop that is done counts as
/// one node, its header. Growth: almost linear in edges.
void Flow::merge_loops() {
  inner_.resize(order_.size());
  for (uint32_t n = 0; n < inner_.size(); ++n) inner_[n] = n;
  for (auto it = order_.rbegin(); it != order_.rend(); ++it) merge_loop(*it);
}

void Flow::merge_loop(uint32_t header) {
  std::vector<uint32_t> body;
  const auto take = [&](uint32_t node) {
    const uint32_t n = representative(node);
    if (n == header) return;
    inner_[n] = header;
    body.push_back(n);
  };
  for (const uint32_t p : predecessors(header))
    if (position_[p] >= position_[header]) take(p);
  for (size_t k = 0; k < body.size(); ++k) {
    written_.unite(header, body[k]);
    if (irreducible_[body[k]]) irreducible_[header] = true;
    for (const uint32_t p : predecessors(body[k])) {
      const uint32_t q = representative(p);
      if (position_[q] > position_[header])
        take(q);
      else if (q != header)
        irreducible_[header] = true; // enters the loop beside its header
    }
  }
}

void Flow::find_dominators(const Graph& graph) {
  std::vector<cfg::Edge> edges;
  for (const uint32_t n : order_)
    for (const uint32_t p : predecessors(n)) edges.emplace_back(p, n);
  dominator_ = cfg::dominators(cfg::Graph(static_cast<uint32_t>(graph.nodes.size()), edges)).parent;
  since_dominator_ = VariableSets(graph.nodes.size(), variable_count());
  since_unknown_.assign(graph.nodes.size(), false);
  std::vector<uint32_t> seen(graph.nodes.size(), none);
  for (const uint32_t n : order_)
    if (dominator_[n] != none && (predecessors(n).size() > 1 || predecessors(n).front() != dominator_[n]))
      collect_changes(n, seen);
}

/// All that lies between a node and its immediate dominator is found by walking up the dominator tree from
/// its predecessors: what was skipped on the way up is known already, because nodes come in reverse post
/// order.
void Flow::collect_changes(uint32_t node, std::vector<uint32_t>& seen) {
  const auto add = [&](uint32_t from) {
    since_dominator_.unite(node, written_, from);
    if (irreducible_[from]) since_unknown_[node] = true;
  };
  for (const uint32_t p : predecessors(node)) {
    if (position_[p] >= position_[node]) { // the loop that starts here
      add(node);
      continue;
    }
    for (uint32_t q = p; q != none && q != dominator_[node] && seen[q] != node; q = dominator_[q]) {
      seen[q] = node;
      add(q);
      since_dominator_.unite(node, q);
      if (since_unknown_[q]) since_unknown_[node] = true;
    }
  }
}

} // namespace lanewise::translate
