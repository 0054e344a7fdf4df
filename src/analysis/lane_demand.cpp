#include "analysis/lane_demand.hpp"

#include "ir/graphics.hpp"

#include <algorithm>

namespace lanewise::analysis {

using ir::Block;
using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

/// Visits of one value after which its demand is called larger than it is, so that growing ends. Loops nest
/// less deep than this in all but made-up programs.
constexpr uint8_t kPatience = 8;

} // namespace

GatheredMasks::GatheredMasks(const ir::Function& f) : f_(f) {
  for (uint32_t b = 0; b < f.blocks.size(); ++b)
    for (Value v : f.blocks[b].instructions)
      if (f[v].type == ir::Type::u1 && (f[v].op == Op::dpp || f[v].op == Op::permute)) masks_[b].push_back(v);
}

std::vector<Value> GatheredMasks::beside(Value gather, uint32_t block, bool other_pattern) const {
  std::vector<Value> list;
  const auto found = masks_.find(block);
  if (found == masks_.end()) return list;
  for (Value m : found->second) {
    if (f_[m].op != f_[gather].op) continue;
    const bool same =
        f_[m].op == Op::dpp ? f_[m].imm == f_[gather].imm : f_.operand(m, 1) == f_.operand(gather, 1);
    if (same || other_pattern) list.push_back(m);
  }
  return list;
}

LaneDemand::LaneDemand(const ir::Function& function, MaskAlgebra& masks, UniformValues uniform)
    : LaneDemand(function, masks, uniform, nullptr) {
  if (masks.usable()) solve();
}

LaneDemand::LaneDemand(const ir::Function& function, MaskAlgebra& masks, UniformValues uniform,
                       const Users& users)
    : LaneDemand(function, masks, uniform, &users) {}

LaneDemand::LaneDemand(const ir::Function& function, MaskAlgebra& masks, UniformValues uniform,
                       const Users* users)
    : function_(function), masks_(masks), uniform_(uniform), users_(users), gathered_(function),
      entered_(function, masks.dominators()),
      demand_(function.value_count(), masks.usable() && !users ? kFalse : kTrue),
      mask_uses_(function.value_count()), reads_(function.value_count()), dirty_(function.value_count()),
      visits_(function.value_count()), place_of_(function.blocks.size(), cfg::none) {
  if (!masks.usable()) return; // everything is demanded everywhere
  const std::vector<uint32_t>& order = masks_.order();
  for (uint32_t i = 0; i < order.size(); ++i) place_of_[order[i]] = i;
  waiting_.assign(order.size(), false);
  for (uint32_t b = 0; b < function.blocks.size(); ++b)
    for (Value v : function.blocks[b].instructions) {
      note_mask_uses(v);
      const ir::Inst& inst = function[v];
      if (inst.op == Op::input && inst.imm == static_cast<uint64_t>(ir::Input::initial_exec))
        initial_exec_ = v;
      if (users) continue;
      // What must happen whatever anybody reads: effects and terminators.
      const OpKind kind = ir::info(inst.op).kind;
      if (kind == OpKind::store || kind == OpKind::atomic || kind == OpKind::effect || kind == OpKind::end)
        tell_operands_of(v);
    }
}

void LaneDemand::ask_for(Value asked) {
  if (!users_ || !masks_.usable()) return;
  if (solved_.empty()) solved_.resize(function_.value_count());
  std::vector<Value> work;
  // A value whose operands are asked for in lanes that it is asked for itself, and that was not solved yet.
  const auto take = [&](Value v) {
    const OpKind kind = ir::info(function_[v].op).kind;
    if (solved_[v.index] || (kind != OpKind::pure && kind != OpKind::gather && kind != OpKind::phi))
      return false;
    solved_[v.index] = true;
    demand_[v.index] = kFalse;
    work.push_back(v);
    return true;
  };
  take(asked);
  while (!work.empty()) {
    const Value v = work.back();
    work.pop_back();
    for (const Value user : users_->of(v))
      if (!take(user)) tell_operands_of(user);
  }
  solve();
}

/// Puts it among those whose operands have to be told what is asked of them.
void LaneDemand::tell_operands_of(Value user) {
  if (dirty_[user.index]) return;
  const uint32_t place = place_of_[masks_.block_of(user)];
  if (place == cfg::none) return; // unreachable
  dirty_[user.index] = true;
  if (waiting_[place]) return;
  waiting_[place] = true;
  queue_.push(place);
}

/// In the order of a block's instructions.
void LaneDemand::note_mask_uses(Value user) {
  const auto is_choice = [&](const ir::Inst& inst) {
    return inst.op == Op::select && inst.type != ir::Type::u1;
  };
  const auto operands = function_.operands(user);
  // A condition comes last: what the user reads of other choices counts first.
  for (size_t i = operands.size(); i-- > 0;) {
    const ir::Inst& inst = function_[operands[i]];
    if (is_choice(inst)) mask_uses_[function_.operand(operands[i], 0).index].read = true;
    if (inst.type != ir::Type::u1) continue;
    MaskUses& uses = mask_uses_[operands[i].index];
    const bool first = !uses.last_choice && !uses.others;
    const bool beside =
        uses.last_choice && !uses.read && masks_.block_of(uses.last_choice) == masks_.block_of(user);
    if (i == 0 && is_choice(function_[user]) && (first || beside))
      uses.last_choice = user;
    else
      uses.others = true;
  }
}

