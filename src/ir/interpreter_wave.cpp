#include "ir/interpreter_wave.hpp"

#include "ir/text.hpp"

#include <fmt/format.h>

namespace lanewise::ir::interpreter {

Wave::Wave(const Program& p, Workgroup& group, uint32_t index)
    : p_(p), group_(group), index_(index), active_(low_bits(p.lanes)), at_(p.lanes), values_(p.slots),
      scratch_(size_t{group.function.scratch_bytes} * p.lanes) {
  for (const auto& [slot, bits] : p.constants) values_[slot] = bits;
  if (!p.alone) return;
  waiting_ = active_;
  resume_first();
}

std::string Wave::where(const Code& c) const {
  return fmt::format("function {}, pc {:#x}, {}, workgroup {},{},{}, wave {}", group_.function.name, c.pc,
                     name(c.op), group_.id[0], group_.id[1], group_.id[2], index_);
}

Expected<Wave::State> Wave::run(uint64_t& budget) {
  state = State::running;
  if (active_ == 0) resume_first(); // lanes that ran alone, behind the barrier
  while (state == State::running && budget != 0) {
    if (p_.apart && !p_.alone && is_single(p_.code[next_])) {
      if (auto ok = run_singly(budget); !ok) return std::unexpected(std::move(ok.error()));
      continue;
    }
    --budget;
    if (auto ok = execute(p_.code[next_++]); !ok) return std::unexpected(std::move(ok.error()));
  }
  return state;
}

Expected<void> Wave::execute(const Code& c) {
  ++executed_;
  if (!c.evaluate) return step(c);
  pure(c);
  return {};
}

/// In the wanted order.
template <class F>
void Wave::for_each_lane(uint64_t lanes, F visit) const {
  const bool down = group_.dispatch.order == LaneOrder::descending;
  for (; lanes != 0;) {
    const auto lane = static_cast<unsigned>(down ? 63 - std::countl_zero(lanes) : std::countr_zero(lanes));
    lanes &= ~(uint64_t{1} << lane);
    visit(lane);
  }
}

/// A stretch of operations that each lane does by itself: the first lane all of them, then the next.
Expected<void> Wave::run_singly(uint64_t& budget) {
  uint32_t end = next_;
  while (is_single(p_.code[end]) && end - next_ < budget) ++end;
  const uint64_t active = active_;
  Expected<void> result;
  for_each_lane(active, [&](unsigned lane) {
    active_ = uint64_t{1} << lane;
    for (uint32_t i = next_; i < end && result; ++i) result = execute(p_.code[i]);
  });
  active_ = active;
  budget -= end - next_;
  next_ = end;
  return result;
}

void Wave::pure(const Code& c) {
  LaneOperation x{.type = c.type, .operand_type = c.operand_type, .imm = c.imm};
  const Place* operands = p_.operands.data() + c.first_operand;
  for (unsigned lane = 0; lane < count(c); ++lane) {
    if (p_.apart && !is_active(lane)) continue;
    for (unsigned i = 0; i < c.operand_count; ++i) x.v[i] = read(operands[i], lane);
    write(c, lane, c.evaluate(x));
  }
}

void Wave::take_edge(uint32_t edge, uint64_t lanes) {
  const Edge& e = p_.edges[edge];
  // All phis of a block read before any is written.
  scratch_moves_.clear();
  const std::span moves = std::span(p_.moves).subspan(e.first_move, e.move_count);
  for (const Move& m : moves) {
    for (unsigned lane = 0; lane < (m.uniform ? 1 : p_.lanes); ++lane)
      scratch_moves_.push_back(read(m.from, lane));
  }
  size_t at = 0;
  for (const Move& m : moves) {
    for (unsigned lane = 0; lane < (m.uniform ? 1 : p_.lanes); ++lane, ++at)
      if (m.uniform || (lanes >> lane & 1) != 0) values_[m.slot + lane] = scratch_moves_[at];
  }
  if (!p_.divergent) {
    next_ = e.target;
    return;
  }
  for (unsigned lane = 0; lane < p_.lanes; ++lane)
    if (lanes >> lane & 1) at_[lane] = e.target;
  waiting_ |= lanes;
}

Expected<void> Wave::branch(const Code& c) {
  if (!p_.divergent) {
    take_edge(c.slot + (c.op == Op::br || read(c, 0, 0) ? 0 : 1), active_);
    return {};
  }
  uint64_t taken = active_;
  if (c.op == Op::cond_br) taken &= ballot(operand(c, 0));
  const uint64_t others = active_ & ~taken;
  if (taken != 0) take_edge(c.slot, taken);
  if (others != 0) take_edge(c.slot + 1, others);
  resume_first();
  return {};
}

/// Lanes that are furthest behind go on together; those ahead wait for them.
void Wave::resume_first() {
  if (waiting_ == 0) {
    state = blocked_ != 0 ? State::at_barrier : State::ended;
    waiting_ = blocked_;
    active_ = blocked_ = 0;
    return;
  }
  next_ = ~0u;
  active_ = 0;
  if (p_.alone) {
    for_each_lane(waiting_, [&](unsigned lane) {
      if (active_ == 0) active_ = uint64_t{1} << lane, next_ = at_[lane];
    });
    waiting_ &= ~active_;
    return;
  }
  for (unsigned lane = 0; lane < p_.lanes; ++lane) {
    if ((waiting_ >> lane & 1) == 0 || at_[lane] > next_) continue;
    if (at_[lane] < next_) active_ = 0;
    next_ = at_[lane];
    active_ |= uint64_t{1} << lane;
  }
  waiting_ &= ~active_;
}

Expected<void> Wave::barrier(const Code& c) {
  if (p_.alone) {
    for (unsigned lane = 0; lane < p_.lanes; ++lane)
      if (is_active(lane)) at_[lane] = next_;
    blocked_ |= active_;
    resume_first();
    return {};
  }
  if (waiting_ != 0)
    return fail(ErrorKind::input, "a barrier that not all lanes of the wave reach", where(c));
  state = State::at_barrier;
  return {};
}

/// Work-items take lanes in the order of their number in the workgroup as it is, cut or not. Lanes behind the
/// last one count on; the workgroup's last dimension does not wrap.
uint64_t Wave::local_id(unsigned dimension, unsigned lane) const {
  const auto& block = group_.dispatch.workgroup;
  const auto& size = group_.size;
  const unsigned last = block[2] > 1 ? 2 : block[1] > 1 ? 1 : 0;
  if (dimension > last) return 0;
  uint64_t rest = flat_id(lane);
  for (unsigned i = 0; i < dimension; ++i) rest /= size[i];
  return dimension == last ? rest : rest % size[dimension];
}

uint64_t Wave::input(Input which, unsigned lane) const {
  const InterpreterDispatch& d = group_.dispatch;
  switch (which) {
  case Input::workgroup_id_x: return group_.id[0];
  case Input::workgroup_id_y: return group_.id[1];
  case Input::workgroup_id_z: return group_.id[2];
  case Input::wave_in_group: return index_;
  case Input::kernarg_ptr: return d.kernarg_ptr;
  case Input::dispatch_ptr: return d.dispatch_ptr;
  case Input::queue_ptr: return d.queue_ptr;
  case Input::dispatch_id: return d.dispatch_id;
  case Input::image_base: return d.image_base;
  case Input::local_id_x: return local_id(0, lane);
  case Input::local_id_y: return local_id(1, lane);
  case Input::local_id_z: return local_id(2, lane);
  case Input::initial_exec: return flat_id(lane) < uint64_t{group_.size[0]} * group_.size[1] * group_.size[2];
  case Input::count_: break;
  }
  return 0;
}

Expected<void> Wave::step(const Code& c) {
  switch (c.op) {
  case Op::input:
    for (unsigned lane = 0; lane < count(c); ++lane) write(c, lane, input(static_cast<Input>(c.imm), lane));
    return {};
  case Op::extract:
    for (unsigned lane = 0; lane < count(c); ++lane) write(c, lane, read(c, 0, lane));
    return {};
  case Op::br:
  case Op::cond_br: return branch(c);
  case Op::ret: resume_first(); return {};
  case Op::trap:
    return fail(ErrorKind::input, fmt::format("trap: {}", name(static_cast<TrapReason>(c.imm))), where(c));
  case Op::barrier: return barrier(c);
  case Op::wave_fence:
  case Op::memory_fence:
  case Op::group_fence: return {};
  case Op::image_sample:
  case Op::image_sample_implicit: return sample(c);
  case Op::export_: return export_words(c);
  case Op::clock:
    for (unsigned lane = 0; lane < count(c); ++lane) write(c, lane, executed_);
    return {};
  default: return lanes(c) ? Expected<void>{} : access(c);
  }
}

} // namespace lanewise::ir::interpreter
