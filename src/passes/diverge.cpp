#include "passes/diverge.hpp"

#include "passes/equal_outside.hpp"
#include "passes/read_inside.hpp"

#include "analysis/lane_demand.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace lanewise::passes {

using namespace ir;
using analysis::Formula;
using analysis::FormulaPool;
using analysis::kFalse;
using analysis::kTrue;

namespace {

/// Steps that the question what a mask is in lanes that are out may take.
constexpr unsigned kMaxSteps = 400;

/// Operations that lanes do together, votes apart.
bool among_lanes(Op op) {
  switch (op) {
  case Op::host_ballot:
  case Op::host_shuffle:
  case Op::host_broadcast:
  case Op::wave_fence:
  case Op::image_sample_implicit:
  case Op::call:        // what the callee asks is not known here,
  case Op::call_return: // and neither is what the caller does next
    return true;
  default: return false;
  }
}

class Diverge {
 public:
  Diverge(Function& f, const DivergeOptions& options)
      : options_(options), f_(f), masks_(f), equal_outside_(f, masks_), read_inside_(f, masks_) {}

  DivergeResult run() {
    if (!masks_.usable()) return result_;
    for (const uint32_t b : masks_.order()) visit(Block{b});
    if (branches_.empty() || (!options_.reconverges && lanes_meet_again())) return {};
    std::optional<Function> before;
    if (options_.prove) before = f_;
    for (const auto& [block, mask] : branches_) {
      f_.operands(f_[block].instructions.back())[0] = mask;
      f_.divergent = true;
    }
    use_what_is_known();
    if (before)
      result_.proof = analysis::prove_diverge(*before, masks_, demand_ ? &*demand_ : nullptr, claims_);
    return result_;
  }

 private:
  /// A branch on "any lane of `mask`"; `inside` is taken if there is one.
  struct Branch {
    Block from, inside, outside;
    Value mask;
  };

  [[nodiscard]] std::optional<Branch> branch_of(Block b) const {
    const BasicBlock& block = f_[b];
    const Value end = block.instructions.back();
    if (f_[end].op != Op::cond_br || block.successors[0] == block.successors[1]) return {};
    Value condition = f_.operand(end, 0);
    const bool negated = f_[condition].op == Op::not_;
    if (negated) condition = f_.operand(condition, 0);
    if (f_[condition].op != Op::host_any || negated) return {};
    return Branch{b, block.successors[0], block.successors[1], f_.operand(condition, 0)};
  }

  void visit(Block b) {
    const auto branch = branch_of(b);
    if (!branch) return;
    const auto& loops = masks_.loops();
    const uint32_t loop = loops.innermost[b.index];
    const bool leaves = loop != cfg::none && !loops.contains(loop, branch->outside.index);
    if (leaves && !loops.contains(loop, branch->inside.index)) return;
    if (leaves ? loop_may_diverge(*branch, loop) : region_may_diverge(*branch)) {
      branches_.emplace_back(b, branch->mask);
      ++(leaves ? result_.loops : result_.regions);
    }
  }

  [[nodiscard]] bool breaks(BrokenDivergeRule rule) const { return options_.broken == rule; }
  [[nodiscard]] Formula formula(Value mask) const { return masks_.formula_of(mask); }
  /// In every lane where a is true, b is.
  bool implies(Formula a, Formula b) { return masks_.bounded().implies(a, b); }

  // -- what may stand in code that only lanes of a mask run
  // -----------------------------------------------------

  /// Nothing that `v` does or reads tells whether lanes outside `inside` run it with their masks empty or not
  /// at all.
  bool only_for(Value v, Formula inside) {
    switch (f_[v].op) {
    case Op::store:
    case Op::atomic:
      return breaks(BrokenDivergeRule::stores_unchecked) || implies(formula(f_.operand(v, 1)), inside);
    case Op::host_ballot:
    case Op::host_any:
      return breaks(BrokenDivergeRule::votes_unchecked) || implies(formula(f_.operand(v, 0)), inside);
    case Op::export_: return implies(formula(f_.operand(v, 0)), inside);
    case Op::image_sample_implicit: // reads the quad's other lanes
    case Op::host_shuffle:
    case Op::host_broadcast:
    case Op::barrier:
    case Op::wave_fence:
    case Op::memory_fence:
    case Op::group_fence:
    case Op::clock:
    case Op::ret:
    case Op::trap: return false;
    default: return info(f_[v].op).kind != OpKind::effect && f_[v].op != Op::call_return;
    }
  }

