#include "cfg/structurize.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace lanewise::cfg {
namespace {

using Kind = StructuredNode::Kind;

/// An edge that still has to be given its end.
struct OpenEdge {
  uint32_t node;
  uint8_t slot;
};

/// The ways that leave a piece of code. `header` is a construct whose merge is where they meet.
struct Open {
  std::vector<OpenEdge> edges;
  uint32_t header = none;
};

struct LoopContext {
  uint32_t loop; ///< in the forest
  uint32_t header_node;
  std::vector<OpenEdge> breaks, continues;
};

/// Which nodes follow which: see the file comment of structurize.hpp.
struct Placement {
  enum class Kind : uint8_t { inside_branch, after, behind_loop };
  std::vector<Kind> kind;
  std::vector<uint32_t> begin, child; ///< children of n that are not inside_branch, by reverse post-order

  [[nodiscard]] std::span<const uint32_t> children(uint32_t n) const {
    return {child.data() + begin[n], begin[n + 1] - begin[n]};
  }
};

struct Analysis {
  Order order;
  Dominators dominators;
  LoopForest loops;
  Placement placement;
  [[nodiscard]] bool is_header(uint32_t n) const {
    return loops.innermost[n] != none && loops.loops[loops.innermost[n]].header == n;
  }
};

std::span<const uint32_t> distinct_successors(const Graph& g, uint32_t n) {
  const auto s = g.successors(n);
  return s.size() == 2 && s[0] == s[1] ? s.first(1) : s;
}

/// Forward edges into each node from reachable nodes; parallel ones count once.
std::vector<uint32_t> forward_degrees(const Graph& g, const Analysis& a) {
  std::vector<uint32_t> degree(g.size());
  for (const uint32_t n : a.order.reverse_post)
    for (const uint32_t s : distinct_successors(g, n))
      if (a.order.position[s] > a.order.position[n]) ++degree[s];
  return degree;
}

/// An end of the program that one of several loop exits leads to stays where the exit is: a return may stand
/// at any depth.
void keep_early_ends_inside(const Graph& g, Analysis& a, std::span<const uint32_t> degree) {
  std::vector<uint32_t> exits(a.loops.loops.size());
  for (const uint32_t n : a.order.reverse_post)
    if (const uint32_t l = a.loops.innermost[n]; l != none)
      for (const uint32_t s : distinct_successors(g, n)) exits[l] += !a.loops.contains(l, s);
  for (const uint32_t n : a.order.reverse_post) {
    if (n == 0 || !g.successors(n).empty() || degree[n] != 1) continue;
    const uint32_t l = a.loops.innermost[a.dominators.parent[n]];
    if (l != none && a.loops.innermost[n] == none && exits[l] > 1) {
      a.loops.innermost[n] = l;
      --exits[l];
    }
  }
}

void place(const Graph& g, Analysis& a) {
  const auto degree = forward_degrees(g, a);
  keep_early_ends_inside(g, a, degree);
  Placement& p = a.placement;
  p.kind.assign(g.size(), Placement::Kind::after);
  std::vector<uint32_t> parent(g.size(), none);
  p.begin.assign(g.size() + 1, 0);
  for (const uint32_t n : a.order.reverse_post) {
    if (n == 0) continue;
    const uint32_t dominator = a.dominators.parent[n];
    uint32_t loop = a.loops.innermost[dominator], left = none;
    for (; loop != none && !a.loops.contains(loop, n); loop = a.loops.loops[loop].parent) left = loop;
    parent[n] = left == none ? dominator : a.loops.loops[left].header;
    p.kind[n] = left != none     ? Placement::Kind::behind_loop
                : degree[n] == 1 ? Placement::Kind::inside_branch
                                 : Placement::Kind::after;
    if (p.kind[n] != Placement::Kind::inside_branch) ++p.begin[parent[n] + 1];
  }
  for (uint32_t n = 0; n < g.size(); ++n) p.begin[n + 1] += p.begin[n];
  p.child.resize(p.begin[g.size()]);
  std::vector<uint32_t> next(p.begin);
  for (const uint32_t n : a.order.reverse_post)
    if (n != 0 && p.kind[n] != Placement::Kind::inside_branch) p.child[next[parent[n]]++] = n;
}

class Structurizer {
 public:
  Structurizer(const Graph& graph, const Analysis& analysis) : graph_(graph), a_(analysis) {
    out_.node_of.assign(graph.size(), none);
  }

