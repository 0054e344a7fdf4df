#include "analysis/demand_proof.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <tuple>
#include <unordered_map>
#include <z3++.h>

namespace lanewise::analysis {

using ir::Block;
using ir::Op;
using ir::OpKind;
using ir::Value;

namespace {

/// The function's values as Z3 expressions for one symbolic lane, at one moment. Values that a loop makes
/// anew in another iteration get other unknowns: a World is one choice of iteration.
class World {
 public:
  World(z3::context& context, const ir::Function& function, const MaskAlgebra& masks, std::string suffix)
      : z3_(context), f_(function), masks_(masks), suffix_(std::move(suffix)),
        lane_(context.bv_const("lane", 64)) {}

  /// Values of `loop` differ from those of `base`, all others are the same.
  void derive_from(World& base, uint32_t loop) {
    base_ = &base;
    loop_ = loop;
  }
  /// Says what a value is in this world (a loop phi seen from its incoming edge).
  void define(Value v, const z3::expr& e) { known_.insert_or_assign(v.index, e); }

  z3::expr bits(Value v) {
    if (f_.is_constant(v))
      return z3_.bv_val(static_cast<uint64_t>(f_[v].imm), std::max(1u, ir::bit_width(f_[v].type)));
    const z3::expr e = of(v);
    return e.is_bool() ? z3::ite(e, z3_.bv_val(1, 1), z3_.bv_val(0, 1)) : e;
  }
  z3::expr mask(Value v) {
    if (f_.is_constant(v)) return z3_.bool_val(f_[v].imm != 0);
    return of(v);
  }
  z3::expr formula(Formula f);
  /// Edge by which `block` was entered.
  z3::expr way(uint32_t block) {
    if (base_ && !in_loop(block)) return base_->way(block);
    return z3_.int_const(("way" + std::to_string(block) + suffix_).c_str());
  }
  [[nodiscard]] const z3::expr& lane() const { return lane_; }

 private:
  [[nodiscard]] bool in_loop(uint32_t block) const {
    return block != cfg::none && masks_.loops().contains(loop_, block);
  }
  z3::expr of(Value v) {
    if (auto it = known_.find(v.index); it != known_.end()) return it->second;
    if (base_ && !in_loop(masks_.block_of(v))) return base_->of(v);
    // Operands first, without recursion: programs nest deeper than a stack.
    std::vector<Value> work{v};
    while (!work.empty()) {
      const Value x = work.back();
      if (known_.contains(x.index) || (base_ && !in_loop(masks_.block_of(x)))) {
        work.pop_back();
        continue;
      }
      bool ready = true;
      if (is_modelled(x)) {
        for (Value o : f_.operands(x)) {
          if (f_.is_constant(o) || known_.contains(o.index) || (base_ && !in_loop(masks_.block_of(o))))
            continue;
          work.push_back(o);
          ready = false;
        }
      }
      if (!ready) continue;
      known_.emplace(x.index, model(x));
      work.pop_back();
    }
    return known_.at(v.index);
  }
  [[nodiscard]] bool is_modelled(Value v) const {
    switch (f_[v].op) {
    case Op::and_:
    case Op::or_:
    case Op::xor_:
    case Op::not_:
    case Op::select:
    case Op::eq:
    case Op::ne:
    case Op::ult:
    case Op::ule:
    case Op::slt:
    case Op::sle:
    case Op::add:
    case Op::sub:
    case Op::shl:
    case Op::lshr:
    case Op::zext:
    case Op::trunc:
    case Op::lane_bit:
    case Op::lane_id: return f_[v].components == 1;
    case Op::phi: return f_[v].type == ir::Type::u1 && !masks_.is_loop_header(Block{masks_.block_of(v)});
    default: return false;
    }
  }
  z3::expr unknown(Value v) {
    const std::string name = "v" + std::to_string(v.index) + suffix_;
    if (f_[v].type == ir::Type::u1) return z3_.bool_const(name.c_str());
    return z3_.bv_const(name.c_str(), std::max(1u, ir::bit_width(f_[v].type)));
  }
  z3::expr model(Value v);
  z3::expr model_mask(Value v);
  z3::expr model_bits(Value v);
  z3::expr outcome(Value v);

