#include "passes/linearize.hpp"

#include "cfg/dominators.hpp"
#include "cfg/loops.hpp"
#include "ir/builder.hpp"
#include "ir/graph.hpp"
#include "ir/graphics.hpp"
#include "passes/lane_regions.hpp"
#include "passes/passes.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

namespace lanewise::passes {

using namespace ir;

namespace {

/// One region of a function as a straight line. Its blocks are emptied; the line starts in the place of the
/// first one and ends with a branch to the join.
class Line {
 public:
  Line(Function& f, Op any, const LaneRegion& region, const cfg::Order& order, const cfg::LoopForest& loops)
      : any_(any), f_(f), region_(region), order_(order), loops_(loops), b_(f), old_(f.blocks),
        home_(f.value_count(), cfg::none) {
    for (uint32_t b = 0; b < old_.size(); ++b)
      for (const Value v : old_[b].instructions) home_[v.index] = b;
  }

  Expected<void> run() {
    if (auto ok = check(); !ok) return ok;
    find_live_outs();
    for (const auto& [loop, values] : live_out_)
      for (const Value v : values)
        if (f_[v].components != 1)
          return refuse(v, "a tuple is read behind a loop that lanes leave by themselves");
    for (uint32_t b = 0; b < old_.size(); ++b)
      if (region_.blocks[b]) empty(Block{b});
    start();
    items(cfg::none);
    finish();
    return {};
  }

 private:
  /// The edge `slot` of a block: its mask is on in lanes that take it.
  using Edge = std::pair<uint32_t, unsigned>;

  [[nodiscard]] Expected<void> check() const {
    for (uint32_t b = 0; b < old_.size(); ++b) {
      if (!region_.blocks[b]) continue;
      if (Block{b} == region_.first && loop_of(b) == cfg::none) continue; // here the lanes part
      for (const Value v : old_[b].instructions) {
        switch (f_[v].op) {
        case Op::barrier:
        case Op::host_shuffle:
        case Op::host_broadcast:
        case Op::read_lane:
        case Op::read_first:
        case Op::permute:
        case Op::push:
        case Op::dpp:
        case Op::image_sample_implicit:
        case Op::call:
        case Op::call_return:
        case Op::trap:
        case Op::ret:
        case Op::buffer_load:
        case Op::buffer_store:
        case Op::buffer_atomic:
          return refuse(v,
                        fmt::format("'{}' stands where only some lanes of a wave come", info(f_[v].op).name));
        default: break;
        }
      }
    }
    return {};
  }
  [[nodiscard]] std::unexpected<Error> refuse(Value v, std::string what) const {
    return fail(ErrorKind::unsupported, std::move(what), fmt::format("pc 0x{:x}", f_[v].pc));
  }

  // -- the graph as it was
  // ----------------------------------------------------------------------------------------------

  [[nodiscard]] bool in_region(Block b) const { return region_.blocks[b.index]; }
  /// The innermost loop around a block that lies in the region, or none.
  [[nodiscard]] uint32_t loop_of(uint32_t block) const {
    const uint32_t loop = loops_.innermost[block];
    return loop != cfg::none && region_.blocks[loops_.loops[loop].header] && inside(loop) ? loop : cfg::none;
  }
  /// All of the loop is in the region: it is no loop around the region.
  [[nodiscard]] bool inside(uint32_t loop) const {
    const uint32_t header = loops_.loops[loop].header;
    return region_.blocks[header] && std::ranges::all_of(old_[header].predecessors, [&](Block p) {
             return !loops_.contains(loop, p.index) || in_region(p);
           });
  }
  [[nodiscard]] uint32_t parent_of(uint32_t loop) const {
    const uint32_t parent = loops_.loops[loop].parent;
    return parent != cfg::none && inside(parent) ? parent : cfg::none;
  }

  /// Which slot of predecessor `e` of a block leads here: a block that branches here twice has its edge for
  /// true first.
  [[nodiscard]] Edge edge_into(Block b, unsigned e) const {
    const auto& predecessors = old_[b.index].predecessors;
    const Block from = predecessors[e];
    unsigned slot = old_[from.index].successors[0] == b ? 0 : 1;
    for (unsigned i = 0; i < e; ++i)
      if (predecessors[i] == from) slot = 1;
    return {from.index, slot};
  }

