// Loops that choose values by their count are laid out round by round:
//
//   i = phi 0, i'                                     x0 = r0    (round 0)
//   c = ne (and i, 1), 0                    ->        x1 = r1    (round 1)
//   x = select c, r1, r0                              ...
//   i' = add i, 1; cond_br (ult i', 16), loop, out
//
// Registers that v_movrels and v_movreld address are trees of such selects: 15 for one of 16 registers. Where
// the count is known each of them is one value. No driver does this for us: the selects stand behind masks
// and moduli.
//
// A round is a copy of the loop's blocks in front of it. That is right however often the loop runs; the
// copies' tests fold to constants when the count does, and what is left of the loop cannot be reached.
#include "analysis/counted_loop.hpp"
#include "cfg/loops.hpp"
#include "ir/dominators.hpp"
#include "ir/graph.hpp"
#include "passes/passes.hpp"
#include "passes/ssa_repair.hpp"

#include <algorithm>
#include <optional>

namespace lanewise::passes {

using namespace ir;

namespace {

constexpr uint64_t kMaxRounds = 64, kMaxValues = 32768; ///< of all rounds together
constexpr unsigned kMinChoices = 8;                     ///< as of a tree for eight registers or more

/// A loop and how often it goes around.
struct Counted {
  uint32_t header = 0;
  std::vector<Block> blocks; ///< in reverse post-order, the header first
  uint64_t rounds = 0;
};

/// Finds the loops that choose by their count.
class Choices {
 public:
  explicit Choices(const Function& f)
      : f_(f), graph_(graph_of(f)), order_(cfg::reverse_post_order(graph_)),
        loops_(cfg::find_loops(graph_, order_, cfg::dominators(graph_))), counted_by_(f.value_count(), kNone),
        choices_(f.blocks.size()), rounds_(f.blocks.size()) {}

  /// Inner loops in front of the loops around them; those with a loop inside are left out.
  std::vector<Counted> run() {
    std::vector<Counted> found;
    if (!loops_.reducible() || loops_.loops.empty()) return found;
    for (const auto& loop : loops_.loops) measure(loop);
    for (const uint32_t b : order_.reverse_post)
      for (const Value v : f_.blocks[b].instructions) visit(b, v);
    for (const auto& loop : loops_.loops)
      if (choices_[loop.header] >= kMinChoices) found.push_back(counted(loop));
    return found;
  }

 private:
  static constexpr uint32_t kNone = UINT32_MAX;

  [[nodiscard]] Counted counted(const cfg::Loop& loop) const {
    Counted c{.header = loop.header, .blocks = {}, .rounds = rounds_[loop.header]};
    const auto index = static_cast<uint32_t>(&loop - loops_.loops.data());
    for (const uint32_t b : order_.reverse_post)
      if (loops_.contains(index, b)) c.blocks.push_back({b});
    return c;
  }
  /// How often an innermost loop goes around, if that is known, and not too large.
  void measure(const cfg::Loop& loop) {
    const Counted c = counted(loop);
    size_t size = 0;
    for (const Block b : c.blocks) {
      const auto index = static_cast<size_t>(&loop - loops_.loops.data());
      if (loops_.innermost[b.index] != index) return;
      size += f_[b].instructions.size();
      for (const Value v : f_[b].instructions)
        if (f_[v].op == Op::call) return;
    }
    for (const Value v : f_.blocks[loop.header].instructions) {
      if (f_[v].op != Op::phi) break;
      const auto count = analysis::count_of(f_, {loop.header}, v);
      if (!count || count->rounds() > kMaxRounds || count->rounds() * size > kMaxValues) continue;
      counted_by_[v.index] = loop.header;
      rounds_[loop.header] = count->rounds();
    }
  }
  void visit(uint32_t block, Value v) {
    const Op op = f_[v].op;
    if (op == Op::phi) return;
    if (op == Op::select) {
      const uint32_t by = counted_by_[f_.operand(v, 0).index];
      if (by != kNone && in_loop(by, block)) ++choices_[by];
    }
    if (info(op).kind == OpKind::pure) counted_by_[v.index] = count_behind(v);
  }
  [[nodiscard]] bool in_loop(uint32_t header, uint32_t block) const {
    return loops_.contains(loops_.innermost[header], block);
  }
  /// The loop whose count the value follows from, with constants.
  [[nodiscard]] uint32_t count_behind(Value v) const {
    uint32_t by = kNone;
    for (const Value o : f_.operands(v)) {
      if (f_.is_constant(o)) continue;
      const uint32_t its = counted_by_[o.index];
      if (its == kNone || (by != kNone && its != by)) return kNone;
      by = its;
    }
    return by;
  }

