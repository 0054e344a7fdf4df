#include "ir/builder.hpp"
#include "ir/dominators.hpp"
#include "passes/passes.hpp"
#include "passes/replacements.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace lanewise::passes {

using namespace ir;

namespace {

class Cleanup {
 public:
  explicit Cleanup(Function& f) : f_(f), replaced_(f) {}

  bool run() {
    use_known_conditions();
    bool any = changed_;
    do { // a branch around nothing may have stood around another one
      changed_ = false;
      take_decided_branches();
      remove_unreachable();
      replace_single_phis();
      join_blocks();
      if (!changed_) return any;
      replaced_.apply(f_);
      compact();
      any = true;
    } while (decided_ != 0);
    return any;
  }

 private:
  /// Drops the incoming edges of `block` that `keep` (by predecessor index) does not want, in phis too.
  void filter_edges(BasicBlock& block, const std::vector<bool>& keep) {
    if (std::ranges::find(keep, false) == keep.end()) return;
    changed_ = true;
    std::vector<Value> operands;
    for (const Value v : block.instructions) {
      if (f_[v].op != Op::phi) break;
      operands.clear();
      for (size_t i = 0; i < keep.size(); ++i) {
        if (keep[i]) operands.push_back(f_.operand(v, static_cast<unsigned>(i)));
      }
      f_.set_operands(v, operands);
    }
    size_t i = 0;
    std::erase_if(block.predecessors, [&](Block) { return !keep[i++]; });
  }

  static constexpr uint8_t kOpen = 2; ///< a branch that has to ask; else the successor that is taken

  /// A condition without the negations around it, and whether it holds where the given one does.
  [[nodiscard]] std::pair<Value, bool> stripped(Value condition) const {
    bool holds = true;
    for (; f_[condition].op == Op::not_; condition = f_.operand(condition, 0)) holds = !holds;
    return {condition, holds};
  }

  /// The condition of a block's branch, if it has two ways to go.
  [[nodiscard]] std::optional<Value> asked_by(Block b) const {
    const BasicBlock& block = f_[b];
    const Value end = block.instructions.back();
    if (f_[end].op != Op::cond_br || block.successors[0] == block.successors[1]) return {};
    return f_.operand(end, 0);
  }

  /// Behind a branch its condition is known. What dominates a block ran after the condition was made last, so
  /// uses there are constants, those by branches among them.
  void use_known_conditions() {
    std::vector<bool> asked(f_.value_count());
    bool any = false;
    for (uint32_t i = 0; i < f_.blocks.size(); ++i)
      if (const auto c = asked_by({i}); c && !f_.is_constant(*c))
        any = asked[stripped(*c).first.index] = true;
    if (!any) return;
    const Dominators dominators(f_);
    std::vector<Block> order(dominators.reverse_postorder().begin(), dominators.reverse_postorder().end());
    std::ranges::sort(order, {}, [&](Block b) { return dominators.preorder(b); });
    // For each condition the blocks around where it is known, innermost last.
    std::unordered_map<uint32_t, std::vector<std::pair<Block, bool>>> known;
    const auto value_in = [&](Value mask, Block b) -> std::optional<bool> {
      const auto [condition, holds] = stripped(mask);
      if (condition.index >= asked.size() || !asked[condition.index]) return {};
      const auto found = known.find(condition.index);
      if (found == known.end()) return {};
      auto& around = found->second;
      while (!around.empty() && !dominators.dominates(around.back().first, b)) around.pop_back();
      if (around.empty()) return {};
      return around.back().second == holds;
    };
    const auto settle = [&](Value& operand, std::optional<bool> value) {
      if (!value) return;
      operand = f_.constant(Type::u1, *value);
      changed_ = true;
    };
    for (const Block b : order) {
      if (f_[b].predecessors.size() == 1) {
        const Block from = f_[b].predecessors[0];
        if (const auto c = asked_by(from); c && !f_.is_constant(*c)) {
          const auto [condition, holds] = stripped(*c);
          known[condition.index].emplace_back(b, (f_[from].successors[0] == b) == holds);
        }
      }
      if (!known.empty()) settle_operands(b, value_in, settle);
      for (unsigned s = 0; s < f_[b].successor_count; ++s) settle_phis(b, s, value_in, settle);
    }
  }

