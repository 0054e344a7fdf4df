#include "analysis/lane_demand.hpp"

#include <algorithm>

namespace lanewise::analysis {

using ir::Block;
using ir::Op;
using ir::OpKind;
using ir::Value;

LaneDemand::LaneDemand(const ir::Function& function, MaskAlgebra& masks)
    : function_(function), masks_(masks), demand_(function.value_count(), masks.usable() ? kFalse : kTrue),
      block_of_(function.value_count(), cfg::none), dirty_(function.value_count()) {
  if (!masks.usable()) return; // everything is demanded everywhere
  for (uint32_t b = 0; b < function.blocks.size(); ++b)
    for (Value v : function.blocks[b].instructions) block_of_[v.index] = b;
  solve();
}

void LaneDemand::solve() {
  // What must happen whatever anybody reads: effects and terminators.
  for (uint32_t b : masks_.order()) {
    for (Value v : function_[Block{b}].instructions) {
      const OpKind kind = ir::info(function_[v].op).kind;
      dirty_[v.index] =
          kind == OpKind::store || kind == OpKind::atomic || kind == OpKind::effect || kind == OpKind::end;
    }
  }
  do {
    changed_ = false;
    for (auto b = masks_.order().rbegin(); b != masks_.order().rend(); ++b) {
      const auto& list = function_[Block{*b}].instructions;
      for (auto v = list.rbegin(); v != list.rend(); ++v) {
        if (!dirty_[v->index]) continue;
        dirty_[v->index] = false;
        visit(*v, Block{*b});
      }
    }
  } while (changed_);
}

void LaneDemand::want(Value v, Formula lanes, Block use) {
  if (function_.is_constant(v) || lanes == kFalse) return;
  const uint32_t definition = block_of_[v.index];
  if (definition == cfg::none) return;
  FormulaPool& pool = masks_.pool();
  lanes = function_[v].uniform ? kTrue : masks_.leave_loops(lanes, use, Block{definition});
  const Formula joined = pool.or_(demand_[v.index], lanes);
  if (joined == demand_[v.index]) return;
  demand_[v.index] = joined;
  dirty_[v.index] = true;
  changed_ = true;
}

/// The lanes that the demanded lanes of a dpp read from.
Formula LaneDemand::lanes_read_by_pattern(Value user) {
  const uint64_t readers = masks_.possible_lanes(demand_[user.index]);
  const auto pattern = ir::LanePattern::unpack(function_[user].imm);
  uint64_t read = 0;
  for (unsigned lane = 0; lane < function_.wave_size; ++lane) {
    if (!(readers >> lane & 1)) continue;
    if (const int source = pattern.source(lane); source >= 0) read |= uint64_t{1} << source;
  }
  return masks_.lanes(read);
}

template <class Each>
void LaneDemand::for_each_demand(Value user, Each each) {
  FormulaPool& pool = masks_.pool();
  const ir::Inst& inst = function_[user];
  const auto operands = function_.operands(user);
  const Formula lanes = demand_[user.index];
  const auto all = [&](Formula f, unsigned from = 0) {
    for (unsigned i = from; i < operands.size(); ++i) each(i, f);
  };
  // (address, active, data...): data and address count in active lanes, the active mask itself everywhere.
  const auto access = [&](unsigned active) {
    const Formula f = masks_.formula_of(operands[active]);
    for (unsigned i = 0; i < operands.size(); ++i) {
      if (i == 0 && masks_.breaks(BrokenRule::access_forgets_address)) continue;
      each(i, i == active && !masks_.breaks(BrokenRule::active_only_where_active) ? kTrue : f);
    }
  };
  switch (inst.op) {
  case Op::select: {
    const Formula m = masks_.formula_of(operands[0]);
    each(0, lanes);
    each(1, pool.and_(lanes, m));
    if (!masks_.breaks(BrokenRule::select_forgets_old)) each(2, pool.and_(lanes, FormulaPool::not_(m)));
    return;
  }
  case Op::and_:
  case Op::or_: {
    if (inst.type != ir::Type::u1) return all(lanes);
    // The older mask guards the newer one: where it decides the result alone, the other does not count. Only
    // one of the two may be excused so.
    const unsigned guard =
        masks_.older(masks_.formula_of(operands[0]), masks_.formula_of(operands[1])) ? 0 : 1;
    const Formula open = masks_.formula_of(operands[guard]);
    const Formula other = masks_.formula_of(operands[1 - guard]);
    each(guard, masks_.breaks(BrokenRule::both_masks_excused) ? pool.and_(lanes, other) : lanes);
    each(1 - guard, pool.and_(lanes, inst.op == Op::and_ ? open : FormulaPool::not_(open)));
    return;
  }
  case Op::load:
    if (lanes != kFalse) access(1);
    return;
  case Op::store:
  case Op::atomic: return access(1);
  case Op::buffer_load:
    if (lanes != kFalse) access(7);
    return;
  case Op::buffer_store:
  case Op::buffer_atomic: return access(7);
  case Op::read_lane: {
    if (lanes == kFalse) return;
    const bool known = function_.is_constant(operands[1]);
    if (!masks_.breaks(BrokenRule::read_lane_reads_nothing))
      each(0, known ? masks_.lanes(uint64_t{1} << (function_[operands[1]].imm & (function_.wave_size - 1)))
                    : kTrue);
    each(1, kTrue);
    return;
  }
  case Op::read_first:
    if (lanes == kFalse) return;
    each(0, pool.or_(masks_.formula_of(operands[1]),
                     masks_.breaks(BrokenRule::read_first_skips_lane_0) ? kFalse : masks_.lanes(1)));
    each(1, kTrue);
    return;
  case Op::dpp:
    return each(0, masks_.breaks(BrokenRule::dpp_reads_own_lane) ? lanes : lanes_read_by_pattern(user));
  case Op::permute:
    if (lanes == kFalse) return;
    each(0, masks_.breaks(BrokenRule::permute_reads_own_lane) ? lanes : kTrue);
    each(1, lanes);
    return;
  case Op::push: {
    if (lanes == kFalse) return;
    const Formula m = masks_.formula_of(operands[2]);
    each(0, m);
    each(1, m);
    each(2, kTrue);
    return;
  }
  case Op::cond_br: return all(kTrue);
  default: break;
  }
  switch (ir::info(inst.op).kind) {
  case OpKind::pure: return all(lanes);
  case OpKind::gather: // lane_bit, mbcnt: a uniform word, read where the result is
    return all(inst.op == Op::host_shuffle && lanes != kFalse ? kTrue : lanes);
  default:
    if (masks_.breaks(BrokenRule::ballot_reads_nothing) && (inst.op == Op::ballot || inst.op == Op::any))
      return;
    if (lanes != kFalse || ir::info(inst.op).kind == OpKind::effect) all(kTrue);
  }
}

void LaneDemand::visit(Value user, Block block) {
  if (function_[user].op == Op::phi) return visit_phi(user, block);
  for_each_demand(user, [&](unsigned i, Formula lanes) { want(function_.operand(user, i), lanes, block); });
}

void LaneDemand::visit_phi(Value phi, Block block) {
  const auto& predecessors = function_[block].predecessors;
  for (unsigned e = 0; e < predecessors.size(); ++e)
    want(function_.operand(phi, e), masks_.across_edge(demand_[phi.index], block, e), predecessors[e]);
}

bool LaneDemand::inside(Value v, Value mask) {
  return masks_.pool().implies(demand_[v.index], masks_.formula_of(mask));
}

bool LaneDemand::outside(Value v, Value mask) {
  return masks_.pool().implies(demand_[v.index], FormulaPool::not_(masks_.formula_of(mask)));
}

Value LaneDemand::observer(Value v, Value mask) {
  const Formula m = masks_.formula_of(mask);
  FormulaPool& pool = masks_.pool();
  for (uint32_t b : masks_.order()) {
    const Block block{b};
    for (Value user : function_[block].instructions) {
      const auto operands = function_.operands(user);
      if (std::ranges::find(operands, v) == operands.end()) continue;
      bool asks = false;
      const auto test = [&](Value operand, Formula lanes, Block use) {
        if (operand == v && !pool.implies(masks_.leave_loops(lanes, use, Block{block_of_[v.index]}), m))
          asks = true;
      };
      if (function_[user].op == Op::phi) {
        for (unsigned e = 0; e < operands.size(); ++e)
          test(operands[e], masks_.across_edge(demand_[user.index], block, e),
               function_[block].predecessors[e]);
      } else {
        for_each_demand(user, [&](unsigned i, Formula lanes) { test(operands[i], lanes, block); });
      }
      if (asks) return user;
    }
  }
  return {};
}

} // namespace lanewise::analysis
