#include "passes/exec_select.hpp"

#include "analysis/lane_demand.hpp"

namespace lanewise::passes {

using analysis::Formula;
using analysis::FormulaPool;
using ir::Op;
using ir::Value;

namespace {

/// The value that `v` equals wherever anybody looks, or `v` itself.
Value same_where_demanded(const ir::Function& f, analysis::MaskAlgebra& masks, analysis::LaneDemand& demand,
                          Value v) {
  const auto operands = f.operands(v);
  if (f[v].op == Op::select && !f.is_constant(operands[0])) {
    if (demand.inside(v, operands[0])) return operands[1];
    if (demand.outside(v, operands[0])) return operands[2];
  }
  if (f[v].type == ir::Type::u1 && (f[v].op == Op::and_ || f[v].op == Op::or_)) {
    // The older operand, the guard, is right wherever the result is demanded; the newer one only where the
    // guard leaves the decision to it (LaneDemand), so it may stand alone only if that is everywhere.
    FormulaPool& pool = masks.pool();
    const Formula where = demand.demand(v), first = masks.formula_of(operands[0]),
                  second = masks.formula_of(operands[1]);
    const unsigned guard = masks.older(first, second) ? 0 : 1;
    const Formula old = guard == 0 ? first : second, newer = guard == 0 ? second : first;
    const bool is_and = f[v].op == Op::and_;
    const auto neutral = [&](Formula x) { return is_and ? x : FormulaPool::not_(x); };
    if (pool.implies(where, neutral(old))) return operands[1 - guard];
    if (pool.implies(pool.and_(where, neutral(old)), neutral(newer))) return operands[guard];
  }
  return v;
}

} // namespace

ExecSelectResult exec_select(ir::Function& function, const ExecSelectOptions& options) {
  analysis::MaskAlgebra masks(function, options.broken);
  ExecSelectResult result;
  if (!masks.usable()) return result;
  analysis::LaneDemand demand(function, masks);
  std::vector<Value> replacement(function.value_count());
  std::vector<analysis::ClaimedRewrite> rewrites;
  for (uint32_t b : masks.order()) {
    for (Value v : function[ir::Block{b}].instructions) {
      replacement[v.index] = v;
      const bool select = function[v].op == Op::select && !function[v].uniform;
      result.selects += select;
      const Value same = same_where_demanded(function, masks, demand, v);
      if (same == v) {
        if (select && options.explain && !demand.dead(v))
          result.kept.push_back({v, demand.observer(v, function.operand(v, 0))});
        continue;
      }
      (select ? result.dropped : result.masks) += 1;
      replacement[v.index] = same;
      if (options.prove) rewrites.push_back({v, same});
    }
  }
  if (options.prove) result.proof = analysis::prove_demand(function, masks, demand, rewrites);
  // A replacement is an operand, defined before its user; follow chains through it.
  const auto resolve = [&](Value v) {
    while (v.index < replacement.size() && replacement[v.index] && replacement[v.index] != v)
      v = replacement[v.index];
    return v;
  };
  // A value that nobody can tell is as good as zero: what fed only it dies, and no load is left behind whose
  // address nobody kept right.
  const auto nobody_tells = [&](Value v) {
    return v.index < replacement.size() && replacement[v.index] && demand.dead(v) &&
           function[v].components == 1;
  };
  for (auto& block : function.blocks) {
    for (Value v : block.instructions) {
      for (Value& operand : function.operands(v)) {
        operand = resolve(operand);
        if (nobody_tells(operand)) operand = function.constant(function[operand].type, 0);
      }
    }
  }
  return result;
}

} // namespace lanewise::passes
