#include "spirv/wave_lowering.hpp"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "container/guest_abi.hpp"
#include "ir/text.hpp"
#include "spirv/cut_waves.hpp"
#include "spirv/lane_ops.hpp"
#include "support/limits.hpp"

namespace lanewise::spirv {
namespace {

using ir::Block;
using ir::Builder;
using ir::CalleeFunction;
using ir::Function;
using ir::Input;
using ir::InterfaceRegister;
using ir::MemoryAccess;
using ir::Op;
using ir::OpKind;
using ir::Space;
using ir::Type;
using ir::Value;

constexpr std::array dimensions{0u, 1u, 2u};

class Lowering {
 public:
  /// `self`: the callee that `from` is the function of; null for a kernel.
  Lowering(const Function& from, const LoweringOptions& o, std::span<const CalleeFunction> callees = {},
           const CalleeFunction* self = nullptr)
      : f_(from), o_(o), callees_(callees), self_(self), out_(from.wave_size), b_(out_),
        lanes_(out_, o.seating, b_), first_(from.value_count(), none) {}

  Expected<Function> run() {
    if (f_.divergent)
      return fail(ErrorKind::call,
                  "lanes of a wave branch by themselves: passes/linearize makes masks of that");
    out_.name = f_.name;
    out_.lds_bytes = f_.lds_bytes;
    scratch_stride_ = (f_.scratch_bytes + 15) & ~15u;
    out_.scratch_bytes = scratch_stride_ * copies();
    out_.blocks.resize(f_.blocks.size());
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      const auto& from = f_.blocks[b];
      auto& to = out_.blocks[b];
      to.predecessors = from.predecessors;
      to.successors = from.successors;
      to.successor_count = from.successor_count;
      to.pc = from.pc;
    }
    for (const Block b : order()) {
      b_.block = b;
      for (const Value v : f_[b].instructions)
        if (auto ok = lower(v); !ok) return std::unexpected(ok.error());
    }
    finish_phis();
    if (!self_) end_missing_waves();
    auto& entry = out_.blocks[0].instructions;
    entry.insert(entry.begin(), lanes_.prologue().begin(), lanes_.prologue().end());
    return std::move(out_);
  }

 private:
  static constexpr uint32_t none = ~0u;

  [[nodiscard]] unsigned copies() const { return o_.seating.copies(); }
  [[nodiscard]] const Seating& seating() const { return o_.seating; }

  /// Definitions before uses: blocks in reverse post-order.
  [[nodiscard]] std::vector<Block> order() const;

  // -- values
  // ---------------------------------------------------------------------------------------------------------
  [[nodiscard]] Copies all(Value v) {
    if (f_.is_constant(v) && first_[v.index] == none) set(v, {out_.constant(f_[v].type, f_[v].imm)});
    const uint32_t n = f_[v].uniform ? 1 : copies();
    return {pool_.data() + first_[v.index], n};
  }
  [[nodiscard]] Value get(Value v, unsigned copy) {
    const Copies c = all(v);
    return c.size() == 1 ? c[0] : c[copy];
  }
  [[nodiscard]] std::vector<Value> copied(Value v) {
    const Copies c = all(v);
    return {c.begin(), c.end()};
  }
  void set(Value v, std::initializer_list<Value> values) { set(v, std::span(values.begin(), values.size())); }
  /// One value serves all copies of a v that is not called uniform.
  void set(Value v, std::span<const Value> values) {
    first_[v.index] = static_cast<uint32_t>(pool_.size());
    const bool shared = values.size() == 1 && !f_[v].uniform && f_[v].type != Type::none;
    if (shared)
      pool_.insert(pool_.end(), copies(), values[0]);
    else
      pool_.insert(pool_.end(), values.begin(), values.end());
  }
  /// make(copy) for each copy of v, or once if it is uniform.
  template <class F>
  void each(Value v, F make) {
    made_.clear();
    const unsigned n = f_[v].uniform ? 1 : copies();
    for (unsigned c = 0; c < n; ++c) made_.push_back(make(c));
    set(v, made_);
  }