  const Function& f_;
  cfg::Graph graph_;
  cfg::Order order_;
  cfg::LoopForest loops_;
  std::vector<uint32_t> counted_by_; ///< header of the loop
  std::vector<unsigned> choices_;    ///< by header: selects whose condition follows from the count
  std::vector<uint64_t> rounds_;     ///< by header
};

/// Puts rounds of one loop in front of it.
class Peeling {
 public:
  Peeling(Function& f, const Counted& loop)
      : f_(f), loop_(loop), inside_(f.blocks.size()), block_(f.blocks.size()), value_(f.value_count()) {
    for (const Block b : loop.blocks) inside_[b.index] = true;
    const auto& preds = f[Block{loop.header}].predecessors;
    for (unsigned i = 0; i < preds.size(); ++i) (inside_[preds[i].index] ? back_ : entry_).push_back(i);
  }

  void run() {
    find_values_that_leave();
    for (uint64_t n = 0; n < loop_.rounds; ++n) add_round(n == 0);
    enter_behind_the_last_round();
    for (const auto& [value, definitions] : leaving_) repair(value, definitions);
  }

 private:
  using DefinitionList = std::vector<std::pair<Block, Value>>;

  [[nodiscard]] Value mapped(Value v) const {
    return v.index < value_.size() && value_[v.index] ? value_[v.index] : v;
  }

  void find_values_that_leave() {
    home_.assign(f_.value_count(), kNoBlock);
    for (const Block b : loop_.blocks)
      for (const Value v : f_[b].instructions) home_[v.index] = b.index;
    std::vector<bool> found(f_.value_count());
    for (uint32_t b = 0; b < inside_.size(); ++b) {
      if (inside_[b]) continue;
      for (const Value v : f_.blocks[b].instructions)
        for (unsigned i = 0; i < f_[v].operand_count; ++i) {
          const Value o = f_.operand(v, i);
          if (home_[o.index] == kNoBlock) continue;
          if (f_[v].op == Op::phi && inside_[f_.blocks[b].predecessors[i].index])
            continue; // an edge brings it
          uses_.push_back({v, i, {b}});
          if (found[o.index]) continue;
          found[o.index] = true;
          leaving_.push_back({o, {{Block{home_[o.index]}, o}}});
        }
    }
  }

  /// Copies the blocks; control comes from outside, or around from the round before.
  void add_round(bool first) {
    const std::vector<Value> before = value_;
    const std::vector<Block> blocks_before = block_;
    for (const Block b : loop_.blocks) {
      const Block copy = f_.add_block(f_[b].pc);
      block_[b.index] = copy;
    }
    std::vector<Value> phis; // to get operands when all values are there
    std::vector<Value> next(before.size());
    value_.swap(next);
    for (const Block b : loop_.blocks)
      for (const Value v : std::vector<Value>(f_[b].instructions)) {
        std::vector<Value> operands;
        const bool is_phi = f_[v].op == Op::phi;
        if (!is_phi)
          for (const Value o : f_.operands(v)) operands.push_back(mapped(o));
        const Inst inst = f_[v];
        const Value copy = f_.create(inst.op, operands, inst.type, inst.imm, inst.components, inst.pc);
        f_[copy].uniform = inst.uniform;
        f_[block_[b.index]].instructions.push_back(copy);
        value_[v.index] = copy;
        if (is_phi) phis.push_back(v);
      }
    for (const Block b : loop_.blocks) link(b, first, blocks_before);
    for (const Value v : phis) give_operands(v, first, before);
    for (auto& [value, definitions] : leaving_)
      definitions.emplace_back(block_[definitions[0].first.index], mapped(value));
  }

