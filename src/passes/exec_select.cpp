#include "passes/exec_select.hpp"

#include "analysis/demand_proof.hpp"
#include "analysis/lane_demand.hpp"

#include <optional>

namespace lanewise::passes {

using analysis::Formula;
using analysis::FormulaPool;
using ir::Op;
using ir::Value;

namespace {

/// There is something that could be dropped.
bool has_work(const ir::Function& f) {
  for (const ir::BasicBlock& b : f.blocks)
    for (Value v : b.instructions) {
      const Op op = f[v].op;
      if (!f[v].uniform &&
          (op == Op::select || (f[v].type == ir::Type::u1 && (op == Op::and_ || op == Op::or_))))
        return true;
    }
  return false;
}

/// It does something beside making a value.
bool acts(const ir::Function& f, Value v) {
  switch (ir::info(f[v].op).kind) {
  case ir::OpKind::store:
  case ir::OpKind::atomic:
  case ir::OpKind::effect:
  case ir::OpKind::end: return true;
  default: return false;
  }
}

ExecSelectResult::Kept kept(const ir::Function& f, Value select, Value observer) {
  return {select, observer, f[observer].op, f[select].pc, f[observer].pc};
}

/// The value that `v` equals wherever anybody looks, or `v` itself.
Value same_where_demanded(const ir::Function& f, analysis::MaskAlgebra& masks, analysis::LaneDemand& demand,
                          Value v) {
  const auto operands = f.operands(v);
  if (f[v].op == Op::select && !f.is_constant(operands[0]) && !demand.chooses_alone(v)) {
    if (demand.reads_only_first(v)) return operands[1];
    if (demand.reads_only_second(v)) return operands[2];
  }
  if (f[v].type == ir::Type::u1 && (f[v].op == Op::and_ || f[v].op == Op::or_)) {
    // The older operand, the guard, is right wherever the result is demanded; the newer one only where the
    // guard leaves the decision to it (LaneDemand), so it may stand alone only if that is everywhere.
    analysis::BoundedFormulas& bounded = masks.bounded();
    const Formula where = demand.demand(v), first = masks.formula_of(operands[0]),
                  second = masks.formula_of(operands[1]);
    const unsigned guard = masks.older(first, second) ? 0 : 1;
    const Formula old = guard == 0 ? first : second, newer = guard == 0 ? second : first;
    const bool is_and = f[v].op == Op::and_;
    const auto neutral = [&](Formula x) { return is_and ? x : FormulaPool::not_(x); };
    const auto both = bounded.and_(where, neutral(old));
    if (both == where) return operands[1 - guard];
    if (both && bounded.implies(*both, neutral(newer))) return operands[guard];
  }
  return v;
}

} // namespace

ExecSelectResult exec_select(ir::Function& function, const ExecSelectOptions& options) {
  ExecSelectResult result;
  if (!has_work(function)) return result;
  analysis::MaskAlgebra masks(function, options.broken);
  if (!masks.usable()) return result;
  analysis::LaneDemand demand(function, masks);
  enum class Fate : uint8_t { stays, replaced, dies };
  std::vector<Fate> fate(function.value_count());
  std::vector<Value> replacement(function.value_count());
  std::vector<analysis::ClaimedRewrite> rewrites;
  std::optional<analysis::Users> users;
  if (options.explain) users.emplace(function);
  for (uint32_t b : masks.order()) {
    for (Value v : function[ir::Block{b}].instructions) {
      // A value that nobody can tell goes, and is as good as zero where it is still named. Loads must go now:
      // nobody kept their addresses right.
      const bool dead = demand.dead(v) && !acts(function, v);
      if (dead) fate[v.index] = Fate::dies;
      const bool select = function[v].op == Op::select && !function[v].uniform;
      result.selects += select;
      const Value same = same_where_demanded(function, masks, demand, v);
      if (same == v) {
        if (select && options.explain && !demand.dead(v))
          result.kept.push_back(kept(function, v, demand.observer(v, function.operand(v, 0), *users)));
        continue;
      }
      (select ? result.dropped : result.masks) += 1;
      replacement[v.index] = same;
      if (!dead) fate[v.index] = Fate::replaced;
      if (options.prove) rewrites.push_back({v, same});
    }
  }
  if (options.prove) result.proof = analysis::prove_demand(function, masks, demand, rewrites);
  for (auto& block : function.blocks) {
    const size_t dead =
        std::erase_if(block.instructions, [&](Value v) { return fate[v.index] == Fate::dies; });
    result.dead += static_cast<unsigned>(dead);
    for (Value v : block.instructions) {
      for (Value& operand : function.operands(v)) {
        if (fate[operand.index] == Fate::stays) continue;
        // A replacement is an operand, defined before its user; follow chains through it.
        while (replacement[operand.index]) operand = replacement[operand.index];
        if (fate[operand.index] == Fate::dies) operand = function.constant(function[operand].type, 0);
        result.changed = true;
      }
    }
  }
  result.changed |= result.dead > 0;
  return result;
}

} // namespace lanewise::passes
