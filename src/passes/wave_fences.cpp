// A wave_fence keeps accesses of all lanes of the wave before it apart from those behind it. Who could tell
// their order?
//
//   another lane of the wave     one of the two writes, and two lanes may name the same byte:
//                                  %1 = load.global p + 4 * lane
//                                  wave_fence                       goes: every lane has its own
//                                  store.global p + 4 * lane
//   another wave                 it talks without a barrier: by coherent accesses, or by LDS that is both
//                                read and written between two barriers:
//                                  store.lds a; barrier; load.lds b         no talk
//                                  store.lds a; wave_fence; load.lds flag
//
// Waves are taken to meet at the same barriers, as SPIR-V has it.
#include "passes/wave_fences.hpp"

#include "analysis/buffer_roots.hpp"
#include "analysis/lane_spacing.hpp"
#include "analysis/lane_tables.hpp"
#include "ir/dominators.hpp"
#include "passes/access_places.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

namespace lanewise::passes {

using namespace ir;

namespace {

/// What happens to LDS between two barriers.
struct Interval {
  bool reads = false, writes = false;
  Places places;
};

class WaveFences {
 public:
  WaveFences(Function& f, const FenceFacts& facts)
      : f_(f), facts_(facts), dominators_(f), spacing_(analysis::lane_spacing(f, facts.most)),
        roots_(analysis::buffer_roots(f, facts.separate_pointers)), home_(f.value_count(), kNoBlock),
        reached_(f.blocks.size()), later_(f.blocks.size()), out_(f.blocks.size()), upper_(f.blocks.size()),
        touched_(f.blocks.size()) {
    if (facts.lanes != 0) tables_.emplace(f, facts.lanes, facts.waves);
  }

  bool run() {
    find_events();
    find_intervals();
    find_pending();
    find_later();
    bool changed = false;
    for (const Block b : dominators_.reverse_postorder()) changed = sweep(b) || changed;
    return relax_barriers() || changed;
  }

 private:
  // -- accesses
  static Place anything() {
    return {.memories = kLds | kGlobal, .reads = true, .writes = true, .coherent = true};
  }

  [[nodiscard]] bool from_dispatcher(Value address) const {
    const bool sum = f_[address].op == Op::add && f_.is_constant(f_.operand(address, 1));
    return f_[sum ? f_.operand(address, 0) : address].op == Op::input;
  }

  [[nodiscard]] std::optional<Place> access(Value v) const {
    const Inst& inst = f_[v];
    // A callee may do anything, and so may what comes behind its end.
    if (inst.op == Op::call || inst.op == Op::call_return) return anything();
    const OpKind kind = info(inst.op).kind;
    if (kind != OpKind::load && kind != OpKind::store && kind != OpKind::atomic) return {};
    const MemoryAccess access = MemoryAccess::unpack(inst.imm);
    const bool buffer =
        inst.op == Op::buffer_load || inst.op == Op::buffer_store || inst.op == Op::buffer_atomic;
    if (!buffer && access.space == Space::scratch) return {};
    // Scalar loads of what the dispatcher wrote meet no store; others come before the stores behind them.
    if (access.invariant && !buffer && from_dispatcher(f_.operand(v, 0))) return {};
    Place p{.memories = static_cast<uint8_t>(access.space == Space::lds    ? kLds
                                             : access.space == Space::flat ? kLds | kGlobal
                                                                           : kGlobal),
            .reads = kind != OpKind::store,
            .writes = kind != OpKind::load,
            .coherent = access.coherent};
    if (buffer) return p;
    p.base = f_.operand(v, 0);
    p.root = roots_[p.base.index];
    p.from = 0;
    const unsigned components = kind == OpKind::store ? inst.operand_count - 2u : inst.components;
    p.to = access.bytes * components;
    if (f_[p.base].op == Op::add && f_.is_constant(f_.operand(p.base, 1))) {
      const int64_t offset = signed_constant(f_.operand(p.base, 1));
      p.base = f_.operand(p.base, 0);
      p.from += offset, p.to += offset;
    }
    return p;
  }
  [[nodiscard]] int64_t signed_constant(Value c) const {
    const unsigned unused = 64 - bit_width(f_[c].type);
    return static_cast<int64_t>(f_[c].imm << unused) >> unused;
  }

