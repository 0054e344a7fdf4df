#include "ir/dominators.hpp"

#include <algorithm>
#include <numeric>

namespace lanewise::ir {
namespace {

/// Depth-first search of the graph with the preorder that semi-dominators need, and postorder.
struct Search {
  std::vector<uint32_t> preorder;  ///< block indices
  std::vector<uint32_t> number;    ///< by block: index in preorder
  std::vector<uint32_t> parent;    ///< by preorder index, as preorder index
  std::vector<uint32_t> postorder; ///< block indices

  explicit Search(const Function& f) : number(f.blocks.size(), kNoBlock) {
    if (f.blocks.empty()) return;
    struct Frame {
      uint32_t block;
      uint8_t next;
    };
    std::vector<Frame> stack;
    const auto enter = [&](uint32_t block, uint32_t from) {
      number[block] = static_cast<uint32_t>(preorder.size());
      preorder.push_back(block);
      parent.push_back(from);
      stack.push_back({block, 0});
    };
    enter(0, 0);
    while (!stack.empty()) {
      Frame& top = stack.back();
      const BasicBlock& b = f.blocks[top.block];
      if (top.next == b.successor_count) {
        postorder.push_back(top.block);
        stack.pop_back();
        continue;
      }
      const uint32_t to = b.successors[top.next++].index, from = number[top.block];
      if (to < number.size() && number[to] == kNoBlock) enter(to, from);
    }
  }
};

/// Link-eval forest with iterative path compression.
struct Forest {
  std::vector<uint32_t> ancestor, label, semi, path;

  explicit Forest(uint32_t n) : ancestor(n, kNoBlock), label(n), semi(n) {
    std::iota(label.begin(), label.end(), 0u);
    std::iota(semi.begin(), semi.end(), 0u);
  }
  uint32_t eval(uint32_t v) {
    if (ancestor[v] == kNoBlock) return v;
    path.clear();
    for (uint32_t u = v; ancestor[ancestor[u]] != kNoBlock; u = ancestor[u]) path.push_back(u);
    while (!path.empty()) {
      const uint32_t u = path.back(), a = ancestor[u];
      path.pop_back();
      if (semi[label[a]] < semi[label[u]]) label[u] = label[a];
      ancestor[u] = ancestor[a];
    }
    return label[v];
  }
};

} // namespace

Dominators::Dominators(const Function& f) : position_(f.blocks.size(), kNoBlock) {
  if (f.blocks.empty()) return;
  find_idoms(f);
  number_tree();
}

// Georgiadis' Semi-NCA: semi-dominators as Lengauer and Tarjan, then the nearest common ancestor by walking
// up the tree built so far.
void Dominators::find_idoms(const Function& f) {
  const Search search(f);
  const auto n = static_cast<uint32_t>(search.preorder.size());
  for (auto it = search.postorder.rbegin(); it != search.postorder.rend(); ++it) {
    position_[*it] = static_cast<uint32_t>(order_.size());
    order_.push_back({*it});
  }
  Forest forest(n);
  for (uint32_t w = n; w-- > 1;) {
    for (const Block p : f.blocks[search.preorder[w]].predecessors) {
      const uint32_t v = p.index < search.number.size() ? search.number[p.index] : kNoBlock;
      if (v != kNoBlock) forest.semi[w] = std::min(forest.semi[w], forest.semi[forest.eval(v)]);
    }
    forest.ancestor[w] = search.parent[w];
  }
  std::vector<uint32_t> idom = search.parent;
  for (uint32_t w = 1; w < n; ++w) {
    while (idom[w] > forest.semi[w]) idom[w] = idom[idom[w]];
  }
  idom_.resize(n);
  for (uint32_t w = 0; w < n; ++w) {
    idom_[position_[search.preorder[w]]] = position_[search.preorder[idom[w]]];
  }
}

// A dominator comes before what it dominates in reverse postorder, so two sweeps give the intervals.
void Dominators::number_tree() {
  const auto n = static_cast<uint32_t>(order_.size());
  std::vector<uint32_t> size(n, 1), next(n, 0);
  enter_.assign(n, 0);
  leave_.assign(n, 0);
  for (uint32_t i = n; i-- > 1;) size[idom_[i]] += size[i];
  next[0] = 1;
  leave_[0] = n;
  for (uint32_t i = 1; i < n; ++i) {
    enter_[i] = next[idom_[i]];
    next[idom_[i]] += size[i];
    next[i] = enter_[i] + 1;
    leave_[i] = enter_[i] + size[i];
  }
}

} // namespace lanewise::ir
