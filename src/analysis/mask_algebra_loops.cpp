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
std::optional<Formula> MaskAlgebra::entering(Value phi, Block header) {
  std::optional<Formula> entry = kFalse;
  for (unsigned e = 0; e < function_[header].predecessors.size() && entry; ++e)
    if (!is_back_edge(header, e)) entry = bounded_.or_(*entry, incoming(phi.index, e));
  return entry;
}

/// The same for all phis that bound this one.
std::optional<Formula> MaskAlgebra::loop_entry(Value phi, Block header) {
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
  return joint_entry_.formula ? bounded_.or_(*own, *joint_entry_.formula) : std::nullopt;
}

std::vector<Value> MaskAlgebra::assumed_loop_phis() const {
  std::vector<Value> phis;
  for (const Atom& atom : atoms_)
    if (is_loop_phi(atom) && bound_[atom.what] != Bound::none) phis.push_back(Value{atom.what});
  return phis;
}

/// The innermost loop around both; `none` if there is none.
uint32_t MaskAlgebra::common_loop(uint32_t a, uint32_t b) const {
  while (a != cfg::none && b != cfg::none && a != b) {
    const auto &x = loops_.loops[a], &y = loops_.loops[b];
    if (x.enter <= y.enter && y.exit <= x.exit)
      b = y.parent;
    else
      a = x.parent;
  }
  return a == b ? a : cfg::none;
}

/// The innermost loop that makes a mask anew in each turn whatever was before: a compare of values made in
/// it, or a bit that nothing is known of. `none` if there is none.
uint32_t MaskAlgebra::made_anew_in(Value v) const {
  const auto inner = [&](uint32_t a, uint32_t b) { // both around v
    return a == cfg::none || (b != cfg::none && loops_.loops[a].enter <= loops_.loops[b].enter) ? b : a;
  };
  const uint32_t home = loop_of(v);
  if (home == cfg::none || lane_table(v)) return cfg::none;
  switch (function_[v].op) {
  case Op::phi:
  case Op::and_:
  case Op::or_:
  case Op::xor_:
  case Op::not_:
  case Op::select:
  case Op::lane_bit: return cfg::none;
  case Op::eq:
  case Op::ne:
    if (function_[function_.operand(v, 0)].type == ir::Type::u1) return cfg::none;
    [[fallthrough]];
  case Op::ult:
  case Op::ule:
  case Op::slt:
  case Op::sle:
  case Op::fcmp:
    return inner(common_loop(home, loop_of(function_.operand(v, 0))),
                 common_loop(home, loop_of(function_.operand(v, 1))));
  default: return home;
  }
}

/// A mask that the loop makes anew and that comes back to the header through phis alone is inside nothing
/// that was there before: such phis need not be tried. Few rounds: each goes along all phis in order, and
/// what it finds is a deeper loop.
void MaskAlgebra::release_free_phis() {
  std::vector<Value> phis;
  for (uint32_t b : order_.reverse_post)
    for (Value v : function_[Block{b}].instructions) {
      if (function_[v].op != Op::phi) break;
      if (function_[v].type == ir::Type::u1) phis.push_back(v);
    }
  if (phis.empty() || loops_.loops.empty()) return;
  std::vector<uint32_t> anew(function_.value_count(), cfg::none); // of phis: by what arrives
  const auto arrives = [&](Value v) {
    if (function_.is_constant(v)) return cfg::none;
    return function_[v].op == Op::phi ? anew[v.index] : made_anew_in(v);
  };
  const auto depth = [&](uint32_t loop) { return loop == cfg::none ? 0u : loops_.loops[loop].depth; };
  for (bool changed = true; changed;) {
    changed = false;
    for (Value phi : phis)
      for (Value o : function_.operands(phi)) {
        const uint32_t loop = common_loop(arrives(o), loop_of(phi));
        if (depth(loop) <= depth(anew[phi.index])) continue;
        anew[phi.index] = loop;
        changed = true;
      }
  }
  for (Value phi : phis) {
    const Block header{block_of_[phi.index]};
    if (!is_loop_header(header)) continue;
    const uint32_t loop = loop_of(phi);
    for (unsigned e = 0; e < function_[header].predecessors.size(); ++e)
      if (is_back_edge(header, e) && common_loop(arrives(function_.operand(phi, e)), loop) == loop)
        bound_[phi.index] = Bound::none;
  }
}

} // namespace lanewise::analysis