  // -- who could tell
  /// Two lanes never meet in both.
  [[nodiscard]] bool lanes_apart(const Place& x, const Place& y) const {
    if (x.root != y.root && x.root != analysis::kNoRoot && y.root != analysis::kNoRoot) return true;
    if (!x.base || !y.base) return false;
    if (x.base == y.base) {
      const uint64_t apart = spacing_[x.base.index].apart;
      if (apart != 0 && static_cast<uint64_t>(std::max(x.to, y.to) - std::min(x.from, y.from)) <= apart)
        return true;
    }
    return ends_before(x, y) || ends_before(y, x) || tables_apart(x, y);
  }
  /// The same by the addresses of all lanes, where these follow from their numbers: of LDS, which is small.
  [[nodiscard]] bool tables_apart(const Place& x, const Place& y) const {
    return tables_ && tables_apart(x, y, tables_->lanes());
  }
  /// Two invocations among `together`, a wave's or a workgroup's, never meet in both.
  [[nodiscard]] bool tables_apart(const Place& x, const Place& y, size_t together) const {
    if (x.memories != kLds || y.memories != kLds || x.to == kAnywhere || y.to == kAnywhere) return false;
    const auto a = tables_->of(x.base), b = tables_->of(y.base);
    if (a.empty() || b.empty()) return false;
    for (size_t first = 0; first < a.size(); first += together)
      if (!owners_.apart(a.subspan(first, together), x.from, x.to, b.subspan(first, together), y.from, y.to))
        return false;
    return true;
  }

  /// All of x lies below all of y.
  [[nodiscard]] bool ends_before(const Place& x, const Place& y) const {
    if (facts_.most.empty() || x.from < 0 || y.from < 0) return false;
    const unsigned bits = bit_width(f_[x.base].type);
    const uint64_t limit = bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
    const auto to = static_cast<uint64_t>(x.to), from = static_cast<uint64_t>(y.from);
    const uint64_t most = facts_.most[x.base.index], least = facts_.least[y.base.index];
    if (most > limit - to || facts_.most[y.base.index] > limit - static_cast<uint64_t>(y.to)) return false;
    return most + to <= least + from;
  }

  [[nodiscard]] bool lanes_tell(const Place& x, const Place& y) const {
    if ((x.memories & y.memories) == 0) return false;
    if (!(x.writes && (y.reads || y.writes)) && !(x.reads && y.writes)) return false;
    return !lanes_apart(x, y);
  }
  /// The order of loads counts too between waves that talk.
  static bool waves_tell(const Place& x, const Place& y, bool lds_talks) {
    const auto talks = [&](const Place& p) { return p.coherent || (lds_talks && (p.memories & kLds) != 0); };
    if (!talks(x) && !talks(y)) return false;
    const bool x_writes = x.writes || talks(x), y_writes = y.writes || talks(y);
    return x_writes || y_writes;
  }
  [[nodiscard]] bool order_matters(const Places& before, const Places& behind, bool lds_talks) const {
    for (const Place& x : before.all())
      for (const Place& y : behind.all())
        if (lanes_tell(x, y) || waves_tell(x, y, lds_talks)) return true;
    return false;
  }

  // -- what counts: accesses, and what orders them
  struct Event {
    uint32_t at = 0; ///< place in the block
    Value what;
    Op op{};
    bool accesses = false;
    Place place;
  };
  void find_events() {
    events_begin_.assign(f_.blocks.size() + 1, 0);
    for (uint32_t b = 0; b < f_.blocks.size(); ++b) {
      events_begin_[b] = static_cast<uint32_t>(events_.size());
      if (!dominators_.reachable(Block{b})) continue;
      const auto& list = f_.blocks[b].instructions;
      for (uint32_t i = 0; i < list.size(); ++i) {
        const Op op = f_[list[i]].op;
        home_[list[i].index] = b;
        is_callee_ = is_callee_ || op == Op::call_return;
        const auto a = access(list[i]);
        if (!a && !orders(op) && op != Op::group_fence) continue;
        events_.push_back({i, list[i], op, a.has_value(), a.value_or(Place{})});
      }
    }
    events_begin_.back() = static_cast<uint32_t>(events_.size());
  }
  [[nodiscard]] std::span<const Event> events(Block b) const {
    return std::span(events_).subspan(events_begin_[b.index],
                                      events_begin_[b.index + 1] - events_begin_[b.index]);
  }

