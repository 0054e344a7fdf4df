#include "analysis/users.hpp"
#include "passes/passes.hpp"

#include <algorithm>

namespace lanewise::passes {

using namespace ir;

namespace {

/// Walks the blocks in order once and finds most of what depends on the lane. Where a value varies that was
/// read before it was seen (over a back edge), what depends on it is found from its users. Linear.
class Uniformity {
 public:
  explicit Uniformity(Function& f) : f_(f), state_(f.value_count()) {}

  bool run() {
    for (const BasicBlock& b : f_.blocks)
      for (const Value v : b.instructions) visit(v);
    follow_late();
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

  void visit(Value v) {
    uint8_t& state = state_[v.index];
    state |= kSeen;
    if (f_[v].type == Type::none || !varies(v)) return;
    state |= kVaries;
    if (state & kAsked) late_.push_back(v);
  }

  /// By itself, whatever its operands are, or because an operand does. Where single lanes branch, what was
  /// found to vary stays so: where they meet, operands do not tell.
  bool varies(Value v) {
    if (f_.divergent && !f_[v].uniform) return true;
    if (!f_.derive_uniform(f_[v].op, {}, f_[v].imm)) return true;
    if (!follows_operands(v)) return false;
    bool varies = false;
    for (const Value o : f_.operands(v)) {
      varies = varies || state_[o.index] & kVaries;
      if (state_[o.index] == 0 && !f_.is_constant(o)) state_[o.index] = kAsked;
    }
    return varies;
  }

  [[nodiscard]] bool follows_operands(Value v) const {
    const OpKind kind = info(f_[v].op).kind;
    return kind == OpKind::pure || kind == OpKind::load || kind == OpKind::image || kind == OpKind::phi;
  }

  void follow_late() {
    if (late_.empty()) return;
    const analysis::Users users(f_);
    while (!late_.empty()) {
      const Value v = late_.back();
      late_.pop_back();
      for (const Value user : users.of(v)) {
        uint8_t& state = state_[user.index];
        if (state & kVaries || f_[user].type == Type::none || !follows_operands(user)) continue;
        state |= kVaries;
        late_.push_back(user);
      }
    }
  }

  Function& f_;
  std::vector<uint8_t> state_;
  std::vector<Value> late_; ///< vary, and were read before that was known
};

} // namespace

bool uniformity(Function& f) { return Uniformity(f).run(); }

} // namespace lanewise::passes