  template <class ValueIn, class Settle>
  void settle_operands(Block b, const ValueIn& value_in, const Settle& settle) {
    for (const Value v : f_[b].instructions) {
      const OpKind kind = info(f_[v].op).kind;
      // What lanes do together also asks those that did not come here.
      if (kind == OpKind::phi || kind == OpKind::gather || kind == OpKind::reduce) continue;
      for (Value& o : f_.operands(v))
        if (f_[o].type == Type::u1 && !f_.is_constant(o)) settle(o, value_in(o, b));
    }
  }

  /// What successor s of b gets from b: known is what is known in b, and which way its branch goes.
  template <class ValueIn, class Settle>
  void settle_phis(Block b, unsigned s, const ValueIn& value_in, const Settle& settle) {
    const Block to = f_[b].successors[s];
    const auto asked = asked_by(b);
    if (f_[f_[to].instructions.front()].op != Op::phi) return;
    std::vector<unsigned> edges;
    for (unsigned e = 0; e < f_[to].predecessors.size(); ++e)
      if (f_[to].predecessors[e] == b) edges.push_back(e);
    for (const Value v : f_[to].instructions) {
      if (f_[v].op != Op::phi) break;
      if (f_[v].type != Type::u1) continue;
      for (const unsigned e : edges) {
        Value& o = f_.operands(v)[e];
        if (f_.is_constant(o)) continue;
        const auto [condition, holds] = stripped(o);
        if (asked && stripped(*asked).first == condition)
          settle(o, (s == 0) == (stripped(*asked).second == holds));
        else
          settle(o, value_in(o, b));
      }
    }
  }

  /// Nothing stands in the block but the way on, and only `from` leads there.
  [[nodiscard]] bool is_only_a_way(Block b, Block from) const {
    const BasicBlock& block = f_[b];
    return b.index != 0 && block.successor_count == 1 && block.instructions.size() == 1 &&
           block.predecessors.size() == 1 && block.predecessors[0] == from && block.successors[0] != b;
  }

  /// All phis of `to` get the same from both blocks.
  [[nodiscard]] bool nobody_tells(Block to, Block one, Block other) const {
    const auto& predecessors = f_[to].predecessors;
    const auto edge = [&](Block b) {
      return static_cast<unsigned>(std::ranges::find(predecessors, b) - predecessors.begin());
    };
    return std::ranges::all_of(f_[to].instructions, [&](Value v) {
      return f_[v].op != Op::phi || f_.operand(v, edge(one)) == f_.operand(v, edge(other));
    });
  }

  /// A branch around nothing, or between nothing and nothing.
  [[nodiscard]] uint8_t around_nothing(Block b) const {
    if (!asked_by(b)) return kOpen;
    const auto& ways = f_[b].successors;
    for (const uint8_t s : {0, 1}) {
      const Block way = ways[s], other = ways[1 - s];
      if (!is_only_a_way(way, b)) continue;
      const Block to = f_[way].successors[0];
      if (to == other && nobody_tells(to, way, b)) return 1 - s;
      if (to != b && is_only_a_way(other, b) && f_[other].successors[0] == to && nobody_tells(to, way, other))
        return s;
    }
    return kOpen;
  }

  [[nodiscard]] std::vector<uint8_t> decide() {
    std::vector<uint8_t> taken(f_.blocks.size(), kOpen);
    decided_ = 0;
    for (uint32_t i = 0; i < f_.blocks.size(); ++i) {
      const Value end = f_.blocks[i].instructions.back();
      if (f_[end].op != Op::cond_br) continue;
      if (const Value c = f_.operand(end, 0); f_.is_constant(c)) taken[i] = f_[c].imm ? 0 : 1;
      if (taken[i] == kOpen) taken[i] = around_nothing({i});
      decided_ += taken[i] != kOpen;
    }
    return taken;
  }

  /// cond_br true, b1, b2 -> br b1
  void take_decided_branches() {
    const std::vector<uint8_t> decided = decide();
    if (decided_ == 0) return;
    // For each block the edges that are cut, as (predecessor, which of its edges to here).
    std::vector<std::vector<std::pair<Block, unsigned>>> cut(f_.blocks.size());
    for (uint32_t i = 0; i < f_.blocks.size(); ++i) {
      BasicBlock& b = f_.blocks[i];
      const Value end = b.instructions.back();
      if (decided[i] == kOpen) continue;
      const unsigned taken = decided[i];
      const Block dropped = b.successors[1 - taken];
      cut[dropped.index].push_back({{i}, b.successors[0] == b.successors[1] ? 1 - taken : 0});
      b.successors = {b.successors[taken], {}};
      b.successor_count = 1;
      b.instructions.back() = f_.create(Op::br, {}, Type::none, 0, 1, f_[end].pc);
    }
    for (uint32_t i = 0; i < cut.size(); ++i) {
      if (cut[i].empty()) continue;
      std::ranges::sort(cut[i]);
      BasicBlock& b = f_.blocks[i];
      std::vector<bool> keep(b.predecessors.size(), true);
      filter_cut(b, cut[i], keep);
      filter_edges(b, keep);
    }
  }

