#include "analysis/mask_algebra.hpp"

#include "ir/evaluate.hpp"
#include "ir/graph.hpp"

#include <algorithm>
#include <bit>

namespace lanewise::analysis {

using ir::Block;
using ir::Op;
using ir::Value;

MaskAlgebra::MaskAlgebra(const ir::Function& function, BrokenRule broken)
    : function_(function), block_of_(function.value_count(), cfg::none), bound_(function.value_count()),
      lane_table_index_(function.value_count()), broken_(broken) {
  const cfg::Graph graph = ir::graph_of(function);
  order_ = cfg::reverse_post_order(graph);
  dominators_ = cfg::dominators(graph);
  loops_ = cfg::find_loops(graph, order_, dominators_);
  for (uint32_t b = 0; b < function.blocks.size(); ++b)
    for (Value v : function.blocks[b].instructions) block_of_[v.index] = b;
  if (!loops_.reducible()) {
    usable_ = false;
    return;
  }
  size_t masks = 0;
  for (uint32_t b : order_.reverse_post)
    for (Value v : function.blocks[b].instructions) {
      note_lane_table(v);
      masks += function[v].type == ir::Type::u1;
    }
  pool_.reserve(function.value_count() / 2 +
                2 * masks); // demand makes about as many nodes as there are values
  bounded_.open_account(function.value_count());
  edge_begin_.reserve(function.blocks.size());
  size_t edges = 0;
  for (const ir::BasicBlock& b : function.blocks) {
    edge_begin_.push_back(edges);
    edges += b.predecessors.size();
  }
  path_atoms_.assign(edges, kFalse);
  pair_slots_.assign(256, 0);
  first_level_.assign(loops_.loops.size(), ~0u);
  first_path_level_.assign(function_.blocks.size(), ~0u);
  formulas_.assign(function_.value_count(), kFalse);
  begun_.resize(order_.reverse_post.size());
  for (uint32_t i = 0; i < kLaneBits; ++i) new_atom({.kind = Atom::Kind::lane_bit, .what = i});
  // Each round that fails drops the assumption of at least one loop phi. What was made in front of the first
  // of these stays.
  for (std::optional<size_t> place = 0; place; place = check_loop_phis()) build(*place);
  loop_memo_.resize(loops_.loops.size());
  edge_memo_.resize(edges);
}

/// Makes the formulas of the blocks from this place in the order on.
void MaskAlgebra::build(size_t place) {
  joint_entry_ = {};
  for (; place < order_.reverse_post.size(); ++place) {
    const Block b{order_.reverse_post[place]};
    begun_[place] = {atoms_.size(), bounded_.account()};
    for (Value v : function_[b].instructions)
      if (function_[v].type == ir::Type::u1) formulas_[v.index] = make(v, b);
  }
}

/// As if the block had not been begun. Nodes of the pool stay: they say nothing of what atoms stand for.
void MaskAlgebra::forget_from(size_t place) {
  const size_t kept = begun_[place].atoms;
  for (size_t level = kept; level < atoms_.size(); ++level) {
    const Atom& atom = atoms_[level];
    if (atom.kind != Atom::Kind::way) continue;
    path_atoms_[edge_index(Block{atom.what}, static_cast<unsigned>(atom.imm))] = kFalse;
    first_path_level_[atom.what] = ~0u;
  }
  atoms_.resize(kept);
  for (uint32_t& level : first_level_)
    if (level >= kept) level = ~0u;
  std::ranges::fill(pair_slots_, 0u);
  pair_count_ = 0;
  for (uint32_t level = 0; level < kept; ++level) {
    const Atom& x = atoms_[level];
    if (x.kind < Atom::Kind::equal) continue;
    pair_slots_[pair_slot(x.kind, x.what, x.other, x.imm)] = level + 1;
    ++pair_count_;
  }
  bounded_.restore(begun_[place].account);
}

Formula MaskAlgebra::incoming(uint32_t phi, unsigned edge) const {
  return formula_of(function_.operand(Value{phi}, edge));
}

bool MaskAlgebra::is_back_edge(Block header, unsigned edge) const {
  return loops_.contains(loops_.innermost[header.index], function_[header].predecessors[edge].index);
}

bool MaskAlgebra::is_loop_header(Block block) const {
  const uint32_t loop = loops_.innermost[block.index];
  return loop != cfg::none && loops_.loops[loop].header == block.index;
}

uint32_t MaskAlgebra::loop_of(Value v) const {
  const uint32_t block = block_of_[v.index];
  return block == cfg::none ? cfg::none : loops_.innermost[block];
}

bool MaskAlgebra::changes_in(const Atom& atom, uint32_t loop) const {
  return std::ranges::any_of(atom.loops, [&](uint32_t inner) {
    return inner != cfg::none && loops_.loops[loop].enter <= loops_.loops[inner].enter &&
           loops_.loops[inner].exit <= loops_.loops[loop].exit;
  });
}

Formula MaskAlgebra::new_atom(Atom atom) {
  const auto level = static_cast<uint32_t>(atoms_.size());
  for (uint32_t loop : atom.loops)
    for (; loop != cfg::none; loop = loops_.loops[loop].parent)
      first_level_[loop] = std::min(first_level_[loop], level);
  atoms_.push_back(atom);
  return pool_.atom(level);
}

Formula MaskAlgebra::atom_for(Value v) {
  return new_atom({.kind = Atom::Kind::mask, .what = v.index, .loops = {loop_of(v), cfg::none}});
}

/// The slot of such an atom, or the free one where it belongs.
size_t MaskAlgebra::pair_slot(Atom::Kind kind, uint32_t a, uint32_t b, uint64_t imm) const {
  const size_t mask = pair_slots_.size() - 1;
  uint64_t h = ((uint64_t{a} << 32 | b) + imm * 8 + static_cast<uint64_t>(kind)) * 0x9e3779b97f4a7c15ull;
  size_t slot = (h ^ h >> 32) & mask;
  for (; pair_slots_[slot] != 0; slot = (slot + 1) & mask) {
    const Atom& x = atoms_[pair_slots_[slot] - 1];
    if (x.kind == kind && x.what == a && x.other == b && x.imm == imm) break;
  }
  return slot;
}

Formula MaskAlgebra::pair_atom(Atom::Kind kind, Value a, Value b, uint64_t imm) {
  size_t slot = pair_slot(kind, a.index, b.index, imm);
  if (pair_slots_[slot] != 0) {
    atoms_[pair_slots_[slot] - 1].shared = true;
    return pool_.atom(pair_slots_[slot] - 1);
  }
  if (2 * ++pair_count_ > pair_slots_.size()) {
    std::vector<uint32_t> old(2 * pair_slots_.size());
    old.swap(pair_slots_);
    for (const uint32_t level : old)
      if (level != 0) {
        const Atom& x = atoms_[level - 1];
        pair_slots_[pair_slot(x.kind, x.what, x.other, x.imm)] = level;
      }
    slot = pair_slot(kind, a.index, b.index, imm);
  }
  const Formula atom = new_atom(
      {.kind = kind, .what = a.index, .other = b.index, .imm = imm, .loops = {loop_of(a), loop_of(b)}});
  pair_slots_[slot] = static_cast<uint32_t>(atoms_.size());
  return atom;
}

Formula MaskAlgebra::path_atom(Block block, unsigned edge) {
  Formula& atom = path_atoms_[edge_index(block, edge)];
  if (atom == kFalse) {
    first_path_level_[block.index] =
        std::min(first_path_level_[block.index], static_cast<uint32_t>(atoms_.size()));
    atom = new_atom({.kind = Atom::Kind::way,
                     .what = block.index,
                     .imm = edge,
                     .loops = {loops_.innermost[block.index], cfg::none}});
  }
  return atom;
}

Formula MaskAlgebra::make(Value v, Block block) {
  const auto operand = [&](unsigned i) { return formula_of(function_.operand(v, i)); };
  const auto of_masks = [&] { return function_[function_.operand(v, 0)].type == ir::Type::u1; };
  if (const LaneTable* table = lane_table(v)) {
    uint64_t set = 0;
    for (unsigned lane = 0; lane < 64; ++lane) set |= ((*table)[lane] & 1) << lane;
    return lanes(set);
  }
  switch (function_[v].op) {
  case Op::and_: return exact_or_atom(v, bounded_.and_(operand(0), operand(1)));
  case Op::or_: return exact_or_atom(v, bounded_.or_(operand(0), operand(1)));
  case Op::xor_: return exact_or_atom(v, bounded_.xor_(operand(0), operand(1)));
  case Op::not_: return FormulaPool::not_(operand(0));
  case Op::select: return exact_or_atom(v, bounded_.ite(operand(0), operand(1), operand(2)));
  case Op::eq:
    if (!of_masks()) return make_compare(v);
    return exact_or_atom(v, bounded_.xor_(operand(0), FormulaPool::not_(operand(1))));
  case Op::ne:
    if (!of_masks()) return make_compare(v);
    return exact_or_atom(v, bounded_.xor_(operand(0), operand(1)));
  case Op::ult:
  case Op::ule:
  case Op::slt:
  case Op::sle:
  case Op::fcmp: return make_compare(v);
  case Op::phi: return make_phi(v, block);
  case Op::lane_bit: // of a mask's own word: the mask (spilled SGPRs bring such words back)
    if (const Value word = function_.operand(v, 0); function_[word].op == Op::ballot)
      return formula_of(function_.operand(word, 0));
    return atom_for(v);
  default: return atom_for(v);
  }
}

/// A mask whose formula costs too much is an atom of its own. That a conjunction is inside its older operand,
/// and a disjunction around it, is still said.
Formula MaskAlgebra::exact_or_atom(Value v, MaybeFormula exact) {
  if (exact) return *exact;
  const Formula atom = atom_for(v);
  const Op op = function_[v].op;
  if (op != Op::and_ && op != Op::or_) return atom;
  const Formula a = formula_of(function_.operand(v, 0)), b = formula_of(function_.operand(v, 1));
  const Formula guard = older(a, b) ? a : b;
  return op == Op::and_ ? pool_.and_(guard, atom) : pool_.or_(guard, atom);
}

// Compares of one pair of operands share atoms, so that a < b, a <= b, a == b and their opposites imply what
// they should: integers by "equal" and "less", floats by two bits that number the four outcomes.
Formula MaskAlgebra::make_compare(Value v) {
  Value a = function_.operand(v, 0), b = function_.operand(v, 1);
  const Op op = function_[v].op;
  if (op == Op::fcmp) {
    const uint64_t control = function_[v].imm & 0xff;
    const unsigned predicate = ir::fcmp_predicate(function_[v].imm);
    const Formula x = pair_atom(Atom::Kind::float_low, a, b, control),
                  y = pair_atom(Atom::Kind::float_high, a, b, control);
    Formula result = kFalse;
    for (unsigned outcome = 0; outcome < 4; ++outcome) {
      if (!(predicate >> outcome & 1)) continue;
      result = pool_.or_(
          result, pool_.and_(outcome & 1 ? x : FormulaPool::not_(x), outcome & 2 ? y : FormulaPool::not_(y)));
    }
    return result;
  }
  const auto key = std::minmax(a, b);
  const Formula same = pair_atom(Atom::Kind::equal, key.first, key.second);
  if (op == Op::eq) return same;
  if (op == Op::ne) return FormulaPool::not_(same);
  const bool is_signed = op == Op::slt || op == Op::sle;
  // "Less" is asked of the ordered pair; the other order is "neither less nor equal".
  const bool swapped = b < a;
  const Formula less_atom =
      pair_atom(is_signed ? Atom::Kind::signed_less : Atom::Kind::unsigned_less, key.first, key.second);
  const Formula less =
      pool_.and_(FormulaPool::not_(same), swapped ? FormulaPool::not_(less_atom) : less_atom);
  return op == Op::ult || op == Op::slt ? less : pool_.or_(same, less);
}

bool MaskAlgebra::stands_alone(Value mask) const {
  const Formula f = formula_of(mask);
  for (Formula g = f; !FormulaPool::is_constant(g);) {
    const Atom& atom = atoms_[pool_.top(g)];
    if (atom.kind < Atom::Kind::equal || atom.shared) return false;
    // One of the branches is constant: of a compare, the other has the second atom.
    g = FormulaPool::is_constant(pool_.high(g)) ? pool_.low(g) : pool_.high(g);
  }
  return !FormulaPool::is_constant(f);
}

// A join phi is "the value of the edge that was taken", told apart by path atoms that all phis of the block
// share. A loop phi is an atom inside the entering mask, until check_loop_phis refutes that.
Formula MaskAlgebra::make_phi(Value v, Block block) {
  const auto& predecessors = function_[block].predecessors;
  if (is_loop_header(block)) {
    const Formula atom =
        new_atom({.kind = Atom::Kind::mask, .what = v.index, .loops = {loop_of(v), cfg::none}});
    if (bound_[v.index] == Bound::own && surely_grows(v, block)) set_bound(v, Bound::joint);
    const auto entry = bound_[v.index] == Bound::none ? MaybeFormula() : loop_entry(v, block);
    if (!entry) set_bound(v, Bound::none);
    return entry ? pool_.and_(*entry, atom) : atom;
  }
  MaybeFormula result = incoming(v.index, static_cast<unsigned>(predecessors.size()) - 1);
  for (auto e = static_cast<unsigned>(predecessors.size()) - 1; e-- > 0 && result;) {
    const Formula f = incoming(v.index, e);
    if (f != result) result = bounded_.ite(path_atom(block, e), f, *result);
  }
  return exact_or_atom(v, result);
}

Formula MaskAlgebra::leave_loops(Formula f, Block use, Block definition) {
  if (breaks(BrokenRule::loops_left_unquantified) || FormulaPool::is_constant(f)) return f;
  if (loops_.innermost[use.index] == loops_.innermost[definition.index]) return f;
  uint32_t outermost = cfg::none;
  for (uint32_t loop = loops_.innermost[use.index]; loop != cfg::none; loop = loops_.loops[loop].parent)
    if (!loops_.contains(loop, definition.index)) outermost = loop;
  if (outermost == cfg::none || first_level_[outermost] == ~0u || pool_.top(f) < first_level_[outermost])
    return f;
  const auto quantify = [&](uint32_t level, Formula high, Formula low) {
    return changes_in(atoms_[level], outermost) ? bounded_.or_above(high, low)
                                                : bounded_.ite_above(pool_.atom(level), high, low);
  };
  return bounded_.rebuild_above(f, first_level_[outermost], quantify, loop_memo_[outermost]);
}

Value MaskAlgebra::empty_on_edge(Block block, unsigned edge) const {
  const ir::BasicBlock& from = function_[function_[block].predecessors[edge]];
  if (from.successor_count != 2 || from.successors[0] == from.successors[1]) return {};
  const Value branch = from.instructions.back();
  if (function_[branch].op != Op::cond_br) return {};
  bool holds = from.successors[0] == block;
  Value condition = function_.operand(branch, 0);
  for (; function_[condition].op == Op::not_; condition = function_.operand(condition, 0)) holds = !holds;
  if (function_[condition].op != Op::any && function_[condition].op != Op::host_any) return {};
  return holds == breaks(BrokenRule::taken_branch_empty) ? function_.operand(condition, 0) : Value{};
}

Formula MaskAlgebra::across_edge(Formula f, Block block, unsigned edge) {
  const Formula arrived = translate_across(f, block, edge);
  const Value empty = arrived == kFalse ? Value{} : empty_on_edge(block, edge);
  if (!empty) return arrived;
  return bounded_.and_(arrived, FormulaPool::not_(formula_of(empty))).value_or(arrived);
}

/// The claim in terms of what was known in front of the edge.
Formula MaskAlgebra::translate_across(Formula f, Block block, unsigned edge) {
  const bool header = is_loop_header(block);
  FormulaPool::Memo& memo = edge_memo_[edge_index(block, edge)];
  if (header && breaks(BrokenRule::back_edge_same_iteration)) return f;
  if (!header && breaks(BrokenRule::wrong_way_into_a_join)) edge ^= 1;
  const uint32_t loop = loops_.innermost[block.index];
  const uint32_t floor = header ? first_level_[loop] : first_path_level_[block.index];
  if (floor == ~0u || FormulaPool::is_constant(f) || pool_.top(f) < floor) return f;
  const auto step = [&](uint32_t level, Formula high, Formula low) {
    const Atom& atom = atoms_[level];
    if (header && is_loop_phi(atom) && block_of_[atom.what] == block.index)
      return bounded_.ite_above(incoming(atom.what, edge), high, low);
    if (header && changes_in(atom, loop)) return bounded_.or_above(high, low);
    if (!header && atom.kind == Atom::Kind::way && atom.what == block.index && atom.imm <= edge)
      return atom.imm == edge ? high : low;
    return bounded_.ite_above(pool_.atom(level), high, low);
  };
  return bounded_.rebuild_above(f, floor, step, memo);
}

Formula MaskAlgebra::lanes(uint64_t set) {
  if (function_.wave_size == 32) set = (set & 0xffffffff) | set << 32;
  // Halve the index range bit by bit from the top: f(bits) = top ? upper half : lower half.
  std::array<Formula, 64> part;
  for (unsigned lane = 0; lane < 64; ++lane) part[lane] = set >> lane & 1 ? kTrue : kFalse;
  for (uint32_t bit = 0; bit < kLaneBits; ++bit)
    for (unsigned i = 0; i < 32u >> bit; ++i)
      part[i] = pool_.ite(pool_.atom(bit), part[2 * i + 1], part[2 * i]);
  return part[0];
}

uint64_t MaskAlgebra::possible_lanes(Formula f) {
  const auto quantify = [&](uint32_t level, Formula high, Formula low) {
    return level >= kLaneBits ? bounded_.or_above(high, low) : pool_.ite(pool_.atom(level), high, low);
  };
  const Formula g = bounded_.rebuild_above(f, kLaneBits, quantify, lanes_memo_);
  uint64_t set = 0;
  for (unsigned lane = 0; lane < function_.wave_size; ++lane)
    if (pool_.evaluate(g, [&](uint32_t level) { return (lane >> level & 1) != 0; }))
      set |= uint64_t{1} << lane;
  return set;
}

const MaskAlgebra::LaneTable* MaskAlgebra::lane_table(Value v) const {
  const uint32_t i = lane_table_index_[v.index];
  return i == 0 ? nullptr : &lane_tables_[i - 1];
}

/// Values that depend on nothing but the lane's index, lane by lane: lane_id, bits of constant words, and
/// every operation on such values and constants.
void MaskAlgebra::note_lane_table(Value v) {
  const ir::Inst& inst = function_[v];
  const auto ops = function_.operands(v);
  const bool source = inst.op == Op::lane_id || inst.op == Op::lane_bit || inst.op == Op::mbcnt;
  if (!source && lane_tables_.empty()) return;
  if (!source && std::ranges::none_of(ops, [&](Value o) { return lane_table(o) != nullptr; })) return;
  LaneTable table;
  const auto record = [&] {
    lane_tables_.push_back(table);
    lane_table_index_[v.index] = static_cast<uint32_t>(lane_tables_.size());
  };
  const auto wave_lane = [&](unsigned lane) { return lane & (function_.wave_size - 1); };
  if (inst.op == Op::lane_id) {
    for (unsigned lane = 0; lane < 64; ++lane) table[lane] = wave_lane(lane);
    return record();
  }
  if (inst.op == Op::lane_bit && function_.is_constant(ops[0])) {
    for (unsigned lane = 0; lane < 64; ++lane) table[lane] = function_[ops[0]].imm >> wave_lane(lane) & 1;
    return record();
  }
  if (inst.op == Op::mbcnt && function_.is_constant(ops[0])) {
    for (unsigned lane = 0; lane < 64; ++lane) {
      const int below = static_cast<int>(wave_lane(lane)) - (inst.imm ? 32 : 0);
      table[lane] = std::popcount(function_[ops[0]].imm &
                                  ir::low_bits(static_cast<unsigned>(std::clamp(below, 0, 32))));
    }
    return record();
  }
  const ir::Evaluator evaluate =
      ir::info(inst.op).kind == ir::OpKind::pure && inst.components == 1 ? ir::evaluator(inst.op) : nullptr;
  if (!evaluate || ops.empty() || ops.size() > 4) return;
  const bool known =
      std::ranges::all_of(ops, [&](Value o) { return function_.is_constant(o) || lane_table(o); });
  if (!known) return;
  for (unsigned lane = 0; lane < 64; ++lane) {
    ir::LaneOperation operation{.type = inst.type, .operand_type = function_[ops[0]].type, .imm = inst.imm};
    for (unsigned i = 0; i < ops.size(); ++i)
      operation.v[i] = lane_table(ops[i]) ? (*lane_table(ops[i]))[lane] : function_[ops[i]].imm;
    table[lane] = evaluate(operation);
  }
  record();
}

} // namespace lanewise::analysis
