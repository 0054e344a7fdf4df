#include "translate/ssa.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace lanewise::translate {

using ir::Op;
using ir::Type;
using ir::Value;

Ssa::Ssa(ir::Function& function, const Flow& flow, Initial initial)
    : function_(&function), flow_(&flow), initial_(std::move(initial)),
      // calloc: pages of nodes that are never asked are never touched.
      definitions_(static_cast<uint32_t*>(std::calloc(
                       std::max<size_t>(1, flow.order().size() * flow.variable_count()), sizeof(uint32_t))),
                   std::free) {}

Value Ssa::resolve(Value v) {
  while (v.index < forward_.size() && forward_[v.index] != 0) v.index = forward_[v.index];
  return v;
}

Value Ssa::initial_value(unsigned reg) {
  Value& v = initial_values_[reg];
  if (!v) v = initial_(reg);
  return v;
}

/// Walks up while there is one predecessor, and over merging paths that all leave the variable alone. The
/// first merge on the way remembers what was found: a program of many loops in a row that all read one
/// variable from its start would else walk up to there from each of them.
Value Ssa::find(uint32_t node, uint16_t variable, uint32_t& merge) {
  std::optional<uint32_t> passed;
  const auto found = [&](Value v) {
    if (passed) at(*passed, variable) = v.index;
    return v;
  };
  while (true) {
    if (const uint32_t v = at(node, variable)) return found(resolve({v}));
    const auto predecessors = flow_->predecessors(node);
    if (predecessors.empty()) return found(initial_value(flow_->register_of(variable)));
    if (node == flow_->order().front() ||
        (predecessors.size() > 1 && flow_->changes_since_dominator(node, variable))) {
      merge = node;
      return {};
    }
    if (predecessors.size() > 1 && !passed) passed = node;
    node = predecessors.size() > 1 ? flow_->dominator(node) : predecessors.front();
  }
}

Ssa::Phi Ssa::make_phi(uint32_t node, uint16_t variable) {
  const unsigned r = flow_->register_of(variable);
  const Value v = function_->create(Op::phi, {}, r == reg::scc || r == reg::exec ? Type::u1 : Type::i32);
  // Branches are taken by the whole wave, so a scalar register's phi is uniform as its operands are.
  (*function_)[v].uniform = r < reg::exec;
  at(node, variable) = v.index;
  phis_.push_back({v, node, variable});
  return phis_.back();
}

/// Whether a phi's operands cannot be read yet: it stands in a loop header whose loop is not done, and the
/// loop may change the variable.
bool Ssa::waits(uint32_t node, uint16_t variable) const {
  if (all_visited_ || !flow_->changes(node, variable)) return false;
  const auto done = flow_->position(current_);
  return std::ranges::any_of(flow_->predecessors(node), [&](uint32_t p) {
    return flow_->position(p) >= done; // the current node is still being filled
  });
}

Value Ssa::read_from_predecessors(uint16_t variable) {
  const auto predecessors = flow_->predecessors(current_);
  Value v;
  if (predecessors.size() == 1 && current_ != flow_->order().front())
    v = read_at_end(predecessors.front(), variable);
  else
    v = read_at_end(current_, variable);
  at(current_, variable) = v.index;
  return v;
}

Value Ssa::read_at_end(uint32_t node, uint16_t variable) {
  uint32_t merge = 0;
  if (const Value v = find(node, variable, merge)) return v;
  const Phi phi = make_phi(merge, variable);
  if (waits(merge, variable)) {
    incomplete_.push_back(phi);
    return phi.value;
  }
  fill(phi);
  return resolve(phi.value);
}

/// Gives a phi its operands, and all phis that these turn out to need.
void Ssa::fill(const Phi& phi) {
  stack_.assign(1, {phi, 0, 0});
  while (!stack_.empty()) {
    if (!step(stack_.back())) continue;
    const Frame done = stack_.back();
    stack_.pop_back();
    const Value result = complete(done);
    if (!stack_.empty()) operands_.push_back(result);
  }
}