  Structured run() {
    enter(0);
    while (!stack_.empty()) step();
    return std::move(out_);
  }

 private:
  /// One graph node under construction. Results of finished inner frames arrive in `result_`.
  struct Frame {
    uint32_t block, node;
    uint32_t slot = 0;        ///< next branch
    uint32_t child = 0;       ///< next child in the placement
    uint32_t guard = none;    ///< guard in front of the child that is being built
    bool loop_closed = false; ///< a header: its loop is complete
    bool waiting = false;     ///< an inner frame has just delivered
    std::array<Open, 2> arm{};
    std::array<uint32_t, 2> head{none, none}; ///< first node of an arm that is inside the branch
    std::array<bool, 2> jump{};
    Open open{};
  };

  // -- nodes and edges
  // ----------------------------------------------------------------------------------------

  uint32_t add_node(Kind kind, uint32_t block = none) {
    out_.nodes.push_back({.kind = kind, .block = block});
    return static_cast<uint32_t>(out_.nodes.size() - 1);
  }

  void set_targets(OpenEdge e, std::span<const uint32_t> targets) {
    StructuredNode& n = out_.nodes[e.node];
    n.successor_count = std::max<uint8_t>(n.successor_count, static_cast<uint8_t>(e.slot + 1));
    StructuredEdge& edge = n.successors[e.slot];
    edge.first_target = static_cast<uint32_t>(out_.targets.size());
    edge.target_count = static_cast<uint32_t>(targets.size());
    out_.targets.insert(out_.targets.end(), targets.begin(), targets.end());
  }
  void connect(OpenEdge e, uint32_t target_node) { out_.nodes[e.node].successors[e.slot].node = target_node; }
  void link(uint32_t from, uint32_t to, uint32_t target) {
    set_targets({from, 0}, {&target, 1});
    connect({from, 0}, to);
  }
  [[nodiscard]] std::span<const uint32_t> targets_of(OpenEdge e) const {
    return out_.targets_of(out_.nodes[e.node].successors[e.slot]);
  }

  [[nodiscard]] std::vector<uint32_t> all_targets(std::span<const OpenEdge> edges) const {
    std::vector<uint32_t> all;
    for (const OpenEdge e : edges) {
      const auto t = targets_of(e);
      all.insert(all.end(), t.begin(), t.end());
    }
    std::ranges::sort(all);
    all.erase(std::ranges::unique(all).begin(), all.end());
    return all;
  }

  /// Ends all open edges at `node`, which becomes the merge of the construct that waits for one.
  void meet(Open& open, uint32_t node) {
    for (const OpenEdge e : open.edges) connect(e, node);
    if (open.header != none) out_.nodes[open.header].merge = node;
    open = {};
  }

  /// Gives a construct that waits for its merge a join of its own, so that it can stand inside another.
  void close(Open& open) {
    if (open.header == none || open.edges.empty()) return;
    const auto targets = all_targets(open.edges);
    const uint32_t join = add_node(Kind::join);
    meet(open, join);
    set_targets({join, 0}, targets);
    open.edges = {{join, 0}};
  }

  /// Two ways of one node may not meet as they are: a phi tells them apart by the node they come from.
  OpenEdge through_join(OpenEdge e) {
    const auto t = targets_of(e);
    const std::vector<uint32_t> targets(t.begin(), t.end());
    const uint32_t join = add_node(Kind::join);
    connect(e, join);
    set_targets({join, 0}, targets);
    return {join, 0};
  }
  [[nodiscard]] static bool is_twice(std::span<const OpenEdge> edges, uint32_t node) {
    return !edges.empty() && edges.back().node == node;
  }

  // -- frames
  // ---------------------------------------------------------------------------------------------------