  Expected<void> lower(Value v);
  void lower_plain(Value v);
  void lower_memory(Value v);
  void lower_phi(Value v);
  void lower_input(Value v);
  [[nodiscard]] Expected<void> lower_call(Value v);
  void finish_phis();
  /// Holds until it is asked for again.
  [[nodiscard]] std::span<Value> operands(Value v, unsigned copy) {
    list_.clear();
    for (const Value o : f_.operands(v)) list_.push_back(get(o, copy));
    return list_;
  }
  /// A result that is one for the wave: on a single invocation any value is, which the flag does not know.
  [[nodiscard]] Value one(Value v) { return out_[v].uniform ? v : b_.host_broadcast(v, b_.i32(0)); }
  [[nodiscard]] Value access_scratch(const ir::Inst& inst, std::span<Value> operands);
  [[nodiscard]] Value scratch_address(Value address, Space space, unsigned copy);
  [[nodiscard]] Value flat_id(unsigned copy);
  [[nodiscard]] Value local_id(unsigned dimension, unsigned copy);
  [[nodiscard]] Value initial_exec(unsigned copy);
  [[nodiscard]] bool partial(unsigned dimension) const;
  [[nodiscard]] bool renumbers(unsigned dimension) const;
  [[nodiscard]] bool may_be_partial() const {
    return std::ranges::any_of(dimensions, [&](unsigned d) { return partial(d); });
  }
  [[nodiscard]] unsigned last_dimension() const;
  [[nodiscard]] Value group_size(unsigned dimension);
  [[nodiscard]] Value item_count();
  [[nodiscard]] Value divided(Value small, unsigned dimension);
  [[nodiscard]] Value divided_by_constant(Value small, uint32_t by);
  void end_missing_waves();

