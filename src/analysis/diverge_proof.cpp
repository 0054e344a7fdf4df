#include "analysis/diverge_proof.hpp"

#include "analysis/demand_proof.hpp"
#include "analysis/lane_demand.hpp"
#include "analysis/obligations.hpp"
#include "analysis/users.hpp"
#include "ir/dominators.hpp"

#include <algorithm>
#include <chrono>
#include <unordered_set>

namespace lanewise::analysis {

using ir::BasicBlock;
using ir::Block;
using ir::Op;
using ir::OpKind;
using ir::Type;
using ir::Value;

namespace {

class DivergeProver : Obligations {
 public:
  DivergeProver(const ir::Function& function, MaskAlgebra& masks, const LaneDemand* demand,
                const DivergeClaims& claims)
      : Obligations(function, masks, World::Model::values), demand_(demand), claims_(claims),
        users_(function), dominators_(function) {}

  ProofReport run() {
    const auto start = std::chrono::steady_clock::now();
    prove_facts();
    for (const auto& r : claims_.regions) prove_region(r);
    for (const auto& l : claims_.loops) prove_loop(l);
    for (const auto& k : claims_.known) prove_known(k);
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  }

 private:
  using Blocks = std::vector<bool>;

  bool require(bool holds, Value about, const char* what) {
    return Obligations::require(report_.regions, holds, about, what);
  }
  bool prove(const z3::expr& claim, const z3::expr& conclusion, Value about, const char* what) {
    return Obligations::prove(report_.regions, claim, conclusion, about, what);
  }
  [[nodiscard]] Value end_of(Block b) const { return f_[b].instructions.back(); }

  /// The block branches on "any lane in mask" to two places.
  bool asks_for(Block from, Value mask) {
    const Value end = end_of(from);
    if (f_[end].op != Op::cond_br || f_[from].successors[0] == f_[from].successors[1]) return false;
    const Value condition = f_.operand(end, 0);
    return f_[condition].op == Op::host_any && f_.operand(condition, 0) == mask;
  }

  /// Blocks that can be reached from `first` without passing `stop`, `first` among them.
  [[nodiscard]] Blocks reach(Block first, Block stop) const {
    Blocks seen(f_.blocks.size());
    std::vector<Block> work{first};
    seen[first.index] = true;
    while (!work.empty()) {
      const BasicBlock& b = f_[work.back()];
      work.pop_back();
      for (unsigned s = 0; s < b.successor_count; ++s) {
        const Block to = b.successors[s];
        if (to == stop || seen[to.index]) continue;
        seen[to.index] = true;
        work.push_back(to);
      }
    }
    return seen;
  }

  /// A lane outside `inside` cannot tell whether it runs the block.
  void prove_effects(Block b, Value inside) {
    for (const Value v : f_[b].instructions) {
      const OpKind kind = ir::info(f_[v].op).kind;
      if (f_[v].op == Op::store || f_[v].op == Op::atomic)
        prove(now_.mask(f_.operand(v, 1)), now_.mask(inside), v,
              "memory is changed by a lane that should be off");
      else if (f_[v].op == Op::export_)
        prove(now_.mask(f_.operand(v, 0)), now_.mask(inside), v, "a lane exports that should be off");
      else if (f_[v].op == Op::host_ballot || f_[v].op == Op::host_any)
        prove(now_.mask(f_.operand(v, 0)), now_.mask(inside), v, "a vote asks for a lane that should be off");
      else if (kind == OpKind::gather || kind == OpKind::reduce || kind == OpKind::effect ||
               kind == OpKind::store || kind == OpKind::atomic)
        require(false, v, "an operation of several lanes stands where only some of them come");
    }
  }

