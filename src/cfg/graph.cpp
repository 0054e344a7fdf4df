#include "cfg/graph.hpp"

#include <algorithm>

namespace lanewise::cfg {

Graph::Graph(uint32_t node_count, std::span<const Edge> edges)
    : successor_begin_(node_count + 1), successors_(edges.size()), predecessor_begin_(node_count + 1),
      predecessors_(edges.size()) {
  for (const auto& [from, to] : edges) {
    ++successor_begin_[from + 1];
    ++predecessor_begin_[to + 1];
  }
  for (uint32_t n = 0; n < node_count; ++n) {
    successor_begin_[n + 1] += successor_begin_[n];
    predecessor_begin_[n + 1] += predecessor_begin_[n];
  }
  std::vector<uint32_t> next_out(successor_begin_), next_in(predecessor_begin_);
  for (const auto& [from, to] : edges) {
    successors_[next_out[from]++] = to;
    predecessors_[next_in[to]++] = from;
  }
}

Order reverse_post_order(const Graph& graph) {
  Order order{{}, std::vector<uint32_t>(graph.size(), none)};
  if (graph.size() == 0) return order;
  struct Frame {
    uint32_t node, next;
  };
  std::vector<Frame> stack{{0, 0}};
  std::vector<bool> seen(graph.size());
  seen[0] = true;
  while (!stack.empty()) {
    Frame& f = stack.back();
    const auto successors = graph.successors(f.node);
    if (f.next == successors.size()) {
      order.reverse_post.push_back(f.node);
      stack.pop_back();
      continue;
    }
    const uint32_t s = successors[f.next++];
    if (!seen[s]) {
      seen[s] = true;
      stack.push_back({s, 0});
    }
  }
  std::ranges::reverse(order.reverse_post);
  for (uint32_t i = 0; i < order.reverse_post.size(); ++i) order.position[order.reverse_post[i]] = i;
  return order;
}

} // namespace lanewise::cfg