  // -- intervals between barriers
  /// The start of the program and each barrier have a number; the last one stands for all that are left.
  void find_intervals() {
    const auto order = dominators_.reverse_postorder();
    std::vector<uint64_t> generated(f_.blocks.size());
    unsigned next = 1;
    for (const Block b : order)
      for (const Event& e : events(b))
        if (e.op == Op::barrier) {
          barrier_bit_.emplace_back(e.what.index, uint64_t{1} << next);
          generated[b.index] = uint64_t{1} << next;
          next = std::min(next + 1, 63u);
        }
    std::ranges::sort(barrier_bit_);
    for (bool changed = true; changed;) {
      changed = false;
      for (const Block b : order) {
        uint64_t in = b == Block{0} ? 1 : 0;
        for (const Block p : f_[b].predecessors)
          if (dominators_.reachable(p))
            in |= generated[p.index] != 0 ? generated[p.index] : reached_[p.index];
        changed = changed || in != reached_[b.index];
        reached_[b.index] = in;
      }
    }
    for (const Block b : order) {
      uint64_t at = reached_[b.index];
      for (const Event& e : events(b)) {
        if (e.op == Op::barrier) at = bit_of(e.what);
        if (!e.accesses || (e.place.memories & kLds) == 0) continue;
        for (uint64_t left = at; left != 0; left &= left - 1) {
          Interval& interval = intervals_[static_cast<unsigned>(std::countr_zero(left))];
          interval.reads |= e.place.reads, interval.writes |= e.place.writes;
          interval.places.add(e.place);
        }
      }
    }
    for (unsigned i = 0; i < 64; ++i)
      if (intervals_[i].reads && intervals_[i].writes && !each_has_its_own(intervals_[i].places))
        talking_ |= uint64_t{1} << i;
  }
  /// No two invocations of the workgroup, the same or others, meet in a place that one of them writes.
  [[nodiscard]] bool each_has_its_own(const Places& places) const {
    if (!tables_) return false;
    const size_t all = size_t{tables_->lanes()} * tables_->waves();
    for (const Place& x : places.all())
      for (const Place& y : places.all())
        if (x.writes && !tables_apart(x, y, all)) return false;
    return true;
  }
  [[nodiscard]] uint64_t bit_of(Value barrier) const {
    return std::ranges::lower_bound(barrier_bit_, barrier.index, {}, &std::pair<uint32_t, uint64_t>::first)
        ->second;
  }
  [[nodiscard]] bool lds_talks(uint64_t intervals) const { return is_callee_ || (intervals & talking_) != 0; }

  // -- what is pending, and what comes next
  /// Orders all lanes itself.
  static bool orders(Op op) { return op == Op::wave_fence || op == Op::barrier; }

  /// What comes around a loop names other places with the values that the loop makes anew.
  [[nodiscard]] Places carried(const Places& from, Block header) const {
    Places to;
    for (Place p : from.all()) {
      const bool old =
          p.base && (f_.is_constant(p.base) || (home_[p.base.index] != header.index &&
                                                dominators_.dominates(Block{home_[p.base.index]}, header)));
      if (!old) p.base = {}, p.from = 0, p.to = kAnywhere;
      to.add(p);
    }
    return to;
  }
  [[nodiscard]] bool is_back_edge(Block from, Block to) const {
    return dominators_.position(from) >= dominators_.position(to);
  }

  /// Everything that may be pending at a block's end, as if all wave fences went.
  void find_pending() {
    std::vector<bool> stale(f_.blocks.size(), true);
    for (bool changed = true; changed;) {
      changed = false;
      for (const Block b : dominators_.reverse_postorder()) {
        if (!stale[b.index]) continue;
        stale[b.index] = false;
        Places at = b == Block{0} ? starting() : Places{};
        for (const Block p : f_[b].predecessors)
          if (dominators_.reachable(p))
            is_back_edge(p, b) ? at.add(carried(upper_[p.index], b)) : at.add(upper_[p.index]);
        for (const Event& e : events(b)) {
          if (e.op == Op::barrier) at.clear();
          if (e.accesses) at.add(e.place);
        }
        if (!upper_[b.index].add(at)) continue;
        changed = true;
        for (unsigned s = 0; s < f_[b].successor_count; ++s) stale[f_[b].successors[s].index] = true;
      }
    }
  }
  [[nodiscard]] Places starting() const {
    Places at;
    if (is_callee_) at.add(anything());
    return at;
  }