  /// Edges of a copy: to other copies, out of the loop, and from the round before or outside.
  void link(Block b, bool first, const std::vector<Block>& blocks_before) {
    BasicBlock& copy = f_[block_[b.index]];
    copy.successors = f_[b].successors;
    copy.successor_count = f_[b].successor_count;
    for (unsigned s = 0; s < copy.successor_count; ++s) {
      const Block to = f_[b].successors[s];
      if (to.index == loop_.header) continue; // the next round sets it
      if (inside_[to.index]) {
        copy.successors[s] = block_[to.index];
        continue;
      }
      // Out of the loop: one more edge into that block, beside the original's.
      auto& preds = f_[to].predecessors;
      if (s == 1 && f_[b].successors[0] == to) continue; // both ways lead there: done with the first
      const auto edges = static_cast<size_t>(std::ranges::count(f_[b].successors, to));
      for (size_t k = 0, at = 0; k < edges && at < preds.size(); ++at) {
        if (preds[at] != b) continue;
        ++k;
        bring(to, static_cast<unsigned>(at));
        preds.push_back(block_[b.index]);
      }
    }
    if (b.index != loop_.header) {
      for (const Block p : f_[b].predecessors) copy.predecessors.push_back(block_[p.index]);
    } else if (first) {
      for (const unsigned e : entry_) copy.predecessors.push_back(f_[b].predecessors[e]);
      for (const unsigned e : entry_)
        std::ranges::replace(f_[f_[b].predecessors[e]].successors, b, block_[b.index]);
    } else {
      for (const unsigned e : back_) come_around(f_[b].predecessors[e], blocks_before, block_[b.index]);
      for (const unsigned e : back_) copy.predecessors.push_back(blocks_before[f_[b].predecessors[e].index]);
    }
  }
  void come_around(Block latch, const std::vector<Block>& blocks, Block to) {
    std::ranges::replace(f_[blocks[latch.index]].successors, Block{loop_.header}, to);
  }
  /// Phis of a block outside get for the new edge what the copy has of their operand `at`.
  void bring(Block to, unsigned at) {
    for (const Value phi : f_[to].instructions) {
      if (f_[phi].op != Op::phi) break;
      std::vector<Value> operands(f_.operands(phi).begin(), f_.operands(phi).end());
      operands.push_back(mapped(operands[at]));
      f_.set_operands(phi, operands);
    }
  }

  void give_operands(Value v, bool first, const std::vector<Value>& before) {
    std::vector<Value> operands;
    if (home_[v.index] != loop_.header)
      for (const Value o : f_.operands(v)) operands.push_back(mapped(o));
    else if (first)
      for (const unsigned e : entry_) operands.push_back(f_.operand(v, e));
    else
      for (const unsigned e : back_) {
        const Value o = f_.operand(v, e);
        operands.push_back(before[o.index] ? before[o.index] : o);
      }
    f_.set_operands(mapped(v), operands);
  }

  /// The loop itself is one more round.
  void enter_behind_the_last_round() {
    const Block header{loop_.header};
    std::vector<Block> preds;
    for (const unsigned e : back_) preds.push_back(block_[f_[header].predecessors[e].index]);
    for (const unsigned e : back_) come_around(f_[header].predecessors[e], block_, header);
    for (const Value v : f_[header].instructions) {
      if (f_[v].op != Op::phi) break;
      std::vector<Value> operands;
      for (const unsigned e : back_) operands.push_back(mapped(f_.operand(v, e)));
      for (const unsigned e : back_) operands.push_back(f_.operand(v, e));
      f_.set_operands(v, operands);
    }
    for (const unsigned e : back_) preds.push_back(f_[header].predecessors[e]);
    f_[header].predecessors = std::move(preds);
  }

  struct Use {
    Value user;
    unsigned operand;
    Block block;
  };
  /// Reads of the value behind the loop, of whichever round it comes from.
  void repair(Value value, const DefinitionList& list) {
    Definitions definitions(f_, value, list, [](Value, Block) {});
    for (const Use& u : uses_) {
      if (f_.operand(u.user, u.operand) != value) continue;
      const bool phi = f_[u.user].op == Op::phi;
      const Value there = definitions.at_end(phi ? f_[u.block].predecessors[u.operand] : u.block);
      f_.operands(u.user)[u.operand] = there;
    }
  }

  Function& f_;
  const Counted& loop_;
  std::vector<bool> inside_;           ///< of the blocks that were there
  std::vector<unsigned> entry_, back_; ///< edges into the header
  std::vector<uint32_t> home_;         ///< of the loop's values
  std::vector<Block> block_;           ///< the copy of each block in the round at hand
  std::vector<Value> value_;           ///< of each value
  std::vector<Use> uses_;
  std::vector<std::pair<Value, DefinitionList>> leaving_;
};

} // namespace

namespace {

/// Blocks in reverse post-order, as what passes over them once likes them.
void order_blocks(Function& f) {
  const cfg::Order order = cfg::reverse_post_order(graph_of(f));
  std::vector<BasicBlock> blocks;
  for (const uint32_t b : order.reverse_post) {
    blocks.push_back(std::move(f.blocks[b]));
    for (Block& p : blocks.back().predecessors) p = Block{order.position[p.index]};
    for (unsigned s = 0; s < blocks.back().successor_count; ++s)
      blocks.back().successors[s] = Block{order.position[blocks.back().successors[s].index]};
  }
  f.blocks = std::move(blocks);
}

} // namespace

bool unroll(Function& f) {
  const std::vector<Counted> loops = Choices(f).run();
  if (loops.empty()) return false;
  for (const Counted& loop : loops) Peeling(f, loop).run();
  simplify(f);
  cfg_cleanup(f); // only what is reachable is left
  order_blocks(f);
  dead_code(f);
  return true;
}

} // namespace lanewise::passes
