// Waits that order nothing go. A wave_fence keeps accesses of all lanes of the wave before it apart from
// those behind it. That matters only where two lanes can meet and one of them writes:
//
//   store.scratch ..        each lane has its own
//   wave_fence              orders nothing: no access to shared memory since the last fence
//   %1 = load.global ..
//   wave_fence              orders nothing: a load before, loads behind
//   %2 = load.global ..
//   wave_fence              stays: loads before, a store behind
//   store.global ..
#include "ir/dominators.hpp"
#include "passes/passes.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

/// What was done to memory that several lanes see.
struct Accesses {
  bool reads = false, writes = false;
  Accesses& operator|=(Accesses o) {
    reads = reads || o.reads;
    writes = writes || o.writes;
    return *this;
  }
  friend bool operator==(Accesses, Accesses) = default;
  [[nodiscard]] bool conflicts(Accesses later) const {
    return (writes && (later.reads || later.writes)) || (reads && later.writes);
  }
};

class WaveFences {
 public:
  explicit WaveFences(Function& f) : f_(f), dominators_(f), later_(f.blocks.size()), out_(f.blocks.size()) {}

  bool run() {
    for (const Block b : dominators_.reverse_postorder())
      for (const Value v : f_[b].instructions) {
        all_ |= accesses(v);
        is_callee_ = is_callee_ || f_[v].op == Op::call_return;
      }
    find_later();
    bool changed = false;
    for (const Block b : dominators_.reverse_postorder()) changed = sweep(b) || changed;
    return changed;
  }

 private:
  [[nodiscard]] Accesses accesses(Value v) const {
    const Inst& inst = f_[v];
    // A callee may do anything, and so may what comes behind its end.
    if (inst.op == Op::call || inst.op == Op::call_return) return {.reads = true, .writes = true};
    const OpKind kind = info(inst.op).kind;
    if (kind != OpKind::load && kind != OpKind::store && kind != OpKind::atomic) return {};
    const MemoryAccess access = MemoryAccess::unpack(inst.imm);
    const bool buffer =
        inst.op == Op::buffer_load || inst.op == Op::buffer_store || inst.op == Op::buffer_atomic;
    if (!buffer && access.space == Space::scratch) return {};
    // Other waves may be waited for and talked to this way, where the order of loads counts too.
    if (access.coherent || access.space == Space::lds) return {.reads = true, .writes = true};
    if (kind == OpKind::load) return {.reads = !access.invariant};
    return {.reads = kind == OpKind::atomic, .writes = true};
  }
  /// Orders all lanes itself.
  [[nodiscard]] static bool orders(Op op) { return op == Op::wave_fence || op == Op::barrier; }

  [[nodiscard]] Accesses behind(Block b) const {
    Accesses found;
    for (unsigned s = 0; s < f_[b].successor_count; ++s) found |= later_[f_[b].successors[s].index];
    return found;
  }

  /// Accesses between the start of each block and the next fence, whatever becomes of that one: a fence that
  /// goes hands what was before it to the next.
  void find_later() {
    const auto order = dominators_.reverse_postorder();
    std::vector<bool> closed(f_.blocks.size());
    for (const Block b : order)
      for (const Value v : f_[b].instructions) {
        if (orders(f_[v].op)) {
          closed[b.index] = true;
          break;
        }
        later_[b.index] |= accesses(v);
      }
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t k = order.size(); k-- > 0;) {
        const Block b = order[k];
        if (closed[b.index]) continue;
        const Accesses before = later_[b.index];
        changed = (later_[b.index] |= behind(b)) != before || changed;
      }
    }
  }

  /// Accesses that no fence closed off before the block starts; around a loop all that the program does.
  [[nodiscard]] Accesses pending_at(Block b) const {
    Accesses pending;
    if (b == Block{0} && is_callee_) pending = {.reads = true, .writes = true};
    for (const Block p : f_[b].predecessors) {
      if (!dominators_.reachable(p)) continue;
      pending |= dominators_.position(p) >= dominators_.position(b) ? all_ : out_[p.index];
    }
    return pending;
  }

  bool sweep(Block b) {
    Accesses pending = pending_at(b);
    auto& list = f_[b].instructions;
    std::vector<Value> kept;
    kept.reserve(list.size());
    // What is behind each fence, from the end of the block backwards.
    std::vector<Accesses> next_of(list.size());
    Accesses next = behind(b);
    for (size_t i = list.size(); i-- > 0;) {
      next_of[i] = next;
      if (orders(f_[list[i]].op))
        next = {};
      else
        next |= accesses(list[i]);
    }
    for (size_t i = 0; i < list.size(); ++i) {
      const Op op = f_[list[i]].op;
      if (op == Op::wave_fence && !pending.conflicts(next_of[i])) continue;
      if (orders(op)) pending = {};
      pending |= accesses(list[i]);
      kept.push_back(list[i]);
    }
    out_[b.index] = pending;
    if (kept.size() == list.size()) return false;
    list = std::move(kept);
    return true;
  }

  Function& f_;
  Dominators dominators_;
  Accesses all_;
  bool is_callee_ = false;
  std::vector<Accesses> later_, out_; ///< by block: from its start to the next fence; pending at its end
};

} // namespace

bool wave_fences(Function& f) {
  const bool any = std::ranges::any_of(f.blocks, [&](const BasicBlock& b) {
    return std::ranges::any_of(b.instructions, [&](Value v) { return f[v].op == Op::wave_fence; });
  });
  return any && WaveFences(f).run();
}

} // namespace lanewise::passes
