#include "ir/interpreter_program.hpp"

#include "cfg/loops.hpp"
#include "ir/graph.hpp"

#include <algorithm>
#include <numeric>

namespace lanewise::ir::interpreter {
namespace {

std::vector<uint32_t> reconvergence_order(const Function& f) {
  const cfg::Graph graph = graph_of(f);
  const cfg::LoopForest loops =
      cfg::find_loops(graph, cfg::reverse_post_order(graph), cfg::dominators(graph));
  const auto depth = [&](Block b) {
    const uint32_t loop = loops.innermost[b.index];
    return loop == cfg::none ? 0 : loops.loops[loop].depth;
  };
  struct Frame {
    Block block;
    unsigned next;
  };
  std::vector<uint32_t> post;
  std::vector<bool> seen(f.blocks.size());
  std::vector<Frame> stack{{Block{0}, 0}};
  seen[0] = true;
  while (!stack.empty()) {
    Frame& top = stack.back();
    const BasicBlock& b = f[top.block];
    if (top.next == b.successor_count) {
      post.push_back(top.block.index);
      stack.pop_back();
      continue;
    }
    // The way to the shallower loop first: what is finished first comes last.
    const unsigned first = b.successor_count == 2 && depth(b.successors[1]) < depth(b.successors[0]) ? 1 : 0;
    const Block s = b.successors[top.next++ ^ first];
    if (!seen[s.index]) {
      seen[s.index] = true;
      stack.push_back({s, 0});
    }
  }
  std::ranges::reverse(post);
  return post;
}

/// Hands out ranges of slots; those of values that are dead are used again.
class SlotAllocator {
 public:
  uint32_t take(uint32_t size) {
    auto& free = free_[size];
    if (free.empty()) {
      const uint32_t slot = end_;
      end_ += size;
      return slot;
    }
    const uint32_t slot = free.back();
    free.pop_back();
    return slot;
  }
  void give_back(uint32_t slot, uint32_t size) { free_[size].push_back(slot); }
  [[nodiscard]] uint32_t end() const { return end_; }

 private:
  std::unordered_map<uint32_t, std::vector<uint32_t>> free_;
  uint32_t end_ = 0;
};

class Maker {
 public:
  Maker(const Function& f, Program& p)
      : f_(f), p_(p), slot_(f.value_count(), kNone), last_use_(f.value_count()) {}

  void run() {
    find_last_uses();
    allocate_global();
    starts_.resize(f_.blocks.size());
    for (const uint32_t i : block_order()) block(i);
    for (Edge& e : p_.edges) e.target = starts_[e.target];
    p_.slots = allocator_.end();
  }

 private:
  static constexpr uint32_t kNone = ~0u, kGlobal = ~0u;

  [[nodiscard]] bool is_uniform(Value v) const {
    return f_.is_constant(v) || (f_[v].uniform && !p_.divergent);
  }

  /// Of divergent functions the reverse post-order in which a way out of a loop comes behind the loop.
  [[nodiscard]] std::vector<uint32_t> block_order() const {
    std::vector<uint32_t> order(f_.blocks.size());
    std::iota(order.begin(), order.end(), 0u);
    return p_.divergent ? reconvergence_order(f_) : order;
  }

  [[nodiscard]] uint32_t size(Value v) const { return f_[v].components * (is_uniform(v) ? 1u : p_.lanes); }

  /// For values that live in their own block only: index of the last instruction that reads them. Else
  /// kGlobal.
  void find_last_uses() {
    std::vector<uint32_t> home(f_.value_count(), kNone);
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      const auto& list = f_.blocks[b].instructions;
      for (uint32_t i = 0; i < list.size(); ++i) {
        home[list[i].index] = b;
        last_use_[list[i].index] = f_[list[i]].op == Op::phi ? kGlobal : i;
      }
    }
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      const auto& list = f_.blocks[b].instructions;
      for (uint32_t i = 0; i < list.size(); ++i) {
        const bool phi = f_[list[i]].op == Op::phi;
        for (const Value o : f_.operands(list[i])) {
          uint32_t& last = last_use_[o.index];
          if (f_.is_constant(o) || phi || home[o.index] != b)
            last = kGlobal;
          else if (last != kGlobal)
            last = std::max(last, i);
        }
      }
    }
  }

  void allocate_global() {
    for (const BasicBlock& b : f_.blocks) {
      for (const Value v : b.instructions) {
        if (last_use_[v.index] == kGlobal && f_[v].type != Type::none)
          slot_[v.index] = allocator_.take(size(v));
        for (const Value o : f_.operands(v)) {
          if (!f_.is_constant(o) || slot_[o.index] != kNone) continue;
          slot_[o.index] = allocator_.take(1);
          p_.constants.push_back({slot_[o.index], f_[o].imm});
        }
      }
    }
  }

