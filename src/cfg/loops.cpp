#include "cfg/loops.hpp"

#include <algorithm>

namespace lanewise::cfg {
namespace {

/// Finds loops from the innermost outwards. A finished loop is collapsed into its header, so each node and
/// edge is walked once for the loop that is innermost around it.
class LoopFinder {
 public:
  LoopFinder(const Graph& graph, const Order& order, const Dominators& dominators)
      : graph_(graph), order_(order), dominators_(dominators), outer_(graph.size()) {
    for (uint32_t n = 0; n < graph.size(); ++n) outer_[n] = n;
    forest_.innermost.assign(graph.size(), none);
  }

  LoopForest run() {
    for (size_t i = order_.reverse_post.size(); i-- > 0;) visit(order_.reverse_post[i]);
    nest();
    return std::move(forest_);
  }

 private:
  void visit(uint32_t header) {
    work_.clear();
    bool is_header = false;
    for (const uint32_t p : graph_.predecessors(header)) {
      if (!order_.reachable(p) || order_.position[p] < order_.position[header]) continue;
      if (!dominators_.dominates(header, p)) {
        forest_.irreducible.emplace_back(p, header);
        continue;
      }
      is_header = true;
      work_.push_back(find(p));
    }
    if (is_header) collect(header);
  }

  void collect(uint32_t header) {
    const auto loop = static_cast<uint32_t>(forest_.loops.size());
    forest_.loops.push_back({.header = header});
    // A node with a loop already is the header of an inner, collapsed loop.
    const auto claim = [&](uint32_t n) {
      const uint32_t inner = forest_.innermost[n];
      if (inner == none)
        forest_.innermost[n] = loop;
      else
        forest_.loops[inner].parent = loop;
      outer_[n] = header;
    };
    while (!work_.empty()) {
      const uint32_t n = work_.back();
      work_.pop_back();
      if (n == header || find(n) == header) continue;
      claim(n);
      for (const uint32_t p : graph_.predecessors(n))
        if (order_.reachable(p) && dominators_.dominates(header, p)) work_.push_back(find(p));
    }
    forest_.innermost[header] = loop;
  }

  uint32_t find(uint32_t n) {
    while (outer_[n] != n) {
      outer_[n] = outer_[outer_[n]];
      n = outer_[n];
    }
    return n;
  }

  /// Puts outer loops first, and numbers the forest.
  void nest() {
    auto& loops = forest_.loops;
    const auto count = static_cast<uint32_t>(loops.size());
    std::ranges::reverse(loops);
    for (auto& l : loops)
      if (l.parent != none) l.parent = count - 1 - l.parent;
    for (auto& l : forest_.innermost)
      if (l != none) l = count - 1 - l;
    std::vector<uint32_t> subtree(count, 1), next(count);
    for (uint32_t i = count; i-- > 0;)
      if (loops[i].parent != none) subtree[loops[i].parent] += subtree[i];
    uint32_t root = 0;
    for (uint32_t i = 0; i < count; ++i) {
      Loop& l = loops[i];
      uint32_t& slot = l.parent == none ? root : next[l.parent];
      l.depth = l.parent == none ? 1 : loops[l.parent].depth + 1;
      l.enter = slot;
      l.exit = slot + subtree[i];
      slot = l.exit;
      next[i] = l.enter + 1;
    }
  }

  const Graph& graph_;
  const Order& order_;
  const Dominators& dominators_;
  std::vector<uint32_t> outer_, work_;
  LoopForest forest_;
};

} // namespace

LoopForest find_loops(const Graph& graph, const Order& order, const Dominators& dominators) {
  return LoopFinder(graph, order, dominators).run();
}

} // namespace lanewise::cfg