/// Reads one more operand, or starts a phi that it needs. True when all operands are there.
bool Ssa::step(Frame& frame) {
  const auto predecessors = flow_->predecessors(frame.phi.node);
  const bool entry = frame.phi.node == flow_->order().front();
  if (entry && frame.next == 0) { // the entry as a loop header: the kernel's start is its first predecessor
    operands_.push_back(initial_value(flow_->register_of(frame.phi.variable)));
    ++frame.next;
    return false;
  }
  const uint32_t k = frame.next - (entry ? 1 : 0);
  if (k == predecessors.size()) return true;
  ++frame.next;
  const uint32_t p = predecessors[k];
  const uint16_t variable = frame.phi.variable;
  const bool back = flow_->position(p) >= flow_->position(frame.phi.node);
  if (back && !flow_->changes(frame.phi.node, variable)) { // the loop leaves it alone
    operands_.push_back(frame.phi.value);
    return false;
  }
  uint32_t merge = 0;
  if (const Value v = find(p, variable, merge)) {
    operands_.push_back(v);
    return false;
  }
  const Phi phi = make_phi(merge, variable);
  if (waits(merge, variable)) {
    incomplete_.push_back(phi);
    operands_.push_back(phi.value);
    return false;
  }
  stack_.push_back({phi, 0, operands_.size()}); // `frame` is void from here on
  return false;
}

/// Gives a phi its operands; returns the value that it is.
Value Ssa::complete(const Frame& frame) {
  const std::span<Value> operands(operands_.data() + frame.first_operand,
                                  operands_.size() - frame.first_operand);
  Value only;
  bool redundant = true;
  for (Value& o : operands) {
    o = resolve(o);
    if (o == frame.phi.value || o == only) continue;
    redundant = redundant && !only;
    only = o;
  }
  Value result = frame.phi.value;
  if (redundant && only) {
    if (forward_.size() <= result.index) forward_.resize(function_->value_count());
    forward_[result.index] = only.index;
    any_forward_ = true;
    result = only;
  } else {
    function_->set_operands(frame.phi.value, operands);
  }
  operands_.resize(frame.first_operand);
  return result;
}

void Ssa::finish(const std::vector<ir::Block>& blocks) {
  all_visited_ = true;
  // Reading operands may make further phis, but none of those waits.
  for (size_t k = 0; k < incomplete_.size(); ++k) fill(Phi(incomplete_[k]));
  forward_redundant();
  std::vector<std::vector<Value>> front(function_->blocks.size());
  for (const Phi& p : phis_)
    if (resolve(p.value) == p.value) front[blocks[p.node].index].push_back(p.value);
  for (size_t b = 0; b < front.size(); ++b) {
    auto& list = function_->blocks[b].instructions;
    list.insert(list.begin(), front[b].begin(), front[b].end());
  }
  rewrite_operands();
}

/// A phi may become one value because its operands did: follows the users until nothing changes.
void Ssa::forward_redundant() {
  if (!any_forward_) return;
  forward_.resize(function_->value_count());
  // Lists of users, one link for each operand that is a phi; lists of phis that become one value are joined.
  struct Link {
    uint32_t user, next;
  };
  struct Ends {
    uint32_t first = 0, last = 0;
  };
  std::vector<Link> links{{0, 0}}; // [0] ends lists
  std::vector<Ends> users(phis_.size());
  const auto append = [&](Ends& list, uint32_t first, uint32_t last) {
    if (first == 0) return;
    (list.last != 0 ? links[list.last].next : list.first) = first;
    list.last = last;
  };
  std::vector<uint32_t> number(function_->value_count(), UINT32_MAX), work;
  for (uint32_t k = 0; k < phis_.size(); ++k) number[phis_[k].value.index] = k;
  for (uint32_t k = 0; k < phis_.size(); ++k) {
    for (const Value o : function_->operands(phis_[k].value))
      if (number[o.index] != UINT32_MAX) {
        const auto link = static_cast<uint32_t>(links.size());
        links.push_back({k, 0});
        append(users[number[o.index]], link, link);
      }
    work.push_back(k);
  }
  while (!work.empty()) {
    const uint32_t k = work.back();
    work.pop_back();
    const Value phi = phis_[k].value;
    if (forward_[phi.index] != 0) continue;
    Value only;
    bool redundant = true;
    for (const Value o : function_->operands(phi)) {
      const Value r = resolve(o);
      if (r == phi || r == only) continue;
      redundant = redundant && !only;
      only = r;
    }
    if (!redundant || !only) continue;
    forward_[phi.index] = only.index;
    for (uint32_t u = users[k].first; u != 0; u = links[u].next) work.push_back(links[u].user);
    if (const uint32_t n = number[only.index]; n != UINT32_MAX)
      append(users[n], users[k].first, users[k].last);
  }
}

void Ssa::rewrite_operands() {
  if (!any_forward_) return;
  for (uint32_t v = 1; v < function_->value_count(); ++v)
    for (Value& o : function_->operands(Value{v})) o = resolve(o);
}

} // namespace lanewise::translate