  /// Behind a branch that lanes are to take by themselves stands an operation among lanes: another one than
  /// the questions of such branches.
  bool lanes_meet_again() {
    std::vector<bool> seen(f_.blocks.size());
    std::vector<Block> work;
    const auto reach = [&](Block b) {
      for (unsigned s = 0; s < f_[b].successor_count; ++s) {
        const Block to = f_[b].successors[s];
        if (seen[to.index]) continue;
        seen[to.index] = true;
        work.push_back(to);
      }
    };
    for (const auto& [block, mask] : branches_) reach(block);
    while (!work.empty()) {
      const Block b = work.back();
      work.pop_back();
      for (const Value v : f_[b].instructions)
        if (asks_lanes(v)) return true;
      reach(b);
    }
    return false;
  }

  [[nodiscard]] bool asks_lanes(Value v) {
    if (f_[v].op != Op::host_any) return among_lanes(f_[v].op);
    return std::ranges::any_of(users().of(v), [&](Value user) {
      return f_[user].op != Op::cond_br ||
             std::ranges::find(branches_, Block{masks_.block_of(user)}, &std::pair<Block, Value>::first) ==
                 branches_.end();
    });
  }

  // -- regions
  // ----------------------------------------------------------------------------------------------------

  /// from: cond_br any(m), inside, outside, where `inside` leads to `outside` and nowhere else, so that both
  /// meet there. Lanes outside m went through the region with empty masks; now they do not. That can be told
  /// by what the region does in them, and by what the phis of `outside` get.
  bool region_may_diverge(const Branch& b) {
    const Formula m = formula(b.mask);
    if (f_[b.inside].predecessors.size() != 1) return false;
    if (masks_.place_of(b.outside) <= masks_.place_of(b.from)) return false; // the next iteration
    std::vector<Block> region{b.inside};
    std::unordered_set<uint32_t> seen{b.inside.index};
    for (size_t i = 0; i < region.size(); ++i) { // grows on the way
      const BasicBlock& block = f_[region[i]];
      if (block.successor_count == 0) return false;
      for (const Value v : block.instructions)
        if (!only_for(v, m)) return false;
      for (unsigned s = 0; s < block.successor_count; ++s) {
        const Block to = block.successors[s];
        if (to == b.outside || !seen.insert(to.index).second) continue;
        if (!masks_.dominates(b.inside, to)) return false;
        region.push_back(to);
      }
    }
    kept_.clear();
    if (!breaks(BrokenDivergeRule::live_out_unchecked) && !phis_agree(b, seen, m)) return false;
    claims_.regions.push_back({b.from, b.mask, std::move(kept_)});
    return true;
  }

  bool phis_agree(const Branch& b, const std::unordered_set<uint32_t>& region, Formula m) {
    const auto& predecessors = f_[b.outside].predecessors;
    for (const Value phi : f_[b.outside].instructions) {
      if (f_[phi].op != Op::phi) break;
      Value around;
      for (unsigned e = 0; e < predecessors.size(); ++e)
        if (predecessors[e] == b.from) around = f_.operand(phi, e);
      for (unsigned e = 0; e < predecessors.size(); ++e) {
        if (!region.contains(predecessors[e].index)) continue;
        if (equal_outside_.around_loops(f_.operand(phi, e), around, m, b.from, kept_)) continue;
        // Or equal in those lanes outside that somebody looks at, mostly none.
        if (read_inside_(phi, b.outside, e, m, users())) {
          if (options_.prove) demand_of(phi);
          continue;
        }
        const Formula asked = masks_.across_edge(demand_of(phi), b.outside, e);
        const auto told = masks_.bounded().and_(asked, FormulaPool::not_(m));
        if (!told) return false;
        if (*told != kFalse && !equal_outside_(f_.operand(phi, e), around, FormulaPool::not_(*told)))
          return false;
      }
    }
    return true;
  }

  // -- loops
  // --------------------------------------------------------------------------------------------------------

