// Atomics. What SPIR-V does not have is a compare-exchange loop.
#include "spirv/memory_access.hpp"

#include "spirv/float_format.hpp"

namespace lanewise::spirv {
namespace {

using ir::AtomicOp;
using ir::MemoryAccess;
using ir::Op;
using ir::Space;
using ir::Type;
using ir::Value;

struct Native {
  AtomicOp atomic;
  spv::Op op;
};
constexpr std::array native{
    Native{AtomicOp::swap, spv::Op::OpAtomicExchange}, Native{AtomicOp::add, spv::Op::OpAtomicIAdd},
    Native{AtomicOp::sub, spv::Op::OpAtomicISub},      Native{AtomicOp::smin, spv::Op::OpAtomicSMin},
    Native{AtomicOp::umin, spv::Op::OpAtomicUMin},     Native{AtomicOp::smax, spv::Op::OpAtomicSMax},
    Native{AtomicOp::umax, spv::Op::OpAtomicUMax},     Native{AtomicOp::and_, spv::Op::OpAtomicAnd},
    Native{AtomicOp::or_, spv::Op::OpAtomicOr},        Native{AtomicOp::xor_, spv::Op::OpAtomicXor},
};

const Native* find_native(AtomicOp a) {
  for (const Native& n : native)
    if (n.atomic == a) return &n;
  return nullptr;
}

/// What memory holds after the operation: `old` before, `data` and `other` (compare or second data) of the
/// lane. All are integers; float operations look at them as floats.
Expr updated(MemoryAccess m, Expr old, Expr data, Expr other) {
  const Type f = old.type == Type::i64 ? Type::f64 : Type::f32;
  const auto number = [&](Expr x) { return as_float(x, f); };
  const auto operand = [&](Expr x) { return m.flush_in ? flush(number(x)) : number(x); };
  switch (m.atomic) {
  case AtomicOp::swap: return data;
  case AtomicOp::cmpswap: return select(old == other, data, old);
  case AtomicOp::add: return old + data;
  case AtomicOp::sub: return old - data;
  case AtomicOp::rsub: return data - old;
  case AtomicOp::smin: return select(slt(data, old), data, old);
  case AtomicOp::smax: return select(slt(old, data), data, old);
  case AtomicOp::umin: return select(data < old, data, old);
  case AtomicOp::umax: return select(old < data, data, old);
  case AtomicOp::and_: return old & data;
  case AtomicOp::or_: return old | data;
  case AtomicOp::xor_: return old ^ data;
  case AtomicOp::inc: return select(old >= data, 0, old + 1);
  case AtomicOp::dec: return select((old == 0) | (old > data), data, old - 1);
  case AtomicOp::csub: return select(old < data, 0, old - data);
  case AtomicOp::fcmpswap: return select(number(old) == number(other), data, old);
  case AtomicOp::fmin: return select(number(data) < number(old), data, old);
  case AtomicOp::fmax: return select(number(old) < number(data), data, old);
  case AtomicOp::fadd: {
    const Expr sum = operand(old) + operand(data);
    return bits(m.flush_out ? flush(sum) : sum);
  }
  case AtomicOp::mskor: return (old & ~data) | other;
  case AtomicOp::wrap: return select(old >= data, old - data, old + other);
  default: return old;
  }
}

struct Target {
  Id pointer, scope;
  Type type; ///< that it points to
};

Target target_of(const AccessSite& s, Type t) {
  if (s.space == Space::global)
    return {global_pointer(s.e, s.c, s.address, s.c.types[t]), s.e.scope(spv::Scope::Device), t};
  if (is_wide(s)) return {wide_lds_pointer(s.e, s.c, s.address), s.e.scope(spv::Scope::Workgroup), Type::i64};
  return {word_pointer(s.e, s.c, s.space, s.address >> 2, 0, s.inside), s.e.scope(spv::Scope::Workgroup), t};
}

/// do { old = *p; } while (compare_exchange(p, old, f(old)) != old)
template <class F>
Expr exchange_loop(Code& c, Target p, F f) {
  ModuleBuilder& m = c.module;
  const Id type = c.types[p.type], relaxed = m.u32(0);
  const Id first = c.op(spv::Op::OpAtomicLoad, type, {p.pointer, p.scope, relaxed});
  const Id before = c.block, loop = m.new_id(), merge = m.new_id(), next = m.new_id(), seen = m.new_id();
  c.branch(loop);
  c.start(loop);
  const Expr old = c.expr(c.phi(type, {first, before, seen, next}), p.type);
  const Expr wanted = f(old);
  c.op_as(seen, spv::Op::OpAtomicCompareExchange, type,
          {p.pointer, p.scope, relaxed, relaxed, wanted.id, old.id});
  const Expr done = c.expr(seen, p.type) == old;
  c.effect(spv::Op::OpLoopMerge, {merge, next, 0});
  c.branch_if(done.id, merge, next);
  c.start(next);
  c.branch(loop);
  c.start(merge);
  return old;
}

/// Scratch belongs to one lane: no atomic operation is needed.
Expr in_scratch(const AccessSite& s, Expr data, Expr other) {
  const Expr index = s.address >> 2;
  const bool wide = data.type == Type::i64;
  Expr old = load_word(s, index, 0);
  if (wide) old = resize(old, Type::i64) | resize(load_word(s, index, 1), Type::i64) << 32;
  const Expr result = updated(s.access, old, data, other);
  store_word(s, index, 0, resize(result, Type::i32));
  if (wide) store_word(s, index, 1, resize(result >> 32, Type::i32));
  return old;
}

/// A 32-bit atomic on half of a 64-bit unit.
Expr in_half(const AccessSite& s, Expr data, Expr other) {
  Code& c = s.c;
  const Expr shift = resize((s.address & 4) << 3, Type::i64);
  const Expr unit = exchange_loop(c, target_of(s, Type::i64), [&](Expr old) {
    const Expr half = updated(s.access, resize(old >> shift, Type::i32), data, other);
    return (old & ~(c.constant(Type::i64, 0xffff'ffff) << shift)) | resize(half, Type::i64) << shift;
  });
  return resize(unit >> shift, Type::i32);
}

Expr atomic_old(const AccessSite& s, Expr data, Expr other) {
  Code& c = s.c;
  if (s.space == Space::scratch) return in_scratch(s, data, other);
  if (is_wide(s) && data.type == Type::i32) return in_half(s, data, other);
  const Target p = target_of(s, data.type);
  const Id type = c.types[data.type], relaxed = c.module.u32(0);
  if (const Native* n = find_native(s.access.atomic))
    return c.expr(c.op(n->op, type, {p.pointer, p.scope, relaxed, data.id}), data.type);
  if (s.access.atomic == AtomicOp::cmpswap)
    return c.expr(c.op(spv::Op::OpAtomicCompareExchange, type,
                       {p.pointer, p.scope, relaxed, relaxed, data.id, other.id}),
                  data.type);
  return exchange_loop(c, p, [&](Expr old) { return updated(s.access, old, data, other); });
}

Id atomic(const AccessSite& s) {
  const Expr data = bits(s.data[0]);
  const Expr other = s.data.size() > 1 ? bits(s.data[1]) : data;
  return bitcast(atomic_old(s, data, other), s.type).id;
}

void write_guarded_atomic(Emitter& e, Value v) { write_atomic(e, v, is_guarded(e.f, v)); }

} // namespace

void write_atomic(Emitter& e, Value v, bool ask_active) {
  const MemoryAccess m = MemoryAccess::unpack(e.f[v].imm);
  const bool wide = ir::bit_width(e.f[e.f.operand(v, 2)].type) == 64;
  const bool maybe_lds = m.space == Space::lds || (m.space == Space::flat && e.lds_bytes() != 0);
  const bool maybe_global = m.space == Space::global || m.space == Space::flat;
  if (wide && maybe_lds && !e.options.device.int64_lds_atomics)
    return e.refuse(v, "64-bit atomic in LDS", "the device lacks shaderSharedInt64Atomics");
  if (wide && maybe_global && !e.options.device.int64_atomics)
    return e.refuse(v, "64-bit atomic", "the device lacks shaderBufferInt64Atomics");
  if (wide) e.module.capability(spv::Capability::Int64Atomics);
  write_access_call(e, v, Helper::atomic, ask_active, atomic);
}

void add_atomic_handlers(HandlerTable& t) { t[index_of(Op::atomic)] = write_guarded_atomic; }

} // namespace lanewise::spirv
