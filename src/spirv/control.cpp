#include "spirv/control.hpp"

#include <algorithm>

namespace lanewise::spirv {

using cfg::none;
using ir::Op;
using ir::Value;
using Kind = cfg::StructuredNode::Kind;

Control::Control(Emitter& e, const cfg::Structured& s)
    : e_(e), s_(s), labels_(s.nodes.size()), end_labels_(s.nodes.size()), routes_(s.nodes.size()) {
  collect_in_edges();
  if (std::ranges::any_of(s.nodes, [](const auto& n) { return n.kind == Kind::loop_header; }))
    find_broken_dominance();
}

void Control::collect_in_edges() {
  in_begin_.assign(s_.nodes.size() + 1, 0);
  for (const auto& n : s_.nodes)
    for (unsigned i = 0; i < n.successor_count; ++i) ++in_begin_[n.successors[i].node + 1];
  for (size_t i = 0; i < s_.nodes.size(); ++i) in_begin_[i + 1] += in_begin_[i];
  in_edge_.resize(in_begin_.back());
  std::vector<uint32_t> next(in_begin_);
  for (uint32_t n = 0; n < s_.nodes.size(); ++n)
    for (uint8_t i = 0; i < s_.nodes[n].successor_count; ++i)
      in_edge_[next[s_.nodes[n].successors[i].node]++] = {n, i};
}

// -- uses that lost their definition
// ----------------------------------------------------------------------------

void Control::find_broken_dominance() {
  std::vector<cfg::Edge> edges;
  for (uint32_t n = 0; n < s_.nodes.size(); ++n)
    for (unsigned i = 0; i < s_.nodes[n].successor_count; ++i)
      edges.emplace_back(n, s_.nodes[n].successors[i].node);
  dominators_ = cfg::dominators(cfg::Graph(static_cast<uint32_t>(s_.nodes.size()), edges));
  const ir::Function& f = e_.f;
  block_of_.assign(f.value_count(), none);
  for (uint32_t b = 0; b < f.blocks.size(); ++b)
    for (const Value v : f.blocks[b].instructions) block_of_[v.index] = b;
  const auto check = [&](Value v, uint32_t user) {
    const uint32_t block = block_of_[v.index];
    if (block == none || dominators_.dominates(s_.node_of[block], s_.node_of[user])) return;
    Id& variable = spilled_[v.index];
    if (variable != 0) return;
    variable = e_.module.new_id();
    const auto function = static_cast<uint32_t>(spv::StorageClass::Function);
    const Id pointer = e_.module.type_pointer(spv::StorageClass::Function, e_.type_of(v));
    append_instruction(e_.variables, spv::Op::OpVariable, std::array{pointer, variable, function});
  };
  for (uint32_t b = 0; b < f.blocks.size(); ++b) {
    if (s_.node_of[b] == none) continue;
    for (const Value v : f.blocks[b].instructions) {
      const auto operands = f.operands(v);
      for (size_t i = 0; i < operands.size(); ++i) {
        const uint32_t user = f[v].op == Op::phi ? f.blocks[b].predecessors[i].index : b;
        if (s_.node_of[user] != none) check(operands[i], user);
      }
    }
  }
  if (spilled_.empty()) return;
  e_.reload = [this](Value v) -> Id {
    const auto it = spilled_.find(v.index);
    if (it == spilled_.end() || dominators_.dominates(s_.node_of[block_of_[v.index]], current_)) return 0;
    return e_.code.op(spv::Op::OpLoad, e_.type_of(v), {it->second});
  };
}

bool Control::needs_preload(uint32_t block) const {
  const auto& from = e_.f.blocks[block];
  return !spilled_.empty() || (from.successor_count == 2 && from.successors[0] == from.successors[1]);
}

/// Operands of phis are needed at the end of the block that they come from. A branch whose both ways lead to
/// one block may bring two values: they are selected there.
void Control::preload_edges(uint32_t node) {
  const uint32_t block = s_.nodes[node].block;
  if (!needs_preload(block)) return;
  const auto& from = e_.f.blocks[block];
  for (unsigned i = 0; i < from.successor_count; ++i) {
    const auto& to = e_.f.blocks[from.successors[i].index];
    for (const Value phi : phis_of(from.successors[i].index)) {
      std::vector<Id> sides;
      for (size_t p = 0; p < to.predecessors.size(); ++p)
        if (to.predecessors[p].index == block) sides.push_back(e_.operand_id(phi, static_cast<unsigned>(p)));
      Id& ready = preloaded_[uint64_t{block} << 32 | phi.index];
      ready = sides[0];
      if (sides.size() == 2 && sides[0] != sides[1])
        ready = e_.code.op(spv::Op::OpSelect, e_.type_of(phi),
                           {e_.operand_id(from.instructions.back(), 0), sides[0], sides[1]});
    }
    if (from.successors[0] == from.successors[1]) break;
  }
}

// -- phis
// ---------------------------------------------------------------------------------------------------------

std::span<const Value> Control::phis_of(uint32_t block) const {
  const auto& list = e_.f.blocks[block].instructions;
  size_t count = 0;
  while (count < list.size() && e_.f[list[count]].op == Op::phi) ++count;
  return {list.data(), count};
}

bool Control::leads_to(InEdge e, uint32_t block) const {
  return std::ranges::binary_search(s_.targets_of(edge(e)), block);
}

Id Control::carried(uint32_t node, Value phi) const {
  const auto it = std::ranges::find(routes_[node], phi, &Route::phi);
  return it == routes_[node].end() ? 0 : it->id;
}

/// The operand of `phi` for the way out of a block.
Id Control::operand_on(uint32_t pred_block, Value phi, uint32_t block) {
  if (const auto it = preloaded_.find(uint64_t{pred_block} << 32 | phi.index); it != preloaded_.end())
    return it->second;
  const auto& preds = e_.f.blocks[block].predecessors;
  const auto at = std::ranges::find(preds, ir::Block{pred_block});
  const uint32_t here = std::exchange(current_, s_.node_of[pred_block]);
  const Id id = e_.operand_id(phi, static_cast<unsigned>(at - preds.begin()));
  current_ = here;
  return id;
}

/// The continue node has nothing to merge: the header's phis name the latch's values themselves.
bool Control::direct_back(uint32_t continue_node) const {
  const auto edges = in_edges(continue_node);
  return edges.size() == 1 && s_.nodes[edges[0].node].kind == Kind::block &&
         !needs_preload(s_.nodes[edges[0].node].block);
}

/// The continue node that takes the test at the end of a block: go around, or leave the loop. Drivers see a
/// loop that is tested at its end only there: NVIDIA's makes faster code of it than of an exit out of the
/// body. Else `none`.
uint32_t Control::test_behind(uint32_t node) const {
  const auto& n = s_.nodes[node];
  if (n.kind != Kind::block || n.successor_count != 2 || n.merge != none) return none;
  for (const unsigned i : {0u, 1u}) {
    const uint32_t back = n.successors[i].node, other = n.successors[1 - i].node;
    if (s_.nodes[back].kind != Kind::continue_ || !direct_back(back)) continue;
    const auto& header = s_.nodes[s_.nodes[back].successors[0].node];
    if (header.merge == other && header.continue_target == back) return back;
  }
  return none;
}

/// Where control comes from on an edge.
Id Control::label_on(InEdge e, uint32_t to) {
  const uint32_t back = test_behind(e.node);
  return back != none && back != to ? label(back) : end_label(e.node);
}

Id Control::value_on(InEdge e, Value phi, uint32_t block) {
  const auto& node = s_.nodes[e.node];
  if (node.kind == Kind::block) return operand_on(node.block, phi, block);
  return carried(e.node, phi);
}

Id Control::target_on(InEdge e) {
  const auto targets = s_.targets_of(edge(e));
  if (targets.size() == 1) return e_.module.u32(targets[0]);
  return carried(e.node, {});
}

Id Control::end_label(uint32_t node) {
  if (end_labels_[node] != 0) return end_labels_[node];
  return label(node); // a back edge's source, which is one block
}

/// Values from several sides become one. `forced` is an id that was promised for it.
Id Control::merge(uint32_t node, Id type, std::span<const Id> incoming, Id forced) {
  const auto edges = in_edges(node);
  const bool same = std::ranges::all_of(incoming, [&](Id i) { return i == incoming[0]; });
  if (same && forced == 0) return incoming[0];
  std::vector<uint32_t> operands;
  for (size_t i = 0; i < edges.size(); ++i) {
    operands.push_back(incoming[i] != 0 ? incoming[i] : e_.module.undef(type));
    operands.push_back(label_on(edges[i], node));
  }
  const Id id = forced != 0 ? forced : e_.module.new_id();
  e_.code.op_as(id, spv::Op::OpPhi, type, operands);
  return id;
}

void Control::entry_phis(uint32_t node) {
  const uint32_t block = s_.nodes[node].block;
  std::vector<Id> incoming;
  for (const Value phi : phis_of(block)) {
    const auto edges = in_edges(node);
    incoming.clear();
    e_.mark(phi);
    for (const InEdge e : edges) incoming.push_back(value_on(e, phi, block));
    if (edges.size() == 1)
      e_.bind(phi, incoming[0]);
    else
      merge(node, e_.type_of(phi), incoming, e_.define(phi));
  }
}

/// Everything that may still be on its way behind this node.
void Control::carry(uint32_t node) {
  const auto edges = in_edges(node);
  std::vector<uint32_t> targets;
  for (const InEdge e : edges) {
    const auto t = s_.targets_of(edge(e));
    targets.insert(targets.end(), t.begin(), t.end());
  }
  std::ranges::sort(targets);
  targets.erase(std::ranges::unique(targets).begin(), targets.end());
  std::vector<Id> incoming(edges.size());
  std::vector<Route> made;
  if (targets.size() > 1) {
    std::ranges::transform(edges, incoming.begin(), [&](InEdge e) { return target_on(e); });
    made.push_back({{}, merge(node, e_.types[ir::Type::i32], incoming, 0)});
  }
  for (const uint32_t t : targets)
    for (const Value phi : phis_of(t)) {
      Id known = 0;
      for (size_t i = 0; i < edges.size(); ++i) {
        incoming[i] = leads_to(edges[i], t) ? value_on(edges[i], phi, t) : 0;
        if (incoming[i] != 0) known = incoming[i];
      }
      // A value that comes from one side only may not be available on the others, so it needs its phi too.
      const Id promised = carried(node, phi);
      if (promised != 0)
        merge(node, e_.type_of(phi), incoming, promised);
      else
        made.push_back({phi, edges.size() == 1 ? known : merge(node, e_.type_of(phi), incoming, 0)});
    }
  for (const Route& r : made) routes_[node].push_back(r);
}

// -- nodes
// ----------------------------------------------------------------------------------------------------------

Id Control::label(uint32_t node) {
  if (labels_[node] == 0) labels_[node] = e_.module.new_id();
  return labels_[node];
}

void Control::write() {
  if (s_.nodes[0].kind == Kind::loop_header) { // a function's first block has no predecessors
    e_.code.start(e_.module.new_id());
    e_.code.branch(label(0));
  }
  for (uint32_t n = 0; n < s_.nodes.size(); ++n) {
    current_ = n;
    write_node(n);
    e_.mark({});
  }
}

void Control::write_node(uint32_t node) {
  switch (s_.nodes[node].kind) {
  case Kind::block: write_block(node); break;
  case Kind::loop_header: write_header(node); break;
  case Kind::guard:
  case Kind::join:
  case Kind::continue_: write_synthetic(node); break;
  case Kind::unreachable:
    e_.code.start(label(node));
    e_.code.effect(spv::Op::OpUnreachable, {});
    break;
  }
}

/// The body of a loop can start in the header's own block when that ends in a plain branch.
bool Control::folds(uint32_t header) const {
  const auto& body = s_.nodes[s_.nodes[header].successors[0].node];
  return body.merge == none && !has_guards(e_.f, {body.block});
}

void Control::write_header(uint32_t node) {
  const auto& header = s_.nodes[node];
  e_.code.start(label(node));
  // What comes around is carried by the continue node, which is written later: promise ids for it.
  const uint32_t back = header.continue_target;
  const bool direct = direct_back(back);
  for (const Value phi : phis_of(header.block))
    routes_[back].push_back({phi, direct
                                      ? operand_on(s_.nodes[in_edges(back)[0].node].block, phi, header.block)
                                      : e_.module.new_id()});
  entry_phis(node);
  if (!folds(node)) {
    loop_merge(node);
    e_.code.branch(label(header.successors[0].node));
  }
  end_labels_[node] = e_.code.block != 0 ? e_.code.block : label(node);
}

void Control::loop_merge(uint32_t header) {
  const auto& h = s_.nodes[header];
  e_.code.effect(spv::Op::OpLoopMerge, {label(h.merge), label(h.continue_target), 0});
}

void Control::write_block(uint32_t node) {
  const auto& n = s_.nodes[node];
  const auto edges = in_edges(node);
  const bool in_header = edges.size() == 1 && s_.nodes[edges[0].node].kind == Kind::loop_header;
  const bool folded = in_header && folds(edges[0].node);
  if (!folded) e_.code.start(label(node));
  if (!in_header) entry_phis(node);
  const auto after = [&](Value v) {
    if (const auto it = spilled_.find(v.index); it != spilled_.end())
      e_.code.effect(spv::Op::OpStore, {it->second, e_.id(v)});
  };
  for (const Value phi : phis_of(n.block)) after(phi);
  write_instructions(e_, {n.block}, after);
  preload_edges(node);
  end_labels_[node] = e_.code.block;
  const Value last = e_.f.blocks[n.block].instructions.back();
  e_.mark(last);
  if (n.successor_count == 0) {
    e_.write(last);
    return;
  }
  const Id condition = n.successor_count == 2 ? e_.operand_id(last, 0) : 0;
  if (folded) loop_merge(edges[0].node);
  write_branch(node, condition);
}

void Control::write_branch(uint32_t node, Id condition) {
  const auto& n = s_.nodes[node];
  if (n.successor_count == 1) {
    e_.code.branch(label(n.successors[0].node));
    return;
  }
  if (const uint32_t back = test_behind(node); back != none) {
    tests_[back] = condition;
    e_.code.branch(label(back));
    return;
  }
  if (n.merge != none) e_.code.selection(label(n.merge));
  e_.code.branch_if(condition, label(n.successors[0].node), label(n.successors[1].node));
}

void Control::write_synthetic(uint32_t node) {
  const auto& n = s_.nodes[node];
  e_.code.start(label(node));
  end_labels_[node] = e_.code.block;
  if (n.kind != Kind::continue_ || !direct_back(node)) carry(node);
  if (const auto test = tests_.find(node); test != tests_.end()) {
    const auto& before = s_.nodes[in_edges(node)[0].node];
    const Id around = label(n.successors[0].node);
    const bool first = before.successors[0].node == node;
    const Id out = label(before.successors[first ? 1 : 0].node);
    e_.code.branch_if(test->second, first ? around : out, first ? out : around);
    return;
  }
  Id condition = 0;
  if (n.kind == Kind::guard) condition = (e_.code.expr(carried(node, {}), ir::Type::i32) == n.block).id;
  write_branch(node, condition);
}

} // namespace lanewise::spirv