  z3::context& z3_;
  const ir::Function& f_;
  const MaskAlgebra& masks_;
  std::string suffix_;
  z3::expr lane_;
  World* base_ = nullptr;
  uint32_t loop_ = 0;
  std::unordered_map<uint32_t, z3::expr> known_;
};

z3::expr World::model(Value v) {
  if (!is_modelled(v)) {
    if (f_[v].op == Op::fcmp) return outcome(v);
    return unknown(v);
  }
  return f_[v].type == ir::Type::u1 ? model_mask(v) : model_bits(v);
}

/// fcmp: an unknown outcome of the pair, shared by all compares of it.
z3::expr World::outcome(Value v) {
  const Value a = f_.operand(v, 0), b = f_.operand(v, 1);
  const z3::sort sa = bits(a).get_sort();
  const auto function =
      z3_.function(("fcmp" + std::to_string(f_[v].imm & 0xff) + "_" + std::to_string(sa.bv_size())).c_str(),
                   sa, sa, z3_.bv_sort(2));
  const z3::expr o = function(bits(a), bits(b));
  z3::expr result = z3_.bool_val(false);
  for (unsigned k = 0; k < 4; ++k)
    if (ir::fcmp_predicate(f_[v].imm) >> k & 1) result = result || o == z3_.bv_val(k, 2);
  return result;
}

z3::expr World::model_mask(Value v) {
  const auto m = [&](unsigned i) { return mask(f_.operand(v, i)); };
  const auto b = [&](unsigned i) { return bits(f_.operand(v, i)); };
  switch (f_[v].op) {
  case Op::and_: return m(0) && m(1);
  case Op::or_: return m(0) || m(1);
  case Op::xor_: return m(0) != m(1);
  case Op::not_: return !m(0);
  case Op::select: return z3::ite(m(0), m(1), m(2));
  case Op::eq: return b(0) == b(1);
  case Op::ne: return b(0) != b(1);
  case Op::ult: return z3::ult(b(0), b(1));
  case Op::ule: return z3::ule(b(0), b(1));
  case Op::slt: return z3::slt(b(0), b(1));
  case Op::sle: return z3::sle(b(0), b(1));
  case Op::trunc: return b(0).extract(0, 0) == z3_.bv_val(1, 1);
  case Op::lane_bit: {
    const z3::expr w = b(0);
    const z3::expr at = lane_.extract(w.get_sort().bv_size() - 1, 0);
    return z3::lshr(w, at).extract(0, 0) == z3_.bv_val(1, 1);
  }
  case Op::phi: {
    const uint32_t block = masks_.block_of(v);
    const auto n = static_cast<unsigned>(f_.operands(v).size());
    z3::expr result = m(n - 1);
    for (unsigned e = n - 1; e-- > 0;) result = z3::ite(way(block) == static_cast<int>(e), m(e), result);
    return result;
  }
  default: return unknown(v);
  }
}

z3::expr World::model_bits(Value v) {
  const auto b = [&](unsigned i) { return bits(f_.operand(v, i)); };
  const unsigned width = ir::bit_width(f_[v].type);
  const auto count = [&] { return b(1) & z3_.bv_val(width - 1, width); };
  switch (f_[v].op) {
  case Op::and_: return b(0) & b(1);
  case Op::or_: return b(0) | b(1);
  case Op::xor_: return b(0) ^ b(1);
  case Op::not_: return ~b(0);
  case Op::add: return b(0) + b(1);
  case Op::sub: return b(0) - b(1);
  case Op::shl: return z3::shl(b(0), count());
  case Op::lshr: return z3::lshr(b(0), count());
  case Op::zext: return z3::zext(b(0), width - b(0).get_sort().bv_size());
  case Op::trunc: return b(0).extract(width - 1, 0);
  case Op::select: return z3::ite(mask(f_.operand(v, 0)), b(1), b(2));
  case Op::lane_id: return lane_.extract(31, 0);
  default: return unknown(v);
  }
}

/// A claim of the analysis in this world: its decision diagram with every atom read from the model.
z3::expr World::formula(Formula f) {
  std::unordered_map<uint32_t, z3::expr> done;
  const FormulaPool& pool = masks_.pool();
  std::vector<Formula> work{f};
  const auto value = [&](Formula x) {
    if (FormulaPool::is_constant(x)) return z3_.bool_val(x == kTrue);
    return done.at(x.bits);
  };
  while (!work.empty()) {
    const Formula x = work.back();
    if (FormulaPool::is_constant(x) || done.contains(x.bits)) {
      work.pop_back();
      continue;
    }
    const Formula h = pool.high(x), l = pool.low(x);
    bool ready = true;
    for (Formula y : {h, l})
      if (!FormulaPool::is_constant(y) && !done.contains(y.bits)) work.push_back(y), ready = false;
    if (!ready) continue;
    const MaskAlgebra::Atom& meaning = masks_.atom(pool.top(x));
    z3::expr atom = z3_.bool_val(false);
    using Kind = MaskAlgebra::Atom::Kind;
    switch (meaning.kind) {
    case Kind::lane_bit: atom = lane_.extract(meaning.what, meaning.what) == z3_.bv_val(1, 1); break;
    case Kind::mask: atom = mask(Value{meaning.what}); break;
    case Kind::way: atom = way(meaning.what) == static_cast<int>(meaning.imm); break;
    case Kind::equal: atom = bits(Value{meaning.what}) == bits(Value{meaning.other}); break;
    case Kind::unsigned_less: atom = z3::ult(bits(Value{meaning.what}), bits(Value{meaning.other})); break;
    case Kind::signed_less: atom = z3::slt(bits(Value{meaning.what}), bits(Value{meaning.other})); break;
    case Kind::float_low:
    case Kind::float_high: {
      const z3::expr a = bits(Value{meaning.what}), b = bits(Value{meaning.other});
      const auto function = z3_.function(
          ("fcmp" + std::to_string(meaning.imm) + "_" + std::to_string(a.get_sort().bv_size())).c_str(),
          a.get_sort(), a.get_sort(), z3_.bv_sort(2));
      const unsigned bit = meaning.kind == Kind::float_high ? 1 : 0;
      atom = function(a, b).extract(bit, bit) == z3_.bv_val(1, 1);
      break;
    }
    }
    done.emplace(x.bits, z3::ite(atom, value(h), value(l)));
    work.pop_back();
  }
  return value(f);
}

class Prover {
 public:
  Prover(const ir::Function& function, MaskAlgebra& masks, const LaneDemand& demand)
      : f_(function), masks_(masks), demand_(demand), solver_(z3_), now_(z3_, function, masks, "") {
    solver_.add(z3::ult(now_.lane(), z3_.bv_val(function.wave_size, 64)));
  }

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
  /// claim ==> conclusion, or a failure.
  void prove(unsigned& count, const z3::expr& claim, const z3::expr& conclusion, Value about,
             const char* what) {
    ++count;
    const z3::expr open = (claim && !conclusion).simplify();
    if (open.is_false()) {
      ++report_.proved;
      return;
    }
    solver_.push();
    solver_.add(open);
    const z3::check_result result = solver_.check();
    solver_.pop();
    if (result == z3::unsat)
      ++report_.proved;
    else
      report_.failures.push_back({about, what, result == z3::sat});
  }

