#include "translate/translator.hpp"

#include "translate/exec_marks.hpp"

#include "container/guest_abi.hpp"

namespace lanewise::translate {
namespace {

using ir::Op;

std::array<Handler, rdna2::opcode_count> make_handlers() {
  std::array<Handler, rdna2::opcode_count> handlers{};
  for (const auto family : {scalar_alu(), scalar_mask(), scalar_memory(), vector_integer(), vector_bytes(),
                            vector_float(), vector_convert(), vector_compare(), vector_packed(), cross_lane(),
                            lds(), global_memory(), buffer_memory(), control()})
    for (const Meaning& m : family) handlers[static_cast<unsigned>(m.opcode)] = m.handler;
  return handlers;
}

} // namespace

Handler handler_of(Opcode opcode) {
  static const auto handlers = make_handlers();
  return handlers[static_cast<unsigned>(opcode)];
}

Translator::Translator(const Graph& graph, const Flow& flow, const container::Kernel& kernel,
                       const TranslateOptions& options, ir::Function& function)
    : b(function), graph_(&graph), kernel_(&kernel), options_(&options), function_(&function), flow_(&flow),
      prologue_(function, prologue_list_), ssa_(function, flow, [this](unsigned r) { return initial(r); }),
      modes_(find_modes(graph, flow, Mode::initial(kernel.descriptor))), blocks_(graph.nodes.size()),
      orders_(graph.nodes.size()), slot_modes_(graph.slots.size()) {}

void Translator::unsupported(const Instruction& i, std::string what) {
  if (!error_) error_ = Error{ErrorKind::unsupported, std::move(what), where(i, graph_->code.wave()), {}};
}

Value Translator::input(ir::Input which) {
  Value& v = inputs_[static_cast<size_t>(which)];
  if (!v) v = prologue_.input(which);
  return v;
}

Value Translator::image_address(uint64_t offset) {
  return b.add(input(ir::Input::image_base), b.i64(offset));
}

/// What a register holds when the kernel or callee starts.
Value Translator::initial(unsigned r) {
  if (graph_->callee) return parameter(r);
  if (r == reg::scc) return b.u1(false);
  if (r == reg::exec) return options_->full_waves ? b.u1(true) : input(ir::Input::initial_exec);
  if (r >= reg::vgpr0) {
    const unsigned v = r - reg::vgpr0;
    if (v >= kernel_->descriptor.workitem_id_vgprs || v > 2) return b.i32(guest_abi::uninitialised);
    return input(static_cast<ir::Input>(static_cast<unsigned>(ir::Input::local_id_x) + v));
  }
  if (r >= entry_sgprs_.size()) return b.i32(guest_abi::uninitialised);
  const EntryValue& e = entry_sgprs_[r];
  switch (e.kind) {
  case EntryValue::Kind::constant: return b.i32(e.constant);
  case EntryValue::Kind::whole: return input(e.input);
  case EntryValue::Kind::low: return prologue_.lo32(input(e.input));
  case EntryValue::Kind::high: return prologue_.hi32(input(e.input));
  case EntryValue::Kind::user_data: {
    const Value at = prologue_.add(input(ir::Input::kernarg_ptr), b.i64(uint64_t{4} * e.constant));
    return prologue_.load(Type::i32, at, b.u1(true), {.invariant = true});
  }
  }
  return {};
}

Expected<void> Translator::run() {
  auto sgprs = entry_sgprs(*kernel_, function_->wave_size);
  if (!sgprs) return std::unexpected(std::move(sgprs.error()));
  entry_sgprs_ = *sgprs;
  // A loop back to the kernel's first instruction needs a block in front of it.
  const bool separate_start = !flow_->predecessors(0).empty();
  if (separate_start) function_->add_block(graph_->block(graph_->nodes[0]).pc);
  for (const uint32_t n : flow_->order())
    blocks_[n] = function_->add_block(graph_->block(graph_->nodes[n]).pc);
  for (const uint32_t n : flow_->order()) {
    translate_node(n);
    if (error_) return std::unexpected(std::move(*error_));
  }
  if (separate_start) {
    b.block = {0};
    b.emit(Op::br, {});
    function_->add_edge({0}, blocks_[0]);
  }
  link_blocks();
  ssa_.finish(blocks_);
  auto& start = function_->blocks[0].instructions;
  start.insert(start.begin(), prologue_list_.begin(), prologue_list_.end());
  if (error_) return std::unexpected(std::move(*error_));
  return {};
}

void Translator::translate_node(uint32_t node) {
  b.block = blocks_[node];
  ssa_.begin(node);
  mode_ = modes_[node];
  order_ = {};
  // What a callee's caller did before the call may be on its way.
  if (graph_->callee && node == flow_->order().front()) order_ = Order::anything();
  for (const uint32_t p : flow_->predecessors(node)) {
    if (flow_->position(p) < flow_->position(node)) {
      order_.unite(orders_[p]);
      continue;
    }
    // A loop: what its end leaves open is not known yet.
    const bool loads = flow_->loop_changes(node, reg::loads), stores = flow_->loop_changes(node, reg::stores);
    order_.unite({uint8_t(loads ? 3 : 0), uint8_t(stores ? 3 : 0), loads, stores});
  }
  for (const Instruction& i : graph_->code.instructions(graph_->block(graph_->nodes[node]))) {
    begin_instruction(i);
    if (const Handler handler = handler_of(i.opcode))
      handler(*this, i);
    else
      unsupported(i, "instruction is not supported");
    if (error_) return;
    mode_.execute(i);
  }
  end_node(node);
  orders_[node] = order_;
}

void Translator::begin_instruction(const Instruction& i) {
  b.pc = i.pc;
  current_ = &i;
  active_ = exec();
  if (options_->mark_exec) b.store(b.i64(kMarkAddress), active_, b.i32(0), {});
  if (i.suffix == rdna2::Suffix::dpp16 || i.suffix == rdna2::Suffix::dpp8) active_ = dpp_active(i);
}

/// The condition of an s_cbranch, possibly as its opposite.
Value Translator::branch_condition(Opcode opcode, bool& negated) {
  const Operand vcc{.kind = OperandKind::sgpr, .dwords = 2, .reg = reg::vcc_lo, .code = reg::vcc_lo};
  switch (opcode) {
  case Opcode::s_cbranch_scc0: negated = true; return scc();
  case Opcode::s_cbranch_scc1: negated = false; return scc();
  case Opcode::s_cbranch_vccz: negated = true; break;
  case Opcode::s_cbranch_vccnz: negated = false; break;
  case Opcode::s_cbranch_execz: negated = true; return b.any(exec());
  case Opcode::s_cbranch_execnz: negated = false; return b.any(exec());
  default: return {};
  }
  return b.ne(word(vcc), b.word(0));
}

void Translator::end_node(uint32_t node) {
  const Node& n = graph_->nodes[node];
  const CodeBlock& block = graph_->block(n);
  const Instruction& last = graph_->code.instructions(block).back();
  auto& out = (*function_)[blocks_[node]];
  const auto to = [&](unsigned k) { return blocks_[n.successors[k]]; };
  const auto leave = [&](Op op, std::initializer_list<Value> operands,
                         std::initializer_list<ir::Block> successors) {
    b.emit(op, operands);
    for (const ir::Block s : successors) out.successors[out.successor_count++] = s;
  };
  switch (block.exit) {
  case Exit::end: return leave(Op::ret, {}, {});
  case Exit::trap: return b.trap(ir::TrapReason::s_trap);
  case Exit::fall:
  case Exit::branch: return leave(Op::br, {}, {to(0)});
  case Exit::call:
  case Exit::jump:
    if (n.slot != no_slot) return leave_slot(node);
    return n.leaves ? leave_callee(last) : leave_checked(node, last);
  case Exit::cond: break;
  }
  if (n.successors[0] == n.successors[1]) return leave(Op::br, {}, {to(0)});
  bool negated = false;
  const Value condition = branch_condition(last.opcode, negated);
  if (!condition) return unsupported(last, "branch is not supported");
  if (negated) return leave(Op::cond_br, {condition}, {to(1), to(0)});
  leave(Op::cond_br, {condition}, {to(0), to(1)});
}

/// A call or jump to a register's address: to the expected block if the address is the expected one.
void Translator::leave_checked(uint32_t node, const Instruction& last) {
  const Node& n = graph_->nodes[node];
  const ir::Block target = blocks_[n.successors[0]];
  auto& out = (*function_)[blocks_[node]];
  Value expected;
  if (n.checked) expected = b.eq(jump_target_, image_address(n.expected_pc));
  if (!n.checked || function_->is_constant(expected, 1)) {
    b.emit(Op::br, {});
    out.successors[out.successor_count++] = target;
    return;
  }
  b.emit(Op::cond_br, {expected});
  const ir::Block bad = function_->add_block(last.pc);
  auto& from = (*function_)[blocks_[node]]; // `out` moved
  from.successors = {target, bad};
  from.successor_count = 2;
  (*function_)[bad].predecessors.push_back(blocks_[node]);
  b.block = bad;
  b.trap(n.is_return ? ir::TrapReason::bad_return : ir::TrapReason::bad_call_target);
}

/// Predecessors in the order that the phis' operands have.
void Translator::link_blocks() {
  for (uint32_t n = 0; n < graph_->nodes.size(); ++n)
    for (const uint32_t p : flow_->predecessors(n))
      (*function_)[blocks_[n]].predecessors.push_back(blocks_[p]);
}

void Translator::before_access(bool writes, ir::Space space) {
  const uint8_t there = memories(space);
  const bool lanes_meet = (order_.stores & there) != 0 || (writes && (order_.loads & there) != 0);
  const bool waves_meet = order_.waited_store || (writes && order_.waited_load);
  if (!lanes_meet && !waves_meet) return;
  b.wave_fence();
  synchronized();
}

void Translator::after_access(bool writes, ir::Space space) {
  (writes ? order_.stores : order_.loads) |= memories(space);
}

ir::FloatControl Translator::control(Type type) {
  if (mode_.state != Mode::State::known)
    unsupported(*current_, mode_.state == Mode::State::dynamic
                               ? "floating-point mode is set from a register here"
                               : "floating-point mode depends on the path taken to here");
  return mode_.control(type == Type::f32);
}

} // namespace lanewise::translate