  /// Values of each loop that are read behind it, and its edges that leave it.
  void find_live_outs() {
    for (uint32_t b = 0; b < old_.size(); ++b) {
      for (const Value v : old_[b].instructions) {
        const bool phi = f_[v].op == Op::phi;
        for (unsigned i = 0; i < f_[v].operand_count; ++i) {
          const Value o = f_.operand(v, i);
          const uint32_t from = home_[o.index];
          if (f_.is_constant(o) || from == cfg::none || !region_.blocks[from]) continue;
          const uint32_t to = phi ? old_[b].predecessors[i].index : b;
          // A phi behind the loop reads on the edge that leaves it: behind it too.
          for (uint32_t loop = loop_of(from); loop != cfg::none; loop = parent_of(loop)) {
            const bool stays = loops_.contains(loop, to) && (!phi || loops_.contains(loop, b));
            auto& list = live_out_[loop];
            if (!stays && std::ranges::find(list, o) == list.end()) list.push_back(o);
          }
        }
      }
      if (!region_.blocks[b]) continue;
      for (unsigned s = 0; s < old_[b].successor_count; ++s)
        for (uint32_t loop = loop_of(b); loop != cfg::none; loop = parent_of(loop))
          if (!loops_.contains(loop, old_[b].successors[s].index)) exits_[loop].push_back({b, s});
    }
  }

  // -- the line
  // ---------------------------------------------------------------------------------------------------------

  void empty(Block b) {
    BasicBlock& block = f_[b];
    block.instructions.clear();
    block.predecessors.clear();
    block.successor_count = 0;
    if (b != region_.first) f_.append(b, Op::ret, {});
  }

  /// Where the region is entered: what its phis get from outside comes together here.
  void start() {
    const BasicBlock& first = old_[region_.first.index];
    b_.block = region_.first;
    BasicBlock& block = f_[region_.first];
    std::vector<unsigned> outer;
    for (unsigned e = 0; e < first.predecessors.size(); ++e) {
      if (in_region(first.predecessors[e])) continue;
      outer.push_back(e);
      block.predecessors.push_back(first.predecessors[e]);
    }
    for (const Value v : first.instructions) {
      if (f_[v].op != Op::phi) break;
      std::vector<Value> incoming;
      for (const unsigned e : outer) incoming.push_back(f_.operand(v, e));
      if (outer.size() == first.predecessors.size()) { // no loop: the phi itself
        block.instructions.push_back(v);
      } else if (incoming.size() == 1) {
        entering_[v.index] = incoming[0];
      } else {
        entering_[v.index] = b_.emit(Op::phi, incoming, f_[v].type, 0, f_[v].components);
        f_[entering_[v.index]].uniform = f_[v].uniform;
      }
    }
  }

  /// The blocks and loops that stand directly in `loop`, in order.
  void items(uint32_t loop) {
    std::vector<std::pair<uint32_t, uint32_t>> list; // place in the order, block
    for (uint32_t b = 0; b < old_.size(); ++b) {
      if (!region_.blocks[b]) continue;
      const uint32_t inner = loop_of(b);
      const bool is_header = inner != cfg::none && loops_.loops[inner].header == b;
      if (inner == loop || (is_header && parent_of(inner) == loop)) list.emplace_back(order_.position[b], b);
    }
    std::ranges::sort(list);
    for (const auto& [place, b] : list) {
      const uint32_t inner = loop_of(b);
      inner == loop ? block(Block{b}) : turn(inner);
    }
  }

  /// What stands for a value of the function as it was, here.
  [[nodiscard]] Value name(Value v) const {
    const auto it = names_.find(v.index);
    return it == names_.end() ? v : it->second;
  }
  void use_names(Value v) {
    for (Value& o : f_.operands(v)) o = name(o);
  }

  [[nodiscard]] Value edge_mask(Edge e) const { return edge_mask_.at(e); }

  /// Lanes that come to a block by the edges that `wanted` takes.
  template <class F>
  Value lanes_of(Block b, F wanted) {
    Value mask = b_.u1(false);
    for (unsigned e = 0; e < old_[b.index].predecessors.size(); ++e)
      if (wanted(old_[b.index].predecessors[e])) mask = b_.or_(mask, edge_mask(edge_into(b, e)));
    return mask;
  }
  /// What a phi gets from these edges, each in its lanes.
  template <class F>
  Value value_of(Value phi, Block b, F wanted) {
    Value value;
    for (unsigned e = 0; e < old_[b.index].predecessors.size(); ++e) {
      if (!wanted(old_[b.index].predecessors[e])) continue;
      const Value from = name(f_.operand(phi, e));
      value = value ? b_.select(edge_mask(edge_into(b, e)), from, value) : from;
    }
    return value;
  }