  /// The only way out of the loop asks for any lane of `stay`, and the loop's masks lie inside a mask `in`
  /// that one of its phis carries and that only shrinks. A lane that is out stays in the loop with empty
  /// masks until all are; now it leaves. That can be told by what the loop does in such a lane, and by values
  /// read behind the loop, unless they stood still in the lane.
  bool loop_may_diverge(const Branch& b, uint32_t loop) {
    const auto& loops = masks_.loops();
    const Block header{loops.loops[loop].header};
    const Formula stay = formula(b.mask);
    const auto in = carried_mask(header, loop, stay);
    if (!in) return false;
    LoopFacts facts{header, b.from, formula(*in), stay, {}, {}};
    std::vector<Block> body{header};
    std::unordered_set<uint32_t> seen{header.index};
    for (size_t i = 0; i < body.size(); ++i) { // grows on the way
      const BasicBlock& block = f_[body[i]];
      const bool behind = b.inside != header && body[i] != b.from && masks_.dominates(b.inside, body[i]);
      if (!behind && !masks_.dominates(body[i], b.from) && reaches_header_without(body[i], b, loop))
        return false;
      for (const Value v : block.instructions) {
        if (f_[v].op == Op::host_any && v == any_of(b)) continue;
        if (!only_for(v, behind ? stay : facts.in)) return false;
      }
      for (unsigned s = 0; s < block.successor_count; ++s) {
        const Block to = block.successors[s];
        if (!loops.contains(loop, to.index)) {
          if (body[i] != b.from) return false; // another way out
          continue;
        }
        if (seen.insert(to.index).second) body.push_back(to);
      }
    }
    if (!live_out_stands_still(seen, facts) && !breaks(BrokenDivergeRule::loop_live_out_unchecked))
      return false;
    claims_.loops.push_back({b.from, b.mask, *in, std::move(facts.pairs)});
    return true;
  }

  struct LoopFacts {
    Block header, from;
    Formula in, stay;
    std::unordered_map<uint32_t, bool> still; ///< values already asked about
    std::vector<analysis::DivergeClaims::Still>
        pairs; ///< of them, what does, and the phi that brings it along
  };

  [[nodiscard]] Value any_of(const Branch& b) const { return f_.operand(f_[b.from].instructions.back(), 0); }

  /// Every iteration passes the branch: no way from `block` back to the header around it.
  [[nodiscard]] bool reaches_header_without(Block block, const Branch& b, uint32_t loop) const {
    const auto& loops = masks_.loops();
    std::vector<Block> work{block};
    std::unordered_set<uint32_t> seen{block.index};
    while (!work.empty()) {
      const Block x = work.back();
      work.pop_back();
      if (x == b.from) continue;
      for (unsigned s = 0; s < f_[x].successor_count; ++s) {
        const Block to = f_[x].successors[s];
        if (to.index == loops.loops[loop].header) return true;
        if (loops.contains(loop, to.index) && seen.insert(to.index).second) work.push_back(to);
      }
    }
    return false;
  }

  /// A phi of the header, a mask: what it gets from the loop lies inside `stay`, and `stay` inside it.
  std::optional<Value> carried_mask(Block header, uint32_t loop, Formula stay) {
    const auto& predecessors = f_[header].predecessors;
    for (const Value phi : f_[header].instructions) {
      if (f_[phi].op != Op::phi) break;
      if (f_[phi].type != Type::u1 || !implies(stay, formula(phi))) continue;
      bool shrinks = true;
      if (breaks(BrokenDivergeRule::loop_may_widen)) return phi;
      for (unsigned e = 0; e < predecessors.size() && shrinks; ++e)
        if (masks_.loops().contains(loop, predecessors[e].index))
          shrinks = implies(formula(f_.operand(phi, e)), stay);
      if (shrinks) return phi;
    }
    return {};
  }

  /// Values of the loop that are read behind it.
  bool live_out_stands_still(const std::unordered_set<uint32_t>& body, LoopFacts& facts) {
    for (const uint32_t b : body)
      for (const Value v : f_.blocks[b].instructions)
        if (!reads_behind_stand_still(v, body, facts)) return false;
    return true;
  }

  /// No use of v behind the loop tells. A use that is an operation on masks may stand still as a whole: the
  /// mask of the lanes in the loop joined with that of the lanes that left.
  bool reads_behind_stand_still(Value v, const std::unordered_set<uint32_t>& body, LoopFacts& facts,
                                unsigned depth = 0) {
    for (const Value user : users().of(v)) {
      if (body.contains(masks_.block_of(user)) && f_[user].op != Op::phi) continue;
      if (f_[user].op == Op::phi && !used_behind(user, v, body)) continue;
      if (stands_still(v, facts)) return true;
      const bool mask = f_[user].type == Type::u1 && info(f_[user].op).kind == OpKind::pure;
      if (!mask || depth > 4) return false;
      if (!same_for_leavers(user, facts) && !reads_behind_stand_still(user, body, facts, depth + 1))
        return false;
    }
    return true;
  }