  /// What was assumed of loop masks: first the induction steps under all assumptions, then they are facts.
  void prove_facts() {
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
  z3::expr entry(World& world, Value phi) {
    const Block header{masks_.block_of(phi)};
    z3::expr result = z3_.bool_val(false);
    for (Value p : masks_.bound_of(phi))
      for (unsigned e = 0; e < f_[header].predecessors.size(); ++e)
        if (!masks_.is_back_edge(header, e)) result = result || world.mask(f_.operand(p, e));
    return result;
  }
  /// The facts, in a world whose values differ in `loop` (all of them by default).
  void assume_facts(World& world, uint32_t loop = cfg::none) {
    for (Value phi : facts_)
      if (loop == cfg::none || masks_.loops().contains(loop, masks_.block_of(phi)))
        solver_.add(z3::implies(world.mask(phi), entry(world, phi)));
  }

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
    if (f_[v].uniform) { // one value for the wave: all or nothing
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
      it = iterations_.emplace(loop, std::make_unique<World>(z3_, f_, masks_, "'" + std::to_string(loop)))
               .first;
      it->second->derive_from(now_, loop);
      assume_facts(*it->second, loop);
    }
    return *it->second;
  }

  World& after_edge(World& from, Block header, unsigned e);
  void prove_flow(Value user, Block block);
  void prove_phi(Value phi, Block block);
  [[nodiscard]] Value empty_on_edge(Block block, unsigned e) const;
  void prove_rewrite(const ClaimedRewrite& r);
  uint64_t lanes_read(Value user);