bool LaneDemand::chooses_alone(Value select) const {
  const Value condition = function_.operand(select, 0);
  return !mask_uses_[condition.index].others && masks_.stands_alone(condition);
}

void LaneDemand::solve() {
  const std::vector<uint32_t>& order = masks_.order();
  // The last block that has something to say goes first: what is demanded in a loop settles before anything
  // in front of the loop is looked at.
  while (!queue_.empty()) {
    const uint32_t place = queue_.top();
    queue_.pop();
    waiting_[place] = false;
    const Block block{order[place]};
    const auto& list = function_[block].instructions;
    for (auto v = list.rbegin(); v != list.rend(); ++v) {
      if (!dirty_[v->index]) continue;
      dirty_[v->index] = false;
      visit(*v, block);
    }
  }
}

void LaneDemand::want(Value v, Formula lanes, Block use) {
  if (function_.is_constant(v) || lanes == kFalse || demand_[v.index] == kTrue) return;
  const uint32_t definition = masks_.block_of(v);
  if (definition == cfg::none) return;
  lanes = function_[v].uniform && uniform_ == UniformValues::one_for_the_wave
              ? kTrue
              : masks_.leave_loops(lanes, use, Block{definition});
  Formula joined = masks_.bounded().or_above(demand_[v.index], lanes);
  if (joined == demand_[v.index]) return;
  // A demand that goes on growing around a loop becomes a mask around it, so that growing ends.
  if (visits_[v.index] > kPatience) joined = masks_.pool().outer(joined, true);
  demand_[v.index] = joined;
  tell_operands_of(v);
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

/// Where the result of a gather is read only if a mask came true by the same gather, only lanes of that mask
/// are read:
///
///   n = dpp m;  y = dpp x;  z = select n, y, c         x is read in m
///
/// What DPP and ds_bpermute do with lanes that are off looks so. Both gathers stand in one block, so that
/// they see m in the same turn of a loop.
Formula LaneDemand::masks_read_in(Value user) {
  Formula inside = kTrue;
  const bool other = masks_.breaks(BrokenRule::other_pattern_counts);
  for (Value n : gathered_.beside(user, masks_.block_of(user), other))
    if (n != user && masks_.bounded().implies(demand_[user.index], masks_.formula_of(n)))
      inside = masks_.bounded().and_above(inside, masks_.formula_of(function_.operand(n, 0)));
  return inside;
}

bool LaneDemand::has_lane(Value mask, Block block) {
  std::vector<Value> assumed;
  return masks_.breaks(BrokenRule::no_mask_is_empty) || has_lane(mask, {}, block, assumed);
}

/// A wave has a work-item, so initial_exec has a lane. So does a mask around one that a branch on the way
/// found not empty, and a phi of masks that have, around loops by induction.
bool LaneDemand::has_lane(Value mask, std::optional<Value> entered, Block block,
                          std::vector<Value>& assumed) {
  constexpr size_t most = 16; // phis that one question may lead through
  const Formula m = masks_.formula_of(mask);
  const auto is_around = [&](Value x) { return masks_.bounded().implies(masks_.formula_of(x), m); };
  if (m == kTrue || (initial_exec_ && is_around(initial_exec_)) || (entered && is_around(*entered)))
    return true;
  if (std::ranges::any_of(entered_.around(block), is_around)) return true;
  if (function_.is_constant(mask) || function_[mask].op != Op::phi) return false;
  if (std::ranges::find(assumed, mask) != assumed.end()) return true;
  if (assumed.size() == most) return false;
  assumed.push_back(mask);
  const Block home{masks_.block_of(mask)};
  for (unsigned e = 0; e < function_[home].predecessors.size(); ++e)
    if (!has_lane(function_.operand(mask, e), entered_.on_edge(home, e), function_[home].predecessors[e],
                  assumed))
      return false;
  return true;
}

template <class Each>
void LaneDemand::for_each_demand(Value user, const Each& each) {
  BoundedFormulas& bounded = masks_.bounded();
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
      if (i == 0 && masks_.breaks(BrokenRule::access_forgets_address) &&
          ir::MemoryAccess::unpack(inst.imm).space == ir::Space::lds)
        continue;
      each(i, i == active && !masks_.breaks(BrokenRule::active_only_where_active) ? kTrue : f);
    }
  };
  switch (inst.op) {
  case Op::select: {
    BoundedFormulas::Parts parts{lanes, lanes};
    if (!chooses_alone(user)) {
      parts = bounded.split_above(lanes, masks_.formula_of(operands[0]));
      reads_[user.index] = !parts.exact              ? Reads::unknown
                           : parts.outside == kFalse ? Reads::first
                           : parts.inside == kFalse  ? Reads::second
                                                     : Reads::both;
    }
    each(0, lanes);
    each(1, parts.inside);
    if (!masks_.breaks(BrokenRule::select_forgets_old)) each(2, parts.outside);
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
    each(guard, masks_.breaks(BrokenRule::both_masks_excused) ? bounded.and_above(lanes, other) : lanes);
    each(1 - guard, bounded.and_above(lanes, inst.op == Op::and_ ? open : FormulaPool::not_(open)));
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
  case Op::image_sample: { // cannot fail: what nobody reads is not asked for
    if (lanes == kFalse) return;
    const Formula on = bounded.and_above(lanes, masks_.formula_of(operands[ir::kImageActive]));
    for (unsigned i = 0; i < operands.size(); ++i) each(i, i == ir::kImageActive ? lanes : on);
    return;
  }
  case Op::image_sample_implicit: // the level comes from the addresses of the quad, whoever in it is off
    if (lanes == kFalse) return;
    for (unsigned i = 0; i < operands.size(); ++i)
      each(i,
           i == ir::kImageActive || masks_.breaks(BrokenRule::implicit_level_reads_own_lane) ? lanes : kTrue);
    return;
  case Op::export_: {
    const Formula on = masks_.formula_of(operands[0]);
    each(0, masks_.breaks(BrokenRule::export_forgets_who) ? on : kTrue);
    for (unsigned i = 1; i < operands.size(); ++i) each(i, on);
    return;
  }
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
    // The lowest lane of the mask; lane 0 if it is empty.
    each(0, masks_.breaks(BrokenRule::read_first_skips_lane_0) ||
                    has_lane(operands[1], Block{masks_.block_of(user)})
                ? masks_.formula_of(operands[1])
                : bounded.or_above(masks_.formula_of(operands[1]), masks_.lanes(1)));
    each(1, kTrue);
    return;
  case Op::dpp:
    if (masks_.breaks(BrokenRule::dpp_reads_own_lane)) return each(0, lanes);
    return each(0, lanes == kFalse ? kFalse
                                   : bounded.and_above(lanes_read_by_pattern(user), masks_read_in(user)));
  case Op::permute:
    if (lanes == kFalse) return;
    each(0, masks_.breaks(BrokenRule::permute_reads_own_lane) ? lanes : masks_read_in(user));
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
    if (const OpKind kind = ir::info(inst.op).kind;
        lanes != kFalse || kind == OpKind::effect || kind == OpKind::end)
      all(kTrue);
  }
}