  void prove_region(const DivergeClaims::Region& r) {
    if (!require(asks_for(r.from, r.mask), r.mask, "no branch on any lane of the mask")) return;
    const Block inside = f_[r.from].successors[0], join = f_[r.from].successors[1];
    const Blocks region = reach(inside, join);
    bool closed = !region[join.index];
    for (uint32_t b = 0; b < f_.blocks.size() && closed; ++b) {
      if (!region[b]) continue;
      closed = f_.blocks[b].successor_count != 0;
      for (const Block p : f_.blocks[b].predecessors)
        closed = closed && (Block{b} == inside ? p == r.from : region[p.index]);
    }
    if (!require(closed, r.mask, "the region has other ways in or out")) return;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b)
      if (region[b]) prove_effects(Block{b}, r.mask);
    const z3::expr outside = !now_.mask(r.mask) && prove_kept(r);
    const auto& predecessors = f_[join].predecessors;
    const auto around = static_cast<unsigned>(std::ranges::find(predecessors, r.from) - predecessors.begin());
    for (const Value phi : f_[join].instructions) {
      if (f_[phi].op != Op::phi) break;
      for (unsigned e = 0; e < predecessors.size(); ++e)
        if (region[predecessors[e].index]) prove_live_out(outside, phi, join, e, f_.operand(phi, around));
    }
  }

  /// Induction over everything that a lane outside the region runs: the phis keep their values in whatever
  /// order loops come. Gives that they do.
  z3::expr prove_kept(const DivergeClaims::Region& r) {
    z3::expr all = truth(true);
    for (const auto& k : r.kept) {
      const Block header{masks_.block_of(k.phi)};
      const uint32_t home = masks_.block_of(k.value);
      const bool in_front = f_.is_constant(k.value) || (home != cfg::none && home != header.index &&
                                                        dominators_.dominates(Block{home}, header));
      if (require(f_[k.phi].op == Op::phi && f_[k.phi].type == f_[k.value].type &&
                      f_[k.phi].components == 1 && in_front && header != r.from &&
                      dominators_.dominates(r.from, header),
                  k.phi, "a phi cannot keep this value"))
        all = all && same(now_, k.phi, now_, k.value);
    }
    for (const auto& k : r.kept)
      for (const Value o : f_.operands(k.phi))
        prove(!now_.mask(r.mask) && all, same(now_, o, now_, k.value), k.phi,
              "a loop changes a value in a lane outside the region");
    return all;
  }

  void prove_live_out(const z3::expr& outside, Value phi, Block join, unsigned e, Value around) {
    const Value inside = f_.operand(phi, e);
    if (inside == around) {
      require(true, phi, "");
      return;
    }
    const bool comparable = f_[phi].components == 1;
    prove(outside && demanded(phi, join, e), comparable ? same(now_, inside, now_, around) : truth(false),
          phi, "a lane outside the region reads what the region made");
  }

  /// The lanes in which somebody looks at the phi, entered by edge e.
  z3::expr demanded(Value phi, Block join, unsigned e) {
    if (!demand_) return truth(true);
    const Formula claim = demand_->demand(phi);
    const Value empty = empty_on_edge(join, e);
    const z3::expr possible = empty ? !now_.mask(empty) : truth(true);
    if (masks_.is_loop_header(join)) return possible && after_edge(now_, join, e).formula(claim);
    z3::expr_vector ways(z3_), taken(z3_);
    ways.push_back(now_.way(join.index));
    taken.push_back(z3_.int_val(e));
    return possible && now_.formula(claim).substitute(ways, taken);
  }