  [[nodiscard]] bool used_behind(Value phi, Value v, const std::unordered_set<uint32_t>& body) const {
    const auto& predecessors = f_.blocks[masks_.block_of(phi)].predecessors;
    if (body.contains(masks_.block_of(phi))) return false;
    for (unsigned e = 0; e < predecessors.size(); ++e)
      if (f_.operand(phi, e) == v) return true;
    return false;
  }

  /// In a lane that is out, v is in each iteration what it was in the one before: some phi of the header
  /// brings it along, and v is that phi's value there.
  bool stands_still(Value v, LoopFacts& facts) {
    const auto known = facts.still.find(v.index);
    if (known != facts.still.end()) return known->second;
    bool still = false;
    const auto& predecessors = f_[facts.header].predecessors;
    for (const Value phi : f_[facts.header].instructions) {
      if (f_[phi].op != Op::phi || still) break;
      if (f_[phi].type != f_[v].type || f_[phi].components != 1) continue;
      bool carries = equal_outside_(v, phi, facts.in);
      for (unsigned e = 0; e < predecessors.size() && carries; ++e)
        if (masks_.is_back_edge(facts.header, e)) carries = equal_outside_(f_.operand(phi, e), v, facts.stay);
      still = carries;
      if (still) facts.pairs.push_back({phi, v});
    }
    facts.still.emplace(v.index, still);
    return still;
  }

  /// A mask made behind the loop is for a lane that leaves now what it will be at the end: with the lane out
  /// it is a mask that stands still, or a constant, and it is that too where the lane leaves.
  bool same_for_leavers(Value v, LoopFacts& facts) {
    steps_ = 0;
    const Value out = when_out(v, facts);
    if (!f_.is_constant(out) && !stands_still(out, facts)) return false;
    auto& bounded = masks_.bounded();
    const auto leaves = bounded.and_(facts.in, FormulaPool::not_(facts.stay));
    const auto differ = bounded.xor_(formula(v), formula(out));
    if (!leaves || !differ) return false;
    return bounded.and_(*leaves, *differ) == kFalse;
  }

  /// What a mask is in a lane that is out, where that is one of its operands.
  Value when_out(Value v, const LoopFacts& facts) {
    while (++steps_ < kMaxSteps) {
      const Op op = f_[v].op;
      if (op != Op::and_ && op != Op::or_) return v;
      const Value a = f_.operand(v, 0), b = f_.operand(v, 1);
      const bool a_off = implies(formula(a), facts.in), b_off = implies(formula(b), facts.in);
      if (op == Op::and_ && (a_off || b_off)) return f_.constant(Type::u1, 0);
      if (op == Op::and_ || (!a_off && !b_off)) return v;
      v = a_off ? b : a;
    }
    return v;
  }

  // -- what is known inside
  // -----------------------------------------------------------------------------------------

  /// Behind a lane's own branch its condition is known: masks that follow from it become constants.
  void use_what_is_known() {
    std::vector<Formula> known(f_.blocks.size(), kTrue);
    for (const uint32_t index : masks_.order()) {
      const Block b{index};
      Formula& here = known[b.index];
      if (b != Block{0}) here = known[masks_.dominators().parent[b.index]];
      if (f_[b].predecessors.size() == 1)
        here = masks_.bounded().and_above(here, edge_condition(f_[b].predecessors[0], b));
      if (here == kTrue) continue;
      for (const Value v : f_[b].instructions) {
        if (f_[v].op == Op::phi) continue;
        // A ballot of a mask that is true here is not the ballot of a constant.
        const OpKind kind = info(f_[v].op).kind;
        if (kind == OpKind::gather || (kind == OpKind::reduce && f_[v].op != Op::host_any)) continue;
        for (Value& o : f_.operands(v)) settle(o, here, {.at = b});
      }
    }
    settle_phis(known);
  }