  /// Starts a graph node; returns its first structured node.
  uint32_t enter(uint32_t block) {
    uint32_t head = none;
    if (a_.is_header(block)) {
      head = add_node(Kind::loop_header, block);
      loops_.push_back({a_.loops.innermost[block], head, {}, {}});
    }
    const uint32_t node = add_node(Kind::block, block);
    out_.node_of[block] = node;
    if (head != none) link(head, node, block);
    stack_.push_back({.block = block, .node = node});
    return head != none ? head : node;
  }

  void step() {
    const size_t self = stack_.size() - 1;
    if (branch(self)) return;
    if (place_child(self)) return;
    if (a_.is_header(stack_[self].block) && !stack_[self].loop_closed) {
      close_loop(stack_[self]);
      return;
    }
    result_ = std::move(stack_[self].open);
    stack_.pop_back();
  }

  /// The node's own branch, one successor at a time. True when an inner frame was started or there is more.
  bool branch(size_t self) {
    const auto successors = distinct_successors(graph_, stack_[self].block);
    Frame& f = stack_[self];
    if (f.slot > successors.size()) return false;
    if (f.waiting && f.slot > 0) {
      f.arm[f.slot - 1] = std::move(result_);
      f.waiting = false;
    }
    if (f.slot == successors.size()) {
      join_arms(f, successors.size());
      ++f.slot;
      return true;
    }
    const uint32_t s = successors[f.slot];
    const OpenEdge e{f.node, static_cast<uint8_t>(f.slot)};
    set_targets(e, {&s, 1});
    if (LoopContext* loop = loops_.empty() ? nullptr : &loops_.back(); loop && is_jump(*loop, s)) {
      auto& to = is_continue(*loop, s) ? loop->continues : loop->breaks;
      to.push_back(f.slot == 1 && is_twice(to, f.node) ? through_join(e) : e);
      f.jump[f.slot] = true;
    } else if (a_.placement.kind[s] == Placement::Kind::inside_branch) {
      const uint32_t slot = f.slot++;
      f.waiting = true;
      const uint32_t head = enter(s); // f dangles from here on
      stack_[self].head[slot] = head;
      connect(e, head);
      return true;
    } else {
      f.arm[f.slot].edges = {e};
    }
    ++f.slot;
    return true;
  }

  [[nodiscard]] bool is_continue(const LoopContext& loop, uint32_t target) const {
    return a_.loops.loops[loop.loop].header == target;
  }
  [[nodiscard]] bool is_jump(const LoopContext& loop, uint32_t target) const {
    return is_continue(loop, target) || !a_.loops.contains(loop.loop, target);
  }

  void join_arms(Frame& f, size_t count) {
    if (count == 0) return;
    if (count == 1 || f.jump[0] || f.jump[1]) {
      // A branch with a jump in it needs no merge; the other arm just goes on.
      f.open = std::move(f.arm[count == 1 || f.jump[1] ? 0 : 1]);
      return;
    }
    for (unsigned i = 0; i < 2; ++i) {
      // An arm that never comes back: the other one is the merge and goes on at this level.
      if (!f.arm[i].edges.empty()) continue;
      const unsigned other = 1 - i;
      f.open = std::move(f.arm[other]);
      if (f.head[other] != none)
        out_.nodes[f.node].merge = f.head[other];
      else
        f.open.header = f.node;
      return;
    }
    for (Open& arm : f.arm) close(arm);
    if (f.head[0] == none && f.head[1] == none) f.arm[1].edges[0] = through_join(f.arm[1].edges[0]);
    f.open = std::move(f.arm[0]);
    f.open.edges.insert(f.open.edges.end(), f.arm[1].edges.begin(), f.arm[1].edges.end());
    f.open.header = f.node;
  }