  void prove_loop(const DivergeClaims::Loop& l) {
    if (!require(asks_for(l.from, l.mask), l.mask, "no branch on any lane of the mask")) return;
    const auto& loops = masks_.loops();
    const uint32_t loop = loops.innermost[l.from.index];
    const Block inside = f_[l.from].successors[0], outside = f_[l.from].successors[1];
    if (!require(loop != cfg::none && loops.contains(loop, inside.index) &&
                     !loops.contains(loop, outside.index),
                 l.mask, "the branch does not leave a loop"))
      return;
    const Block header{loops.loops[loop].header};
    Blocks in_loop(f_.blocks.size());
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) in_loop[b] = loops.contains(loop, b);
    if (!require(single_exit(in_loop, l.from), l.mask, "the loop has another way out") ||
        !require(turns_pass(header, in_loop, l.from), l.mask, "a turn of the loop goes around the branch"))
      return;
    const bool carried =
        f_[l.in].op == Op::phi && Block{masks_.block_of(l.in)} == header && f_[l.in].type == Type::u1;
    if (!require(carried, l.in, "the mask is not carried by the loop")) return;
    prove(now_.mask(l.mask), now_.mask(l.in), l.mask, "a lane stays that is not in the loop");
    const auto& predecessors = f_[header].predecessors;
    for (unsigned e = 0; e < predecessors.size(); ++e)
      if (masks_.is_back_edge(header, e))
        prove(now_.mask(f_.operand(l.in, e)), now_.mask(l.mask), l.in, "a lane that left comes back");
    const Blocks before =
        reach(header, l.from); // those that are behind the branch of the turn are not among them
    for (uint32_t b = 0; b < f_.blocks.size(); ++b)
      if (in_loop[b]) prove_effects(Block{b}, before[b] || Block{b} == l.from ? l.in : l.mask);
    prove_still(l, header);
    prove_reads_behind(l, loop, in_loop, outside);
  }

  [[nodiscard]] bool single_exit(const Blocks& in_loop, Block from) const {
    for (uint32_t b = 0; b < f_.blocks.size(); ++b)
      for (unsigned s = 0; in_loop[b] && s < f_.blocks[b].successor_count; ++s)
        if (!in_loop[f_.blocks[b].successors[s].index] && Block{b} != from) return false;
    return true;
  }

  [[nodiscard]] bool turns_pass(Block header, const Blocks& in_loop, Block from) const {
    if (header == from) return true;
    const Blocks seen = reach(header, from);
    for (const Block p : f_[header].predecessors)
      if (in_loop[p.index] && seen[p.index]) return false;
    return true;
  }

  void prove_still(const DivergeClaims::Loop& l, Block header) {
    for (const auto& s : l.still) {
      const bool comparable = f_[s.phi].op == Op::phi && Block{masks_.block_of(s.phi)} == header &&
                              f_[s.phi].type == f_[s.value].type && f_[s.phi].components == 1;
      if (!require(comparable, s.value, "no phi of the loop carries the value")) continue;
      prove(!now_.mask(l.in), same(now_, s.value, now_, s.phi), s.value,
            "a value changes in a lane that left the loop");
      for (unsigned e = 0; e < f_[header].predecessors.size(); ++e)
        if (masks_.is_back_edge(header, e))
          prove(!now_.mask(l.mask), same(now_, f_.operand(s.phi, e), now_, s.value), s.value,
                "a value is not carried on in a lane that left the loop");
    }
  }

