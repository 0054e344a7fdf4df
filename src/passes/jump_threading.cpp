// Ways that are decided before the branch they lead to go on to where it sends them:
//
//   p: cond_br a, q, j            p: cond_br a, q, s
//   q: .. ; br j                  q: .. ; br j
//   j: c = phi true, b      ->    j: cond_br b, s, t
//      x = phi u, v               s: x = phi u, v
//      cond_br c, s, t
//   s: x is read
//
// Compilers for AMD make such joins of every loop with two ways out and every condition of two parts, because
// their branches are those of waves.
#include "cfg/loops.hpp"
#include "ir/dominators.hpp"
#include "ir/graph.hpp"
#include "passes/passes.hpp"
#include "passes/ssa_repair.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

/// Who reads each value and where that stands, kept up while phis are made. Entries may be out of date: ask
/// the user.
struct Index {
  explicit Index(const Function& f) : users(f.value_count()), home(f.value_count(), kNoBlock) {
    for (uint32_t b = 0; b < f.blocks.size(); ++b)
      for (const Value v : f.blocks[b].instructions) add(f, v, Block{b});
  }
  void add(const Function& f, Value v, Block b) {
    users.resize(std::max<size_t>(users.size(), f.value_count()));
    home.resize(std::max<size_t>(home.size(), f.value_count()), kNoBlock);
    home[v.index] = b.index;
    reads(f, v);
  }
  void reads(const Function& f, Value v) {
    for (const Value o : f.operands(v)) {
      if (f.is_constant(o)) continue;
      Ends& list = users[o.index];
      if (list.last != 0 && links[list.last].user == v) continue;
      const auto link = static_cast<uint32_t>(links.size());
      links.push_back({v, 0});
      (list.last != 0 ? links[list.last].next : list.first) = link;
      list.last = link;
    }
  }
  [[nodiscard]] std::vector<Value> users_of(Value v) const {
    std::vector<Value> list;
    for (uint32_t i = users[v.index].first; i != 0; i = links[i].next) list.push_back(links[i].user);
    return list;
  }

  struct Link { ///< of a list of users, in the order in which they came
    Value user;
    uint32_t next = 0;
  };
  struct Ends {
    uint32_t first = 0, last = 0;
  };
  std::vector<Ends> users;    ///< by value
  std::vector<Link> links{1}; ///< [0] ends lists
  std::vector<uint32_t> home; ///< block of each value
};

class JumpThreading {
 public:
  explicit JumpThreading(Function& f) : f_(f) {}

  bool run() {
    const auto decided = [&](uint32_t b) {
      const auto d = decision_of(Block{b});
      return d && std::ranges::any_of(f_.operands(d->phi), [&](Value o) { return f_.is_constant(o); });
    };
    uint32_t first = 0;
    while (first < f_.blocks.size() && !decided(first)) ++first;
    if (first == f_.blocks.size()) return false;
    index_.emplace(f_);
    bool changed = false;
    const Dominators dominators(f_);
    const cfg::Graph graph = graph_of(f_);
    const cfg::LoopForest loops =
        cfg::find_loops(graph, cfg::reverse_post_order(graph), cfg::dominators(graph));
    std::vector<bool> header(f_.blocks.size());
    for (const auto& loop : loops.loops) header[loop.header] = true;
    const std::vector<Block> order(dominators.reverse_postorder().begin(),
                                   dominators.reverse_postorder().end());
    for (const Block b : order)
      if (!header[b.index]) changed = thread(b) || changed;
    if (changed && f_.divergent)
      uniformity(f_); // new phis vary where lanes came other ways, and so do their readers
    return changed;
  }

 private:
  /// What the block branches on, if it does nothing else: a phi of its own.
  struct Decision {
    Value phi;
    bool negated = false;
  };

  [[nodiscard]] std::optional<Decision> decision_of(Block b) const {
    const BasicBlock& block = f_[b];
    const auto& list = block.instructions;
    if (list.empty() || f_[list.back()].op != Op::cond_br || block.successors[0] == block.successors[1])
      return {};
    Decision d{f_.operand(list.back(), 0)};
    size_t phis = 0;
    while (f_[list[phis]].op == Op::phi) ++phis;
    if (f_[d.phi].op == Op::not_) {
      if (phis + 2 != list.size() || list[phis] != d.phi) return {};
      d = {f_.operand(d.phi, 0), true};
    } else if (phis + 1 != list.size()) {
      return {};
    }
    const auto own_phis = std::span(list).first(phis);
    const bool own = std::ranges::find(own_phis, d.phi) != own_phis.end();
    return own ? std::optional(d) : std::nullopt;
  }