  void block(Block b) {
    if (!mask_.contains(b.index)) {
      const bool first = b == region_.first;
      mask_[b.index] = first ? b_.u1(true) : lanes_of(b, [](Block) { return true; });
      for (const Value v : old_[b.index].instructions) {
        if (f_[v].op != Op::phi) break;
        if (!first) names_[v.index] = value_of(v, b, [](Block) { return true; });
      }
    }
    const Value mask = mask_.at(b.index);
    for (const Value v : old_[b.index].instructions)
      if (f_[v].op != Op::phi && info(f_[v].op).kind != OpKind::end) instruction(v, mask);
    terminator(b, mask);
  }

  void instruction(Value v, Value mask) {
    use_names(v);
    b_.pc = f_[v].pc;
    const auto narrow = [&](unsigned i) {
      const Value both = b_.and_(f_.operand(v, i), mask);
      f_.operands(v)[i] = both;
    };
    switch (f_[v].op) {
    case Op::load:
    case Op::store:
    case Op::atomic: narrow(1); break;
    case Op::image_sample: narrow(ir::kImageActive); break;
    case Op::export_:
    case Op::ballot:
    case Op::any:
    case Op::host_ballot:
    case Op::host_any: narrow(0); break;
    default: break;
    }
    f_[b_.block].instructions.push_back(v);
  }

  void terminator(Block b, Value mask) {
    const Value end = old_[b.index].instructions.back();
    if (f_[end].op != Op::cond_br) {
      edge_mask_[{b.index, 0}] = mask;
      return;
    }
    const Value condition = name(f_.operand(end, 0));
    edge_mask_[{b.index, 0}] = b_.and_(mask, condition);
    edge_mask_[{b.index, 1}] = b_.and_(mask, b_.not_(condition));
  }

  // -- loops
  // ------------------------------------------------------------------------------------------------------------

  /// A phi of the new header: `start` at first.
  Value carried(Type type, Value start) {
    const Value phi = f_.create(Op::phi, {}, type);
    f_[phi].uniform = false;
    auto& list = f_[b_.block].instructions;
    const auto place = std::ranges::find_if(list, [&](Value v) { return f_[v].op != Op::phi; });
    list.insert(place, phi);
    starts_[phi.index] = start;
    return phi;
  }
  void carry(Value phi, Value next) { f_.set_operands(phi, std::array{starts_.at(phi.index), next}); }

  struct Kept { ///< a value, or an edge's mask, for lanes that have left
    Value phi, now;
  };

  /// The loop goes around until no lane is left in it.
  void turn(uint32_t loop) {
    const Block header{loops_.loops[loop].header};
    const auto enters = [&](Block p) { return !loops_.contains(loop, p.index); };
    const auto stays = [&](Block p) { return loops_.contains(loop, p.index); };
    const bool first = header == region_.first;
    const Value entry = first ? b_.u1(true) : lanes_of(header, enters);
    std::vector<Value> phis, initial;
    for (const Value v : old_[header.index].instructions) {
      if (f_[v].op != Op::phi) break;
      phis.push_back(v);
      initial.push_back(first ? entering_.at(v.index) : value_of(v, header, enters));
    }
    const Block head = f_.add_block(old_[header.index].pc);
    b_.br(head);
    b_.block = head;
    const Value in = carried(Type::u1, entry);
    mask_[header.index] = in;
    std::vector<Value> fresh;
    for (size_t i = 0; i < phis.size(); ++i) {
      fresh.push_back(carried(f_[phis[i]].type, initial[i]));
      names_[phis[i].index] = fresh.back();
    }
    std::vector<Kept> left, kept;
    for (size_t i = 0; i < exits_[loop].size(); ++i) left.push_back({carried(Type::u1, b_.u1(false)), {}});
    for (const Value v : live_out_[loop])
      kept.push_back({carried(f_[v].type, f_.constant(f_[v].type, 0)), {}});
    items(loop);
    for (size_t i = 0; i < left.size(); ++i) left[i].now = b_.or_(left[i].phi, edge_mask(exits_[loop][i]));
    for (size_t i = 0; i < kept.size(); ++i) {
      const Value v = live_out_[loop][i];
      kept[i].now = b_.select(made_in(v, loop), name(v), kept[i].phi);
    }
    const Value stay = lanes_of(header, stays);
    std::vector<Value> next;
    for (const Value v : phis) next.push_back(value_of(v, header, stays));
    const Block exit = f_.add_block(old_[header.index].pc);
    b_.cond_br(b_.emit(any_, {stay}), head, exit);
    carry(in, stay);
    for (size_t i = 0; i < fresh.size(); ++i) carry(fresh[i], next[i]);
    b_.block = exit;
    for (size_t i = 0; i < left.size(); ++i) {
      carry(left[i].phi, left[i].now);
      edge_mask_[exits_[loop][i]] = left[i].now;
    }
    for (size_t i = 0; i < kept.size(); ++i) {
      carry(kept[i].phi, kept[i].now);
      names_[live_out_[loop][i].index] = kept[i].now;
    }
    made_[loop] = entry;
  }