  [[nodiscard]] Places behind(Block b) const {
    Places found;
    for (unsigned s = 0; s < f_[b].successor_count; ++s) {
      const Block to = f_[b].successors[s];
      is_back_edge(b, to) ? found.add(carried(later_[to.index], to)) : found.add(later_[to.index]);
    }
    return found;
  }

  /// Accesses between the start of each block and the next fence, whatever becomes of that one: a fence that
  /// goes hands what was before it to the next.
  void find_later() {
    const auto order = dominators_.reverse_postorder();
    std::vector<bool> closed(f_.blocks.size());
    for (const Block b : order)
      for (const Event& e : events(b)) {
        if (orders(e.op)) {
          closed[b.index] = true;
          break;
        }
        if (e.accesses) later_[b.index].add(e.place);
      }
    std::vector<bool> stale(f_.blocks.size(), true);
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t k = order.size(); k-- > 0;) {
        const Block b = order[k];
        if (!stale[b.index] || closed[b.index]) continue;
        stale[b.index] = false;
        if (!later_[b.index].add(behind(b))) continue;
        changed = true;
        for (const Block p : f_[b].predecessors) stale[p.index] = true;
      }
    }
  }

  [[nodiscard]] Places pending_at(Block b) const {
    Places pending = b == Block{0} ? starting() : Places{};
    for (const Block p : f_[b].predecessors)
      if (dominators_.reachable(p))
        is_back_edge(p, b) ? pending.add(carried(upper_[p.index], b)) : pending.add(out_[p.index]);
    return pending;
  }

  bool sweep(Block b) {
    Places pending = pending_at(b);
    bool touched = starts_touched(b);
    uint64_t intervals = reached_[b.index];
    std::vector<uint32_t> gone; // places in the block
    const std::vector<Places> next = next_of_fences(b);
    size_t fence = 0;
    for (const Event& e : events(b)) {
      // Right behind a barrier a group_fence orders nothing that the barrier does not.
      if ((e.op == Op::wave_fence && !order_matters(pending, next[fence++], lds_talks(intervals))) ||
          (e.op == Op::group_fence && !touched && !is_callee_)) {
        gone.push_back(e.at);
        continue;
      }
      if (e.op == Op::barrier) intervals = bit_of(e.what), touched = false;
      if (orders(e.op)) pending.clear();
      if (e.accesses) pending.add(e.place), touched = true;
    }
    out_[b.index] = std::move(pending);
    touched_[b.index] = touched;
    if (gone.empty()) return false;
    uint32_t at = 0;
    size_t next_gone = 0;
    std::erase_if(f_[b].instructions, [&](Value) {
      const bool goes = next_gone < gone.size() && gone[next_gone] == at;
      ++at;
      next_gone += goes;
      return goes;
    });
    return true;
  }
  /// Something was accessed since the last barrier, or the start.
  [[nodiscard]] bool starts_touched(Block b) const {
    return std::ranges::any_of(f_[b].predecessors, [&](Block p) {
      return dominators_.reachable(p) && (is_back_edge(p, b) ? !upper_[p.index].empty() : touched_[p.index]);
    });
  }
  /// What is behind each wave fence of the block, in order.
  [[nodiscard]] std::vector<Places> next_of_fences(Block b) const {
    const auto list = events(b);
    if (std::ranges::none_of(list, [](const Event& e) { return e.op == Op::wave_fence; })) return {};
    std::vector<Places> found;
    Places next = behind(b);
    for (size_t i = list.size(); i-- > 0;) {
      if (list[i].op == Op::wave_fence) found.push_back(next);
      if (orders(list[i].op))
        next.clear();
      else if (list[i].accesses)
        next.add(list[i].place);
    }
    std::ranges::reverse(found);
    return found;
  }

  // -- barriers and global memory
  /// Accesses of global memory by any two invocations.
  [[nodiscard]] bool barrier_matters(const Places& before, const Places& behind) const {
    for (const Place& x : before.all())
      for (const Place& y : behind.all()) {
        if (x.coherent || y.coherent) return true;
        const bool apart = x.root != y.root && x.root != analysis::kNoRoot && y.root != analysis::kNoRoot;
        if ((x.writes || y.writes) && !apart) return true;
      }
    return false;
  }
  static void add_global(Places& to, const Event& e) {
    if (e.accesses && (e.place.memories & kGlobal) != 0) to.add(e.place);
  }