  /// Compares the moment when a lane leaves (now) with the end of the loop, when it is out.
  void prove_reads_behind(const DivergeClaims::Loop& l, uint32_t loop, const Blocks& in_loop, Block outside) {
    World end(z3_, f_, masks_, fmt::format("end{}", l.from.index), model_);
    end.derive_from(now_, loop);
    Blocks behind = reach(outside, Block{~0u});
    for (uint32_t b = 0; b < behind.size(); ++b) // what stands in front of the loop is the same
      behind[b] = behind[b] && dominators_.reachable(Block{b}) && dominators_.dominates(outside, Block{b});
    end.differ_in(behind);
    assume_facts(end, loop);
    z3::expr left = !now_.mask(l.mask) && !end.mask(l.in);
    std::unordered_set<uint32_t> still;
    for (const auto& s : l.still) {
      still.insert(s.value.index);
      if (f_[s.value].components == 1) left = left && same(now_, s.value, end, s.value);
    }
    std::unordered_set<uint32_t> asked;
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      if (!in_loop[b]) continue;
      for (const Value v : f_.blocks[b].instructions)
        for (const Value user : users_.of(v))
          if (reads_behind(user, v, in_loop) && !still.contains(v.index))
            prove_reader(user, left, end, asked);
    }
  }

  [[nodiscard]] bool reads_behind(Value user, Value v, const Blocks& in_loop) const {
    const uint32_t home = masks_.block_of(user);
    if (home == cfg::none || in_loop[home]) return false;
    return std::ranges::find(f_.operands(user), v) != f_.operands(user).end();
  }

  /// The user is the same at both moments, or only masks read it that are.
  void prove_reader(Value user, const z3::expr& left, World& end, std::unordered_set<uint32_t>& asked) {
    std::vector<Value> work{user};
    while (!work.empty()) {
      const Value u = work.back();
      work.pop_back();
      if (!asked.insert(u.index).second) continue;
      const bool mask = f_[u].type == Type::u1 && ir::info(f_[u].op).kind == OpKind::pure;
      if (!mask) {
        require(false, u, "a value is read behind the loop that goes on changing in lanes that left");
        continue;
      }
      if (is_proved(left && same(now_, u, end, u) == truth(false))) {
        require(true, u, "");
        continue;
      }
      for (const Value next : users_.of(u)) work.push_back(next);
    }
  }
  /// The assumption cannot hold.
  bool is_proved(const z3::expr& contradiction) {
    solver_.push();
    solver_.add(contradiction);
    const z3::check_result result = solver_.check();
    solver_.pop();
    return result == z3::unsat;
  }

  // -- masks that are known
  // -----------------------------------------------------------------------------------------

  void prove_known(const DivergeClaims::Known& k) {
    z3::expr path = truth(true);
    Block at = k.at;
    if (k.phi) {
      const Block from = f_[k.at].predecessors[k.edge];
      path = path && on_edge(from, k.at);
      at = from;
    }
    for (;; at = dominators_.idom(at)) {
      if (f_[at].predecessors.size() == 1) path = path && on_edge(f_[at].predecessors[0], at);
      if (at == Block{0}) break;
    }
    const z3::expr m = now_.mask(k.mask);
    Obligations::prove(report_.masks, path, k.is ? m : !m, k.mask,
                       "a mask is not known where it was said to be");
  }

  /// What a lane knows that goes this way.
  z3::expr on_edge(Block from, Block to) {
    const Value end = end_of(from);
    if (f_[end].op != Op::cond_br || f_[from].successors[0] == f_[from].successors[1]) return truth(true);
    Value condition = f_.operand(end, 0);
    z3::expr holds = now_.mask(condition);
    if (f_[condition].op == Op::host_any) {
      const z3::expr mine = now_.mask(f_.operand(condition, 0));
      solver_.add(z3::implies(mine, holds));
      if (diverges(from)) holds = mine;
    }
    return f_[from].successors[0] == to ? holds : !holds;
  }
  [[nodiscard]] bool diverges(Block from) const {
    const auto is_it = [&](const auto& c) { return c.from == from; };
    return std::ranges::any_of(claims_.regions, is_it) || std::ranges::any_of(claims_.loops, is_it);
  }

  const LaneDemand* demand_;
  const DivergeClaims& claims_;
  Users users_;
  ir::Dominators dominators_;
};

} // namespace

ProofReport prove_diverge(const ir::Function& function, MaskAlgebra& masks, const LaneDemand* demand,
                          const DivergeClaims& claims) {
  try {
    ProofReport report = DivergeProver(function, masks, demand, claims).run();
    if (demand) report += prove_demand(function, masks, *demand, {});
    return report;
  } catch (const z3::exception& e) {
    ProofReport report;
    report.failures.push_back({{}, std::string("Z3: ") + e.msg(), false});
    return report;
  }
}

} // namespace lanewise::analysis