  bool thread(Block b) {
    bool changed = false;
    for (bool again = true; again;) {
      again = false;
      const auto d = decision_of(b);
      if (!d || f_[b].predecessors.size() < 2) return changed;
      for (unsigned e = 0; e < f_[b].predecessors.size() && !again; ++e) {
        const Value known = f_.operand(d->phi, e);
        if (!f_.is_constant(known)) continue;
        const bool taken = (f_[known].imm != 0) != d->negated;
        again = send_on(b, e, f_[b].successors[taken ? 0 : 1]);
      }
      changed = changed || again;
    }
    return changed;
  }

  /// Edge `e` into `b` leads to `to` instead, which `b` leads to.
  bool send_on(Block b, unsigned e, Block to) {
    const Block from = f_[b].predecessors[e];
    const auto successors = std::span(f_[from].successors.data(), f_[from].successor_count);
    if (std::ranges::count(successors, b) != 1 || std::ranges::count(successors, to) != 0 || from == b ||
        to == b)
      return false;
    const auto& back = f_[to].predecessors;
    const auto through = static_cast<unsigned>(std::ranges::find(back, b) - back.begin());

    // What the phis of `to` get from b they get from the new edge as b's phis would have got it.
    std::vector<Value> phis;
    for (const Value v : f_[b].instructions)
      if (f_[v].op == Op::phi) phis.push_back(v);
    const auto on_edge = [&](Value v) {
      return std::ranges::find(phis, v) != phis.end() ? f_.operand(v, e) : v;
    };
    for (const Value v : f_[to].instructions) {
      if (f_[v].op != Op::phi) break;
      std::vector<Value> operands(f_.operands(v).begin(), f_.operands(v).end());
      operands.push_back(on_edge(operands[through]));
      f_.set_operands(v, operands);
      index_->reads(f_, v);
    }
    f_[to].predecessors.push_back(from);
    *std::ranges::find(f_[from].successors, b) = to;

    // Reads of b's phis anywhere else: of a phi in `to`, or of what joins it later.
    std::vector<Value> copies;
    for (const Value v : phis) copies.push_back(copy_in(to, v, through, e));
    f_[b].predecessors.erase(f_[b].predecessors.begin() + e);
    std::vector<std::pair<Value, std::vector<Value>>> shortened;
    for (const Value v : phis) {
      std::vector<Value> operands(f_.operands(v).begin(), f_.operands(v).end());
      operands.erase(operands.begin() + e);
      shortened.emplace_back(v, std::move(operands));
    }
    for (const auto& [v, operands] : shortened) f_.set_operands(v, operands);
    for (size_t i = 0; i < phis.size(); ++i) repair(b, phis[i], to, copies[i]);
    return true;
  }

  /// A phi in `to` for what v is there: v itself from b, its operand from the new edge, and from others
  /// (around a loop) what the place has already.
  Value copy_in(Block to, Value v, unsigned through, unsigned e) {
    const Value phi = f_.create(Op::phi, {}, f_[v].type, 0, 1, f_[v].pc);
    std::vector<Value> operands(f_[to].predecessors.size(), phi);
    operands[through] = v;
    operands.back() = f_.operand(v, e);
    f_.set_operands(phi, operands);
    f_[phi].uniform = f_[v].uniform && !f_.divergent; // lanes come here from other blocks than before
    f_[to].instructions.insert(f_[to].instructions.begin(), phi);
    index_->add(f_, phi, to);
    return phi;
  }

  void repair(Block b, Value v, Block to, Value copy) {
    Definitions definitions(f_, v, std::array{std::pair{b, v}, std::pair{to, copy}},
                            [&](Value phi, Block at) { index_->add(f_, phi, at); });
    // Edges into `to` other than the two bring what was there before.
    std::vector<Value> operands(f_.operands(copy).begin(), f_.operands(copy).end());
    for (size_t i = 0; i < operands.size(); ++i)
      if (operands[i] == copy) operands[i] = definitions.at_end(f_[to].predecessors[i]);
    f_.set_operands(copy, operands);
    const std::vector<Value> users =
        index_->users_of(v); // there may be more soon: phis that are made read it where they should
    index_->reads(f_, copy);
    for (const Value user : users) {
      if (user == copy) continue;
      const Block at{index_->home[user.index]};
      for (unsigned i = 0; i < f_[user].operand_count; ++i) {
        if (f_.operand(user, i) != v) continue;
        if (f_[user].op != Op::phi && at == b) continue;
        const Value there = definitions.at_end(f_[user].op == Op::phi ? f_[at].predecessors[i] : at);
        f_.operands(user)[i] = there;
      }
      index_->reads(f_, user);
    }
  }

  Function& f_;
  std::optional<Index> index_; ///< once something is decided
};

} // namespace

bool jump_threading(Function& f) { return JumpThreading(f).run(); }

} // namespace lanewise::passes
