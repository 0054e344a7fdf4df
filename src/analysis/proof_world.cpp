#include "analysis/proof_world.hpp"

namespace lanewise::analysis {

using ir::Block;
using ir::Op;
using ir::Value;

namespace {

/// A bit of a ballot is the mask that was asked.
bool bit_of_ballot(const ir::Function& f, Value v) {
  return f[v].op == Op::lane_bit && f[f.operand(v, 0)].op == Op::ballot;
}

} // namespace

z3::expr World::of(Value v) {
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
      for (Value o : f_.operands(bit_of_ballot(f_, x) ? f_.operand(x, 0) : x)) {
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

bool World::is_modelled(Value v) const {
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
  case Op::phi:
    return (f_[v].type == ir::Type::u1 || (model_ == Model::values && f_[v].components == 1)) &&
           !masks_.is_loop_header(Block{masks_.block_of(v)});
  case Op::load: return model_ == Model::values && f_[v].components == 1;
  case Op::fcmp: return false; // outcome() asks for its operands itself
  default: return model_ == Model::values && ir::info(f_[v].op).kind == ir::OpKind::pure;
  }
}

z3::expr World::unknown(Value v) {
  const std::string name = fmt::format("v{}{}", v.index, suffix_);
  if (f_[v].type == ir::Type::u1) return z3_.bool_const(name.c_str());
  return z3_.bv_const(name.c_str(), std::max(1u, ir::bit_width(f_[v].type)));
}

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
      z3_.function(fmt::format("fcmp{}_{}", f_[v].imm & 0xff, sa.bv_size()).c_str(), sa, sa, z3_.bv_sort(2));
  const z3::expr o = function(bits(a), bits(b));
  z3::expr result = z3_.bool_val(false);
  for (unsigned k = 0; k < 4; ++k)
    if (ir::fcmp_predicate(f_[v].imm) >> k & 1) result = result || o == z3_.bv_val(k, 2);
  return result;
}

/// Equal operands, equal result.
z3::expr World::function_of_operands(Value v) {
  z3::sort_vector domain(z3_);
  z3::expr_vector arguments(z3_);
  std::string name = fmt::format("{}_{:x}", static_cast<unsigned>(f_[v].op), f_[v].imm);
  for (Value o : f_.operands(v)) {
    arguments.push_back(bits(o));
    domain.push_back(arguments.back().get_sort());
    name += fmt::format("_{}", arguments.back().get_sort().bv_size());
  }
  const bool is_mask = f_[v].type == ir::Type::u1;
  const unsigned width = std::max(1u, ir::bit_width(f_[v].type));
  return z3_.function(fmt::format("{}_{}", name, width).c_str(), domain,
                      is_mask ? z3_.bool_sort() : z3_.bv_sort(width))(arguments);
}

/// The value of the way that was taken.
z3::expr World::join(Value v) {
  const uint32_t block = masks_.block_of(v);
  const bool is_mask = f_[v].type == ir::Type::u1;
  const auto incoming = [&](unsigned e) { return is_mask ? mask(f_.operand(v, e)) : bits(f_.operand(v, e)); };
  const auto n = static_cast<unsigned>(f_.operands(v).size());
  z3::expr result = incoming(n - 1);
  for (unsigned e = n - 1; e-- > 0;) result = z3::ite(way(block) == static_cast<int>(e), incoming(e), result);
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
    if (bit_of_ballot(f_, v)) return mask(f_.operand(f_.operand(v, 0), 0));
    const z3::expr w = b(0);
    const z3::expr at = lane_.extract(w.get_sort().bv_size() - 1, 0);
    return z3::lshr(w, at).extract(0, 0) == z3_.bv_val(1, 1);
  }
  case Op::phi: return join(v);
  case Op::load: return mask(f_.operand(v, 1)) && unknown(v);
  default: return function_of_operands(v);
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
  case Op::phi: return join(v);
  case Op::load: return z3::ite(mask(f_.operand(v, 1)), unknown(v), z3_.bv_val(0, width));
  default: return function_of_operands(v);
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
      const auto function =
          z3_.function(fmt::format("fcmp{}_{}", meaning.imm, a.get_sort().bv_size()).c_str(), a.get_sort(),
                       a.get_sort(), z3_.bv_sort(2));
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

} // namespace lanewise::analysis
