#include "analysis/demand_proof.hpp"

#include "analysis/lane_demand.hpp"
#include "analysis/obligations.hpp"
#include "ir/graphics.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <unordered_map>

namespace lanewise::analysis {

using ir::Block;
using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

class Prover : Obligations {
 public:
  Prover(const ir::Function& function, MaskAlgebra& masks, const LaneDemand& demand)
      : Obligations(function, masks, World::Model::masks), demand_(demand), gathered_(function),
        entered_(function, masks.dominators()) {}

  ProofReport run(const std::vector<ClaimedRewrite>& rewrites) {
    const auto start = std::chrono::steady_clock::now();
    prove_facts();
    for (uint32_t b : masks_.order())
      for (Value user : f_[Block{b}].instructions) prove_flow(user, Block{b});
    for (const ClaimedRewrite& r : rewrites) prove_rewrite(r);
    report_.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    return std::move(report_);
  }

 private:
  z3::expr claim(World& world, Value v) { return world.formula(demand_.demand(v)); }

  /// `lanes`, said in `block` by `world`, against the claim of the operand at its own definition.
  void want(Value v, const std::function<z3::expr(World&)>& lanes, Block block) {
    if (f_.is_constant(v) || masks_.block_of(v) == cfg::none) return;
    const Formula claimed = demand_.demand(v);
    if (claimed == kTrue) {
      ++report_.flow;
      ++report_.proved;
      return;
    }
    if (f_[v].uniform && demand_.uniform_values() == UniformValues::one_for_the_wave) { // all or nothing
      prove(report_.flow, lanes(now_), z3_.bool_val(claimed != kFalse), v,
            "a uniform value is read but claimed dead");
      return;
    }
    uint32_t left = cfg::none;
    for (uint32_t loop = masks_.loops().innermost[block.index]; loop != cfg::none;
         loop = masks_.loops().loops[loop].parent)
      if (!masks_.loops().contains(loop, masks_.block_of(v))) left = loop;
    World& there = left == cfg::none ? now_ : other_iteration(left);
    prove(report_.flow, lanes(there), claim(now_, v), v, "a use asks for lanes outside the claim");
  }

  World& other_iteration(uint32_t loop) {
    auto it = iterations_.find(loop);
    if (it == iterations_.end()) {
      it = iterations_
               .emplace(loop, std::make_unique<World>(z3_, f_, masks_, fmt::format("'{}", loop), model_))
               .first;
      it->second->derive_from(now_, loop);
      assume_facts(*it->second, loop);
    }
    return *it->second;
  }

  void prove_flow(Value user, Block block);
  void prove_phi(Value phi, Block block);
  void prove_rewrite(const ClaimedRewrite& r);
  bool has_lane(Value mask, std::optional<Value> entered, Block block, std::vector<Value>& assumed);
  bool follows(const z3::expr& claim, const z3::expr& conclusion);
  z3::expr read_by_another_lane(Value user, Block block, World& here);