  /// A block that branches here twice has two edges: the first in the list of predecessors is successor 0's.
  static void filter_cut(const BasicBlock& b, const std::vector<std::pair<Block, unsigned>>& cut,
                         std::vector<bool>& keep) {
    std::vector<std::pair<Block, size_t>> edges;
    for (size_t i = 0; i < b.predecessors.size(); ++i) edges.push_back({b.predecessors[i], i});
    std::ranges::sort(edges);
    for (const auto& [from, which] : cut) {
      const auto first = std::ranges::lower_bound(edges, std::pair(from, size_t{0}));
      keep[(first + which)->second] = false;
    }
  }

  void remove_unreachable() {
    const Dominators dominators(f_);
    removed_.assign(f_.blocks.size(), false);
    for (uint32_t i = 0; i < f_.blocks.size(); ++i) removed_[i] = !dominators.reachable({i});
    for (uint32_t i = 0; i < f_.blocks.size(); ++i) {
      if (removed_[i]) {
        changed_ = true;
        continue;
      }
      BasicBlock& b = f_.blocks[i];
      std::vector<bool> keep(b.predecessors.size());
      for (size_t p = 0; p < keep.size(); ++p) keep[p] = !removed_[b.predecessors[p].index];
      filter_edges(b, keep);
    }
  }

  /// phi(x) -> x
  void replace_single_phis() {
    for (uint32_t i = 0; i < f_.blocks.size(); ++i) {
      BasicBlock& b = f_.blocks[i];
      if (removed_[i] || b.predecessors.size() != 1) continue;
      std::erase_if(b.instructions, [&](Value v) {
        if (f_[v].op != Op::phi) return false;
        replaced_.set(v, f_.operand(v, 0));
        return changed_ = true;
      });
    }
  }

  /// b1: ... br b2;  b2 (from b1 only): ...  ->  b1: ... ...
  void join_blocks() {
    for (uint32_t i = 0; i < f_.blocks.size(); ++i) {
      if (removed_[i]) continue;
      while (f_.blocks[i].successor_count == 1) {
        const Block next = f_.blocks[i].successors[0];
        if (next.index == 0 || next.index == i || f_.blocks[next.index].predecessors.size() != 1) break;
        join({i}, next);
      }
    }
  }

  void join(Block into, Block from) {
    BasicBlock &a = f_[into], &b = f_[from];
    a.instructions.pop_back();
    a.instructions.insert(a.instructions.end(), b.instructions.begin(), b.instructions.end());
    a.successors = b.successors;
    a.successor_count = b.successor_count;
    for (unsigned s = 0; s < a.successor_count; ++s) {
      std::ranges::replace(f_[a.successors[s]].predecessors, from, into);
    }
    b.instructions.clear();
    removed_[from.index] = true;
    changed_ = true;
  }

  /// Removed blocks go, the others keep their order.
  void compact() {
    std::vector<Block> renamed(f_.blocks.size());
    uint32_t next = 0;
    for (uint32_t i = 0; i < f_.blocks.size(); ++i) {
      if (!removed_[i]) renamed[i] = {next++};
    }
    for (uint32_t i = 0; i < f_.blocks.size(); ++i) {
      if (removed_[i]) continue;
      BasicBlock& b = f_.blocks[i];
      for (Block& p : b.predecessors) p = renamed[p.index];
      for (Block& s : b.successors) s = renamed[s.index];
      if (renamed[i].index != i) f_[renamed[i]] = std::move(b);
    }
    f_.blocks.resize(next);
  }

  Function& f_;
  Replacements replaced_;
  std::vector<bool> removed_;
  unsigned decided_ = 0; ///< branches of this round
  bool changed_ = false;
};

} // namespace

bool cfg_cleanup(Function& f) { return Cleanup(f).run(); }

} // namespace lanewise::passes