  [[nodiscard]] Place place(Value v) const {
    return {slot_[v.index], static_cast<uint8_t>(is_uniform(v) ? 0 : 1)};
  }

  void block(uint32_t index) {
    const auto& list = f_.blocks[index].instructions;
    std::vector<std::vector<Value>> dying(list.size());
    starts_[index] = static_cast<uint32_t>(p_.code.size());
    for (const Value v : list) {
      const uint32_t last = last_use_[v.index];
      if (last != kGlobal && f_[v].type != Type::none) dying[last].push_back(v);
    }
    for (uint32_t i = 0; i < list.size(); ++i) {
      if (f_[list[i]].op == Op::phi) continue;
      instruction(list[i], index);
      for (const Value v : dying[i]) allocator_.give_back(slot_[v.index], size(v));
    }
  }

  void instruction(Value v, uint32_t block) {
    const Inst& inst = f_[v];
    if (slot_[v.index] == kNone && inst.type != Type::none) slot_[v.index] = allocator_.take(size(v));
    Code c{.op = inst.op,
           .type = inst.type,
           .components = inst.components,
           .uniform = is_uniform(v),
           .operand_count = inst.operand_count,
           .first_operand = static_cast<uint32_t>(p_.operands.size()),
           .slot = slot_[v.index],
           .pc = inst.pc,
           .imm = inst.imm,
           .evaluate = evaluator(inst.op)};
    for (const Value o : f_.operands(v)) p_.operands.push_back(place(o));
    if (inst.operand_count) c.operand_type = f_[f_.operand(v, 0)].type;
    if (inst.op == Op::extract) { // a tuple's component lies behind the ones before it
      Place& tuple = p_.operands.back();
      tuple.slot += static_cast<uint32_t>(inst.imm) * (tuple.stride ? p_.lanes : 1);
    }
    if (info(inst.op).kind == OpKind::end) c.slot = edges(block);
    p_.code.push_back(c);
  }

  uint32_t edges(uint32_t from) {
    const auto first = static_cast<uint32_t>(p_.edges.size());
    const BasicBlock& b = f_.blocks[from];
    for (unsigned s = 0; s < b.successor_count; ++s) {
      const BasicBlock& target = f_.blocks[b.successors[s].index];
      // The second edge between the same blocks is the second occurrence in the list of predecessors.
      auto it = std::ranges::find(target.predecessors, Block{from});
      if (s == 1 && b.successors[0] == b.successors[1])
        it = std::find(it + 1, target.predecessors.end(), Block{from});
      const auto which = static_cast<unsigned>(it - target.predecessors.begin());
      Edge e{.target = b.successors[s].index, .first_move = static_cast<uint32_t>(p_.moves.size())};
      for (const Value v : target.instructions) {
        if (f_[v].op != Op::phi) break;
        p_.moves.push_back({place(f_.operand(v, which)), slot_[v.index], is_uniform(v)});
      }
      e.move_count = static_cast<uint32_t>(p_.moves.size()) - e.first_move;
      p_.edges.push_back(e);
    }
    return first;
  }

  const Function& f_;
  Program& p_;
  SlotAllocator allocator_;
  std::vector<uint32_t> slot_, last_use_; ///< by value
  std::vector<uint32_t> starts_;          ///< by block
};

} // namespace

bool is_single(const Code& c) {
  if (c.evaluate) return true;
  switch (c.op) {
  case Op::extract:
  case Op::input:
  case Op::lane_id:
  case Op::host_lane:
  case Op::host_wave:
  case Op::lane_bit:
  case Op::mbcnt:
  case Op::load:
  case Op::store:
  case Op::buffer_load:
  case Op::buffer_store:
  case Op::image_sample:
  case Op::export_:
  case Op::memory_fence:
  case Op::group_fence: return true;
  default: return false; // atomics too: lanes take their turns in their order
  }
}

Program::Program(const Function& f, unsigned lanes_, bool apart_)
    : lanes(lanes_), apart(apart_), divergent(f.divergent || apart_) {
  Maker(f, *this).run();
  alone =
      apart && std::ranges::all_of(code, [](const Code& c) {
        return is_single(c) || info(c.op).kind == OpKind::end || c.op == Op::barrier || c.op == Op::atomic;
      });
}

} // namespace lanewise::ir::interpreter