  const ir::Function& f_;
  MaskAlgebra& masks_;
  const LaneDemand& demand_;
  z3::context z3_;
  z3::solver solver_;
  World now_;
  std::unordered_map<uint32_t, std::unique_ptr<World>> iterations_;
  std::map<std::tuple<World*, uint32_t, unsigned>, std::unique_ptr<World>> edges_;
  std::vector<Value> facts_;
  ProofReport report_;
};

/// The world in which the phis of a loop header are read when it is entered by edge e from world `from`: they
/// are what comes in, everything else in the loop is made anew.
World& Prover::after_edge(World& from, Block header, unsigned e) {
  auto& slot = edges_[{&from, header.index, e}];
  if (!slot) {
    slot = std::make_unique<World>(z3_, f_, masks_, "#" + std::to_string(edges_.size()));
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

/// Where `if (any(m)) goto other; goto block` comes to the block, no lane is in m.
Value Prover::empty_on_edge(Block block, unsigned e) const {
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

uint64_t Prover::lanes_read(Value user) {
  const auto pattern = ir::LanePattern::unpack(f_[user].imm);
  const uint64_t readers = masks_.possible_lanes(demand_.demand(user));
  uint64_t read = 0;
  for (unsigned lane = 0; lane < f_.wave_size; ++lane)
    if (const int source = pattern.source(lane); source >= 0 && (readers >> lane & 1))
      read |= uint64_t{1} << source;
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
  case Op::read_lane:
    if (!read) return;
    if (f_.is_constant(operands[1]))
      want(operands[0], in_lanes(uint64_t{1} << (f_[operands[1]].imm & (f_.wave_size - 1))), block);
    else
      want(operands[0], always, block);
    want(operands[1], always, block);
    return;
  case Op::read_first:
    if (!read) return;
    want(
        operands[0], [&](World& w) { return w.mask(operands[1]) || now_.lane() == z3_.bv_val(0, 64); },
        block);
    want(operands[1], always, block);
    return;
  case Op::dpp: return want(operands[0], in_lanes(lanes_read(user)), block);
  case Op::permute:
    if (!read) return;
    want(operands[0], always, block);
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
  const z3::expr where = claim(now_, r.value);
  const z3::expr same = f_[r.value].type == ir::Type::u1 ? now_.mask(r.value) == now_.mask(r.by)
                                                         : now_.bits(r.value) == now_.bits(r.by);
  prove(report_.rewrites, where, same, r.value, "the replacement differs where the value is read");
  if (!f_.is_constant(r.by))
    prove(report_.rewrites, where, claim(now_, r.by), r.value,
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