  /// Builds the next node that follows; true when there was one.
  bool place_child(size_t self) {
    Frame& f = stack_[self];
    if (f.waiting) take_child(f);
    const auto children = a_.placement.children(f.block);
    const auto wanted = f.loop_closed ? Placement::Kind::behind_loop : Placement::Kind::after;
    while (f.child < children.size() && a_.placement.kind[children[f.child]] != wanted) ++f.child;
    if (f.child == children.size()) return false;
    const uint32_t m = children[f.child++];
    const auto targets = all_targets(f.open.edges);
    f.waiting = true;
    if (targets.size() == 1) {
      Open before = std::move(f.open);
      f.open = {};
      const uint32_t head = enter(m);
      meet(before, head);
      return true;
    }
    const uint32_t guard = add_node(Kind::guard, m);
    meet(f.open, guard);
    f.guard = guard;
    set_targets({guard, 0}, {&m, 1});
    std::vector<uint32_t> rest(targets);
    std::erase(rest, m);
    set_targets({guard, 1}, rest);
    const uint32_t head = enter(m);
    connect({guard, 0}, head);
    return true;
  }

  void take_child(Frame& f) {
    f.waiting = false;
    f.open = std::move(result_);
    result_ = {};
    if (f.guard == none) return;
    close(f.open);
    f.open.edges.push_back({f.guard, 1});
    f.open.header = f.guard;
    f.guard = none;
  }

  // -- loops
  // ----------------------------------------------------------------------------------------------------

  void close_loop(Frame& f) {
    LoopContext loop = std::move(loops_.back());
    loops_.pop_back();
    const uint32_t back = add_node(Kind::continue_, f.block);
    for (const OpenEdge e : loop.continues) connect(e, back);
    link(back, loop.header_node, f.block);
    out_.nodes[loop.header_node].continue_target = back;
    f.loop_closed = true;
    f.child = 0;
    f.open = {std::move(loop.breaks), loop.header_node};
    if (f.open.edges.empty()) {
      const uint32_t unreachable = add_node(Kind::unreachable);
      meet(f.open, unreachable);
      return;
    }
    if (!loops_.empty()) leave_outer(f.open, loops_.back());
  }

  /// Ways out of an inner loop that also leave the outer loop, or go on with it, part from the others here.
  void leave_outer(Open& open, LoopContext& outer) {
    std::vector<uint32_t> rest = all_targets(open.edges);
    if (std::ranges::none_of(rest, [&](uint32_t t) { return is_jump(outer, t); })) return;
    const auto part = [&](uint32_t target, std::vector<OpenEdge>& to) {
      const uint32_t guard = add_node(Kind::guard, target);
      meet(open, guard);
      std::erase(rest, target);
      set_targets({guard, 0}, {&target, 1});
      set_targets({guard, 1}, rest);
      to.push_back({guard, 0});
      open.edges = {{guard, 1}};
    };
    const uint32_t header = a_.loops.loops[outer.loop].header;
    if (rest.size() > 1 && std::ranges::binary_search(rest, header)) part(header, outer.continues);
    const auto is_break = [&](uint32_t t) { return !a_.loops.contains(outer.loop, t); };
    if (std::ranges::all_of(rest, [&](uint32_t t) { return is_jump(outer, t); })) {
      close(open);
      auto& to = rest.front() == header ? outer.continues : outer.breaks;
      to.insert(to.end(), open.edges.begin(), open.edges.end());
      open = {};
      return;
    }
    for (const uint32_t t : std::vector<uint32_t>(rest))
      if (is_break(t)) part(t, outer.breaks);
  }

  const Graph& graph_;
  const Analysis& a_;
  Structured out_;
  std::vector<Frame> stack_;
  std::vector<LoopContext> loops_;
  Open result_;
};

} // namespace

Expected<Structured> structurize(const Graph& graph) {
  Analysis a;
  a.order = reverse_post_order(graph);
  for (const uint32_t n : a.order.reverse_post)
    if (graph.successors(n).size() > 2)
      return fail(ErrorKind::unsupported, fmt::format("block {} has more than two successors", n));
  a.dominators = dominators(graph);
  a.loops = find_loops(graph, a.order, a.dominators);
  if (!a.loops.reducible())
    return fail(ErrorKind::unsupported,
                fmt::format("control flow is irreducible at block {}", a.loops.irreducible.front().second));
  place(graph, a);
  return Structurizer(graph, a).run();
}

} // namespace lanewise::cfg
