// Calls of code that is linked later: what a caller passes and takes back, how a callee starts and ends.
#include "translate/translator.hpp"

#include <algorithm>

namespace lanewise::translate {

using ir::Op;

namespace {

bool is_vector(unsigned r) { return interface_register(r).per_lane; }
Type type_of(unsigned r) { return interface_register(r).type; }

} // namespace

/// What a register holds when a callee starts.
Value Translator::parameter(unsigned r) {
  // Trap temporaries and the like are no part of the interface.
  const bool passed = r <= reg::vcc_hi || (r >= reg::m0 && r < reg::loads && r != reg::null);
  if (!passed) return b.i32(0);
  return prologue_.append(is_vector(r) ? Op::param_vector : Op::param_scalar, {}, type_of(r), r);
}

/// A callee behind a pointer may read and write every register, so all are operands and all come back; dead
/// code removal and linking drop what nobody needs. Of a function more is known.
void Translator::leave_slot(uint32_t node) {
  const Node& n = graph_->nodes[node];
  if (mode_.state != Mode::State::known)
    return unsupported(*current_, "floating-point mode is not known at this call");
  slot_modes_[n.slot] = mode_.bits;
  std::vector<unsigned> params, results;
  if (const CalledFunction* callee = graph_->function_of(graph_->slots[n.slot])) {
    params.assign(callee->params.begin(), callee->params.end());
    results.assign(callee->results.begin(), callee->results.end());
  } else {
    for_each_interface(graph_->vgprs, [&](unsigned r) { params.push_back(r); });
    results = params;
  }
  std::vector<Value> operands{jump_target_};
  for (const unsigned r : params) operands.push_back(ssa_.read(r));
  const Value token = b.append(Op::call, operands, Type::i32, n.slot);
  for (const unsigned r : results)
    ssa_.write(r,
               b.append(is_vector(r) ? Op::call_vector : Op::call_scalar, std::array{token}, type_of(r), r));
  order_ = Order::anything();
  // Without a way back the callee has to end the program.
  if (n.successor_count == 0) return (void)b.trap(ir::TrapReason::bad_return);
  b.emit(Op::br, {});
  auto& out = (*function_)[blocks_[node]];
  out.successors[out.successor_count++] = blocks_[n.successors[0]];
}

std::vector<uint16_t> Translator::results() const {
  std::vector<uint16_t> list;
  for (unsigned v = 0; v < flow_->variable_count(); ++v) {
    const unsigned r = flow_->register_of(v);
    if (r < reg::loads && (r <= reg::vcc_hi || r >= reg::m0) && r != reg::null)
      list.push_back(static_cast<uint16_t>(r));
  }
  return list;
}

void Translator::leave_callee(const Instruction& last) {
  if (mode_ != modes_[flow_->order().front()])
    return unsupported(last, "the callee returns with another MODE");
  std::vector<Value> operands;
  for (const uint16_t r : results()) operands.push_back(ssa_.read(r));
  b.append(Op::call_return, operands);
}

} // namespace lanewise::translate