  const Function& f_;
  const LoweringOptions& o_;
  std::span<const CalleeFunction> callees_;
  const CalleeFunction* self_;
  Function out_;
  Builder b_;
  LaneOps lanes_;
  std::vector<uint32_t> first_; ///< of each old value: where its copies start in the pool
  std::vector<Value> pool_;
  std::vector<Value> made_, list_; ///< room for each() and operands(), which do not nest
  uint32_t scratch_stride_ = 0;
  std::array<Value, 3> group_size_{};
  Value item_count_{};
};

std::vector<Block> Lowering::order() const {
  struct Frame {
    Block block;
    unsigned next;
  };
  std::vector<Block> post;
  std::vector<bool> seen(f_.blocks.size());
  std::vector<Frame> stack{{Block{0}, 0}};
  seen[0] = true;
  while (!stack.empty()) {
    Frame& top = stack.back();
    const auto& b = f_[top.block];
    if (top.next == b.successor_count) {
      post.push_back(top.block);
      stack.pop_back();
    } else if (const Block s = b.successors[top.next++]; !seen[s.index]) {
      seen[s.index] = true;
      stack.push_back({s, 0});
    }
  }
  return {post.rbegin(), post.rend()};
}

// -- families
// ---------------------------------------------------------------------------------------------------------

Expected<void> Lowering::lower(Value v) {
  const ir::Inst& inst = f_[v];
  b_.pc = inst.pc;
  const auto operand = [&](unsigned i) { return f_.operand(v, i); };
  switch (inst.op) {
  case Op::phi: lower_phi(v); return {};
  case Op::input: lower_input(v); return {};
  case Op::lane_id: each(v, [&](unsigned c) { return lanes_.lane(c); }); return {};
  case Op::ballot: set(v, {one(lanes_.ballot(copied(operand(0))))}); return {};
  case Op::any:
    set(v, {one(f_[operand(0)].uniform ? get(operand(0), 0) : lanes_.any(copied(operand(0))))});
    return {};
  case Op::lane_bit: each(v, [&](unsigned c) { return lanes_.lane_bit(get(operand(0), c), c); }); return {};
  case Op::mbcnt:
    each(v, [&](unsigned c) { return lanes_.mbcnt(get(operand(0), c), inst.imm != 0, c); });
    return {};
  case Op::read_lane: set(v, {one(lanes_.read_lane(copied(operand(0)), get(operand(1), 0)))}); return {};
  case Op::read_first: set(v, {one(lanes_.read_first(copied(operand(0)), copied(operand(1))))}); return {};
  case Op::permute: {
    const auto source = copied(operand(0));
    each(v, [&](unsigned c) { return lanes_.permute(source, get(operand(1), c)); });
    return {};
  }
  case Op::push: set(v, lanes_.push(copied(operand(0)), copied(operand(1)), copied(operand(2)))); return {};
  case Op::dpp: {
    const auto source = copied(operand(0));
    each(v, [&](unsigned c) { return lanes_.dpp(source, ir::LanePattern::unpack(inst.imm), c); });
    return {};
  }
  case Op::call:
  case Op::call_scalar:
  case Op::call_vector:
  case Op::param_scalar:
  case Op::param_vector:
  case Op::call_return: return lower_call(v);
  case Op::buffer_load:
  case Op::buffer_store:
  case Op::buffer_atomic:
    return fail(ErrorKind::unsupported, "buffer operation in wave lowering", fmt::format("pc {:#x}", inst.pc),
                "run lower_buffers first");
  case Op::image_sample_implicit: // the quad is the host's
  case Op::export_:               // as the pixel and the vertex are
    if (copies() != 1)
      return fail(ErrorKind::unsupported,
                  fmt::format("{} in a wave folded onto fewer invocations", ir::name(inst.op)),
                  fmt::format("pc {:#x}", inst.pc));
    break;
  default: break;
  }
  switch (ir::info(inst.op).kind) {
  case OpKind::load:
  case OpKind::store:
  case OpKind::atomic: lower_memory(v); break;
  case OpKind::end:
  case OpKind::effect:
    set(v, {out_.append(b_.block, inst.op, operands(v, 0), inst.type, inst.imm, inst.components, inst.pc)});
    break;
  default: lower_plain(v);
  }
  return {};
}

void Lowering::lower_plain(Value v) {
  const ir::Inst& inst = f_[v];
  each(v, [&](unsigned c) { return b_.emit(inst.op, operands(v, c), inst.type, inst.imm, inst.components); });
}

void Lowering::lower_memory(Value v) {
  const ir::Inst& inst = f_[v];
  const Space space = MemoryAccess::unpack(inst.imm).space;
  const bool private_memory = scratch_stride_ != 0 && (space == Space::scratch || space == Space::flat);
  bool once = inst.uniform && ir::info(inst.op).kind != OpKind::atomic && !private_memory;
  for (const Value o : f_.operands(v)) once = once && f_[o].uniform;
  made_.clear();
  for (unsigned c = 0; c < (once ? 1 : copies()); ++c) {
    const auto list = operands(v, c);
    if (private_memory) list[0] = scratch_address(list[0], space, c);
    made_.push_back(space == Space::scratch ? access_scratch(inst, list)
                                            : b_.emit(inst.op, list, inst.type, inst.imm, inst.components));
  }
  if (inst.uniform) made_.resize(1);
  set(v, made_);
}

/// Addresses are kept inside the invocation's own scratch, so a lane that is off may read it: no branch is
/// needed.
Value Lowering::access_scratch(const ir::Inst& inst, std::span<Value> operands) {
  const Value active = operands[1], yes = b_.u1(true);
  const auto as_it_is = [&] { return b_.emit(inst.op, operands, inst.type, inst.imm, inst.components); };
  if (active == yes || active == b_.u1(false)) return as_it_is();
  if (inst.op == Op::load && inst.components == 1) {
    operands[1] = yes;
    return b_.select(active, as_it_is(), b_.constant(inst.type, 0));
  }
  return as_it_is();
}

/// Each copy has its own piece of the invocation's scratch.
Value Lowering::scratch_address(Value address, Space space, unsigned copy) {
  if (copy == 0) return address;
  const uint32_t offset = copy * scratch_stride_;
  if (space == Space::scratch) return b_.add(address, b_.i32(offset));
  const Value is_private = b_.eq(b_.hi32(address), b_.i32(guest_abi::private_aperture_hi));
  return b_.select(is_private, b_.add(address, b_.i64(offset)), address);
}

void Lowering::lower_phi(Value v) {
  each(v, [&](unsigned) {
    const Value phi = out_.append(b_.block, Op::phi, {}, f_[v].type, 0, 1, f_[v].pc);
    out_[phi].uniform = f_[v].uniform;
    return phi;
  });
}

void Lowering::finish_phis() {
  std::vector<Value> incoming;
  for (const auto& block : f_.blocks)
    for (const Value v : block.instructions) {
      if (f_[v].op != Op::phi || first_[v.index] == none) continue;
      const Copies phis = all(v);
      for (unsigned c = 0; c < phis.size(); ++c) {
        incoming.clear();
        for (const Value o : f_.operands(v)) {
          // An operand from an unreachable block was never lowered.
          const bool known = f_.is_constant(o) || first_[o.index] != none;
          incoming.push_back(known ? get(o, c) : out_.constant(f_[v].type, 0));
        }
        out_.set_operands(all(v)[c], incoming);
      }
    }
}

// -- calls
// --------------------------------------------------------------------------------------------------------------

/// Room for the copies of a wave on one invocation.
constexpr uint64_t copies_per_register = 64;

/// Uniform values go and come once, others for each copy.
Expected<void> Lowering::lower_call(Value v) {
  const ir::Inst& inst = f_[v];
  const auto one_or_all = [&](std::vector<Value>& list, Value operand, bool per_lane) {
    for (unsigned c = 0; c < (per_lane ? copies() : 1); ++c) list.push_back(get(operand, c));
  };
  switch (inst.op) {
  case Op::param_scalar:
  case Op::param_vector:
  case Op::call_scalar:
  case Op::call_vector:
    each(v, [&](unsigned c) {
      std::vector<Value> token;
      if (inst.operand_count != 0) token.push_back(get(f_.operand(v, 0), 0));
      return out_.append(b_.block, inst.op, token, inst.type, inst.imm * copies_per_register + c, 1, inst.pc);
    });
    return {};
  case Op::call_return: {
    if (!self_) break;
    std::vector<Value> list;
    for (unsigned i = 0; i < inst.operand_count; ++i)
      one_or_all(list, f_.operand(v, i), self_->results[i].per_lane);
    set(v, {out_.append(b_.block, inst.op, list, Type::none, 0, 1, inst.pc)});
    return {};
  }
  default: {
    if (inst.imm >= callees_.size()) break;
    const CalleeFunction& callee = callees_[inst.imm];
    std::vector<Value> list{get(f_.operand(v, 0), 0)};
    for (unsigned i = 0; i < callee.params.size(); ++i)
      one_or_all(list, f_.operand(v, i + 1), callee.params[i].per_lane);
    set(v, {out_.append(b_.block, inst.op, list, inst.type, inst.imm, 1, inst.pc)});
    return {};
  }
  }
  return fail(ErrorKind::unsupported, "call that is not linked", fmt::format("pc {:#x}", inst.pc));
}

// -- inputs
// -------------------------------------------------------------------------------------------------------------

void Lowering::lower_input(Value v) {
  const auto which = static_cast<Input>(f_[v].imm);
  switch (which) {
  case Input::wave_in_group: set(v, {lanes_.wave()}); break;
  case Input::local_id_x:
  case Input::local_id_y:
  case Input::local_id_z: {
    const unsigned d = static_cast<unsigned>(which) - static_cast<unsigned>(Input::local_id_x);
    each(v, [&](unsigned c) { return local_id(d, c); });
    break;
  }
  case Input::initial_exec: each(v, [&](unsigned c) { return initial_exec(c); }); break;
  default: set(v, {b_.input(which)});
  }
}

/// Number of the work-item in its workgroup.
Value Lowering::flat_id(unsigned copy) {
  Builder& e = lanes_.prologue_builder();
  return e.add(e.mul(lanes_.wave(), e.i32(seating().wave_size)), lanes_.lane(copy));
}

bool Lowering::partial(unsigned dimension) const {
  return o_.partial[dimension] && seating().workgroup[dimension] > 1;
}

/// Lanes are numbered by what is left of the dimension, known at run time.
bool Lowering::renumbers(unsigned dimension) const { return partial(dimension) && !seating().independent; }

/// The last dimension in which the workgroup is more than one item wide: numbers do not wrap there.
unsigned Lowering::last_dimension() const {
  const auto& size = seating().workgroup;
  return size[2] > 1 ? 2 : size[1] > 1 ? 1 : 0;
}

/// Work-items of this workgroup: at the grid's end those that the dispatch packet's grid leaves.
Value Lowering::group_size(unsigned dimension) {
  Builder& e = lanes_.prologue_builder();
  const uint32_t whole = seating().workgroup[dimension];
  if (!partial(dimension)) return e.i32(whole);
  Value& size = group_size_[dimension];
  if (!size) {
    constexpr std::array offsets{guest_abi::packet::grid_size_x, guest_abi::packet::grid_size_y,
                                 guest_abi::packet::grid_size_z};
    const Value at = e.add(e.input(Input::dispatch_ptr), e.i64(offsets[dimension]));
    const Value grid = e.load(Type::i32, at, e.u1(true), {.invariant = true});
    const auto group = static_cast<Input>(static_cast<unsigned>(Input::workgroup_id_x) + dimension);
    size = e.umin(e.sub(grid, e.mul(e.input(group), e.i32(whole))), e.i32(whole));
  }
  return size;
}

Value Lowering::item_count() {
  Builder& e = lanes_.prologue_builder();
  if (!item_count_) item_count_ = e.mul(e.mul(group_size(0), group_size(1)), group_size(2));
  return item_count_;
}

/// small / by for small < 2048 and by <= 1024: the error of the rounded-up reciprocal stays below 1 / by.
Value Lowering::divided_by_constant(Value small, uint32_t by) {
  Builder& e = lanes_.prologue_builder();
  if ((by & (by - 1)) == 0) return e.lshr(small, e.i32(static_cast<uint32_t>(std::countr_zero(by))));
  constexpr uint32_t shift = 21;
  return e.lshr(e.mul(small, e.i32((1u << shift) / by + 1)), e.i32(shift));
}

/// small / group_size(dimension) for small < 2048. (small + 1/2) / size lies at least 1/2 / size away from
/// any integer, 2^-12 of itself; the reciprocal and the product in f32 are off by less than 2^-21 of it.
Value Lowering::divided(Value small, unsigned dimension) {
  if (!renumbers(dimension)) return divided_by_constant(small, seating().workgroup[dimension]);
  Builder& e = lanes_.prologue_builder();
  constexpr ir::FloatControl nearest{};
  const Value half = e.constant(Type::f32, std::bit_cast<uint32_t>(0.5f));
  const Value numerator = e.fadd(e.u2f(small, Type::f32, nearest), half, nearest);
  const Value reciprocal = e.frcp(e.u2f(group_size(dimension), Type::f32, nearest), nearest);
  return e.f2u(e.fmul(numerator, reciprocal, nearest), Type::i32, nearest);
}

/// Work-items take lanes in the order of their number in the workgroup as it is, cut by the grid or not;
/// lanes behind the last one count on. Where lanes are independent nobody can tell: they keep the numbers of
/// a whole workgroup, and those that the cut takes are off.
Value Lowering::local_id(unsigned dimension, unsigned copy) {
  Builder& e = lanes_.prologue_builder();
  const unsigned last = last_dimension();
  if (dimension > last) return e.i32(0);
  Value rest = flat_id(copy);
  for (unsigned d = 0; d < dimension; ++d) rest = divided(rest, d);
  if (dimension == last) return rest;
  const uint32_t size = seating().workgroup[dimension];
  const bool cut = renumbers(dimension);
  if (!cut && (size & (size - 1)) == 0) return e.and_(rest, e.i32(size - 1));
  return e.sub(rest, e.mul(divided(rest, dimension), cut ? group_size(dimension) : e.i32(size)));
}

/// Lanes behind the last work-item are off. Where a whole copy is on or off it is a constant, and what the
/// copy would have computed folds away.
Value Lowering::initial_exec(unsigned copy) {
  Builder& e = lanes_.prologue_builder();
  const uint32_t items = seating().items(), first = copy * seating().host_lanes;
  if (seating().waves() == 1 && first >= items) return e.u1(false);
  if (!may_be_partial()) {
    const bool whole = seating().waves() == 1 && first + seating().host_lanes <= items;
    if (whole || items % seating().wave_size == 0) return e.u1(true);
  }
  if (!seating().independent) return e.ult(flat_id(copy), item_count());
  Value on = items % seating().wave_size == 0 ? e.u1(true) : e.ult(flat_id(copy), e.i32(items));
  for (unsigned d = 0; d < 3; ++d)
    if (partial(d)) on = e.and_(on, e.ult(local_id(d, copy), group_size(d)));
  return on;
}

/// The waves that a cut workgroup does not have end at once, where nobody waits for them at a barrier.
/// Independent lanes are cut one by one.
void Lowering::end_missing_waves() {
  if (!may_lack_waves(seating(), o_.partial) || has_barrier(out_, callees_)) return;
  Builder& e = lanes_.prologue_builder();
  const Value first = e.mul(lanes_.wave(), e.i32(seating().wave_size));
  const Value exists = e.ult(first, item_count());

  const Block body{static_cast<uint32_t>(out_.blocks.size())}, end{body.index + 1};
  out_.blocks.resize(out_.blocks.size() + 2);
  auto &entry = out_.blocks[0], &moved = out_.blocks[body.index], &ended = out_.blocks[end.index];
  moved = std::move(entry);
  entry = {};
  entry.pc = ended.pc = moved.pc;
  moved.predecessors = ended.predecessors = {Block{0}};
  for (unsigned i = 0; i < moved.successor_count; ++i)
    for (Block& p : out_.blocks[moved.successors[i].index].predecessors)
      if (p == Block{0}) p = body;
  entry.successors = {body, end};
  entry.successor_count = 2;
  entry.instructions = {out_.append(Block{0}, Op::cond_br, std::array{exists}, Type::none)};
  ended.instructions = {out_.append(end, Op::ret, {}, Type::none)};
}

bool has_floats(const Function& f) {
  for (const ir::BasicBlock& b : f.blocks)
    for (const Value v : b.instructions) {
      if (ir::is_float(f[v].type)) return true;
      for (const Value o : f.operands(v))
        if (ir::is_float(f[o].type)) return true;
    }
  return false;
}

Expected<Function> lower_waves_of(const Function& f, const LoweringOptions& options,
                                  std::span<const CalleeFunction> callees, const CalleeFunction* self) {
  if (auto ok = check(options.seating); !ok) return std::unexpected(ok.error());
  if (options.seating.wave_size != f.wave_size)
    return fail(ErrorKind::call, fmt::format("seating for waves of {} lanes, program for {}",
                                             options.seating.wave_size, f.wave_size));
  if (uint64_t{f.value_count()} * options.seating.copies() > limits::max_ir_values)
    return fail(ErrorKind::limit, "program grows beyond max_ir_values when waves are folded", f.name,
                "use a wider subgroup");
  auto lowered = Lowering(f, options, callees, self).run();
  if (lowered) lowered->guest_floats = has_floats(f);
  return lowered;
}

} // namespace

Expected<Function> lower_waves(const Function& f, const LoweringOptions& options) {
  return lower_waves_of(f, options, {}, nullptr);
}

Expected<ir::Program> lower_waves(const ir::Program& program, const LoweringOptions& options) {
  auto main = lower_waves_of(program.main, options, program.callees, nullptr);
  if (!main) return std::unexpected(std::move(main.error()));
  ir::Program lowered{std::move(*main), {}};
  const auto spread = [&](const std::vector<InterfaceRegister>& registers) {
    std::vector<InterfaceRegister> list;
    for (const InterfaceRegister& r : registers)
      for (unsigned c = 0; c < (r.per_lane ? options.seating.copies() : 1); ++c)
        list.push_back({static_cast<uint16_t>(r.number * copies_per_register + c), r.type, r.per_lane});
    return list;
  };
  for (const CalleeFunction& c : program.callees) {
    auto f = lower_waves_of(c.function, options, program.callees, &c);
    if (!f) return std::unexpected(std::move(f.error()));
    lowered.callees.push_back({std::move(*f), spread(c.params), spread(c.results)});
  }
  return lowered;
}

} // namespace lanewise::spirv