  /// Barriers that keep no two accesses of global memory apart order LDS only: other fences of the way count
  /// for nothing here, so that each barrier answers for everything before and behind it.
  bool relax_barriers() {
    if (barrier_bit_.empty()) return false;
    const auto order = dominators_.reverse_postorder();
    std::vector<Places> before(f_.blocks.size()), behind(f_.blocks.size()); // at the end, from the start
    for (bool changed = true; changed;) {
      changed = false;
      for (const Block b : order) changed = before[b.index].add(before_block(b, before, true)) || changed;
      for (size_t k = order.size(); k-- > 0;)
        changed = behind[order[k].index].add(behind_block(order[k], behind, true)) || changed;
    }
    bool changed = false;
    for (const Block b : order) {
      const auto list = events(b);
      if (std::ranges::none_of(list, [](const Event& e) { return e.op == Op::barrier; })) continue;
      std::vector<Places> next(list.size());
      Places later = behind_block(b, behind, false);
      for (size_t i = list.size(); i-- > 0;) {
        if (list[i].op == Op::barrier) next[i] = later;
        add_global(later, list[i]);
      }
      Places at = before_block(b, before, false);
      for (size_t i = 0; i < list.size(); ++i) {
        ir::Inst& inst = f_[list[i].what];
        if (list[i].op == Op::barrier && inst.imm == 0 && !barrier_matters(at, next[i])) {
          inst.imm = kBarrierLdsOnly;
          changed = true;
        }
        add_global(at, list[i]);
      }
    }
    return changed;
  }
  [[nodiscard]] Places before_block(Block b, const std::vector<Places>& before, bool with_block) const {
    Places at = b == Block{0} ? starting() : Places{};
    for (const Block p : f_[b].predecessors)
      if (dominators_.reachable(p))
        at.add(is_back_edge(p, b) ? carried(before[p.index], b) : before[p.index]);
    if (with_block)
      for (const Event& e : events(b)) add_global(at, e);
    return at;
  }
  [[nodiscard]] Places behind_block(Block b, const std::vector<Places>& behind, bool with_block) const {
    Places at;
    if (is_callee_) at.add(anything());
    for (unsigned s = 0; s < f_[b].successor_count; ++s) {
      const Block to = f_[b].successors[s];
      at.add(is_back_edge(b, to) ? carried(behind[to.index], to) : behind[to.index]);
    }
    if (with_block)
      for (const Event& e : events(b)) add_global(at, e);
    return at;
  }

  Function& f_;
  const FenceFacts& facts_;
  Dominators dominators_;
  std::vector<analysis::LaneSpacing> spacing_;
  std::vector<uint32_t> roots_;
  std::vector<uint32_t> home_; ///< block of each value
  mutable std::optional<analysis::LaneTables> tables_;
  mutable Owners owners_;
  bool is_callee_ = false;
  std::vector<Event> events_;          ///< block by block
  std::vector<uint32_t> events_begin_; ///< by block
  std::vector<std::pair<uint32_t, uint64_t>> barrier_bit_;
  std::vector<uint64_t>
      reached_; ///< by block: barriers that its start is reached from without another between
  std::array<Interval, 64> intervals_{};
  uint64_t talking_ = 0; ///< intervals in which a wave may tell another something through LDS
  std::vector<Places> later_, out_,
      upper_;                 ///< by block: from its start to the next fence; pending at its end
  std::vector<bool> touched_; ///< by block: at its end
};

} // namespace

bool has_fences(const Function& f) {
  return std::ranges::any_of(f.blocks, [&](const BasicBlock& b) {
    return std::ranges::any_of(b.instructions, [&](Value v) {
      const Op op = f[v].op;
      return op == Op::wave_fence || op == Op::group_fence ||
             (op == Op::barrier && f[v].imm != kBarrierLdsOnly);
    });
  });
}

bool wave_fences(Function& f, const FenceFacts& facts) { return has_fences(f) && WaveFences(f, facts).run(); }

bool wave_fences(Function& f) { return wave_fences(f, {}); }

} // namespace lanewise::passes