  void settle_phis(const std::vector<Formula>& known) {
    for (const uint32_t index : masks_.order()) {
      const Block b{index};
      const auto& predecessors = f_[b].predecessors;
      for (unsigned e = 0; e < predecessors.size(); ++e) {
        if (!masks_.reachable(predecessors[e])) continue;
        const Formula at_end =
            masks_.bounded().and_above(known[predecessors[e].index], edge_condition(predecessors[e], b));
        if (at_end == kTrue) continue;
        for (const Value v : f_[b].instructions) {
          if (f_[v].op != Op::phi) break;
          settle(f_.operands(v)[e], at_end, {.phi = v, .at = b, .edge = e});
        }
      }
    }
  }

  /// What a lane knows that takes this edge.
  [[nodiscard]] Formula edge_condition(Block from, Block to) const {
    const BasicBlock& b = f_[from];
    const Value end = b.instructions.back();
    if (f_[end].op != Op::cond_br || b.successors[0] == b.successors[1]) return kTrue;
    const Formula m = formula(f_.operand(end, 0));
    return b.successors[0] == to ? m : FormulaPool::not_(m);
  }

  void settle(Value& operand, Formula known, analysis::DivergeClaims::Known claim) {
    if (f_[operand].type != Type::u1 || f_.is_constant(operand)) return;
    const auto both = masks_.bounded().and_(known, formula(operand));
    if (!both || (*both != known && *both != kFalse)) return;
    const bool is_true = *both == known;
    if (options_.prove) {
      claim.mask = operand;
      claim.is = is_true;
      claims_.known.push_back(claim);
    }
    operand = f_.constant(Type::u1, is_true);
    ++result_.known;
  }

  Formula demand_of(Value v) {
    if (!demand_) demand_.emplace(f_, masks_, analysis::UniformValues::lane_by_lane, users());
    demand_->ask_for(v);
    return demand_->demand(v);
  }

  const analysis::Users& users() {
    if (!users_) users_.emplace(f_);
    return *users_;
  }

  const DivergeOptions& options_;
  Function& f_;
  analysis::MaskAlgebra masks_;
  std::optional<analysis::LaneDemand> demand_;
  std::optional<analysis::Users> users_;
  std::vector<std::pair<Block, Value>> branches_;
  analysis::DivergeClaims claims_;
  std::vector<analysis::DivergeClaims::Kept> kept_; ///< what the region leans on that is asked about
  EqualOutside equal_outside_;
  ReadInside read_inside_;
  unsigned steps_ = 0;
  DivergeResult result_;
};

/// Whether some branch could become one of lanes. Where they need not come together again, only a branch with
/// no operation among lanes behind it; this looks at fewer of them than Diverge::asks_lanes.
bool may_diverge(const Function& f, bool reconverges) {
  std::vector<Block> branches, asking;
  std::vector<uint32_t> uses(f.value_count()); // of host_any, other than by such branches
  for (uint32_t i = 0; i < f.blocks.size(); ++i) {
    const BasicBlock& b = f.blocks[i];
    for (const Value v : b.instructions) {
      for (const Value o : f.operands(v))
        if (f[o].op == Op::host_any) ++uses[o.index];
      if (f[v].op != Op::cond_br || b.successors[0] == b.successors[1]) continue;
      if (f[f.operand(v, 0)].op != Op::host_any) continue;
      --uses[f.operand(v, 0).index];
      branches.push_back({i});
    }
  }
  if (reconverges || branches.empty()) return !branches.empty();
  std::vector<bool> leads(f.blocks.size()); // to an operation among lanes, or has one
  const auto mark = [&](Block b) {
    if (!leads[b.index]) asking.push_back(b);
    leads[b.index] = true;
  };
  for (uint32_t i = 0; i < f.blocks.size(); ++i)
    for (const Value v : f.blocks[i].instructions) {
      const Op op = f[v].op;
      if (among_lanes(op) || (op == Op::host_any && uses[v.index] != 0)) mark({i});
    }
  while (!asking.empty()) {
    const Block b = asking.back();
    asking.pop_back();
    for (const Block p : f[b].predecessors) mark(p);
  }
  return std::ranges::any_of(branches, [&](Block b) {
    return !leads[f[b].successors[0].index] && !leads[f[b].successors[1].index];
  });
}

} // namespace

DivergeResult diverge(Function& f, const DivergeOptions& options) {
  return may_diverge(f, options.reconverges) ? Diverge(f, options).run() : DivergeResult{};
}

} // namespace lanewise::passes
