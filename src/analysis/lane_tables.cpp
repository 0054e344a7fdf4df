#include "analysis/lane_tables.hpp"

#include "ir/evaluate.hpp"

#include <algorithm>

namespace lanewise::analysis {

using ir::Op;
using ir::Value;

std::span<const uint64_t> LaneTables::table(Value v, unsigned depth) {
  if (const auto it = tables_.find(v.index); it != tables_.end()) return it->second;
  if (depth > kMaxDepth || tables_.size() >= kMaxTables) return {};
  auto values = made(v, depth);
  return tables_.insert_or_assign(v.index, std::move(values)).first->second;
}

std::vector<uint64_t> LaneTables::made(Value v, unsigned depth) {
  const ir::Inst& inst = f_[v];
  std::vector<uint64_t> result(size_t{lanes_} * waves_);
  switch (inst.op) {
  case Op::constant: std::ranges::fill(result, inst.imm); return result;
  case Op::host_lane:
    for (size_t i = 0; i < result.size(); ++i) result[i] = i % lanes_;
    return result;
  case Op::host_wave:
    for (size_t i = 0; i < result.size(); ++i) result[i] = i / lanes_;
    return result;
  default: break;
  }
  const ir::Evaluator evaluate = ir::evaluator(inst.op);
  ir::LaneOperation one{.type = inst.type, .operand_type = {}, .imm = inst.imm};
  if (inst.op == Op::phi || evaluate == nullptr || !ir::is_exact(inst.op) || inst.components != 1 ||
      inst.operand_count == 0 || inst.operand_count > one.v.size())
    return {};
  std::array<std::span<const uint64_t>, 4> operands;
  for (unsigned i = 0; i < inst.operand_count; ++i) {
    operands[i] = table(f_.operand(v, i), depth + 1);
    if (operands[i].empty()) return {};
  }
  one.operand_type = f_[f_.operand(v, 0)].type;
  for (size_t k = 0; k < result.size(); ++k) {
    for (unsigned i = 0; i < inst.operand_count; ++i) one.v[i] = operands[i][k];
    result[k] = evaluate(one);
  }
  return result;
}

} // namespace lanewise::analysis
