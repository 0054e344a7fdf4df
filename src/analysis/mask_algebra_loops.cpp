// Phis of loops: what is assumed of them, and what becomes of assumptions that do not hold.
#include "analysis/mask_algebra.hpp"

#include <algorithm>

namespace lanewise::analysis {

using ir::Block;
using ir::Op;
using ir::Value;

bool MaskAlgebra::is_loop_phi(const Atom& atom) const {
  return atom.kind == Atom::Kind::mask && function_[Value{atom.what}].op == Op::phi &&
         is_loop_header(Block{block_of_[atom.what]});
}

/// None if all assumptions hold. Else those that do not are dropped, and the place is the first block that
/// leaned on one.
std::optional<size_t> MaskAlgebra::check_loop_phis() {
  if (breaks(BrokenRule::loop_phi_unchecked)) return {};
  std::optional<size_t> place;
  for (const Atom& atom : atoms_) { // in the order of the blocks
    if (!is_loop_phi(atom) || bound_[atom.what] == Bound::none || stays_inside(Value{atom.what})) continue;
    set_bound(Value{atom.what}, bound_[atom.what] == Bound::own ? Bound::joint : Bound::none);
    if (!place) place = order_.position[block_of_[atom.what]];
  }
  if (place) forget_from(*place);
  return place;
}

void MaskAlgebra::set_bound(Value phi, Bound bound) {
  bound_[phi.index] = bound;
  joint_entry_ = {};
}

/// What comes in over the back edges is inside what entered the loop.
bool MaskAlgebra::stays_inside(Value phi) {
  const Block header{block_of_[phi.index]};
  const auto entry = loop_entry(phi, header);
  if (!entry) return false;
  for (unsigned e = 0; e < function_[header].predecessors.size(); ++e)
    if (is_back_edge(header, e) && !bounded_.implies(incoming(phi.index, e), *entry)) return false;
  return true;
}

/// The masks of lanes that have left a loop so far: empty at first, and each turn adds some. To assume that
/// they stay empty, as own bounds do, would only cost another round. In nests of loops it is left to
/// check_loop_phis to find out, so that other masks are judged by what these were found to be.
bool MaskAlgebra::surely_grows(Value phi, Block header) {
  const cfg::Loop& loop = loops_.loops[loops_.innermost[header.index]];
  if (loop.parent != cfg::none || loop.exit - loop.enter != 1 || entering(phi, header) != kFalse)
    return false;
  for (unsigned e = 0; e < function_[header].predecessors.size(); ++e)
    if (is_back_edge(header, e) && function_[function_.operand(phi, e)].op != Op::or_) return false;
  return true;
}

std::vector<Value> MaskAlgebra::bound_of(Value phi) const {
  std::vector<Value> phis{phi};
  if (bound_[phi.index] != Bound::joint) return phis;
  for (Value p : function_[Block{block_of_[phi.index]}].instructions) {
    if (function_[p].op != Op::phi) break;
    if (p != phi && function_[p].type == ir::Type::u1 && bound_[p.index] == Bound::own) phis.push_back(p);
  }
  return phis;
}

/// The masks that enter the loop for one phi, whichever way they do.
MaybeFormula MaskAlgebra::entering(Value phi, Block header) {
  MaybeFormula entry = kFalse;
  for (unsigned e = 0; e < function_[header].predecessors.size() && entry; ++e)
    if (!is_back_edge(header, e)) entry = bounded_.or_(*entry, incoming(phi.index, e));
  return entry;
}

/// The same for all phis that bound this one.
MaybeFormula MaskAlgebra::loop_entry(Value phi, Block header) {
  const auto own = entering(phi, header);
  if (!own || bound_[phi.index] != Bound::joint) return own;
  if (joint_entry_.header != header.index) {
    joint_entry_ = {header.index, kFalse};
    for (Value p : bound_of(phi)) {
      if (p == phi || !joint_entry_.formula) continue;
      const auto others = entering(p, header);
      joint_entry_.formula = others ? bounded_.or_(*joint_entry_.formula, *others) : others;
    }
  }
  return joint_entry_.formula ? bounded_.or_(*own, *joint_entry_.formula) : MaybeFormula();
}

std::vector<Value> MaskAlgebra::assumed_loop_phis() const {
  std::vector<Value> phis;
  for (const Atom& atom : atoms_)
    if (is_loop_phi(atom) && bound_[atom.what] != Bound::none) phis.push_back(Value{atom.what});
  return phis;
}

} // namespace lanewise::analysis
