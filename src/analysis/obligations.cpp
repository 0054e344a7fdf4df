#include "analysis/obligations.hpp"

namespace lanewise::analysis {

using ir::Block;
using ir::Op;
using ir::Value;

bool Obligations::prove(unsigned& count, const z3::expr& claim, const z3::expr& conclusion, Value about,
                        const char* what) {
  ++count;
  const z3::expr open = (claim && !conclusion).simplify();
  z3::check_result result = z3::unsat;
  if (!open.is_false()) {
    solver_.push();
    solver_.add(open);
    result = solver_.check();
    solver_.pop();
  }
  if (result == z3::unsat)
    ++report_.proved;
  else
    report_.failures.push_back({about, what, result == z3::sat});
  return result == z3::unsat;
}

bool Obligations::require(unsigned& count, bool holds, Value about, const char* what) {
  return prove(count, truth(true), truth(holds), about, what);
}

void Obligations::prove_facts() {
  for (Value phi : masks_.assumed_loop_phis()) facts_.push_back(phi);
  assume_facts(now_);
  for (Value phi : facts_) {
    const Block header{masks_.block_of(phi)};
    for (unsigned e = 0; e < f_[header].predecessors.size(); ++e) {
      if (!masks_.is_back_edge(header, e)) continue;
      prove(report_.facts, now_.mask(f_.operand(phi, e)), entry(now_, phi), phi,
            "a loop mask leaves the mask that entered");
    }
  }
}

z3::expr Obligations::entry(World& world, Value phi) {
  const Block header{masks_.block_of(phi)};
  z3::expr result = truth(false);
  for (Value p : masks_.bound_of(phi))
    for (unsigned e = 0; e < f_[header].predecessors.size(); ++e)
      if (!masks_.is_back_edge(header, e)) result = result || world.mask(f_.operand(p, e));
  return result;
}

void Obligations::assume_facts(World& world, uint32_t loop) {
  for (Value phi : facts_)
    if (loop == cfg::none || masks_.loops().contains(loop, masks_.block_of(phi)))
      solver_.add(z3::implies(world.mask(phi), entry(world, phi)));
}

World& Obligations::after_edge(World& from, Block header, unsigned e) {
  auto& slot = edges_[{&from, header.index, e}];
  if (!slot) {
    slot = std::make_unique<World>(z3_, f_, masks_, fmt::format("#{}", edges_.size()), model_);
    const uint32_t loop = masks_.loops().innermost[header.index];
    slot->derive_from(from, loop);
    for (Value p : f_[header].instructions) {
      if (f_[p].op != Op::phi) break;
      if (f_[p].components != 1) continue;
      slot->define(p, f_[p].type == ir::Type::u1 ? from.mask(f_.operand(p, e)) : from.bits(f_.operand(p, e)));
    }
    assume_facts(*slot, loop);
  }
  return *slot;
}

Value Obligations::empty_on_edge(Block block, unsigned e) const {
  const ir::BasicBlock& from = f_[f_[block].predecessors[e]];
  const ir::Inst& branch = f_[from.instructions.back()];
  if (branch.op != Op::cond_br || from.successors[0] == from.successors[1]) return {};
  Value condition = f_.operand(from.instructions.back(), 0);
  bool taken_if = from.successors[0] == block;
  while (f_[condition].op == Op::not_) {
    condition = f_.operand(condition, 0);
    taken_if = !taken_if;
  }
  const bool is_any = f_[condition].op == Op::any || f_[condition].op == Op::host_any;
  return is_any && !taken_if ? f_.operand(condition, 0) : Value{};
}

} // namespace lanewise::analysis
