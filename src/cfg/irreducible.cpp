#include "cfg/irreducible.hpp"

#include <algorithm>

namespace lanewise::cfg {
namespace {

/// Tarjan's strongly connected components of the nodes with level[n] == `level`, without recursion.
class Components {
 public:
  Components(const Graph& g, const std::vector<uint32_t>& level)
      : g_(g), level_(level), index_(g.size(), none), low_(g.size()), on_stack_(g.size()) {}

  /// Appends the components of more than one node, or of one with an edge to itself, that `root` reaches.
  void from(uint32_t root, std::vector<std::vector<uint32_t>>& found) {
    if (index_[root] != none) return;
    open(root);
    while (!frames_.empty()) {
      auto& [n, next] = frames_.back();
      const auto successors = g_.successors(n);
      if (next < successors.size()) {
        const uint32_t s = successors[next++];
        if (level_[s] != level_[n]) continue;
        if (index_[s] == none)
          open(s);
        else if (on_stack_[s])
          low_[n] = std::min(low_[n], index_[s]);
        continue;
      }
      const uint32_t done = n;
      frames_.pop_back();
      if (!frames_.empty()) low_[frames_.back().first] = std::min(low_[frames_.back().first], low_[done]);
      if (low_[done] == index_[done]) close(done, found);
    }
  }

 private:
  void open(uint32_t n) {
    index_[n] = low_[n] = count_++;
    stack_.push_back(n);
    on_stack_[n] = true;
    frames_.emplace_back(n, 0);
  }
  void close(uint32_t root, std::vector<std::vector<uint32_t>>& found) {
    std::vector<uint32_t> members;
    uint32_t n = none;
    do {
      n = stack_.back();
      stack_.pop_back();
      on_stack_[n] = false;
      members.push_back(n);
    } while (n != root);
    const auto s = g_.successors(root);
    if (members.size() > 1 || std::ranges::find(s, root) != s.end()) found.push_back(std::move(members));
  }

  const Graph& g_;
  const std::vector<uint32_t>& level_;
  std::vector<uint32_t> index_, low_;
  std::vector<bool> on_stack_;
  std::vector<std::pair<uint32_t, uint32_t>> frames_;
  std::vector<uint32_t> stack_;
  uint32_t count_ = 0;
};

} // namespace

std::vector<uint32_t> irreducible_entries(const Graph& graph) {
  const Order order = reverse_post_order(graph);
  // A level is one set of nodes whose components are wanted; a component's header leaves it.
  std::vector<uint32_t> level(graph.size(), none), component(graph.size(), none);
  for (const uint32_t n : order.reverse_post) level[n] = 0;
  std::vector<std::vector<uint32_t>> work{order.reverse_post};
  uint32_t levels = 1, components = 0;
  while (!work.empty()) {
    const auto nodes = std::move(work.back());
    work.pop_back();
    std::vector<std::vector<uint32_t>> found;
    Components search(graph, level);
    for (const uint32_t n : nodes) search.from(n, found);
    for (auto& members : found) {
      for (const uint32_t n : members) component[n] = components;
      std::vector<uint32_t> entries;
      for (const uint32_t n : members) {
        const auto p = graph.predecessors(n);
        const bool entered = n == 0 || std::ranges::any_of(p, [&](uint32_t q) {
                               return order.reachable(q) && component[q] != components;
                             });
        if (entered) entries.push_back(n);
      }
      ++components;
      std::ranges::sort(entries);
      if (entries.size() > 1) return entries;
      std::erase(members, entries[0]);
      level[entries[0]] = none;
      for (const uint32_t n : members) level[n] = levels;
      ++levels;
      work.push_back(std::move(members));
    }
  }
  return {};
}

} // namespace lanewise::cfg
