#include "ir/dominators.hpp"
#include "passes/passes.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

/// Walks the blocks in order and takes back what depends on the lane. A value that a block before its own has
/// read (over a back edge) and that turns out to vary makes the walk turn round at the end of the loop.
class Uniformity {
 public:
  explicit Uniformity(Function& f) : f_(f), state_(f.value_count()) {}

  bool run() {
    const auto count = static_cast<uint32_t>(f_.blocks.size());
    for (uint32_t b = 0; b < count;) {
      visit(b);
      uint32_t next = b + 1;
      for (unsigned s = 0; s < f_.blocks[b].successor_count; ++s) {
        const uint32_t to = f_.blocks[b].successors[s].index;
        if (to <= first_asker_ && first_asker_ <= b) next = first_asker_;
      }
      if (next == count && first_asker_ < count) next = first_asker_;
      if (next <= b) first_asker_ = kNoBlock;
      b = next;
    }
    bool changed = false;
    for (const BasicBlock& b : f_.blocks)
      for (const Value v : b.instructions) {
        const bool uniform = !(state_[v.index] & kVaries);
        if (f_[v].type == Type::none || f_[v].uniform == uniform) continue;
        f_[v].uniform = uniform;
        changed = true;
      }
    return changed;
  }

 private:
  static constexpr uint8_t kVaries = 1, kSeen = 2, kAsked = 4; ///< asked about before it was seen

  void visit(uint32_t b) {
    for (const Value v : f_.blocks[b].instructions) {
      uint8_t& state = state_[v.index];
      state |= kSeen;
      if (state & kVaries || f_[v].type == Type::none || !varies(v, b)) continue;
      state |= kVaries;
      if (state & kAsked) first_asker_ = std::min(first_asker_, asker_[v.index]);
    }
  }

  /// By itself, whatever its operands are, or because an operand does.
  bool varies(Value v, uint32_t b) {
    const Inst& inst = f_[v];
    if (!f_.derive_uniform(inst.op, {}, inst.imm)) return true;
    const OpKind kind = info(inst.op).kind;
    if (kind != OpKind::pure && kind != OpKind::load && kind != OpKind::phi) return false;
    bool varies = false;
    for (const Value o : f_.operands(v)) {
      varies = varies || state_[o.index] & kVaries;
      if (state_[o.index] == 0 && !f_.is_constant(o)) {
        state_[o.index] = kAsked;
        if (asker_.empty()) asker_.resize(f_.value_count());
        asker_[o.index] = b;
      }
    }
    return varies;
  }

  Function& f_;
  std::vector<uint8_t> state_;
  std::vector<uint32_t> asker_; ///< of values asked about before they were seen: the first block that did
  uint32_t first_asker_ = kNoBlock;
};

} // namespace

bool uniformity(Function& f) { return Uniformity(f).run(); }

} // namespace lanewise::passes