  /// Lanes that made the value in this turn of the loop: those that came to its block, or into the loop that
  /// it was made in.
  Value made_in(Value v, uint32_t loop) {
    uint32_t inner = loop_of(home_[v.index]);
    if (inner == loop) return mask_.at(home_[v.index]);
    while (parent_of(inner) != loop) inner = parent_of(inner);
    return made_.at(inner);
  }

  // -- the end of the line
  // ----------------------------------------------------------------------------------------------

  void finish() {
    const BasicBlock join = old_[region_.join.index];
    const Block last = b_.block;
    const auto inner = [&](Block p) { return in_region(p); };
    std::vector<Value> values;
    for (const Value v : join.instructions) {
      if (f_[v].op != Op::phi) break;
      values.push_back(value_of(v, region_.join, inner));
    }
    b_.br(region_.join);
    BasicBlock& block = f_[region_.join];
    block.predecessors.clear();
    std::vector<unsigned> outer;
    for (unsigned e = 0; e < join.predecessors.size(); ++e) {
      if (in_region(join.predecessors[e])) continue;
      outer.push_back(e);
      block.predecessors.push_back(join.predecessors[e]);
    }
    block.predecessors.push_back(last);
    size_t k = 0;
    for (const Value v : join.instructions) {
      if (f_[v].op != Op::phi) break;
      std::vector<Value> incoming;
      for (const unsigned e : outer) incoming.push_back(f_.operand(v, e));
      incoming.push_back(values[k++]);
      f_.set_operands(v, incoming);
    }
    for (uint32_t b = 0; b < old_.size(); ++b)
      if (!region_.blocks[b])
        for (const Value v : f_.blocks[b].instructions) use_names(v);
  }

  Op any_;
  Function& f_;
  const LaneRegion& region_;
  const cfg::Order& order_;
  const cfg::LoopForest& loops_;
  Builder b_;
  const std::vector<BasicBlock> old_;
  std::vector<uint32_t> home_;
  std::map<uint32_t, std::vector<Value>> live_out_; ///< by loop
  std::map<uint32_t, std::vector<Edge>> exits_;     ///< by loop
  std::map<uint32_t, Value> made_;                  ///< by loop: the lanes that entered it
  std::unordered_map<uint32_t, Value> mask_;        ///< by block
  std::map<Edge, Value> edge_mask_;
  std::unordered_map<uint32_t, Value> entering_, starts_, names_;
};

/// Ends of the program become one, where ways may meet.
void join_ends(Function& f) {
  std::vector<Block> ends;
  for (uint32_t b = 0; b < f.blocks.size(); ++b)
    if (f[f.blocks[b].instructions.back()].op == Op::ret) ends.push_back({b});
  if (ends.size() < 2) return;
  const Block end = f.add_block();
  for (const Block b : ends) {
    f[b].instructions.pop_back();
    f.append(b, Op::br, {});
    f.add_edge(b, end);
  }
  f.append(end, Op::ret, {});
}

} // namespace

Expected<bool> linearize(Function& f, Op any) {
  if (!f.divergent) return false;
  cfg_cleanup(f); // nothing that cannot be reached
  join_ends(f);
  {
    const cfg::Graph graph = graph_of(f);
    if (!cfg::find_loops(graph, cfg::reverse_post_order(graph), cfg::dominators(graph)).reducible())
      return fail(ErrorKind::unsupported, "lanes take branches of their own in irreducible control flow");
  }
  LaneRegions found = find_lane_regions(f);
  if (!found.meet)
    return fail(ErrorKind::unsupported,
                "lanes that part meet nowhere: a way of theirs ends in a trap or nowhere");
  for (LaneRegion& region : found.regions) {
    region.blocks.resize(f.blocks.size());
    const cfg::Graph graph = graph_of(f);
    const cfg::Order order = cfg::reverse_post_order(graph);
    const cfg::LoopForest loops = cfg::find_loops(graph, order, cfg::dominators(graph));
    if (auto ok = Line(f, any, region, order, loops).run(); !ok) return std::unexpected(ok.error());
  }
  f.divergent = false;
  cfg_cleanup(f);
  uniformity(f);
  return true;
}

} // namespace lanewise::passes
