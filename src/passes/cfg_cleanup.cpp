#include "ir/builder.hpp"
#include "ir/dominators.hpp"
#include "passes/passes.hpp"
#include "passes/replacements.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

class Cleanup {
 public:
  explicit Cleanup(Function& f) : f_(f), replaced_(f) {}

  bool run() {
    take_constant_branches();
    remove_unreachable();
    replace_single_phis();
    join_blocks();
    if (!changed_) return false;
    replaced_.apply(f_);
    compact();
    return true;
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

  /// cond_br true, b1, b2 -> br b1
  void take_constant_branches() {
    // For each block the edges that are cut, as (predecessor, which of its edges to here).
    std::vector<std::vector<std::pair<Block, unsigned>>> cut(f_.blocks.size());
    for (uint32_t i = 0; i < f_.blocks.size(); ++i) {
      BasicBlock& b = f_.blocks[i];
      const Value end = b.instructions.back();
      if (f_[end].op != Op::cond_br || !f_.is_constant(f_.operand(end, 0))) continue;
      const unsigned taken = f_[f_.operand(end, 0)].imm ? 0 : 1;
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
  bool changed_ = false;
};

} // namespace

bool cfg_cleanup(Function& f) { return Cleanup(f).run(); }

} // namespace lanewise::passes