  const LaneDemand& demand_;
  GatheredMasks gathered_;
  EnteredMasks entered_;
  std::unordered_map<uint32_t, std::unique_ptr<World>> readers_;
  std::unordered_map<uint32_t, std::unique_ptr<World>> iterations_;
};

void Prover::prove_phi(Value phi, Block block) {
  for (unsigned e = 0; e < f_[block].predecessors.size(); ++e) {
    const Value empty = empty_on_edge(block, e);
    const auto lanes = [&](World& from) {
      const z3::expr possible = empty ? !from.mask(empty) : z3_.bool_val(true);
      if (masks_.is_loop_header(block)) return possible && claim(after_edge(from, block, e), phi);
      z3::expr_vector ways(z3_), taken(z3_);
      ways.push_back(from.way(block.index));
      taken.push_back(z3_.int_val(e));
      return possible && claim(from, phi).substitute(ways, taken);
    };
    want(f_.operand(phi, e), lanes, f_[block].predecessors[e]);
  }
}

bool Prover::follows(const z3::expr& claim, const z3::expr& conclusion) {
  solver_.push();
  solver_.add(claim && !conclusion);
  const bool result = solver_.check() == z3::unsat;
  solver_.pop();
  return result;
}

/// No solver's question but a rule of the program's: a wave starts with a work-item; a branch on "any lane"
/// was taken on the way; or the mask is a phi, and whatever comes in has a lane.
bool Prover::has_lane(Value mask, std::optional<Value> entered, Block block, std::vector<Value>& assumed) {
  const z3::expr m = now_.mask(mask);
  std::vector<Value> inside = entered_.around(block);
  if (entered) inside.push_back(*entered);
  for (Value v : f_[Block{0}].instructions)
    if (f_[v].op == Op::input && f_[v].imm == static_cast<uint64_t>(ir::Input::initial_exec))
      inside.push_back(v);
  if (follows(truth(true), m)) return true;
  for (Value x : inside)
    if (follows(now_.mask(x), m)) return true;
  if (f_.is_constant(mask) || f_[mask].op != Op::phi) return false;
  for (Value a : assumed)
    if (a == mask) return true;
  assumed.push_back(mask);
  const Block home{masks_.block_of(mask)};
  for (unsigned e = 0; e < f_[home].predecessors.size(); ++e)
    if (!has_lane(f_.operand(mask, e), entered_.on_edge(home, e), f_[home].predecessors[e], assumed))
      return false;
  return true;
}

/// Some other lane reads this one through `user`, a dpp or permute, where it is asked for the result. That
/// lane has values of its own, but for masks that it got by the same gather: those are this lane's.
z3::expr Prover::read_by_another_lane(Value user, Block block, World& here) {
  auto& reader = readers_[user.index];
  if (!reader)
    reader = std::make_unique<World>(z3_, f_, masks_, fmt::format("r{}", user.index), model_, "reader");
  z3::expr read = claim(*reader, user);
  const bool by_pattern = f_[user].op == Op::dpp;
  const auto pattern = ir::LanePattern::unpack(f_[user].imm);
  z3::expr from = truth(false);
  for (unsigned lane = 0; lane < f_.wave_size; ++lane) {
    const z3::expr is_reader = reader->lane() == z3_.bv_val(lane, 64);
    if (!by_pattern)
      from = from || is_reader;
    else if (const int source = pattern.source(lane); source >= 0)
      from = from || (is_reader && here.lane() == z3_.bv_val(source, 64));
  }
  read = read && from;
  for (Value n : gathered_.beside(user, block.index))
    if (n != user) read = read && reader->mask(n) == here.mask(f_.operand(n, 0));
  return read;
}

// The rules of docs/lane-demand.md, stated a second time over the model.
void Prover::prove_flow(Value user, Block block) {
  const auto operands = f_.operands(user);
  const ir::Inst& inst = f_[user];
  if (inst.op == Op::phi) return prove_phi(user, block);
  const auto here = [&](World& w) { return claim(w, user); };
  const auto always = [&](World&) { return z3_.bool_val(true); };
  const auto in_lanes = [&](uint64_t set) {
    return [&, set](World&) {
      return z3::lshr(z3_.bv_val(set, 64), now_.lane()).extract(0, 0) == z3_.bv_val(1, 1);
    };
  };
  const auto under = [&](unsigned m) { return [&, m](World& w) { return w.mask(operands[m]); }; };
  const bool read = demand_.demand(user) != kFalse;
  const auto access = [&](unsigned active) {
    for (unsigned i = 0; i < operands.size(); ++i) {
      if (i == active)
        want(operands[i], always, block);
      else
        want(operands[i], under(active), block);
    }
  };
  switch (inst.op) {
  case Op::select:
    want(operands[0], here, block);
    want(operands[1], [&](World& w) { return claim(w, user) && w.mask(operands[0]); }, block);
    want(operands[2], [&](World& w) { return claim(w, user) && !w.mask(operands[0]); }, block);
    return;
  case Op::and_:
  case Op::or_:
    if (inst.type == ir::Type::u1) {
      const unsigned guard =
          masks_.older(masks_.formula_of(operands[0]), masks_.formula_of(operands[1])) ? 0 : 1;
      want(operands[guard], here, block);
      want(
          operands[1 - guard],
          [&](World& w) {
            const z3::expr g = w.mask(operands[guard]);
            return claim(w, user) && (inst.op == Op::and_ ? g : !g);
          },
          block);
      return;
    }
    break;
  case Op::load:
    if (read) access(1);
    return;
  case Op::store:
  case Op::atomic: return access(1);
  case Op::buffer_load:
    if (read) access(7);
    return;
  case Op::buffer_store:
  case Op::buffer_atomic: return access(7);
  case Op::image_sample:
    for (unsigned i = 0; i < operands.size(); ++i)
      want(operands[i],
           [&, i](World& w) {
             return claim(w, user) && (truth(i == ir::kImageActive) || w.mask(operands[ir::kImageActive]));
           },
           block);
    return;
  case Op::image_sample_implicit:
    if (!read) return;
    for (unsigned i = 0; i < operands.size(); ++i) {
      if (i == ir::kImageActive)
        want(operands[i], here, block);
      else
        want(operands[i], always, block);
    }
    return;
  case Op::export_: return access(0);
  case Op::read_lane:
    if (!read) return;
    if (f_.is_constant(operands[1]))
      want(operands[0], in_lanes(uint64_t{1} << (f_[operands[1]].imm & (f_.wave_size - 1))), block);
    else
      want(operands[0], always, block);
    want(operands[1], always, block);
    return;
  case Op::read_first: {
    if (!read) return;
    std::vector<Value> assumed;
    const bool empty = !has_lane(operands[1], {}, block, assumed);
    want(
        operands[0],
        [&](World& w) { return w.mask(operands[1]) || (truth(empty) && now_.lane() == z3_.bv_val(0, 64)); },
        block);
    want(operands[1], always, block);
    return;
  }
  case Op::dpp:
    return want(operands[0], [&](World& w) { return read_by_another_lane(user, block, w); }, block);
  case Op::permute:
    if (!read) return;
    want(operands[0], [&](World& w) { return read_by_another_lane(user, block, w); }, block);
    want(operands[1], here, block);
    return;
  case Op::push:
    if (!read) return;
    want(operands[0], under(2), block);
    want(operands[1], under(2), block);
    want(operands[2], always, block);
    return;
  default: break;
  }
  const OpKind kind = ir::info(inst.op).kind;
  const bool lane_local = kind == OpKind::pure || inst.op == Op::lane_bit || inst.op == Op::mbcnt;
  for (Value o : operands) {
    if (lane_local)
      want(o, here, block);
    else if (read || kind == OpKind::end || kind == OpKind::effect)
      want(o, always, block);
  }
}

void Prover::prove_rewrite(const ClaimedRewrite& r) {
  unsigned& count = f_[r.value].op == Op::select ? report_.selects : report_.masks;
  const z3::expr where = claim(now_, r.value);
  prove(count, where, same(now_, r.value, now_, r.by), r.value,
        "the replacement differs where the value is read");
  if (!f_.is_constant(r.by))
    prove(count, where, claim(now_, r.by), r.value,
          "the replacement itself is not right where the value is read");
}

} // namespace

ProofReport prove_demand(const ir::Function& function, MaskAlgebra& masks, const LaneDemand& demand,
                         const std::vector<ClaimedRewrite>& rewrites) {
  if (!masks.usable()) return {};
  try {
    return Prover(function, masks, demand).run(rewrites);
  } catch (const z3::exception& e) {
    ProofReport report;
    report.failures.push_back({{}, std::string("Z3: ") + e.msg(), false});
    return report;
  }
}

} // namespace lanewise::analysis
