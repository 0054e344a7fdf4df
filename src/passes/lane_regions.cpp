#include "passes/lane_regions.hpp"

#include "analysis/users.hpp"
#include "cfg/dominators.hpp"
#include "cfg/graph.hpp"
#include "cfg/loops.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

using Blocks = std::vector<bool>;

class Finder {
 public:
  explicit Finder(const Function& f)
      : f_(f), users_(f), home_(f.value_count(), cfg::none), varies_(f.value_count()), graph_(graph(false)),
        loops_(cfg::find_loops(graph_, cfg::reverse_post_order(graph_), cfg::dominators(graph_))),
        before_(cfg::dominators(graph_)), behind_(cfg::dominators(graph(true))) {
    for (uint32_t b = 0; b < f.blocks.size(); ++b)
      for (const Value v : f.blocks[b].instructions) home_[v.index] = b;
  }

  LaneRegions run() {
    for (const BasicBlock& b : f_.blocks)
      for (const Value v : b.instructions)
        if (!f_[v].uniform && f_[v].type != Type::none) vary(v);
    while (!work_.empty()) {
      const Value v = work_.back();
      work_.pop_back();
      for (const Value user : users_.of(v)) {
        const OpKind kind = info(f_[user].op).kind;
        if (kind == OpKind::pure || kind == OpKind::phi || kind == OpKind::load || kind == OpKind::image)
          vary(user);
        if (f_[user].op == Op::cond_br) lanes_part(Block{home_[user.index]});
      }
    }
    for (const Block b : parting_) add_region(b);
    return std::move(result_);
  }

 private:
  /// Backwards: node 0 is the end of the program, node n + 1 block n.
  [[nodiscard]] cfg::Graph graph(bool backwards) const {
    std::vector<cfg::Edge> edges;
    const auto n = static_cast<uint32_t>(f_.blocks.size());
    for (uint32_t b = 0; b < n; ++b) {
      const BasicBlock& block = f_.blocks[b];
      for (unsigned s = 0; s < block.successor_count; ++s)
        backwards ? edges.emplace_back(block.successors[s].index + 1, b + 1)
                  : edges.emplace_back(b, block.successors[s].index);
      if (backwards && block.successor_count == 0) edges.emplace_back(0, b + 1);
    }
    return {n + backwards, edges};
  }

  void vary(Value v) {
    if (varies_[v.index]) return;
    varies_[v.index] = true;
    work_.push_back(v);
  }

  /// The block that all ways from b lead to, or none.
  [[nodiscard]] uint32_t meeting_of(uint32_t b) const {
    const uint32_t parent = behind_.parent[b + 1];
    return parent == cfg::none || parent == 0 ? cfg::none : parent - 1;
  }

  /// b and everything that is reached from it in front of `join`.
  [[nodiscard]] Blocks between(uint32_t b, uint32_t join) const {
    Blocks seen(f_.blocks.size());
    seen[b] = true;
    std::vector<uint32_t> work{b};
    while (!work.empty()) {
      const uint32_t x = work.back();
      work.pop_back();
      for (const uint32_t to : graph_.successors(x)) {
        if (to == join || seen[to]) continue;
        seen[to] = true;
        work.push_back(to);
      }
    }
    return seen;
  }

  /// A branch whose condition varies: phis between here and the join vary too, and what is made in a loop
  /// that lanes leave at different times varies behind it.
  void lanes_part(Block b) {
    if (std::ranges::find(parting_, b) != parting_.end()) return;
    parting_.push_back(b);
    const uint32_t join = meeting_of(b.index);
    Blocks region = between(b.index, join);
    for (uint32_t x = 0; x < f_.blocks.size(); ++x) {
      if (!region[x] && x != join) continue;
      for (const Value v : f_.blocks[x].instructions) {
        if (f_[v].op != Op::phi) break;
        vary(v);
      }
    }
    for (uint32_t loop = loops_.innermost[b.index]; loop != cfg::none; loop = loops_.loops[loop].parent)
      for (uint32_t x = 0; x < f_.blocks.size(); ++x)
        if (loops_.contains(loop, x) && region[x]) vary_behind(x, loop);
  }

  void vary_behind(uint32_t block, uint32_t loop) {
    for (const Value v : f_.blocks[block].instructions)
      for (const Value user : users_.of(v))
        if (home_[user.index] != cfg::none && !loops_.contains(loop, home_[user.index])) {
          if (f_[user].type != Type::none) vary(user);
          if (f_[user].op == Op::cond_br) lanes_part(Block{home_[user.index]});
        }
  }

  // -- regions with one way in and one way out
  // --------------------------------------------------------------------------

  [[nodiscard]] uint32_t common(const cfg::Dominators& tree, uint32_t a, uint32_t b) const {
    while (a != cfg::none && !tree.dominates(a, b)) a = tree.parent[a];
    return a;
  }

  void add_region(Block b) {
    LaneRegion r;
    uint32_t first = b.index, join = meeting_of(b.index);
    for (bool settled = false; !settled;) {
      if (join == cfg::none) {
        result_.meet = false;
        return;
      }
      r.blocks = between(first, join);
      settled = true;
      uint32_t top = first, bottom = join + 1;
      for (uint32_t x = 0; x < f_.blocks.size(); ++x) {
        if (!r.blocks[x]) continue;
        top = common(before_, top, x);
        bottom = common(behind_, bottom, x + 1);
        for (const uint32_t p : graph_.predecessors(x)) // another way in: start where they come from
          if (!r.blocks[p] && x != top && before_.enter[p] < before_.exit[p]) top = common(before_, top, p);
      }
      for (uint32_t loop = 0; loop < loops_.loops.size(); ++loop) { // a loop that turns inside: all of it
        const uint32_t header = loops_.loops[loop].header;
        const auto turns = [&](uint32_t p) { return loops_.contains(loop, p) && r.blocks[p]; };
        if (!r.blocks[header] || std::ranges::none_of(graph_.predecessors(header), turns)) continue;
        for (uint32_t x = 0; x < f_.blocks.size(); ++x)
          if (loops_.contains(loop, x)) bottom = common(behind_, bottom, x + 1);
      }
      for (const LaneRegion& other : result_.regions) {
        const bool meets =
            std::ranges::any_of(indices(), [&](uint32_t x) { return r.blocks[x] && other.blocks[x]; });
        if (!meets) continue;
        top = common(before_, top, other.first.index);
        bottom = common(behind_, bottom, other.join.index + 1);
      }
      if (bottom == cfg::none || bottom == 0) {
        result_.meet = false;
        return;
      }
      settled = top == first && bottom == join + 1;
      first = top;
      join = bottom - 1;
    }
    r.first = {first};
    r.join = {join};
    std::erase_if(result_.regions, [&](const LaneRegion& other) { return r.blocks[other.first.index]; });
    result_.regions.push_back(std::move(r));
  }
  [[nodiscard]] std::vector<uint32_t> indices() const {
    std::vector<uint32_t> list(f_.blocks.size());
    for (uint32_t i = 0; i < list.size(); ++i) list[i] = i;
    return list;
  }

  const Function& f_;
  analysis::Users users_;
  std::vector<uint32_t> home_;
  std::vector<bool> varies_;
  cfg::Graph graph_;
  cfg::LoopForest loops_;
  cfg::Dominators before_, behind_;
  std::vector<Value> work_;
  std::vector<Block> parting_;
  LaneRegions result_;
};

} // namespace

LaneRegions find_lane_regions(const Function& f) { return Finder(f).run(); }

} // namespace lanewise::passes