void LaneDemand::visit(Value user, Block block) {
  if (visits_[user.index] <= kPatience) ++visits_[user.index];
  if (function_[user].op == Op::phi) return visit_phi(user, block);
  for_each_demand(user, [&](unsigned i, Formula lanes) { want(function_.operand(user, i), lanes, block); });
}

void LaneDemand::visit_phi(Value phi, Block block) {
  const auto& predecessors = function_[block].predecessors;
  const auto edges = predecessors.size() - masks_.breaks(BrokenRule::phi_forgets_an_edge);
  for (unsigned e = 0; e < edges; ++e)
    want(function_.operand(phi, e), masks_.across_edge(demand_[phi.index], block, e), predecessors[e]);
}

bool LaneDemand::reads_only_first(Value select) {
  if (reads_[select.index] != Reads::unknown) return reads_[select.index] == Reads::first;
  return masks_.bounded().implies(demand_[select.index], masks_.formula_of(function_.operand(select, 0)));
}

bool LaneDemand::reads_only_second(Value select) {
  if (reads_[select.index] != Reads::unknown) return reads_[select.index] == Reads::second;
  return masks_.bounded().implies(demand_[select.index],
                                  FormulaPool::not_(masks_.formula_of(function_.operand(select, 0))));
}

Value LaneDemand::observer(Value v, Value mask, const Users& users) {
  const Formula m = masks_.formula_of(mask);
  const auto asks = [&](Value operand, Formula lanes, Block use) {
    return operand == v &&
           !masks_.bounded().implies(masks_.leave_loops(lanes, use, Block{masks_.block_of(v)}), m);
  };
  for (Value user : users.of(v)) {
    const Block block{masks_.block_of(user)};
    const auto operands = function_.operands(user);
    bool found = false;
    if (function_[user].op == Op::phi) {
      for (unsigned e = 0; e < operands.size() && !found; ++e)
        found = asks(operands[e], masks_.across_edge(demand_[user.index], block, e),
                     function_[block].predecessors[e]);
    } else {
      for_each_demand(user,
                      [&](unsigned i, Formula lanes) { found = found || asks(operands[i], lanes, block); });
    }
    if (found) return user;
  }
  return {};
}

} // namespace lanewise::analysis
